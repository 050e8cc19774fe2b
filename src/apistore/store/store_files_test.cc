// The store's file: locks, damage, power loss, full disks, old tables.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "apistore/store/database.h"
#include "apistore/store/store.h"
#include "support/temp_dir.h"

namespace strake::apistore::store_files_test {

namespace fs = std::filesystem;

RevisionedText text_of(std::string_view value) { return {fmt::format(R"({{"value":"{}","rv":")", value), "\"}"}; }

Status put(Store& store, const std::string& name, std::string_view value) {
  return store.write([&](Txn& txn) -> Status {
    STRAKE_TRY(const Row written, txn.put({"nodes", "", name}, "uid", text_of(value)));
    EXPECT_GT(written.revision, 1);
    return {};
  });
}

/// n0, n1, ...: many objects for one fsync.
Status put_many(Store& store, int count, std::size_t size) {
  return store.write([&](Txn& txn) -> Status {
    for (int i = 0; i < count; ++i) {
      STRAKE_TRY(const Row written,
                 txn.put({"nodes", "", fmt::format("n{}", i)}, "uid", text_of(std::string(size, 'x'))));
      EXPECT_GT(written.revision, 1);
    }
    return {};
  });
}

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

class StoreFiles : public testing::Test {
 protected:
  Result<std::unique_ptr<Store>> open(std::uint64_t max_bytes = 0) {
    StoreOptions options;
    options.directory = directory_;
    options.max_bytes = max_bytes;
    return Store::open(runtime_, std::move(options));
  }
  /// As after a power loss: what is on disk now, without the process that wrote it.
  void take_over_copy() {
    const fs::path copy = dir_ / "copy";
    fs::create_directory(copy);
    for (const char* name : {"state.db", "state.db-wal"}) {
      if (fs::exists(directory_ / name)) fs::copy_file(directory_ / name, copy / name);
    }
    directory_ = copy;
  }

  test::TempDir dir_;
  runtime::ThreadRuntime runtime_;
  fs::path directory_ = dir_ / "store";
};

TEST_F(StoreFiles, KeepsObjectsHistoryAndRevisionAcrossRestarts) {
  {
    auto store = open();
    ASSERT_TRUE(store.ok()) << store.error().to_string();
    ASSERT_TRUE(put(**store, "a", "1").ok());
    ASSERT_TRUE(put(**store, "a", "2").ok());
  }
  auto store = open();
  ASSERT_TRUE(store.ok()) << store.error().to_string();
  EXPECT_EQ((*store)->revision(), 3);
  auto watch = (*store)->subscribe({.resource = "nodes", .ns = "", .after = 1, .ready = {}});
  ASSERT_TRUE(watch.ok());
  EXPECT_EQ((*(*watch)->try_next())->object, text_of("1").with(2));
  EXPECT_EQ((*(*watch)->try_next())->previous, text_of("1").with(2));
  EXPECT_EQ(*(*watch)->try_next(), nullptr);
  const ListQuery query{.resource = "nodes", .ns = "", .after = {}, .limit = 0, .at = 2};
  EXPECT_EQ((*store)->list(query)->rows.at(0).text, text_of("1").with(2));
}

TEST_F(StoreFiles, AreForTheirOwnerOnlyWhateverTheUmask) {
  const mode_t before = ::umask(0);
  for (const bool there_already : {false, true}) {
    if (there_already) {
      fs::permissions(directory_, fs::perms::all);
      fs::permissions(directory_ / "state.db", fs::perms::all);
    }
    auto store = open();
    ASSERT_TRUE(store.ok()) << store.error().to_string();
    ASSERT_TRUE(put(**store, "a", "1").ok());
    EXPECT_EQ(fs::status(directory_).permissions(), fs::perms::owner_all);
    for (const char* name : {"state.db", "state.db-wal", "state.db-shm", "lock"}) {
      EXPECT_EQ(fs::status(directory_ / name).permissions(), fs::perms::owner_read | fs::perms::owner_write) << name;
    }
  }
  ::umask(before);
}

TEST_F(StoreFiles, ASecondOpenerIsRefusedAndTheFirstIsUnharmed) {
  auto first = open();
  ASSERT_TRUE(first.ok());
  const auto second = open();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), Code::kDenied);
  EXPECT_EQ(second.error().reason(), "Locked");
  EXPECT_NE(second.error().to_string().find(directory_.string()), std::string::npos);
  EXPECT_NE(second.error().to_string().find(std::to_string(getpid())), std::string::npos) << second.error().to_string();
  EXPECT_TRUE(put(**first, "a", "1").ok());
  first->reset();
  EXPECT_TRUE(open().ok()) << "the lock goes with its holder";
}

