// Programs of strangers that judge Ignition configs, asked for many configs at once.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "codec/json.h"
#include "ignition/version.h"

namespace strake::test {

inline constexpr int kConfigsPerVersion = 5000;
inline constexpr std::size_t kProgramRunsPerVersion = 8;

/// What the judge answers to each text, in order; a judge that fails is a failure of the test.
std::vector<json::Value> judge(const std::vector<std::string>& argv, const std::vector<std::string>& texts);

/// What `PROGRAM -` says of a config by its exit code.
bool program_accepts(const std::filesystem::path& program, const std::string& config);

/// The paths of all members a version knows, without indices.
std::set<std::string> members_of(ignition::SpecVersion version);

/// Expects that no config of a version was judged differently, that a fair share was valid, and that every member of
/// the version occurred; prints the counts.
void expect_agreement(ignition::SpecVersion version, int valid, int disagreements,
                      const std::map<std::string, int>& seen_members);

/// Expects that each of `all` was provoked at least once; prints how often.
void expect_every_message(const std::set<std::string>& all, std::map<std::string, int> provoked);

}  // namespace strake::test
