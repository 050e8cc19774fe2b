// Random Butane configs, valid and broken: Ignition configs in Butane's spelling, with what only Butane has put in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>

#include "codec/json.h"
#include "integration/ignition_generator.h"

namespace strake::test {

struct ButaneVersion {
  std::string_view variant;
  std::string_view version;
  ignition::SpecVersion spec;
};

/// Everything Butane 0.23.0 knows of the two variants, experimental versions left out.
inline constexpr ButaneVersion kButaneVersions[] = {
    {"fcos", "1.0.0", {3, 0}},       {"fcos", "1.1.0", {3, 1}},       {"fcos", "1.2.0", {3, 2}},
    {"fcos", "1.3.0", {3, 2}},       {"fcos", "1.4.0", {3, 3}},       {"fcos", "1.5.0", {3, 4}},
    {"fcos", "1.6.0", {3, 5}},       {"openshift", "4.8.0", {3, 2}},  {"openshift", "4.9.0", {3, 2}},
    {"openshift", "4.10.0", {3, 2}}, {"openshift", "4.11.0", {3, 2}}, {"openshift", "4.12.0", {3, 2}},
    {"openshift", "4.13.0", {3, 2}}, {"openshift", "4.14.0", {3, 4}}, {"openshift", "4.15.0", {3, 4}},
    {"openshift", "4.16.0", {3, 4}}, {"openshift", "4.17.0", {3, 4}}, {"openshift", "4.18.0", {3, 4}}};

/// The same seed gives the same configs. Local paths are of the files that write_butane_files() writes.
class ButaneGenerator {
 public:
  explicit ButaneGenerator(std::uint64_t seed) : ignition_(seed), random_(seed) {}

  std::string config(const ButaneVersion& version);

 private:
  json::Value spelled(const json::Value& value, const std::string& name);
  void sweeten(json::Value& config, const ButaneVersion& version);
  void sweeten_resource(json::Object& resource, const ButaneVersion& version);
  void make_acceptable_to_openshift(json::Value& config);
  void add_openshift(json::Object& config);
  std::string written(const json::Value& value, int indent);
  std::string written_scalar(const json::Value& value);
  std::string some_text();
  std::string some_path();
  bool chance(double probability);
  std::size_t below(std::size_t bound);

  IgnitionGenerator ignition_;
  std::mt19937_64 random_;
};

/// The files and trees that generated configs name.
void write_butane_files(const std::filesystem::path& folder);

}  // namespace strake::test
