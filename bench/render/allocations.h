// Counts what the program takes from the heap: `operator new` is replaced in this program.
#pragma once

#include <cstdint>

namespace strake::bench {

struct Allocations {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
};

/// Since the start of the program.
Allocations allocations();

}  // namespace strake::bench
