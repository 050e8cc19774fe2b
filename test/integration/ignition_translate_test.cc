// Our translations between specs and our merge beside those of coreos: ign-converter, the library the Machine Config
// Operator uses, and coreos/ignition's own translation and merge.
#include <gtest/gtest.h>

#include <map>

#include "ignition/config.h"
#include "ignition/translate.h"
#include "integration/ignition_generator.h"
#include "integration/ignition_judge.h"
#include "support/servers.h"

namespace strake::test {
namespace {

using ignition::SpecVersion;

constexpr int kTranslatedPerVersion = 2000;
constexpr int kMergedPairs = 4000;
constexpr int kShownDifferences = 3;

/// Valid configs of a version, as its own check leaves them.
std::vector<json::Value> valid_configs(SpecVersion version, std::uint64_t seed, int tries) {
  IgnitionGenerator generator(seed);
  std::vector<json::Value> configs;
  for (int i = 0; i < tries; ++i) {
    ignition::Checked checked = ignition::check(generator.config(version));
    if (checked.report.is_fatal() || checked.version != version) continue;
    configs.push_back(std::move(checked.config));
  }
  return configs;
}

std::vector<std::string> texts_of(const std::vector<json::Value>& configs) {
  std::vector<std::string> texts;
  for (const json::Value& config : configs) texts.push_back(json::write(config));
  return texts;
}

/// Counts what agreed and shows the first differences.
class Comparison {
 public:
  explicit Comparison(std::string name) : name_(std::move(name)) {}
  ~Comparison() {
    std::printf("%s: %d alike, %d refused alike, %d differ as listed, %d differ\n", name_.c_str(), alike_, refused_,
                listed_, differ_);
    EXPECT_EQ(differ_, 0) << name_;
  }

  /// `judged` is {"error"} or {"config"}.
  void add(const json::Value& input, json::Value judged, const Result<json::Value>& ours) {
    // The library's validator of spec 2.0 falls over URLs with a user name; see docs/ignition-differences.md.
    if (json::find_string(judged, {"error"}).value_or("").starts_with("panic: ")) return;
    json::Value* config = json::find(judged, {"config"});
    if (config != nullptr) ignition::normalise(*config);  // an owner without members is left by the library
    const std::string theirs_text =
        config == nullptr ? json::find_string(judged, {"error"}).value_or("") : json::write_canonical(*config);
    const std::string ours_text = ours.ok() ? json::write_canonical(*ours) : ours.error().to_string();
    if (config == nullptr && !ours.ok()) {
      ++refused_;
    } else if (config != nullptr && ours.ok() && theirs_text == ours_text) {
      ++alike_;
    } else if (is_listed(input, theirs_text, ours_text)) {
      ++listed_;
    } else if (++differ_ <= kShownDifferences) {
      ADD_FAILURE() << name_ << "\ninput  " << json::write_canonical(input) << "\ntheirs " << theirs_text << "\nours   "
                    << ours_text;
    }
  }

  int alike() const { return alike_; }

 private:
  /// The table of translations in docs/ignition-differences.md.
  static bool is_listed(const json::Value& input, std::string_view theirs, std::string_view ours) {
    const auto has = [](std::string_view text, std::string_view part) {
      return text.find(part) != std::string_view::npos;
    };
    // The library compares each reference with the last one only.
    const json::Value* append = json::find(input, {"ignition", "config", "append"});
    if (append != nullptr && append->get_array().size() > 1 && has(theirs, "duplicate entry defined")) return true;
    // It forgets these without a word.
    if (has(ours, "cex: no such member") || has(ours, "wipePartitionEntry: no such member") ||
        has(ours, "shouldExist: spec 2 cannot remove") || has(ours, "contents.source: is not set")) {
      return true;
    }
    // It cuts the mount point off a path without leaving the slash.
    return has(theirs, "unexpected fatal error") && has(theirs, "path not absolute");
  }

