#include "apistore/guard/audit_log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/simulation.h"
#include "base/text.h"
#include "codec/json.h"
#include "support/temp_dir.h"

namespace strake::apistore::audit_log_test {

using namespace std::chrono_literals;

AuditRecord change(const std::string& name, int code = 201) {
  AuditRecord record;
  record.user = "ann";
  record.groups = {"strake:admins"};
  record.source = "192.0.2.7:40312";
  record.verb = "create";
  record.resource = "configmaps";
  record.ns = "default";
  record.name = name;
  record.code = code;
  record.request_bytes = 120;
  record.answer_bytes = 300;
  record.duration = 1500us;
  return record;
}

TEST(AuditRecord, IsOneVisibleLine) {
  AuditRecord record = change("a\n\x1b[2J");
  record.id = "0000abcd-1";
  record.time = std::chrono::system_clock::time_point(1s);
  record.acting_as = "bob";
  record.subresource = "status";
  EXPECT_EQ(audit_line(record),
            R"({"time":"1970-01-01T00:00:01.000000Z","id":"0000abcd-1","user":"ann","groups":["strake:admins"],)"
            R"("actingAs":"bob","source":"192.0.2.7:40312","verb":"create","resource":"configmaps",)"
            R"("namespace":"default","name":"a\\n\\u001b[2J","subresource":"status","code":201,"requestBytes":120,)"
            R"("answerBytes":300,"microseconds":1500})"
            "\n");
  record.name = std::string(100'000, 'x');
  record.groups.assign(1'000, std::string(1'000, 'g'));
  EXPECT_LT(audit_line(record).size(), 8'000U) << "whatever a client calls itself";
}

struct AuditStage {
  explicit AuditStage(AuditOptions wanted = {}) : options(std::move(wanted)) {
    options.file = dir / "audit.log";
    options.on_problem = [this](const Error& problem) { problems.push_back(problem.to_string()); };
  }
  void open() {
    auto opened = AuditLog::open(simulation, options);
    ASSERT_TRUE(opened.ok()) << opened.error().to_string();
    log = *std::move(opened);
  }
  void run(runtime::Duration time) { simulation.run({.virtual_time = time}); }
  std::vector<json::Value> lines(const std::string& name = "audit.log") {
    std::vector<json::Value> parsed;
    const std::string text = read_file(dir / name, 64u << 20).value_or("");
    for (const std::string_view line : split(text, '\n')) {
      if (line.empty()) continue;
      auto value = json::parse(line);
      EXPECT_TRUE(value.ok()) << line;
      if (value.ok()) parsed.push_back(*std::move(value));
    }
    return parsed;
  }

  test::TempDir dir;
  AuditOptions options;
  std::vector<std::string> problems;
  sim::Simulation simulation{1};
  std::unique_ptr<AuditLog> log;
};

TEST(AuditLog, WritesEveryChangeForItsOwnerOnly) {
  AuditStage stage;
  stage.open();
  for (int i = 0; i < 1'000; ++i) stage.log->record(change(fmt::format("c{}", i)), false);
  stage.run(1s);
  const auto lines = stage.lines();
  ASSERT_EQ(lines.size(), 1'000U);
  EXPECT_EQ(json::find_string(lines[999], {"name"}), "c999");
  EXPECT_NE(json::find_string(lines[0], {"id"}), json::find_string(lines[1], {"id"}));
  struct stat found{};
  ASSERT_EQ(::stat(stage.options.file.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
  EXPECT_EQ(stage.log->stats().written, 1'000U);
  EXPECT_TRUE(stage.problems.empty());
}

TEST(AuditLog, RefusalsAreSummedUp) {
  AuditStage stage;
  stage.open();
  for (int i = 0; i < 10'000; ++i) {
    AuditRecord stranger = change("x", 401);
    stranger.user.clear();
    stranger.source = fmt::format("192.0.2.7:{}", i);  // a new connection each time
    stage.log->record(stranger, false);
  }
  stage.log->record(change("y", 403), false);
  stage.run(2min);
  const auto lines = stage.lines();
  ASSERT_EQ(lines.size(), 22U) << "20 of the address, the one of somebody else, and the sum";
  EXPECT_EQ(json::find_int(lines.back(), {"more"}), 9'980);
  EXPECT_EQ(json::find_int(lines.back(), {"code"}), 401);
  EXPECT_EQ(stage.log->stats().summed_up, 9'980U);
}

TEST(AuditLog, ReadsAreSummedUpUnlessAnAdministratorReads) {
  AuditStage stage;
  stage.open();
  AuditRecord read = change("x", 200);
  read.verb = "list";
  for (int i = 0; i < 1'000; ++i) stage.log->record(read, false);
  read.user = "root";
  for (int i = 0; i < 1'000; ++i) stage.log->record(read, true);
  stage.log->stop();
  EXPECT_EQ(stage.lines().size(), 200U + 1'000U + 1U) << "the sum is written at the end";
}

TEST(AuditLog, AMillionAddressesCostNoMore) {
  AuditStage stage({.queue_bytes = 64u << 20, .max_names = 100});
  stage.open();
  for (int i = 0; i < 50'000; ++i) {
    AuditRecord stranger = change("x", 401);
    stranger.user.clear();
    stranger.source = fmt::format("192.0.{}.{}:1", i / 256, i % 256);
    stage.log->record(stranger, false);
  }
  stage.log->stop();
  EXPECT_LE(stage.lines().size(), 100U + 20U + 101U) << "known ones, what strangers share, and the sums";
  EXPECT_EQ(stage.log->stats().written + stage.log->stats().summed_up, 50'000U + stage.lines().size() - 120U);
}

TEST(AuditLog, FilesAreMovedAsideAndTheOldestGoes) {
  AuditStage stage({.limits = {.file_bytes = 2'000, .files = 3}});
  stage.open();
  for (int i = 0; i < 60; ++i) {
    stage.log->record(change(fmt::format("c{}", i)), false);
    stage.run(1s);
  }
  EXPECT_EQ(json::find_string(stage.lines().back(), {"name"}), "c59");
  std::size_t kept = 0;
  for (const char* name : {"audit.log", "audit.log.1", "audit.log.2"}) {
    EXPECT_LE(std::filesystem::file_size(stage.dir / name), 2'000U) << name;
    kept += stage.lines(name).size();
  }
  EXPECT_FALSE(std::filesystem::exists(stage.dir / "audit.log.3"));
  EXPECT_GE(kept, 12U);
  EXPECT_EQ(stage.log->stats().written, 60U);
}

TEST(AuditLog, ADiskThatRefusesLosesLinesAndSaysSo) {
  AuditStage stage({.limits = {.file_bytes = 500, .files = 2}, .queue_bytes = 2'000});
  stage.open();
  stage.log->record(change("first"), false);
  stage.run(1s);
  // Where the file would be moved to there is a folder that is not empty.
  std::filesystem::create_directories(stage.dir / "audit.log.1" / "in-the-way");
  for (int i = 0; i < 40; ++i) stage.log->record(change(fmt::format("c{}", i)), false);
  stage.run(1s);
  const auto lost = stage.log->stats().lost;
  EXPECT_EQ(lost, 40U) << "some by the full queue, the others by the disk";
  ASSERT_FALSE(stage.problems.empty());
  EXPECT_NE(stage.problems[0].find("audit.log"), std::string::npos) << stage.problems[0];
  std::filesystem::remove_all(stage.dir / "audit.log.1");
  stage.log->record(change("after"), false);
  stage.run(1min);
  EXPECT_EQ(json::find_int(stage.lines().back(), {"lost"}), 40);
  EXPECT_EQ(stage.log->stats().lost, 40U);
  EXPECT_EQ(stage.log->stats().written, 2U);
}

TEST(AuditLog, AForeignFileIsNotWrittenTo) {
  AuditStage stage;
  ASSERT_EQ(::symlink("/dev/null", stage.options.file.c_str()), 0);
  EXPECT_FALSE(AuditLog::open(stage.simulation, stage.options).ok());
  std::filesystem::remove(stage.options.file);
  ASSERT_TRUE(write_file_atomic(stage.dir / "other", "", 0644).ok());
  ASSERT_EQ(::link((stage.dir / "other").c_str(), stage.options.file.c_str()), 0);
  EXPECT_FALSE(AuditLog::open(stage.simulation, stage.options).ok());
  std::filesystem::remove(stage.dir / "other");
  EXPECT_TRUE(AuditLog::open(stage.simulation, stage.options).ok()) << "looser rights are taken away";
}

}  // namespace strake::apistore::audit_log_test
