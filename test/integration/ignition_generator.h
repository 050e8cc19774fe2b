// Random Ignition configs, valid and broken, drawn from the table of members.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>

#include "codec/json.h"
#include "ignition/schema.h"
#include "ignition/version.h"

namespace strake::test {

/// The same seed gives the same configs. Every member of the spec is drawn sooner or later, with values that are right,
/// that are wrong in each way the validator knows, and of the wrong type.
class IgnitionGenerator {
 public:
  explicit IgnitionGenerator(std::uint64_t seed) : random_(seed) {}

  json::Value config(ignition::SpecVersion version);

  /// How often each member was written, by its path without indices.
  const std::map<std::string, int>& members() const { return members_; }

 private:
  json::Object object(const ignition::StructSchema& schema, const std::string& path);
  json::Value member(const ignition::Member& member, const std::string& path);
  json::Value scalar(const ignition::Member& member, const std::string& path);
  std::string text(const std::string& path);
  bool chance(double probability);
  std::size_t below(std::size_t bound);

  std::mt19937_64 random_;
  ignition::SpecVersion version_;
  double broken_ = 0;  ///< how likely a value is wrong in this config
  double odd_ = 0;     ///< how likely a value has a wrong type, is null, or a name is not of the spec
  std::map<std::string, int> members_;
};

}  // namespace strake::test
