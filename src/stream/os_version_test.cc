#include "stream/os_version.h"

#include <gtest/gtest.h>

namespace strake::stream::os_version_test {

TEST(OsVersion, EveryEra) {
  struct Case {
    const char* text;
    const char* described;
  };
  const Case cases[] = {
      {"9.8.20260428-0", "RHEL 9.8, built 2026-04-28"},
      {"10.2.20260715-0", "RHEL 10.2, built 2026-07-15"},
      {"9.6.202511230103-0", "RHEL 9.6, built 2025-11-23"},
      {"415.92.202311241643-0", "RHEL 9.2 of OpenShift 4.15, built 2023-11-24"},
      {"410.84.202205191234-0", "RHEL 8.4 of OpenShift 4.10, built 2022-05-19"},
      {"48.84.202208021106-0", "RHEL 8.4 of OpenShift 4.8, built 2022-08-02"},
      {"417.810.202408270000-0", "RHEL 8.10 of OpenShift 4.17, built 2024-08-27"},
      {"420.100.202506010101-0", "RHEL 10.0 of OpenShift 4.20, built 2025-06-01"},
      {"413.9.202302130811-0", "CentOS Stream 9 of OpenShift 4.13, built 2023-02-13"},
      {"43.81.201912131630.0", "RHEL 8.1 of OpenShift 4.3, built 2019-12-13"},
      {"42.80.20190725.1", "RHEL 8.0 of OpenShift 4.2, built 2019-07-25"},
      {"410.8.20190520.0", "RHEL 8 of OpenShift 4.1, built 2019-05-20"},
      {"37.20230401.3.0", "Fedora 37, built 2023-04-01"},
      {"9.8.20260428", "RHEL 9.8, built 2026-04-28"},
      {"9.6.2026030314", "RHEL 9.6, built 2026-03-03"},
      {"4.18.2026012111", "for OpenShift 4.18, built 2026-01-21"},
  };
  for (const Case& c : cases) {
    const Result<OsVersion> version = OsVersion::parse(c.text);
    ASSERT_TRUE(version.ok()) << version.error().to_string();
    EXPECT_EQ(version->describe(), c.described) << c.text;
    EXPECT_EQ(os_version_note(c.text), fmt::format(" ({})", c.described));
  }
}

TEST(OsVersion, OtherTextsAreRefused) {
  for (const char* text : {"",
                           "9",
                           "9.8",
                           "4.16.3",
                           "9.8.20260428-",
                           "9.8.20260428-0-1",
                           "9.8-20260428.0",
                           "9.8.20260428-0.1",
                           "9.8.20260231-0",
                           "9.8.00000428-0",
                           "9.8.2026042824-0",
                           "9.8.202604282360-0",
                           "9.8.2026042-0",
                           "a.8.20260428-0",
                           "9.8.20260428-x",
                           " 9.8.20260428-0",
                           "9.8.20260428-0\n",
                           "9..20260428-0",
                           "99999999999.8.20260428-0",
                           "37.20230401.3",
                           "37.20230401.3.0.0",
                           "40.20240502.0",
                           "-9.8.20260428-0"}) {
    const Result<OsVersion> version = OsVersion::parse(text);
    EXPECT_FALSE(version.ok()) << text;
    EXPECT_EQ(os_version_note(text), "") << text;
  }
  EXPECT_FALSE(OsVersion::parse("9.8.20260428-" + std::string(kMaxOsVersionBytes, '0')).ok());
}

TEST(OsVersion, OlderIsLess) {
  using Order = std::partial_ordering;
  struct Case {
    const char* a;
    const char* b;
    Order order;
  };
  const Case cases[] = {
      {"9.6.20260428-0", "9.8.20251001-0", Order::less},
      {"9.8.20260428-0", "9.10.20260428-0", Order::less},
      {"9.8.20260428-0", "9.8.20260428-1", Order::less},
      {"9.8.20260428-9", "9.8.20260428-10", Order::less},
      {"415.92.202311241643-0", "9.8.20260428-0", Order::less},
      // One RHEL in two numberings: the day decides, also where one of them says the minute.
      {"418.94.202501221327-0", "419.94.202501221327-0", Order::equivalent},
      {"9.4.20250122-0", "418.94.202501221327-5", Order::equivalent},
      {"9.4.20250123-0", "418.94.202501221327-0", Order::greater},
      {"42.80.20190725.1", "410.84.202205191234-0", Order::less},
      {"410.8.20190520.0", "42.80.20190725.1", Order::less},
      {"9.8.20260428", "9.8.20260428-3", Order::equivalent},
      {"9.6.2026030314", "9.6.20260303-0", Order::equivalent},
      {"4.18.2026012111", "9.6.20251212-1", Order::greater},
      {"4.17.2026012111", "418.94.202501221327-0", Order::less},
      {"37.20230401.3.0", "37.20230401.3.1", Order::less},
      {"37.20230401.3.0", "38.20230101.3.0", Order::less},
      {"37.20230401.3.0", "37.20230401.2.0", Order::unordered},
      {"37.20230401.3.0", "9.8.20260428-0", Order::unordered},
  };
  for (const Case& c : cases) {
    const Result<OsVersion> a = OsVersion::parse(c.a);
    const Result<OsVersion> b = OsVersion::parse(c.b);
    ASSERT_TRUE(a.ok() && b.ok()) << c.a << " and " << c.b;
    EXPECT_TRUE((*a <=> *b) == c.order) << c.a << " and " << c.b;
    EXPECT_TRUE((*b <=> *a) == (0 <=> c.order)) << c.b << " and " << c.a;
    EXPECT_TRUE(*a == *a);
  }
}

}  // namespace strake::stream::os_version_test
