#include "base/time.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace strake::time_test {

TEST(Time, FormatsAndParsesRfc3339) {
  const auto parsed = parse_rfc3339("2026-02-03T04:05:06.789012Z");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(format_rfc3339(*parsed), "2026-02-03T04:05:06Z");
  EXPECT_EQ(format_rfc3339_micros(*parsed), "2026-02-03T04:05:06.789012Z");
  const auto offset = parse_rfc3339("2026-02-03T04:05:06+01:30");
  ASSERT_TRUE(offset.ok());
  EXPECT_EQ(format_rfc3339(*offset), "2026-02-03T02:35:06Z");
}

TEST(Time, YearsBeyondTheClockBecomeTheNearestItHolds) {
  for (const char* never : {"9999-12-31T23:59:59.999999999Z", "4052-01-01T00:00:00-23:59"}) {
    const auto parsed = parse_rfc3339(never);
    ASSERT_TRUE(parsed.ok()) << never;
    EXPECT_GT(*parsed, *parse_rfc3339("2262-04-01T00:00:00Z")) << never;
  }
  EXPECT_LT(*parse_rfc3339("0001-01-01T00:00:00Z"), *parse_rfc3339("1678-01-01T00:00:00Z"));
}

TEST(Time, RefusesWhatIsNotATime) {
  for (const char* bad : {"", "2026-02-30T00:00:00Z", "2026-02-03", "2026-02-03T24:00:00Z", "2026-02-03T00:00:00",
                          "2026-02-03T00:00:00.Z", "2026-02-03T00:00:00Zjunk", "-026-02-03T00:00:00Z"}) {
    const auto parsed = parse_rfc3339(bad);
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_EQ(parsed.error().code(), Code::kInvalidArgument);
  }
}

TEST(Random, SeededSequencesRepeatAndUuidsHaveTheirShape) {
  SeededRandom first(42), second(42);
  EXPECT_EQ(first.uuid(), second.uuid());
  const std::string uuid = first.uuid();
  ASSERT_EQ(uuid.size(), 36u);
  EXPECT_EQ(uuid[14], '4');
  EXPECT_NE(std::string("89ab").find(uuid[19]), std::string::npos);
  EXPECT_EQ(first.name_suffix(5).size(), 5u);
}

TEST(Error, ContextsReadFromTheOutside) {
  const Result<int> failed = Result<int>(error(Code::kCorrupt, "digest mismatch")).context("reading layer {}", 3);
  const Error whole = Error(failed.error()).context("applying release");
  EXPECT_EQ(whole.to_string(), "applying release: reading layer 3: digest mismatch");
  EXPECT_EQ(Error(whole).followed_by(error(Code::kIo, "disk full")).to_string(),
            "applying release: reading layer 3: digest mismatch (then, while cleaning up: disk full)");
}

}  // namespace strake::time_test
