#include "machineconfig/impact/registries_change.h"

#include <gtest/gtest.h>

namespace strake::machineconfig::registries_change_test {

TEST(RegistriesChange, SafeOnlyWhenNothingPulledTodayMoves) {
  const std::string base = R"(unqualified-search-registries = ["registry.access.redhat.com", "docker.io"]
[[registry]]
  prefix = "example.com"
  location = "example.com"
  [[registry.mirror]]
    location = "mirror.example.com"
)";
  const std::string digest_registry = R"([[registry]]
  location = "new.example.com"
  mirror-by-digest-only = true
)";
  struct Case {
    const char* name;
    std::string before;
    std::string after;
    bool safe;
    const char* why;
  };
  const auto replaced = [&](std::string_view what, std::string_view with) {
    std::string text = base;
    text.replace(text.find(what), what.size(), with);
    return text;
  };
  const char* kSafe = "it only adds what is pulled by digest or asked last";
  const Case cases[] = {
      {"nothing", base, base, true, kSafe},
      {"the file appears, empty", "", "", true, kSafe},
      {"a search registry is appended", base, replaced(R"("docker.io"])", R"("docker.io", "quay.io"])"), true, kSafe},
      {"a search registry is removed", base, replaced(R"(, "docker.io")", ""), false,
       "an unqualified-search registry was removed"},
      {"search registries are reordered", base,
       replaced(R"("registry.access.redhat.com", "docker.io")", R"("docker.io", "registry.access.redhat.com")"), false,
       "the order of the unqualified-search registries changed"},
      {"a search registry goes first", base, replaced(R"(["reg)", R"(["quay.io", "reg)"), false,
       "the order of the unqualified-search registries changed"},
      {"a digest-only registry is added", base, base + digest_registry, true, kSafe},
      {"a registry without mirrors is added", base, base + "[[registry]]\nlocation = \"new.example.com\"\n", false,
       "registry new.example.com was added and serves tags too"},
      {"mirrors speak for themselves", base, base + digest_registry + "[[registry.mirror]]\nlocation = \"m\"\n", false,
       "registry new.example.com was added and serves tags too"},
      {"an added registry whose mirrors are digest-only", base,
       base + "[[registry]]\nlocation = \"n\"\n[[registry.mirror]]\nlocation = \"m\"\npull-from-mirror = "
              "\"digest-only\"\n",
       true, kSafe},
      {"a registry is removed", base + digest_registry, base, false, "registry new.example.com was removed"},
      {"the file goes", base, "", false, "an unqualified-search registry was removed"},
      {"another prefix is another registry", base, replaced(R"(prefix = "example.com")", R"(prefix = "other.com")"),
       false, "registry example.com was removed"},
      {"a prefix equal to the location is written down", "[[registry]]\nlocation = \"a\"\n",
       "[[registry]]\nlocation = \"a\"\nprefix = \"a\"\n", false, "registry a has another prefix"},
      {"another location", base, replaced(R"( location = "example.com")", R"( location = "b.com")"), false,
       "registry example.com has another location"},
      {"blocked", base, replaced("  [[registry.mirror]]", "  blocked = true\n  [[registry.mirror]]"), false,
       "registry example.com has another blocked flag"},
      {"insecure", base, replaced("  [[registry.mirror]]", "  insecure = true\n  [[registry.mirror]]"), false,
       "registry example.com has another insecure flag"},
      {"mirror-by-digest-only alone does not matter", base,
       replaced("  [[registry.mirror]]", "  mirror-by-digest-only = true\n  [[registry.mirror]]"), true, kSafe},
      {"a mirror is removed", base, base.substr(0, base.find("  [[registry.mirror]]")), false,
       "mirror mirror.example.com of registry example.com was removed"},
      {"a mirror for tags is added", base, base + "[[registry.mirror]]\nlocation = \"m2\"\n", false,
       "mirror m2 was added to registry example.com and serves tags too"},
      {"a digest-only mirror is added", base,
       base + "[[registry.mirror]]\nlocation = \"m2\"\npull-from-mirror = \"digest-only\"\n", true, kSafe},
      {"a mirror is added to a digest-only registry", base,
       replaced("  [[registry.mirror]]", "  mirror-by-digest-only = true\n  [[registry.mirror]]") +
           "[[registry.mirror]]\nlocation = \"m2\"\n",
       true, kSafe},
      {"a mirror becomes digest-only", base, base + "pull-from-mirror = \"digest-only\"\n", true, kSafe},
      {"a mirror becomes tag-only", base, base + "pull-from-mirror = \"tag-only\"\n", false,
       "mirror mirror.example.com of registry example.com has another pull-from-mirror"},
      {"a mirror's insecure does not matter", base, base + "insecure = true\n", true, kSafe},
      {"other keys do not matter", base, "short-name-mode = \"enforcing\"\n" + base, true, kSafe},
      {"an old file nobody can read", "not toml", base, false,
       "the old /etc/containers/registries.conf is not TOML, so nobody can tell"},
  };
  for (const Case& c : cases) {
    const auto change = judge_registries_change(c.before, c.after);
    ASSERT_TRUE(change.ok()) << c.name << ": " << change.error().to_string();
    EXPECT_EQ(change->safe, c.safe) << c.name << ": " << change->why;
    EXPECT_EQ(change->why, c.why) << c.name;
  }
}

TEST(RegistriesChange, NewTextThatIsNoTomlIsAnErrorWithItsPlace) {
  EXPECT_EQ(judge_registries_change("", "[[registry]\n").error().to_string(),
            "/etc/containers/registries.conf of the new config: line 1, column 11: the table name should end with "
            "']]', but there is ']'");
}

}  // namespace strake::machineconfig::registries_change_test