TEST_F(StoreFiles, WhatWasAnsweredSurvivesPowerLoss) {
  auto store = open();
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE(put_many(**store, 499, 1).ok());
  ASSERT_TRUE(put(**store, "last", "1").ok());
  take_over_copy();
  auto survivor = open();
  ASSERT_TRUE(survivor.ok()) << survivor.error().to_string();
  EXPECT_EQ((*survivor)->revision(), 501);
  EXPECT_EQ((*survivor)->list({.resource = "nodes", .ns = "", .after = {}, .limit = 0, .at = {}})->rows.size(), 500u);
}

TEST_F(StoreFiles, PowerLossInTheMiddleOfWritingTheLogLosesOnlyWhatWasNotAnswered) {
  auto store = open();
  ASSERT_TRUE(store.ok());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(put(**store, fmt::format("n{}", i), std::string(3000, 'x')).ok());
  take_over_copy();
  const fs::path log = directory_ / "state.db-wal";
  fs::resize_file(log, fs::file_size(log) - 5000);
  auto survivor = open();
  ASSERT_TRUE(survivor.ok()) << survivor.error().to_string();
  const Revision revision = (*survivor)->revision();
  EXPECT_LT(revision, 21);
  EXPECT_GT(revision, 15);
  EXPECT_EQ((*survivor)->list({.resource = "nodes", .ns = "", .after = {}, .limit = 0, .at = {}})->rows.size(),
            static_cast<std::size_t>(revision - 1))
      << "objects and revision are of one commit";
}

struct Damage {
  const char* name;
  void (*apply)(const fs::path& file);
};

class StoreDamage : public StoreFiles, public testing::WithParamInterface<Damage> {};

TEST_P(StoreDamage, IsRefusedAndLeftAsItIs) {
  auto store = open();
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE(put_many(**store, 200, 2000).ok());
  const fs::path original = directory_;
  store->reset();
  store = open();  // folds the log in, then is "killed" by copying
  ASSERT_TRUE(store.ok());
  take_over_copy();
  GetParam().apply(directory_ / "state.db");
  const std::string before = bytes_of(directory_ / "state.db");
  const std::string log_before = bytes_of(directory_ / "state.db-wal");
  const auto refused = open();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kCorrupt) << refused.error().to_string();
  EXPECT_NE(refused.error().to_string().find("left as it is"), std::string::npos) << refused.error().to_string();
  EXPECT_EQ(bytes_of(directory_ / "state.db"), before);
  EXPECT_EQ(bytes_of(directory_ / "state.db-wal"), log_before);
}

INSTANTIATE_TEST_SUITE_P(Kinds, StoreDamage,
                         testing::Values(Damage{"NoDatabaseAtAll",
                                                [](const fs::path& file) {
                                                  std::ofstream(file, std::ios::trunc) << std::string(8192, 'z');
                                                }},
                                         Damage{"PagesOverwritten",
                                                [](const fs::path& file) {
                                                  std::fstream out(file,
                                                                   std::ios::in | std::ios::out | std::ios::binary);
                                                  out.seekp(8192);
                                                  out << std::string(8192 * 20, '\xa5');
                                                }},
                                         Damage{"CutOff",
                                                [](const fs::path& file) {
                                                  fs::remove(file.string() + "-wal");
                                                  fs::resize_file(file, fs::file_size(file) / 2);
                                                }}),
                         [](const auto& which) { return which.param.name; });

TEST_F(StoreFiles, ADatabaseOfAnotherProgramIsRefused) {
  fs::create_directory(directory_);
  {
    auto other = sqlite::Connection::open(directory_ / "state.db", sqlite::Mode::kReadWriteCreate);
    ASSERT_TRUE((*other)->execute("CREATE TABLE theirs(x); PRAGMA user_version=1").ok());
  }
  const auto refused = open();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kCorrupt) << refused.error().to_string();
}

