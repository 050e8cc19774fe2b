#include "release/release_order.h"

#include <gtest/gtest.h>

#include "api/kinds.h"

namespace strake::release::release_order_test {

TEST(ReleaseOrder, Table) {
  struct Case {
    const char* name;
    const char* installed;
    const char* present;
    const char* version;
    bool forward;          ///< without a word
    bool with_permission;  ///< with --allow-downgrade
  };
  constexpr Case kCases[] = {
      {"first", "", "", "4.21.0", true, true},
      {"forward", "4.20.0", "4.20.5", "4.21.0", true, true},
      {"the same again", "4.20.0", "4.20.5", "4.20.5", true, true},
      {"back", "4.20.0", "4.20.5", "4.20.4", false, true},
      {"back to the beginning", "4.20.0", "4.20.5", "4.20.0", false, true},
      {"before the beginning", "4.20.0", "4.20.5", "4.19.9", false, false},
      {"a candidate of the present one", "4.20.0", "4.20.5", "4.20.5-rc.1", false, true},
      {"a candidate of the first one", "4.20.0", "4.20.5", "4.20.0-rc.1", false, false},
      {"numbers, not letters", "4.9.0", "4.9.0", "4.10.0", true, true},
      {"no version", "4.20.0", "4.20.5", "nightly", false, true},
      {"after no version", "nightly", "nightly", "4.20.0", false, true},
  };
  for (const Case& each : kCases) {
    const ReleaseHistory history{each.present, each.installed};
    const Status plain = check_release_order(history, each.version, false);
    EXPECT_EQ(plain.ok(), each.forward) << each.name;
    EXPECT_EQ(check_release_order(history, each.version, true).ok(), each.with_permission) << each.name;
    if (!plain.ok()) {
      EXPECT_EQ(plain.error().verdict(), Verdict::kBlocked) << each.name;
    }
  }
}

TEST(ReleaseOrder, TheBeginningIsTheOldestThatIsKnown) {
  EXPECT_EQ(release_history(nullptr, nullptr).installed, "");
  kube::Object controller(api::kControllerConfig, {"", "machine-config-controller"});
  controller.set_annotation("machineconfiguration.openshift.io/release-image-version", "4.20.5");
  EXPECT_EQ(release_history(&controller, nullptr).installed, "4.20.5");
  kube::Object platform(api::kClusterVersion, {"", "version"});
  json::ensure(platform.json(), {"status", "history"}) =
      json::Array{json::Object{{"version", "4.20.5"}}, json::Object{{"version", "4.18.1"}}};
  EXPECT_EQ(release_history(&controller, &platform).installed, "4.18.1");
  controller.set_annotation("strake.dev/installed-version", "4.19.2");
  EXPECT_EQ(release_history(&controller, &platform).installed, "4.19.2");
}

}  // namespace strake::release::release_order_test
