// Injected randomness: seeded in simulation, from the kernel in production.
#pragma once

#include <cstdint>
#include <string>

namespace strake {

class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() = 0;

  /// Uniform in [0, bound); bound must not be zero.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  /// Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  bool chance(double probability) { return unit() < probability; }
  /// RFC 4122 version 4 text.
  std::string uuid();
  /// `length` characters of the alphabet Kubernetes uses for generated names (no vowels, no look-alikes).
  std::string name_suffix(std::size_t length);
};

/// Equal seeds give equal sequences on every machine.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() override;

 private:
  std::uint64_t state_;
};

/// Unpredictable; safe for tokens and keys. Thread safe.
class SystemRandom final : public Random {
 public:
  std::uint64_t next() override;
};

}  // namespace strake
