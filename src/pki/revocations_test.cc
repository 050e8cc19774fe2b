#include "pki/revocations.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/time.h"
#include "support/temp_dir.h"

namespace strake::pki::revocations_test {

using namespace std::chrono_literals;

const WallTime kNow = *parse_rfc3339("2026-03-01T12:00:00Z");

class RevocationsTest : public testing::Test {
 protected:
  test::TempDir dir_;
  std::filesystem::path path_ = dir_ / "revoked.json";
  Revocations list_{path_};
};

TEST_F(RevocationsTest, AreSeenByEveryProcessAndAfterARestart) {
  EXPECT_FALSE(list_.why_revoked("4c01")->has_value());
  Revocations other(path_);
  ASSERT_TRUE(other.revoke({"4c01", kNow + 1h, "the laptop was stolen"}, kNow).ok());
  ASSERT_TRUE(other.revoke({"4c02", kNow + 9h, "replaced"}, kNow).ok());
  EXPECT_EQ(list_.why_revoked("4c01")->value(), "the laptop was stolen");
  EXPECT_FALSE(list_.why_revoked("4c")->has_value());
  struct stat info{};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST_F(RevocationsTest, AreDroppedOnceTheCertificateHasEndedAnyway) {
  ASSERT_TRUE(list_.revoke({"4c01", kNow + 1h, ""}, kNow).ok());
  ASSERT_TRUE(list_.revoke({"4c02", kNow + 9h, ""}, kNow + 2h).ok());
  EXPECT_FALSE(list_.why_revoked("4c01")->has_value());
  EXPECT_TRUE(list_.why_revoked("4c02")->has_value());
}

TEST_F(RevocationsTest, ADamagedListIsAnErrorAndIsNamed) {
  for (const char* text : {"{", "{}", R"({"revoked":[{"serial":"XY","expires":"2026-03-01T12:00:00Z"}]})",
                           R"({"revoked":[{"serial":"4c","expires":"soon"}]})"}) {
    ASSERT_TRUE(write_file_atomic(path_, text, 0600).ok());
    const auto reason = list_.why_revoked("4c");
    ASSERT_FALSE(reason.ok()) << text;
    EXPECT_NE(reason.error().to_string().find(path_.string()), std::string::npos) << reason.error().to_string();
    EXPECT_FALSE(list_.revoke({"4d", kNow + 1h, ""}, kNow).ok()) << "nothing is written over what cannot be read";
  }
  EXPECT_EQ(Revocations(dir_ / "other").revoke({"4C:01", kNow, ""}, kNow).error().code(), Code::kInvalidArgument);
}

}  // namespace strake::pki::revocations_test
