#include "ignition/config.h"

#include <gtest/gtest.h>

namespace strake::ignition::config_test {

json::Value from_text(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.ok()) << (value.ok() ? "" : value.error().to_string());
  return *std::move(value);
}

json::Value parsed(std::string_view text) {
  auto config = parse(from_text(text));
  EXPECT_TRUE(config.ok()) << (config.ok() ? "" : config.error().to_string());
  return config.ok() ? *std::move(config) : json::Value();
}

TEST(Ignition, NamesTheMemberThatIsWrong) {
  struct Case {
    const char* config;
    const char* message;
  };
  const Case cases[] = {
      {R"({})",
       "ignition.version: parsing Ignition config failed: invalid version. Supported spec versions: "
       "2.2,3.0,3.1,3.2,3.3,3.4,3.5: "
       "''"},
      {R"({"ignition":{"version":3.5}})", "ignition.version: expected a string, found number"},
      {R"({"ignition":{"version":"3.6.0"}})",
       "ignition.version: parsing Ignition config failed: unknown version. Supported spec versions: "
       "2.2,3.0,3.1,3.2,3.3,3.4,3.5: "
       "'3.6.0'"},
      {R"({"ignition":{"version":"2.3.0"}})", "ignition.version: parsing Ignition config failed: unknown version"},
      {R"({"ignition":{"version":"3.5.1"}})", "ignition.version: parsing Ignition config failed: unknown version"},
      {R"({"ignition":{"version":"2.2.0-dev"}})", "ignition.version: parsing Ignition config failed: unknown version"},
      {R"({"ignition":{"version":"21.0.0"}})", "ignition.version: parsing Ignition config failed: unknown version"},
      {R"({"ignition":{"version":"3.5.0"},"storage":{"files":{}}})", "storage.files: expected a list, found object"},
      {R"({"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"etc/x"}]}})",
       "storage.files[0].path: path not absolute: 'etc/x'"},
      {R"({"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/etc/../x"}]}})",
       "storage.files[0].path: path is not fully simplified"},
      {R"({"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/a"},{"path":"/a"}]}})",
       "storage.files[1]: duplicate entry defined: '/a'"},
      {R"({"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/a"}],"links":[{"path":"/a","target":"b"}]}})",
       "storage.links[0]: duplicate entry defined: '/a'"},
      {R"({"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/a","mode":4096}]}})",
       "storage.files[0].mode: illegal file mode: '4096'"},
      {R"({"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/a","contents":{"source":"data:;base64,!!"}}]}})",
       "storage.files[0].contents.source"},
      {R"({"ignition":{"version":"3.5.0"},"systemd":{"units":[{"name":"x"}]}})", "systemd.units[0].name"},
      {R"({"ignition":{"version":"3.5.0"},"systemd":{"units":[{"name":"x.service","dropins":[{"name":"a"}]}]}})",
       "systemd.units[0].dropins[0].name"},
      {R"([])", "expected an object, found array"},
  };
  for (const Case& test : cases) {
    const auto result = parse(from_text(test.config));
    ASSERT_FALSE(result.ok()) << test.config;
    EXPECT_EQ(result.error().to_string().find(test.message), 0u) << result.error().to_string();
  }
}

TEST(Ignition, MembersTheOwnVersionDoesNotKnowAreDropped) {
  const auto config = parsed(
      R"({"ignition":{"version":"3.2.0"},"kernelArguments":{"shouldExist":["a"]},"storage":{"files":[{"path":"/a","enable":true}]},"x":1})");
  EXPECT_EQ(json::write(config), R"({"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/a"}]}})");
}

TEST(Ignition, MergesTheWorkedExampleOfTheFacts) {
  const auto parent = parsed(R"({"ignition":{"version":"3.2.0"},
    "passwd":{"users":[{"name":"core","sshAuthorizedKeys":["k1","k2"]}]},
    "storage":{"files":[{"path":"/etc/b","mode":420,"contents":{"source":"data:,one"}},
      {"path":"/etc/a","contents":{"compression":"gzip","source":"","verification":{"hash":"sha256-0000000000000000000000000000000000000000000000000000000000000000"}}}]},
    "systemd":{"units":[{"name":"x.service","enabled":true,"contents":"[Unit]\n","dropins":[{"name":"10-a.conf","contents":"old"}]}]}})");
  const auto child = parsed(R"({"ignition":{"version":"3.5.0"},
    "passwd":{"users":[{"name":"core","passwordHash":"$6$x","sshAuthorizedKeys":["k3","k1"]}]},
    "storage":{"files":[{"path":"/etc/c","contents":{"source":"data:,three"}},{"path":"/etc/a","contents":{"source":"data:,two","compression":""}}]},
    "systemd":{"units":[{"name":"y.service","mask":true},{"name":"x.service","dropins":[{"name":"20-b.conf","contents":"b"},{"name":"10-a.conf","contents":"new"}]}]}})");
  EXPECT_EQ(json::write_canonical(merge(parent, child)), json::write_canonical(from_text(
                                                             R"({"ignition":{"version":"3.5.0"},
    "passwd":{"users":[{"name":"core","passwordHash":"$6$x","sshAuthorizedKeys":["k1","k2","k3"]}]},
    "storage":{"files":[{"path":"/etc/b","mode":420,"contents":{"source":"data:,one"}},
      {"path":"/etc/a","contents":{"compression":"","source":"data:,two","verification":{"hash":"sha256-0000000000000000000000000000000000000000000000000000000000000000"}}},
      {"path":"/etc/c","contents":{"source":"data:,three"}}]},
    "systemd":{"units":[{"name":"x.service","enabled":true,"contents":"[Unit]\n","dropins":[{"name":"10-a.conf","contents":"new"},{"name":"20-b.conf","contents":"b"}]},
      {"name":"y.service","mask":true}]}})")));
}

