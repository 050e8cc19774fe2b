#include "pki/issued.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/time.h"
#include "support/temp_dir.h"

namespace strake::pki::issued_test {

using namespace std::chrono_literals;

const WallTime kNow = *parse_rfc3339("2026-03-01T12:00:00Z");

class IssuedTest : public testing::Test {
 protected:
  IssuedCredential some(const std::string& serial, WallTime expires = kNow + 24h) {
    IssuedCredential credential;
    credential.user = "strake:agent:w1";
    credential.groups = {"strake:agents"};
    credential.node = "w1";
    credential.issued = kNow;
    credential.current = {serial, expires, "signer", "trust"};
    return credential;
  }

  test::TempDir dir_;
  std::filesystem::path path_ = dir_ / "issued.json";
  IssuedCredentials issued_{path_};
  SeededRandom random_{1};
};

TEST_F(IssuedTest, WhatWasAddedIsFoundByEitherSerialAndByAnotherProcess) {
  const auto added = issued_.add(some("aa"), random_, kNow);
  ASSERT_TRUE(added.ok()) << added.error().to_string();
  IssuedCredential renewed = *added;
  renewed.previous = renewed.current;
  renewed.current = {"bb", kNow + 48h, "other", "list"};
  renewed.renewed = kNow + 1h;
  ASSERT_TRUE(issued_.update(renewed).ok());
  IssuedCredentials elsewhere(path_);
  for (const char* serial : {"aa", "bb"}) {
    const auto found = elsewhere.by_serial(serial);
    ASSERT_TRUE(found.ok() && found->has_value()) << serial;
    EXPECT_EQ((*found)->id, added->id);
    EXPECT_EQ((*found)->current.signer, "other");
    EXPECT_EQ((*found)->renewed, kNow + 1h);
    EXPECT_EQ((*found)->groups, std::vector<std::string>{"strake:agents"});
  }
  EXPECT_FALSE(elsewhere.by_serial("cc")->has_value());
  struct stat info{};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST_F(IssuedTest, OneCountsUntilItExpiresOrIsRevoked) {
  IssuedCredential credential = some("aa");
  EXPECT_TRUE(credential.counts_at(kNow + 23h));
  EXPECT_FALSE(credential.counts_at(kNow + 24h));
  credential.revoked = "stolen";
  EXPECT_FALSE(credential.counts_at(kNow));
}

TEST_F(IssuedTest, OnesThatEndedLongAgoAreDropped) {
  ASSERT_TRUE(issued_.add(some("aa", kNow + 1h), random_, kNow).ok());
  ASSERT_TRUE(issued_.add(some("bb", kNow + 24h * 60), random_, kNow + 24h * 10).ok());
  EXPECT_EQ(issued_.list()->size(), 2u);
  ASSERT_TRUE(issued_.add(some("cc"), random_, kNow + 24h * 40).ok());
  EXPECT_FALSE(issued_.by_serial("aa")->has_value());
  EXPECT_TRUE(issued_.by_serial("bb")->has_value());
}

TEST_F(IssuedTest, ADamagedFileIsAnErrorAndNotAnEmptyList) {
  for (const char* text : {"{", "{}", R"({"credentials":[{"id":"a"}]})",
                           R"({"credentials":[{"id":"a","user":"u","issued":"now","current":{"serial":"1"}}]})"}) {
    ASSERT_TRUE(write_file_atomic(path_, text, 0600).ok());
    const auto listed = IssuedCredentials(path_).list();
    ASSERT_FALSE(listed.ok()) << text;
    EXPECT_NE(listed.error().to_string().find("issued.json"), std::string::npos) << listed.error().to_string();
  }
}

TEST_F(IssuedTest, AnUnknownOneCannotBeChanged) {
  IssuedCredential credential = some("aa");
  credential.id = "nobody";
  EXPECT_EQ(issued_.update(credential).error().code(), Code::kNotFound);
}

}  // namespace strake::pki::issued_test
