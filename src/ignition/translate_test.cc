#include "ignition/translate.h"

#include <gtest/gtest.h>

#include "codec/base64.h"
#include "codec/compress.h"
#include "codec/data_url.h"
#include "ignition/config.h"

namespace strake::ignition::translate_test {

json::Value value_of(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.ok()) << (value.ok() ? "" : value.error().to_string()) << "\n" << text;
  return value.ok() ? *std::move(value) : json::Value();
}

std::string canonical(std::string_view text) { return json::write_canonical(value_of(text)); }

std::string parsed(std::string_view text) {
  const auto config = parse(value_of(text));
  return config.ok() ? json::write_canonical(*config) : config.error().to_string();
}

std::string converted(std::string_view text, SpecVersion to) {
  const auto config = convert(value_of(text), to);
  return config.ok() ? json::write_canonical(*config) : config.error().to_string();
}

/// What the Machine Config Operator makes of spec 2.
TEST(IgnitionTranslate, RaisesSpec2AsTheOperator) {
  struct Case {
    std::string_view name;
    std::string_view config;
    std::string_view raised;  ///< or the start of the error
  };
  const Case cases[] = {
      {"nothing", R"({"ignition":{"version":"2.2.0"}})", R"({"ignition":{"version":"3.5.0"}})"},
      {"empty sections", R"({"ignition":{"version":"2.2.0"},"networkd":{},"passwd":{},"storage":{},"systemd":{}})",
       R"({"ignition":{"version":"3.5.0"}})"},
      {"repeated keys of core",
       R"({"ignition":{"version":"2.2.0"},"passwd":{"users":[{"name":"core","sshAuthorizedKeys":["5678","5678","abc"]}]}})",
       R"({"ignition":{"version":"3.5.0"},"passwd":{"users":[{"name":"core","sshAuthorizedKeys":["5678","abc"]}]}})"},
      {"several core users, the last one's password",
       R"({"ignition":{"version":"2.2.0"},"passwd":{"users":[{"name":"core","passwordHash":"a","sshAuthorizedKeys":["1","2"]},
          {"name":"core","passwordHash":"b","shell":"/bin/sh","sshAuthorizedKeys":["3","1"]}]}})",
       R"({"ignition":{"version":"3.5.0"},"passwd":{"users":[{"name":"core","passwordHash":"b","shell":"/bin/sh","sshAuthorizedKeys":["3","1","2"]}]}})"},
      {"another user", R"({"ignition":{"version":"2.2.0"},"passwd":{"users":[{"name":"admin"},{"name":"core"}]}})",
       "unexpected user with name: admin. Only core user is supported: passwd.users[0]"},
      {"files in reverse order, the last with a path wins",
       R"({"ignition":{"version":"2.2.0"},"storage":{"files":[
          {"filesystem":"root","path":"/etc/testfileconfig","mode":420,"contents":{"source":"data:,old"}},
          {"filesystem":"root","path":"/etc/other","mode":420},
          {"filesystem":"root","path":"/etc/testfileconfig","mode":420,"contents":{"source":"data:,new"}}]}})",
       R"({"ignition":{"version":"3.5.0"},"storage":{"files":[
          {"path":"/etc/testfileconfig","mode":420,"overwrite":true,"contents":{"source":"data:,new"}},
          {"path":"/etc/other","mode":420,"overwrite":true,"contents":{"source":""}}]}})"},
      {"units in reverse order, drop-ins of all",
       R"({"ignition":{"version":"2.2.0"},"systemd":{"units":[
          {"name":"unit.service","contents":"[A]\nB=old","dropins":[{"name":"one.conf","contents":"[A]\nB=old"}]},
          {"name":"first.service"},
          {"name":"unit.service","dropins":[{"name":"one.conf","contents":"[A]\nB=new"}]},
          {"name":"unit.service","contents":"[A]\nB=new","dropins":[{"name":"two.conf","contents":"[A]\nB=new"}]}]}})",
       R"({"ignition":{"version":"3.5.0"},"systemd":{"units":[
          {"name":"unit.service","contents":"[A]\nB=new","dropins":[{"name":"two.conf","contents":"[A]\nB=new"},{"name":"one.conf","contents":"[A]\nB=new"}]},
          {"name":"first.service"}]}})"},
      {"enable and enabled",
       R"({"ignition":{"version":"2.2.0"},"systemd":{"units":[{"name":"a.service","enable":true},
          {"name":"b.service","enable":true,"enabled":false},{"name":"c.service","mask":false,"contents":""}]}})",
       R"({"ignition":{"version":"3.5.0"},"systemd":{"units":[{"name":"c.service"},{"name":"b.service","enabled":false},{"name":"a.service","enabled":true}]}})"},
      {"2.0.0 has a mode and owners",
       R"({"ignition":{"version":"2.0.0"},"storage":{"files":[{"filesystem":"root","path":"/a"}]}})",
       R"({"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/a","mode":0,"overwrite":true,"user":{"id":0},"group":{"id":0},"contents":{"source":""}}]}})"},
      {"2.1.0 has a mode",
       R"({"ignition":{"version":"2.1.0"},"storage":{"files":[{"filesystem":"root","path":"/a"}],"directories":[{"filesystem":"root","path":"/d"}]}})",
       R"({"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/a","mode":0,"overwrite":true,"contents":{"source":""}}],"directories":[{"path":"/d","mode":0}]}})"},
      {"append",
       R"({"ignition":{"version":"2.2.0"},"storage":{"files":[{"filesystem":"root","path":"/a","append":true,"mode":420}]}})",
       R"({"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/a","mode":420,"overwrite":false,"append":[{"source":""}]}]}})"},
      {"a root filesystem vanishes",
       R"({"ignition":{"version":"2.2.0"},"storage":{"filesystems":[{"name":"root","path":"/"},{"name":"root","mount":{"device":"/dev/x","format":"xfs"}}]}})",
       R"({"ignition":{"version":"3.5.0"}})"},
      {"another filesystem",
       R"({"ignition":{"version":"2.2.0"},"storage":{"filesystems":[{"name":"data","mount":{"device":"/dev/x","format":"xfs"}}]}})",
       "spec 3.0.0 cannot express: storage.filesystems[0].name: where 'data' is mounted is not known"},
      {"a partition",
       R"({"ignition":{"version":"2.2.0"},"storage":{"disks":[{"device":"/dev/x","partitions":[{"number":1}]}]}})",
       "spec 3.0.0 cannot express: storage.disks[0].partitions: sizes are in sectors"},
      {"a disk without partitions",
       R"({"ignition":{"version":"2.2.0"},"storage":{"disks":[{"device":"/dev/x","wipeTable":true}]}})",
       R"({"ignition":{"version":"3.5.0"},"storage":{"disks":[{"device":"/dev/x","wipeTable":true}]}})"},
      {"networkd", R"({"ignition":{"version":"2.2.0"},"networkd":{"units":[{"name":"a.network"}]}})",
       "spec 3.0.0 cannot express: networkd.units: no such member"},
      {"a file below a link",
       R"({"ignition":{"version":"2.2.0"},"storage":{"links":[{"filesystem":"root","path":"/a","target":"b"}],"files":[{"filesystem":"root","path":"/a/b","mode":420}]}})",
       "spec 3.0.0 cannot express: storage.files[0].path: '/a/b' starts with a link of the config"},
      {"a file and a directory of one path",
       R"({"ignition":{"version":"2.2.0"},"storage":{"directories":[{"filesystem":"root","path":"/a"}],"files":[{"filesystem":"root","path":"//a","mode":420}]}})",
       "spec 3.0.0 cannot express: storage.files[0]: duplicate entry defined: '/a'"},
      {"config.append",
       R"({"ignition":{"version":"2.2.0","config":{"append":[{"source":"https://h/c","verification":{}}]},"timeouts":{"httpTotal":3}}})",
       R"({"ignition":{"version":"3.5.0","config":{"merge":[{"source":"https://h/c"}]},"timeouts":{"httpTotal":3}}})"},
      {"no filesystem", R"({"ignition":{"version":"2.2.0"},"storage":{"files":[{"path":"/a"}]}})",
       "storage.files[0].filesystem: no filesystem specified"},
  };
  for (const Case& test : cases) {
    const bool is_config = test.raised.starts_with('{');
    const std::string found = parsed(test.config);
    EXPECT_EQ(is_config ? found : found.substr(0, test.raised.size()),
              is_config ? canonical(test.raised) : std::string(test.raised))
        << test.name;
  }
}