TEST(Ignition, AnEntryTheChildMovesToAnotherListOfItsGroupLeavesTheParents) {
  const auto parent = parsed(R"({"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/a"},{"path":"/b"}]},
    "kernelArguments":{"shouldExist":["quiet"]}})");
  const auto child = parsed(R"({"ignition":{"version":"3.5.0"},"storage":{"links":[{"path":"/a","target":"b"}]},
    "kernelArguments":{"shouldNotExist":["quiet"]}})");
  const auto merged = merge(parent, child);
  EXPECT_EQ(json::write(*json::find(merged, {"storage", "files"})), R"([{"path":"/b"}])");
  EXPECT_EQ(json::find(merged, {"kernelArguments", "shouldExist"}), nullptr);
}

/// Rendered names depend on these: the judge of rendered names found them, one by one.
TEST(Ignition, RaisesAnOlderSpecAsCoreosDoes) {
  struct Case {
    const char* name;
    const char* version;
    const char* section;
    const char* raised;
  };
  const Case cases[] = {
      {"a user without a name", "3.5.0", R"("passwd":{"users":[{"uid":1}]})",
       R"("passwd":{"users":[{"name":"","uid":1}]})"},
      {"a partition number of 0", "3.5.0",
       R"("storage":{"disks":[{"device":"/d","partitions":[{"label":"a","number":0}]}]})",
       R"("storage":{"disks":[{"device":"/d","partitions":[{"label":"a"}]}]})"},
      {"a link without a target", "3.2.0", R"("storage":{"links":[{"path":"/a"}]})",
       R"("storage":{"links":[{"path":"/a","target":""}]})"},
      {"an empty custom pin", "3.2.0", R"("storage":{"luks":[{"name":"a","device":"/d","clevis":{"custom":{}}}]})",
       R"("storage":{"luks":[{"clevis":{"custom":{"config":"","pin":""}},"device":"/d","name":"a"}]})"},
      {"a tang advertisement", "3.4.0",
       R"("storage":{"luks":[{"name":"a","device":"/d","clevis":{"tang":[{"url":"http://t","thumbprint":"x","advertisement":"{}"}]}}]})",
       R"("storage":{"luks":[{"clevis":{"tang":[{"thumbprint":"x","url":"http://t"}]},"device":"/d","name":"a"}]})"},
      {"the same in 3.5", "3.5.0",
       R"("storage":{"luks":[{"name":"a","device":"/d","clevis":{"tang":[{"url":"http://t","thumbprint":"x","advertisement":"{}"}]}}]})",
       R"("storage":{"luks":[{"clevis":{"tang":[{"advertisement":"{}","thumbprint":"x","url":"http://t"}]},"device":"/d","name":"a"}]})"},
  };
  for (const Case& test : cases) {
    const std::string given = fmt::format(R"({{"ignition":{{"version":"{}"}},{}}})", test.version, test.section);
    EXPECT_EQ(json::write_canonical(parsed(given)),
              fmt::format(R"({{"ignition":{{"version":"3.5.0"}},{}}})", test.raised))
        << test.name;
  }
}

TEST(Ignition, MergingTheEmptyConfigChangesNothing) {
  const auto config = parsed(R"({"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/a","mode":1}],
    "filesystems":[{"device":"/dev/x","format":"xfs","mountOptions":["ro"]}]}})");
  EXPECT_EQ(merge(config, empty_config()), config);
  EXPECT_EQ(json::write_canonical(merge(empty_config(), config)), json::write_canonical(config));
}

TEST(Ignition, DecodesFilesForANode) {
  const auto config = parsed(R"({"ignition":{"version":"3.5.0"},"storage":{"files":[
    {"path":"/etc/a","contents":{"source":"data:,hello%0A"},"mode":384,"user":{"id":7},"group":{"name":"wheel"}},{"path":"/etc/b"}]}})");
  const auto files = files_of(config);
  ASSERT_TRUE(files.ok());
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ((*files)[0].contents, "hello\n");
  EXPECT_EQ((*files)[0].mode, 0600u);
  EXPECT_EQ((*files)[0].user_id, 7);
  EXPECT_EQ((*files)[0].group_name, "wheel");
  EXPECT_EQ((*files)[1].mode, 0644u);
  const auto remote = parsed(
      R"({"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/a","contents":{"source":"https://x/y"}}]}})");
  EXPECT_EQ(files_of(remote).error().code(), Code::kUnsupported);
}

}  // namespace strake::ignition::config_test