  std::string name_;
  int alike_ = 0;
  int refused_ = 0;
  int listed_ = 0;
  int differ_ = 0;
};

TEST(IgnitionTranslate, RaisesSpec3AsIgnitionDoes) {
  const auto programs = judge_programs();
  ASSERT_TRUE(programs.ok()) << programs.error().to_string();
  for (int minor = 0; minor <= ignition::kLatestVersion.minor; ++minor) {
    const SpecVersion version{3, minor};
    const auto configs = valid_configs(version, static_cast<std::uint64_t>(minor) + 41, kTranslatedPerVersion);
    const auto outcomes = judge({(*programs / "judge-ignition2").string(), "raise"}, texts_of(configs));
    ASSERT_EQ(outcomes.size(), configs.size());
    Comparison comparison(to_string(version) + " to 3.5.0");
    for (std::size_t i = 0; i < configs.size(); ++i) {
      comparison.add(configs[i], outcomes[i], ignition::raise_as_operator(configs[i], version));
    }
    EXPECT_GT(comparison.alike(), kTranslatedPerVersion / 10);
  }
}

TEST(IgnitionTranslate, RaisesSpec2AsTheOperatorDoes) {
  const auto programs = judge_programs();
  ASSERT_TRUE(programs.ok()) << programs.error().to_string();
  for (int minor = 0; minor <= 2; ++minor) {
    const SpecVersion version{2, minor};
    const auto configs = valid_configs(version, static_cast<std::uint64_t>(minor) + 51, kTranslatedPerVersion);
    const auto outcomes = judge({(*programs / "judge-ignition2").string(), "raise"}, texts_of(configs));
    ASSERT_EQ(outcomes.size(), configs.size());
    Comparison comparison(to_string(version) + " to 3.5.0");
    for (std::size_t i = 0; i < configs.size(); ++i) {
      // The library translates; merging duplicates first is the operator's own, and has its own tests.
      auto ours = ignition::raise_to_3_0(ignition::lift_to_2_2(configs[i], version), ignition::RaiseFrom2::kAsOperator);
      if (ours.ok()) ours = ignition::raise_as_operator(*std::move(ours), {3, 0});
      comparison.add(configs[i], outcomes[i], ours);
    }
    EXPECT_GT(comparison.alike(), kTranslatedPerVersion / 20);
  }
}

TEST(IgnitionTranslate, LowersAsTheOperatorDoes) {
  const auto programs = judge_programs();
  ASSERT_TRUE(programs.ok()) << programs.error().to_string();
  auto configs = valid_configs(ignition::kLatestVersion, 61, kTranslatedPerVersion);
  for (json::Value& config : configs) ignition::normalise(config);  // an empty list of proxies stops the library
  const auto outcomes = judge({(*programs / "judge-ignition2").string(), "lower"}, texts_of(configs));
  ASSERT_EQ(outcomes.size(), configs.size());
  for (const SpecVersion to :
       {SpecVersion{3, 4}, SpecVersion{3, 3}, SpecVersion{3, 2}, SpecVersion{3, 1}, SpecVersion{2, 2}}) {
    Comparison comparison("3.5.0 to " + to_string(to));
    for (std::size_t i = 0; i < configs.size(); ++i) {
      const json::Value* judged = json::find(outcomes[i], {fmt::format("{}.{}", to.major, to.minor)});
      const json::Value refused = json::Object{{"error", "an earlier step was refused"}};
      comparison.add(configs[i], judged == nullptr ? refused : *judged, ignition::convert(configs[i], to));
    }
    EXPECT_GT(comparison.alike(), kTranslatedPerVersion / 50);
  }
}

TEST(IgnitionTranslate, MergesAsIgnitionDoes) {
  const auto programs = judge_programs();
  ASSERT_TRUE(programs.ok()) << programs.error().to_string();
  std::vector<json::Value> configs;
  for (const json::Value& config : valid_configs(ignition::kLatestVersion, 71, kMergedPairs)) {
    configs.push_back(*ignition::raise_as_operator(config, ignition::kLatestVersion));
  }
  std::vector<std::string> pairs;
  for (std::size_t i = 0; i + 1 < configs.size(); ++i) {
    pairs.push_back(json::write(json::Object{{"parent", configs[i]}, {"child", configs[i + 1]}}));
  }
  const auto outcomes = judge({(*programs / "judge-ignition2").string(), "merge"}, pairs);
  ASSERT_EQ(outcomes.size(), pairs.size());
  Comparison comparison("merges");
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    comparison.add(*json::parse(pairs[i]), outcomes[i], ignition::merge(configs[i], configs[i + 1]));
  }
  EXPECT_GT(comparison.alike(), kMergedPairs / 10);
}

}  // namespace
}  // namespace strake::test