TEST(IgnitionTranslate, EverySpecComesBackAsTheLatest) {
  for (const SpecVersion version : kKnownVersions) {
    EXPECT_EQ(parsed(fmt::format(R"({{"ignition":{{"version":"{}"}}}})", to_string(version))),
              R"({"ignition":{"version":"3.5.0"}})");
  }
  EXPECT_EQ(supported_versions(), "2.2,3.0,3.1,3.2,3.3,3.4,3.5");
}

/// The pointer config installers wrote until spec 3, converted with no more change than the spec demands.
TEST(IgnitionTranslate, ConvertsAStubMinimally) {
  EXPECT_EQ(
      converted(
          R"({"ignition":{"config":{"append":[{"source":"https://api-int.example:22623/config/worker","verification":{}}]},
             "security":{"tls":{"certificateAuthorities":[{"source":"data:text/plain;charset=utf-8;base64,YQ==","verification":{}}]}},
             "timeouts":{},"version":"2.2.0"},"networkd":{},"passwd":{},"storage":{},"systemd":{}})",
          {3, 1}),
      canonical(
          R"({"ignition":{"config":{"merge":[{"source":"https://api-int.example:22623/config/worker"}]},
             "security":{"tls":{"certificateAuthorities":[{"source":"data:text/plain;charset=utf-8;base64,YQ=="}]}},"version":"3.1.0"}})"));
}

