#include "base/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <type_traits>

#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/simulation.h"
#include "base/visible_text.h"

namespace strake::log::log_test {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

static_assert(!std::is_constructible_v<Field, std::string_view, Secret>, "a secret must not become a field");
static_assert(!fmt::is_formattable<Secret>::value, "a secret must not become text");

/// A log on virtual time; `take` gives the lines since the last call without their timestamps.
struct Stage {
  explicit Stage(LogOptions options = {})
      : log(simulation, options, [this](std::string_view line) {
          EXPECT_TRUE(line.ends_with('\n'));
          EXPECT_EQ(line.find('\n'), line.size() - 1) << "a line is one line";
          written.emplace_back(line.substr(0, line.size() - 1));
          return !broken;
        }) {}

  void pass(runtime::Duration time) {
    auto clock = simulation.spawn("clock", [&](std::stop_token stop) { (void)simulation.sleep(time, stop); });
    EXPECT_EQ(simulation.run(), sim::RunEnd::kAllDone);
  }
  Lines take() {
    Lines lines;
    for (const std::string& line : std::exchange(written, {})) lines.push_back(line.substr(line.find(' ') + 1));
    return lines;
  }

  sim::Simulation simulation{1};
  Lines written;
  bool broken = false;
  Log log;
};

TEST(Log, ALineHasTimeLevelMessageAndFields) {
  Stage stage;
  stage.log.warning("cannot write", {{"path", "/etc/a b"},
                                     {"tries", 3},
                                     {"wait", runtime::Duration(1500ms)},
                                     {"fatal", false},
                                     {"empty", ""},
                                     {"quote", "a\"b"}});
  ASSERT_EQ(stage.written.size(), 1u);
  EXPECT_EQ(stage.written[0].substr(stage.written[0].find('T') + 9),
            ".000Z WARNING cannot write path=\"/etc/a b\" tries=3 wait=1.5s fatal=false empty=\"\" quote=\"a\\\"b\"");
}

TEST(Log, JsonLinesHoldTheSame) {
  Stage stage({.format = Format::kJson});
  stage.log.error("no \"room\"\n", {{"error", Error(Code::kIo, "disk\xff full")}, {"bytes", 7}});
  ASSERT_EQ(stage.written.size(), 1u);
  const std::string& line = stage.written[0];
  EXPECT_EQ(line.substr(line.find(",\"level\"")),
            R"(,"level":"error","message":"no \"room\"\n","error":"disk\ufffd full","bytes":"7"})");
}

TEST(Log, WhatIsBelowTheLevelIsCountedButNotWritten) {
  Stage stage({.level = Level::kWarning});
  stage.log.debug("a");
  stage.log.info("b");
  stage.log.warning("c");
  stage.log.error("d");
  EXPECT_EQ(stage.take(), (Lines{"WARNING c", "ERROR   d"}));
  EXPECT_EQ(stage.log.stats().lines, (std::array<std::uint64_t, kLevels>{1, 1, 1, 1}));
}

TEST(Log, RepeatsAreHeldBackAndComeWithTheirCount) {
  Stage stage({.repeat_after = 1min});
  for (int i = 0; i < 5; ++i) stage.log.warning("down", {{"server", "a"}, varying("failures", i)});
  stage.log.warning("down", {{"server", "b"}, varying("failures", 1)});
  EXPECT_EQ(stage.take(), (Lines{"WARNING down server=a failures=0", "WARNING down server=b failures=1"}));
  EXPECT_EQ(stage.log.stats().held_back, 4u);
  stage.pass(1min);
  stage.log.warning("down", {{"server", "a"}, varying("failures", 9)});
  EXPECT_EQ(stage.take(), (Lines{"WARNING down server=a failures=9 repeated=4"}));
  stage.pass(30s);
  stage.log.warning("down", {{"server", "a"}, varying("failures", 10)});
  EXPECT_EQ(stage.take(), Lines{});
  stage.pass(30s);
  stage.log.info("something else");
  EXPECT_EQ(stage.take(), (Lines{"WARNING down server=a failures=10 repeated=1", "INFO    something else"}))
      << "a count is told even if the line never comes again";
}

TEST(Log, TheEndTellsWhatIsHeldBack) {
  Lines written;
  {
    sim::Simulation simulation(1);
    Log log(simulation, {}, [&](std::string_view line) {
      written.emplace_back(line);
      return true;
    });
    log.info("x");
    log.info("x");
  }
  ASSERT_EQ(written.size(), 2u);
  EXPECT_NE(written[1].find("x repeated=1"), std::string::npos);
}

