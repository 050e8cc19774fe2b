#include "release/release_programs.h"

#include <gtest/gtest.h>

namespace strake::release::release_programs_test {

std::string placeholder(const std::string& name, std::size_t room) {
  return '\0' + name + '\0' + std::string(room, 'X') + '\0';
}
const std::string kVersion = placeholder("_RELEASE_VERSION_LOCATION_", 64);
const std::string kImage = placeholder("_RELEASE_IMAGE_LOCATION_", 300);

ReleasePayload payload() {
  const codec::Digest digest = codec::Digest::sha256_of("x");
  return {.version = "4.21.7",
          .digest = digest,
          .pull_spec = "quay.io/org/release@" + digest.to_string(),
          .components = {},
          .os_streams = {},
          .default_stream = {},
          .previous = {},
          .next = {},
          .boot_images = std::nullopt,
          .base_configs = {},
          .manifests = {}};
}

TEST(ReleasePrograms, WhereTheyLie) {
  struct Case {
    const char* name;
    const char* os;
    const char* arch;
    const char* place;
  };
  const Case cases[] = {
      {"oc", "linux", "arm64", "cli usr/bin/oc oc"},
      {"oc", "linux", "amd64", "cli-artifacts usr/share/openshift/linux_amd64/oc oc"},
      {"oc", "darwin", "amd64", "cli-artifacts usr/share/openshift/mac/oc oc"},
      {"oc", "windows", "amd64", "cli-artifacts usr/share/openshift/windows/oc.exe oc.exe"},
      {"openshift-install", "linux", "arm64", "installer usr/bin/openshift-install openshift-install"},
      {"openshift-baremetal-install", "linux", "arm64",
       "baremetal-installer usr/bin/openshift-install openshift-baremetal-install"},
      {"ccoctl", "linux", "arm64", "cloud-credential-operator usr/bin/ccoctl ccoctl"},
  };
  for (const Case& c : cases) {
    const auto found = find_program(c.name, c.os, c.arch, "arm64");
    ASSERT_TRUE(found.ok()) << found.error().to_string();
    EXPECT_EQ(fmt::format("{} {} {}", found->component, found->path, found->file_name), c.place);
  }
  const auto unknown = find_program("kubectl", "linux", "amd64", "amd64");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message().find("oc, oc.rhel8"), std::string::npos) << unknown.error().message();
  const auto elsewhere = find_program("openshift-install", "windows", "amd64", "amd64");
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_NE(elsewhere.error().message().find("linux/amd64"), std::string::npos) << elsewhere.error().message();
}

TEST(ReleasePrograms, PlaceholdersAreFoundHoweverTheBytesCome) {
  const auto stamps = stamps_for(payload(), {.names_release = true}, "arm64");
  ASSERT_EQ(stamps.size(), 3u);
  const std::string program =
      "\x7f"
      "ELF code" +
      kVersion + "more" + kImage + kVersion + "end";
  std::string expected = program;
  const auto set = [&](const std::string& marker, const std::string& value) {
    expected.replace(expected.find(marker), value.size() + 1, value + '\0');
  };
  set(kVersion, "4.21.7");
  set(kImage, payload().pull_spec);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{326}, program.size()}) {
    codec::StringSink written;
    StampingSink sink(written, stamps);
    for (std::size_t at = 0; at < program.size(); at += piece) {
      ASSERT_TRUE(codec::write(sink, std::string_view(program).substr(at, piece)).ok());
    }
    const auto all = sink.finish();
    ASSERT_TRUE(all.ok());
    EXPECT_FALSE(*all) << "there is no place for the architecture";
    EXPECT_EQ(written.text(), expected) << piece;
  }
}

TEST(ReleasePrograms, WhatDoesNotFitIsRefused) {
  ReleasePayload long_name = payload();
  long_name.version = std::string(93, '9');
  codec::StringSink written;
  StampingSink sink(written, stamps_for(long_name, {}, "amd64"));
  const Status refused = codec::write(sink, kVersion);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kInvalidArgument);
}

}  // namespace strake::release::release_programs_test