TEST(IgnitionTranslate, ConvertKeepsOrderAndMeaningOfSpec2) {
  EXPECT_EQ(
      converted(
          R"({"ignition":{"version":"2.2.0"},"passwd":{"users":[{"name":"admin","create":{"uid":7,"groups":["wheel"]},"sshAuthorizedKeys":["a","a"]},{"name":"core"}]},
             "storage":{"files":[{"filesystem":"root","path":"/b","mode":420},{"filesystem":"root","path":"/a","mode":420}]},
             "systemd":{"units":[{"name":"b.service","enable":true},{"name":"a.service"}]}})",
          {3, 1}),
      canonical(
          R"({"ignition":{"version":"3.1.0"},"passwd":{"users":[{"name":"admin","uid":7,"groups":["wheel"],"sshAuthorizedKeys":["a"]},{"name":"core"}]},
             "storage":{"files":[{"path":"/b","mode":420,"overwrite":true,"contents":{"source":""}},{"path":"/a","mode":420,"overwrite":true,"contents":{"source":""}}]},
             "systemd":{"units":[{"name":"b.service","enabled":true},{"name":"a.service"}]}})"));
}

TEST(IgnitionTranslate, ConvertRefusesByNameWhatItWouldLose) {
  struct Case {
    std::string_view config;
    SpecVersion to;
    std::string_view refusal;
  };
  const Case cases[] = {
      {R"({"ignition":{"version":"2.2.0"},"storage":{"files":[{"filesystem":"root","path":"/a","mode":1},{"filesystem":"root","path":"/a","mode":1}]}})",
       {3, 1},
       "spec 3.0.0 cannot express: storage.files[1]: duplicate entry defined: '/a'"},
      {R"({"ignition":{"version":"2.2.0"},"storage":{"files":[{"filesystem":"oem","path":"/a","mode":1}],"filesystems":[{"name":"root","mount":{"device":"/dev/x","format":"xfs"}},{"name":"root","path":"/other"}]}})",
       {3, 1},
       "spec 3.0.0 cannot express: storage.files[0].filesystem: spec 3 writes below paths, and 'oem' has none; use "
       "root; storage.filesystems[0].mount: spec 3 does not make the root filesystem this way; "
       "storage.filesystems[1].path: the root filesystem is at /, not at '/other'"},
      {R"({"ignition":{"version":"2.2.0"},"storage":{"files":[{"filesystem":"root","path":"/a","mode":1,"contents":{"source":"oem:///x"}}]}})",
       {3, 1},
       "spec 3.0.0 cannot express: storage.files[0].contents.source: invalid url scheme"},
      {R"({"ignition":{"version":"3.2.0"},"storage":{"luks":[{"name":"l","device":"/dev/x"}],"files":[{"path":"/a"}]}})",
       {2, 2},
       "spec 2.2.0 cannot express: storage.files[0].contents.source: is not set, and spec 2 always writes a file's "
       "contents; storage.luks: no such member"},
      {R"({"ignition":{"version":"3.2.0","proxy":{"httpProxy":"http://p"},"config":{"merge":[{"source":"https://h/c","compression":"gzip","httpHeaders":[{"name":"a","value":"b"}]}]}}})",
       {2, 2},
       "spec 2.2.0 cannot express: ignition.config.merge[0].compression: no such member; "
       "ignition.config.merge[0].httpHeaders: no such member; ignition.proxy: no such member"},
      {R"({"ignition":{"version":"3.2.0"},"passwd":{"users":[{"name":"a","shouldExist":false}]},"storage":{"disks":[{"device":"/dev/x","partitions":[{"number":1,"sizeMiB":3,"resize":true}]}]}})",
       {2, 2},
       "spec 2.2.0 cannot express: passwd.users[0].shouldExist: spec 2 cannot remove anything; "
       "storage.disks[0].partitions[0].resize: no such member; storage.disks[0].partitions[0].sizeMiB: spec 2 counts "
       "sectors"},
      {R"({"ignition":{"version":"3.5.0"},"kernelArguments":{"shouldExist":["a"]}})",
       {2, 2},
       "spec 2.2.0 is made from 3.2.0: spec 3.2.0 cannot express: kernelArguments: no such member"},
      {R"({"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/a","contents":{"source":"gs://b/o"}}]}})",
       {2, 2},
       "spec 2.2.0 cannot express: storage.files[0].contents.source: invalid url scheme"},
      {R"({"ignition":{"version":"2.2.0"}})", {2, 1}, "spec 2.1.0 is read but not written"},
      {R"({"ignition":{"version":"2.2.0"}})", {3, 0}, "spec 3.0.0 is read but not written"},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(converted(test.config, test.to).substr(0, test.refusal.size()), test.refusal);
  }
}