TEST(Log, TenThousandDifferentLinesTakeBoundedMemory) {
  Stage stage({.remembered_lines = 10});
  for (int i = 0; i < 10'000; ++i) stage.log.info("line", {{"n", i}});
  EXPECT_EQ(stage.take().size(), 10'000u);
  stage.log.info("line", {{"n", 9'995}});
  EXPECT_EQ(stage.take().size(), 0u) << "the last ones are remembered";
  stage.log.info("line", {{"n", 5}});
  EXPECT_EQ(stage.take().size(), 1u) << "older ones are not";
}

TEST(Log, NamesFromOutsideCannotForgeLinesOrMoveTheCursor) {
  Stage stage;
  stage.log.info("node \x1b[2Jx",
                 {{"name", "a\nERROR   forged"}, {"rtl", "abc\u202etxt"}, {"c1", "\u009b"}, {"broken", "\xc3("}});
  EXPECT_EQ(
      stage.take(),
      (Lines{R"(INFO    node \u001b[2Jx name="a\nERROR   forged" rtl="abc\u202etxt" c1="\u009b" broken="\xc3(")"}));
  EXPECT_EQ(visible_line("grüße 世界 \U0001F6A2"), "grüße 世界 \U0001F6A2");
}

TEST(Log, LongValuesAreCut) {
  Stage stage;
  stage.log.info("m", {{"v", std::string(100'000, 'x')}});
  ASSERT_EQ(stage.written.size(), 1u);
  EXPECT_LT(stage.written[0].size(), 5000u);
  EXPECT_TRUE(stage.written[0].ends_with("... (100000 bytes)\"")) << stage.written[0].substr(4000);
}

TEST(Log, SecretsAreHidden) {
  Stage stage;
  stage.log.info(
      "asked with Authorization: Bearer eyJhbGci.abc_d-e",
      {{"auth_Token", "abc"}, {"password", "p"}, {"url", "https://joe:pw@host/x?y"}, {"plain", "https://host/a@b"}});
  stage.log.info("key", {{"pem", "x -----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY----- y"},
                         {"certificate", "-----BEGIN CERTIFICATE-----"}});
  stage.log.info("cut", {{"pem", "-----BEGIN PRIVATE KEY-----\nAAAA"}});
  EXPECT_EQ(stage.take(), (Lines{"INFO    asked with Authorization: Bearer (hidden) auth_Token=(hidden) "
                                 "password=(hidden) url=https://(hidden)@host/x?y plain=https://host/a@b",
                                 "INFO    key pem=\"x (hidden) y\" certificate=\"-----BEGIN CERTIFICATE-----\"",
                                 "INFO    cut pem=(hidden)"}));
}

TEST(Log, FailedWritesAreCounted) {
  Stage stage;
  stage.broken = true;
  stage.log.error("x");
  EXPECT_EQ(stage.log.stats().failed_writes, 1u);
  const Fd full = *open_file("/dev/full", O_WRONLY);
  EXPECT_FALSE(write_to(full.get())("x\n"));
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd in(ends[0]), out(ends[1]);
  EXPECT_TRUE(write_to(out.get())("line\n"));
  char buffer[16];
  EXPECT_EQ(std::string(buffer, static_cast<std::size_t>(::read(in.get(), buffer, sizeof buffer))), "line\n");
}

TEST(Log, TasksDoNotMixTheirLines) {
  runtime::ThreadRuntime threads;
  Lines written;
  {
    Log log(threads, {}, [&](std::string_view line) {
      written.emplace_back(line);
      return true;
    });
    std::vector<runtime::Task> tasks;
    for (int task = 0; task < 4; ++task) {
      tasks.push_back(threads.spawn("talker", [&log, task](std::stop_token) {
        for (int i = 0; i < 50; ++i) log.info("said", {{"task", task}, {"i", i}});
      }));
    }
    for (runtime::Task& task : tasks) task.join();
  }
  EXPECT_EQ(written.size(), 200u);
}

TEST(Log, LevelsAndFormatsAreNamed) {
  for (const Level level : {Level::kDebug, Level::kInfo, Level::kWarning, Level::kError})
    EXPECT_EQ(*parse_level(to_string(level)), level);
  EXPECT_EQ(*parse_format("json"), Format::kJson);
  EXPECT_NE(parse_level("loud").error().message().find("use debug, info, warning or error"), std::string::npos);
  EXPECT_FALSE(parse_format("xml").ok());
}

}  // namespace strake::log::log_test
