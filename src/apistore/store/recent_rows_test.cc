#include "apistore/store/recent_rows.h"

#include <gtest/gtest.h>

namespace strake::apistore::recent_rows_test {

const StoreKey kNamespace{"namespaces", "", "default"};
const StoreKey kPod{"pods", "default", "web"};

Row row_of(const StoreKey& key, Revision revision, std::string text = "{}") {
  return {key.ns, key.name, "uid", revision, std::move(text)};
}

StoreEventPtr change_of(const StoreKey& key, Revision revision, ChangeType type = ChangeType::kUpdated) {
  auto event = std::make_shared<StoreEvent>();
  event->key = key;
  event->revision = revision;
  event->type = type;
  event->uid = "uid";
  event->object = "{}";
  return event;
}

/// 0 when the database must be asked.
Revision known(RecentRows& rows, const StoreKey& key) {
  const auto row = rows.find(key).row;
  return row ? row->revision : 0;
}

TEST(RecentRows, KnowsWhatWasCommittedAndForgetsWhatIsGone) {
  RecentRows rows(1 << 20);
  rows.begin_commit({change_of(kPod, 2), change_of(kNamespace, 3), change_of(kPod, 4)});
  rows.end_commit({change_of(kPod, 2), change_of(kNamespace, 3), change_of(kPod, 4)});
  EXPECT_EQ(known(rows, kPod), 4);
  EXPECT_EQ(known(rows, kNamespace), 3);
  rows.begin_commit({change_of(kPod, 5, ChangeType::kDeleted)});
  rows.end_commit({change_of(kPod, 5, ChangeType::kDeleted)});
  EXPECT_EQ(known(rows, kPod), 0);
  EXPECT_EQ(known(rows, kNamespace), 3);
}

TEST(RecentRows, SaysNothingOfAKeyWhileItsCommitIsUnderWayOrAfterItFailed) {
  RecentRows rows(1 << 20);
  rows.learn(kPod, row_of(kPod, 2), rows.find(kPod).moment);
  rows.learn(kNamespace, row_of(kNamespace, 1), rows.find(kNamespace).moment);
  rows.begin_commit({change_of(kPod, 3)});
  EXPECT_EQ(known(rows, kPod), 0) << "a list may already show revision 3";
  EXPECT_EQ(known(rows, kNamespace), 1);
  rows.end_commit({});
  EXPECT_EQ(known(rows, kPod), 0) << "whether the commit reached the disk is not known here";
}

TEST(RecentRows, AReadThatACommitOvertookIsNotTakenIn) {
  RecentRows rows(1 << 20);
  const auto before = rows.find(kPod).moment;
  rows.begin_commit({change_of(kPod, 3)});
  const auto during = rows.find(kPod).moment;
  rows.learn(kPod, row_of(kPod, 2), before);
  rows.learn(kPod, row_of(kPod, 2), during);
  EXPECT_EQ(known(rows, kPod), 0);
  rows.end_commit({change_of(kPod, 3)});
  rows.learn(kPod, row_of(kPod, 2), before);
  rows.learn(kPod, row_of(kPod, 2), during);
  EXPECT_EQ(known(rows, kPod), 3);
}

TEST(RecentRows, KeepsWhatWasUsedLastWithinItsLimit) {
  RecentRows rows(100'000);
  const auto learn = [&](const std::string& name, std::size_t size) {
    const StoreKey key{"pods", "default", name};
    rows.learn(key, row_of(key, 1, std::string(size, 'x')), rows.find(key).moment);
  };
  const auto has = [&](const std::string& name) { return known(rows, {"pods", "default", name}) != 0; };
  learn("huge", 50'000);
  EXPECT_FALSE(has("huge")) << "one object would push out all others";
  learn("used", 10'000);
  learn("unused", 10'000);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(has("used")) << i;
    learn("other-" + std::to_string(i), 10'000);
  }
  EXPECT_FALSE(has("unused"));
  EXPECT_TRUE(has("other-19"));
}

}  // namespace strake::apistore::recent_rows_test