TEST(IgnitionTranslate, LowersToSpec2) {
  EXPECT_EQ(
      converted(
          R"({"ignition":{"version":"3.5.0"},"storage":{"filesystems":[{"device":"/dev/v","format":"xfs","path":"/var"},{"device":"/dev/w","format":"ext4"}],
             "files":[{"path":"/var/a","mode":420,"contents":{"source":"data:,a"},"append":[{"source":"data:,b"}]},{"path":"/variable","overwrite":true,"contents":{"source":""}}],
             "directories":[{"path":"/var"}]},"passwd":{"users":[{"name":"core","shouldExist":true}]},"systemd":{"units":[{"name":"a.service","enabled":false}]}})",
          {2, 2}),
      canonical(
          R"({"ignition":{"version":"2.2.0"},"storage":{"filesystems":[{"name":"/var","mount":{"device":"/dev/v","format":"xfs"}},{"name":"1","mount":{"device":"/dev/w","format":"ext4"}}],
             "files":[{"filesystem":"/var","path":"/a","mode":420,"overwrite":false,"contents":{"source":"data:,a"}},
               {"filesystem":"/var","path":"/a","mode":420,"overwrite":false,"append":true,"contents":{"source":"data:,b"}},
               {"filesystem":"root","path":"/variable","overwrite":true}],
             "directories":[{"filesystem":"/var","path":"/"}]},"passwd":{"users":[{"name":"core"}]},"systemd":{"units":[{"name":"a.service","enabled":false}]}})"));
}

TEST(IgnitionTranslate, ConfigsComePlainGzippedOrInBase64) {
  const std::string plain =
      R"({"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/hello-worker","mode":420,"contents":{"source":"data:,hello%20world%0A"}}]}})";
  std::string wrapped = codec::encode_base64(codec::gzip(plain));
  EXPECT_EQ(*decode_config_bytes(wrapped), plain);
  wrapped.insert(40, "\n");
  for (const std::string& form : {plain, codec::gzip(plain), "\n" + wrapped + "\n"}) {
    const auto decoded = decode_config_bytes(form);
    ASSERT_TRUE(decoded.ok()) << decoded.error().to_string();
    EXPECT_EQ(*decoded, plain);
  }
  EXPECT_EQ(decode_config_bytes(codec::gzip(plain).substr(0, 30)).error().code(), Code::kCorrupt);
  EXPECT_EQ(decode_config_bytes("H4sI!").error().code(), Code::kInvalidArgument);
  EXPECT_EQ(decode_config_bytes(codec::gzip(std::string(65u << 20, ' '), 1)).error().code(), Code::kExhausted);
}

TEST(IgnitionTranslate, AFileOverridesAGzippedOne) {
  const json::Value parent = value_of(fmt::format(
      R"({{"ignition":{{"version":"3.5.0"}},"storage":{{"files":[{{"path":"/a","contents":{{"source":"{}","compression":"gzip"}}}}]}}}})",
      codec::encode_base64_data_url(codec::gzip("old"))));
  const json::Value child = value_of(
      R"({"ignition":{"version":"3.5.0"},"storage":{"files":[{"path":"/a","contents":{"source":"data:,hello%20world","compression":""}}]}})");
  const auto files = files_of(merge(*parse(parent), *parse(child)));
  ASSERT_TRUE(files.ok()) << files.error().to_string();
  EXPECT_EQ(files->at(0).contents, "hello world");
}

}  // namespace strake::ignition::translate_test
