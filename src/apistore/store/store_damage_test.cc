// A database whose bytes were changed behind our back: after a clean stop, after a kill, and while it is in use.
#include <gtest/gtest.h>

#include <fstream>

#include "apistore/store/database.h"
#include "apistore/store/store.h"
#include "apistore/testing/test_service.h"
#include "base/fd.h"
#include "support/temp_dir.h"

namespace strake::apistore::store_damage_test {

namespace fs = std::filesystem;

constexpr std::uint64_t kPage = 8192;

/// Which page of a closed database holds what; from SQLite itself.
std::int64_t page_of(const fs::path& file, const std::string& object, bool leaf) {
  auto connection = sqlite::Connection::open(file, sqlite::Mode::kReadWriteCreate);
  EXPECT_TRUE(connection.ok());
  const auto root =
      (*connection)->query_integer(fmt::format("SELECT rootpage FROM sqlite_master WHERE name='{}'", object));
  EXPECT_TRUE(root.ok()) << object;
  if (!leaf) return *root;
  // Inner pages (types 5 and 2) have their cells' places from byte 12 on; a cell begins with the page of its child. The
  // second child: the first one holds what every start reads, the last one what every write changes.
  const std::string bytes = *read_file(file, 1u << 30);
  std::uint64_t page = static_cast<std::uint64_t>(*root);
  while (true) {
    const std::size_t at = (page - 1) * kPage + (page == 1 ? 100 : 0);
    const auto type = static_cast<unsigned char>(bytes[at]);
    if (type != 5 && type != 2) return static_cast<std::int64_t>(page);
    const auto number = [&](std::size_t from, std::size_t size) {
      std::uint64_t value = 0;
      for (std::size_t i = 0; i < size; ++i) value = value << 8 | static_cast<unsigned char>(bytes[from + i]);
      return value;
    };
    const std::size_t page_start = (page - 1) * kPage;
    page = number(page_start + number(at + 14, 2), 4);
  }
}

void overwrite(const fs::path& file, std::uint64_t offset, const std::string& bytes) {
  std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
  out.seekp(static_cast<std::streamoff>(offset));
  out << bytes;
  ASSERT_TRUE(out.good());
}
void overwrite_page(const fs::path& file, std::int64_t page, const std::string& bytes) {
  overwrite(file, static_cast<std::uint64_t>(page - 1) * kPage, bytes);
}

struct Case {
  const char* name;
  void (*apply)(const fs::path& file);
  bool seen_at_start;  ///< else by the check of the whole file
};

const Case kCases[] = {
    {"Header", [](const fs::path& file) { overwrite(file, 0, "SQLite format 4"); }, true},
    {"SchemaPage", [](const fs::path& file) { overwrite(file, 100, std::string(200, '\x5a')); }, true},
    {"TableRoot",
     [](const fs::path& file) { overwrite_page(file, page_of(file, "objects", false), std::string(64, '\xff')); },
     true},
    {"TableLeaf",
     [](const fs::path& file) { overwrite_page(file, page_of(file, "objects", true), std::string(64, '\xff')); }, true},
    {"IndexPage",
     [](const fs::path& file) {
       overwrite_page(file, page_of(file, "sqlite_autoindex_objects_1", true), std::string(64, '\xff'));
     },
     true},
    // Well formed, and says something else than the table: only a comparison of the two shows it.
    {"IndexContent",
     [](const fs::path& file) {
       const std::int64_t page = page_of(file, "sqlite_autoindex_objects_1", true);
       const std::string bytes = *read_file(file, 1u << 30);
       const std::size_t at = bytes.find("configmapsdefaultm", static_cast<std::size_t>(page - 1) * kPage);
       ASSERT_LT(at, static_cast<std::size_t>(page) * kPage);
       overwrite(file, at, "configmapsdefaultz");
     },
     false},
    {"Freelist",
     [](const fs::path& file) {
       // The header's bytes 32 to 35 name the first page of the list; that page then points beyond the file.
       const std::string bytes = *read_file(file, 1u << 30);
       std::uint64_t first = 0;
       for (std::size_t i = 32; i < 36; ++i) first = first << 8 | static_cast<unsigned char>(bytes[i]);
       ASSERT_GT(first, 0u) << "the test needs a database with free pages";
       overwrite(file, (first - 1) * kPage, std::string(16, '\x7f'));
     },
     true},
};

std::string case_name(const testing::TestParamInfo<Case>& info) { return info.param.name; }

class DamageTest : public testing::Test {
 protected:
  static constexpr int kObjects = 120;

