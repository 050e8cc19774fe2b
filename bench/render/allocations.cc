#include "render/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

// Added to without a locked instruction, which would cost more than the allocation: what is measured has one thread.
std::atomic<std::uint64_t> allocated_calls{0};
std::atomic<std::uint64_t> allocated_bytes{0};

void add(std::atomic<std::uint64_t>& counter, std::uint64_t amount) {
  counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

void* counted(std::size_t size, void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  add(allocated_calls, 1);
  add(allocated_bytes, size);
  return memory;
}

}  // namespace

// The array and nothrow forms of the standard library call these.
void* operator new(std::size_t size) { return counted(size, std::malloc(size == 0 ? 1 : size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return counted(size, std::aligned_alloc(unit, (size + unit - 1) / unit * unit));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace strake::bench {

Allocations allocations() { return {allocated_calls.load(), allocated_bytes.load()}; }

}  // namespace strake::bench
