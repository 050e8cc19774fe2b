// Random MachineConfigs: Ignition configs of every spec 3 version, and texts that try every rule of a YAML writer.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "codec/json.h"
#include "integration/ignition_generator.h"
#include "kube/object.h"

namespace strake::test {

/// The same seed gives the same MachineConfigs and texts.
class MachineConfigGenerator {
 public:
  explicit MachineConfigGenerator(std::uint64_t seed) : random_(seed), ignition_(seed) {}

  /// MachineConfigs of one pool in merge order, which often speak of the same things.
  std::vector<kube::Object> configs();

  /// Text that looks like a number, needs quotes, is folded, has breaks, controls or characters outside the basic
  /// plane.
  std::string text();

  /// Any JSON value made of such texts, as keys too.
  json::Value value(int depth);

 private:
  json::Value spec();
  json::Value ignition_config();
  void decorate(json::Value& config);
  std::string words();
  std::string characters();
  bool chance(double probability);
  std::size_t below(std::size_t bound);

  std::mt19937_64 random_;
  IgnitionGenerator ignition_;
};

}  // namespace strake::test