  ServiceOptions options() {
    ServiceOptions options;
    options.store.directory = directory_;
    options.on_problem = [this](const Problem& problem) {
      const std::lock_guard lock(mutex_);
      problems_.push_back(problem);
    };
    return options;
  }
  Result<std::unique_ptr<Service>> open() { return Service::open(runtime_, testkit::shared_registry(), options()); }

  static Status create(Service& service, const std::string& name, std::size_t size = 1500) {
    Request request = testkit::as_admin();
    const auto created =
        service.create(request, kube::core::kConfigMap, "default",
                       testkit::object(kube::core::kConfigMap, "default", name,
                                       fmt::format(R"({{"data":{{"text":"{}"}}}})", std::string(size, 'x'))),
                       {});
    return created.ok() ? Status() : Status(created.error());
  }
  static Result<ListAnswer> list(Service& service) {
    Request request = testkit::as_admin();
    return service.list(request, kube::core::kConfigMap, "default", {});
  }

  /// Many objects, some of them gone again, so that there are inner pages and free ones.
  void fill() {
    auto service = open();
    ASSERT_TRUE(service.ok()) << service.error().to_string();
    for (int i = 0; i < kObjects; ++i) ASSERT_TRUE(create(**service, fmt::format("m{:03}", i)).ok());
    ASSERT_TRUE(create(**service, "large", 200'000).ok());
    Request request = testkit::as_admin();
    ASSERT_TRUE((*service)->remove(request, kube::core::kConfigMap, {"default", "large"}, {}).ok());
    ASSERT_TRUE((*service)->store().write([](Txn&) -> Status { return {}; }).ok());
  }
  /// History holds what was removed: without it the pages become free.
  void free_pages() {
    auto connection = sqlite::Connection::open(file_, sqlite::Mode::kReadWriteCreate);
    ASSERT_TRUE((*connection)->execute("DELETE FROM history WHERE rv < (SELECT max(rv) FROM history)").ok());
    ASSERT_TRUE((*connection)->execute("PRAGMA wal_checkpoint(TRUNCATE)").ok());
  }
  std::vector<Problem> problems() {
    const std::lock_guard lock(mutex_);
    return problems_;
  }

  test::TempDir dir_;
  runtime::ThreadRuntime runtime_;
  fs::path directory_ = dir_ / "store";
  fs::path file_ = directory_ / "state.db";
  std::mutex mutex_;
  std::vector<Problem> problems_;
};

class DamageAfterStop : public DamageTest, public testing::WithParamInterface<Case> {};

TEST_P(DamageAfterStop, IsFoundBeforeItIsServed) {
  fill();
  free_pages();
  GetParam().apply(file_);
  const std::string before = *read_file(file_, 1u << 30);
  auto service = open();
  if (GetParam().seen_at_start) {
    ASSERT_FALSE(service.ok());
    EXPECT_EQ(service.error().code(), Code::kCorrupt) << service.error().to_string();
    EXPECT_NE(service.error().to_string().find(file_.string()), std::string::npos) << service.error().to_string();
    EXPECT_NE(service.error().to_string().find("backup"), std::string::npos) << service.error().to_string();
    EXPECT_EQ(*read_file(file_, 1u << 30), before) << "left as it is";
    return;
  }
  ASSERT_TRUE(service.ok()) << service.error().to_string();
  ASSERT_TRUE((*service)->store().check_file({}).ok());
  const auto damage = (*service)->store().health().damage();
  ASSERT_TRUE(damage.has_value());
  EXPECT_NE(damage->to_string().find(file_.string()), std::string::npos) << damage->to_string();
}

INSTANTIATE_TEST_SUITE_P(Kinds, DamageAfterStop, testing::ValuesIn(kCases), case_name);

TEST_F(DamageTest, WithALogBesideItIsFoundToo) {
  fill();
  const std::int64_t leaf = page_of(file_, "objects", true);
  auto service = open();
  ASSERT_TRUE(service.ok());
  ASSERT_TRUE(create(**service, "in-the-log").ok());
  const fs::path copy = dir_ / "copy";  // as after a kill
  fs::create_directory(copy);
  for (const char* name : {"state.db", "state.db-wal"}) fs::copy_file(directory_ / name, copy / name);
  ASSERT_GT(fs::file_size(copy / "state.db-wal"), 0u);
  overwrite_page(copy / "state.db", leaf, std::string(64, '\xff'));
  directory_ = copy;
  const auto refused = open();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kCorrupt) << refused.error().to_string();
}

TEST_F(DamageTest, WhileServingStopsWritesAndSaysWhichPage) {
  fill();
  const std::int64_t leaf = page_of(file_, "objects", true);
  auto service = open();
  ASSERT_TRUE(service.ok()) << service.error().to_string();
  ASSERT_TRUE((*service)->store().health().check_writable().ok());
  overwrite_page(file_, leaf, std::string(64, '\xff'));
  const auto listed = list(**service);
  ASSERT_FALSE(listed.ok());
  EXPECT_EQ(listed.error().code(), Code::kCorrupt) << listed.error().to_string();

  const Status refused = create(**service, "further");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kUnavailable) << refused.error().to_string();
  for (const std::string& word : {file_.string(), std::string("damaged"), std::string("backup")}) {
    EXPECT_NE(refused.error().to_string().find(word), std::string::npos) << refused.error().to_string();
  }
  Request request = testkit::as_admin();
  EXPECT_TRUE((*service)->get(request, kube::core::kNamespace, {"", "default"}).ok()) << "what can be read is served";