TEST_F(StoreFiles, TablesOfANewerProgramAreRefused) {
  ASSERT_TRUE(open().ok());
  {
    auto newer = sqlite::Connection::open(directory_ / "state.db", sqlite::Mode::kReadWriteCreate);
    ASSERT_TRUE((*newer)->execute("PRAGMA user_version=999").ok());
  }
  const auto refused = open();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kUnsupported);
}

TEST_F(StoreFiles, EveryOlderVersionOfTheTablesReplaysToThePresentOne) {
  const auto schema_of = [](sqlite::Connection& connection) {
    return *connection.query_text("SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_master ORDER BY name)");
  };
  auto fresh = open_memory_database(0);
  ASSERT_TRUE(fresh.ok());
  const std::string expected = schema_of(**fresh);
  const auto scripts = database_migrations();
  for (std::size_t version = 0; version <= scripts.size(); ++version) {
    const fs::path file = dir_ / fmt::format("v{}.db", version);
    {
      auto old = sqlite::Connection::open(file, sqlite::Mode::kReadWriteCreate);
      ASSERT_TRUE(old.ok());
      for (std::size_t i = 0; i < version; ++i) ASSERT_TRUE((*old)->execute(scripts[i]).ok());
      ASSERT_TRUE(
          (*old)->execute(fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", 0x5354524b, version)).ok());
    }
    auto migrated = open_database(file, 0);
    ASSERT_TRUE(migrated.ok()) << "from version " << version << ": " << migrated.error().to_string();
    EXPECT_EQ(schema_of(**migrated), expected);
    EXPECT_EQ(*(*migrated)->query_integer("PRAGMA user_version"), static_cast<std::int64_t>(scripts.size()));
    EXPECT_EQ(*read_meta(**migrated, "revision"), 1);
  }
}

TEST_F(StoreFiles, AFullDiskIsToldAndNothingThatWasAnsweredIsLost) {
  std::size_t stored = 0;
  {
    auto store = open(600u << 10);
    ASSERT_TRUE(store.ok());
    Status status;
    while (true) {
      status = put(**store, fmt::format("n{}", stored), std::string(8000, 'x'));
      if (!status.ok()) break;
      ++stored;
      ASSERT_LT(stored, 10'000u);
    }
    EXPECT_EQ(status.error().code(), Code::kExhausted) << status.error().to_string();
    EXPECT_EQ(status.error().reason(), "StorageFull");
    EXPECT_GT(stored, 20u);
    EXPECT_EQ((*store)->revision(), static_cast<Revision>(stored) + 1);
    EXPECT_EQ((*store)->list({.resource = "nodes", .ns = "", .after = {}, .limit = 0, .at = {}})->rows.size(), stored);
    EXPECT_FALSE(put(**store, "again", std::string(20'000, 'x')).ok());
  }
  auto roomier = open();
  ASSERT_TRUE(roomier.ok()) << roomier.error().to_string();
  EXPECT_EQ((*roomier)->list({.resource = "nodes", .ns = "", .after = {}, .limit = 0, .at = {}})->rows.size(), stored);
  EXPECT_TRUE(put(**roomier, "more", "1").ok());
  EXPECT_EQ((*roomier)->revision(), static_cast<Revision>(stored) + 2) << "the failed writes used no revision";
}

TEST_F(StoreFiles, OnAFullDiskThoseOfABatchThatFitStillSucceed) {
  auto store = open(400u << 10);
  ASSERT_TRUE(store.ok());
  std::atomic<int> small_failures = 0;
  std::atomic<int> large_failures = 0;
  {
    std::vector<runtime::Task> tasks;
    for (int w = 0; w < 4; ++w) {
      tasks.push_back(runtime_.spawn("writer", [&, w](std::stop_token) {
        for (int i = 0; i < 20; ++i) {
          const bool large = w % 2 == 0;
          const Status done = put(**store, fmt::format("n{}-{}", w, i), std::string(large ? 300'000 : 100, 'x'));
          if (done.ok()) continue;
          EXPECT_EQ(done.error().code(), Code::kExhausted) << done.error().to_string();
          ++(large ? large_failures : small_failures);
        }
      }));
    }
    for (auto& task : tasks) task.join();
  }
  EXPECT_EQ(large_failures, 40);
  EXPECT_EQ(small_failures, 0);
  EXPECT_EQ((*store)->revision(), 41);
}

}  // namespace strake::apistore::store_files_test
