#include "oci/reference.h"

#include <gtest/gtest.h>

namespace strake::oci::reference_test {

const std::string kDigest = "sha256:" + std::string(64, 'a');

TEST(Reference, IsCompletedAsContainerToolsDo) {
  struct Case {
    const char* name;
    std::string text;
    std::string registry, repository, tag;
    bool has_digest = false;
  };
  const Case cases[] = {
      {"short name", "busybox", "docker.io", "library/busybox", ""},
      {"short name with tag", "busybox:1.36", "docker.io", "library/busybox", "1.36"},
      {"namespace", "fedora/ssh", "docker.io", "fedora/ssh", ""},
      {"old name of the default registry", "index.docker.io/busybox", "docker.io", "library/busybox", ""},
      {"explicit default registry", "docker.io/busybox", "docker.io", "library/busybox", ""},
      {"host", "quay.io/openshift/origin:4.20", "quay.io", "openshift/origin", "4.20"},
      {"one component on another registry", "quay.io/os", "quay.io", "os", ""},
      {"localhost", "localhost/os", "localhost", "os", ""},
      {"capitals make a host", "REGISTRY/os", "REGISTRY", "os", ""},
      {"port", "registry:5000/os", "registry:5000", "os", ""},
      {"IPv4 with port", "127.0.0.1:5000/a/b:t", "127.0.0.1:5000", "a/b", "t"},
      {"IPv6", "[::1]/os", "[::1]", "os", ""},
      {"IPv6 with port", "[2001:db8::1]:5000/os:v1", "[2001:db8::1]:5000", "os", "v1"},
      {"digest", "quay.io/os@" + kDigest, "quay.io", "os", "", true},
      {"tag and digest", "quay.io/os:v1@" + kDigest, "quay.io", "os", "v1", true},
      {"separators", "a.b/c__d-e--f/g_h.i", "a.b", "c__d-e--f/g_h.i", ""},
      {"tag that looks like a port", "registry:5000", "docker.io", "library/registry", "5000"},
  };
  for (const Case& c : cases) {
    const Result<Reference> reference = parse_reference(c.text);
    ASSERT_TRUE(reference.ok()) << c.name << ": " << reference.error().to_string();
    EXPECT_EQ(reference->registry, c.registry) << c.name;
    EXPECT_EQ(reference->repository, c.repository) << c.name;
    EXPECT_EQ(reference->tag, c.tag) << c.name;
    EXPECT_EQ(reference->digest.has_value(), c.has_digest) << c.name;
    const Result<Reference> again = parse_reference(reference->to_string());
    ASSERT_TRUE(again.ok()) << c.name;
    EXPECT_EQ(*again, *reference) << c.name;
  }
}

TEST(Reference, WhatTheRegistryIsAskedFor) {
  EXPECT_EQ(parse_reference("busybox")->tag_or_digest(), "latest");
  EXPECT_EQ(parse_reference("busybox:1")->tag_or_digest(), "1");
  EXPECT_EQ(parse_reference("busybox:1@" + kDigest)->tag_or_digest(), kDigest);
}

TEST(Reference, RefusesWithTheWrongPart) {
  struct Case {
    const char* name;
    std::string text;
    const char* mentions;
  };
  const Case cases[] = {
      {"empty", "", "empty"},
      {"capitals in the repository", "quay.io/OS", "repository 'OS'"},
      {"double slash", "quay.io//os", "repository"},
      {"trailing slash", "quay.io/os/", "repository"},
      {"dot segment", "quay.io/../os", "repository"},
      {"three underscores", "quay.io/a___b", "repository"},
      {"two dots", "quay.io/a..b", "repository"},
      {"leading separator", "quay.io/-a", "repository"},
      {"empty tag", "quay.io/os:", "tag ''"},
      {"tag with a slash is a port that is none", "quay.io:x/os", "'quay.io:x'"},
      {"long tag", "quay.io/os:" + std::string(129, 't'), "the tag"},
      {"port out of range", "quay.io:65536/os", "registry host"},
      {"port zero", "quay.io:0/os", "registry host"},
      {"bracket left open", "[::1/os", "registry host"},
      {"IPv6 zone", "[fe80::1%25eth0]/os", "registry host"},
      {"digest cut short", "quay.io/os@sha256:abc", "image reference"},
      {"digest of another kind", "quay.io/os@md5:" + std::string(32, 'a'), "image reference"},
      {"second digest", "quay.io/os@" + kDigest + "@" + kDigest, "image reference"},
      {"image id", std::string(64, 'b'), "64 hexadecimal"},
      {"long name", "quay.io/" + std::string(250, 'a'), "255"},
      {"long text", std::string(2000, 'a'), "more than 1024"},
      {"URL", "https://quay.io/os", "'https:'"},
      {"control character", "quay.io/o\ns", "repository"},
  };
  for (const Case& c : cases) {
    const Result<Reference> reference = parse_reference(c.text);
    ASSERT_FALSE(reference.ok()) << c.name << ": " << reference->to_string();
    EXPECT_NE(reference.error().to_string().find(c.mentions), std::string::npos)
        << c.name << ": " << reference.error().to_string();
  }
}

}  // namespace strake::oci::reference_test