  ASSERT_TRUE((*service)->store().check_file({}).ok());
  EXPECT_EQ((*service)->store().health().damage()->page, leaf);
  ASSERT_EQ(problems().size(), 2u) << "at the first sign, and when the page is known";
  for (const Problem& problem : problems()) {
    EXPECT_EQ(problem.part, "store");
    ASSERT_TRUE(problem.damage.has_value());
    EXPECT_EQ(problem.damage->file, file_);
  }
  EXPECT_EQ(problems()[1].damage->page, leaf);
}

TEST_F(DamageTest, IsLookedForInTheBackgroundAndFollowedUp) {
  fill();
  const std::int64_t leaf = page_of(file_, "objects", true);
  ServiceOptions chosen = options();
  chosen.check_interval = std::chrono::milliseconds(1);
  auto service = Service::open(runtime_, testkit::shared_registry(), std::move(chosen));
  ASSERT_TRUE(service.ok());
  overwrite_page(file_, leaf, std::string(64, '\xff'));
  (*service)->start();
  const runtime::Call patience = runtime_.call_within(std::chrono::seconds(60));
  // Another task may stumble over the page before the check names it.
  const auto named_page = [&] {
    const auto damage = (*service)->store().health().damage();
    return damage ? damage->page : std::nullopt;
  };
  while (!named_page() && runtime_.now() < *patience.deadline) {
    ASSERT_TRUE(runtime_.sleep(std::chrono::milliseconds(5), {}).ok());
  }
  EXPECT_EQ(named_page(), leaf);
}

TEST_F(DamageTest, TextThatIsNoObjectIsDamageToo) {
  fill();
  {
    auto connection = sqlite::Connection::open(file_, sqlite::Mode::kReadWriteCreate);
    ASSERT_TRUE((*connection)->execute("UPDATE objects SET json='['||json WHERE name='m007'").ok());
  }
  auto service = open();
  ASSERT_TRUE(service.ok());
  ASSERT_FALSE(list(**service).ok());
  (*service)->note_failure(list(**service).error());
  EXPECT_FALSE((*service)->store().health().check_writable().ok());
}

TEST_F(DamageTest, AStopLeavesADamagedFileAsItIs) {
  fill();
  const std::int64_t leaf = page_of(file_, "objects", true);
  std::string before;
  {
    auto service = open();
    ASSERT_TRUE(service.ok());
    overwrite_page(file_, leaf, std::string(64, '\xff'));
    ASSERT_FALSE(list(**service).ok());
    before = *read_file(file_, 1u << 30);
  }
  EXPECT_EQ(*read_file(file_, 1u << 30), before);
  EXPECT_FALSE(open().ok());
}

TEST(StoreHealth, NamesThePageOfAVerdict) {
  EXPECT_EQ(page_in_verdict("Tree 2 page 17: btreeInitPage() returns error code 11"), 17);
  EXPECT_EQ(page_in_verdict("Page 4: never used"), 4);
  EXPECT_EQ(page_in_verdict("On tree page 9 cell 3: Rowid 4 out of order"), 9);
  EXPECT_EQ(page_in_verdict("row 3 missing from index sqlite_autoindex_objects_1"), std::nullopt);
  EXPECT_EQ(page_in_verdict("Page : "), std::nullopt);
}

TEST(StoreHealth, OtherFailuresSayNothingAboutTheFile) {
  StoreHealth health("/x/state.db");
  health.note(Error(Code::kExhausted, "full").with_reason("StorageFull"));
  health.note(Error(Code::kIo, "cannot open"));
  EXPECT_TRUE(health.check_writable().ok());
  health.note(Error(Code::kIo, "disk I/O error").with_reason(std::string(kStorageDamaged)));
  EXPECT_FALSE(health.check_writable().ok());
  EXPECT_TRUE(health.take_check_request());
  EXPECT_FALSE(health.take_check_request());
}

}  // namespace strake::apistore::store_damage_test
