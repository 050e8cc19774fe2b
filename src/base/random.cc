#include "base/random.h"

#include <sys/random.h>

#include <string_view>

#include "base/result.h"

namespace strake {

std::string Random::uuid() {
  const std::uint64_t high = (next() & ~0xf000ULL) | 0x4000ULL;
  const std::uint64_t low = (next() & ~(0xc0ULL << 56)) | (0x80ULL << 56);
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff, high & 0xffff, low >> 48,
                     low & 0xffffffffffffULL);
}

std::string Random::name_suffix(std::size_t length) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string text;
  for (std::size_t i = 0; i < length; ++i) text += kAlphabet[below(kAlphabet.size())];
  return text;
}

std::uint64_t SeededRandom::next() {
  // SplitMix64: one multiplication chain per draw, full period, no bad seeds.
  state_ += 0x9e3779b97f4a7c15ULL;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
  return mixed ^ (mixed >> 31);
}

std::uint64_t SystemRandom::next() {
  std::uint64_t value = 0;
  // The kernel serves up to 256 bytes without interruption once its pool is ready.
  STRAKE_INVARIANT(getrandom(&value, sizeof value, 0) == static_cast<ssize_t>(sizeof value));
  return value;
}

}  // namespace strake
