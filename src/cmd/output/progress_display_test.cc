#include "cmd/output/progress_display.h"

#include <gtest/gtest.h>

#include <fcntl.h>

#include "base/fd.h"
#include "base/text.h"

namespace strake::cmd::progress_display_test {

using namespace std::chrono_literals;

constexpr std::uint64_t kMillion = 1'000'000;

TEST(ProgressDisplay, SaysHowMuchHowFastAndHowLong) {
  const struct {
    const char* name;
    ProgressFigures figures;
    std::string text;
  } cases[] = {
      {"nothing known", {}, "working"},
      {"one item",
       {.done_bytes = 120 * kMillion,
        .total_bytes = 240 * kMillion,
        .done_items = 0,
        .total_items = 1,
        .bytes_per_second = 12e6},
       "50%  " + human_bytes(120 * kMillion) + " of " + human_bytes(240 * kMillion) + ", " +
           human_bytes(12 * kMillion) + "/s, 11 s left"},
      {"several items",
       {.done_bytes = 1, .total_bytes = 4, .done_items = 2, .total_items = 8, .bytes_per_second = 0},
       "25%  2 of 8, " + human_bytes(1) + " of " + human_bytes(4)},
      {"nothing moves",
       {.done_bytes = 1, .total_bytes = 4, .done_items = 0, .total_items = 1, .bytes_per_second = 5, .quiet = 12s},
       "25%  " + human_bytes(1) + " of " + human_bytes(4) + ", nothing has come for 12 s"},
  };
  for (const auto& c : cases) EXPECT_EQ(progress_text(c.figures), c.text) << c.name;
  EXPECT_EQ(progress_bar({.done_bytes = 1, .total_bytes = 2}).substr(0, 26), "[============>           ]");
}

TEST(ProgressDisplay, CountsNothingTwice) {
  const Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  Output output(null.get(), null.get());
  runtime::ThreadRuntime runtime;
  ProgressDisplay display(output, runtime);
  display.moved("a", 50, 100);
  display.moved("a", 20, 100);  // begun again
  display.moved("a", 60, 100);
  display.moved("b", 10, 10);
  display.moved("b", 10, 10);
  display.moved("b", 1000, 10);
  const ProgressFigures figures = display.figures();
  EXPECT_EQ(figures.done_bytes, 70u);
  EXPECT_EQ(figures.total_bytes, 110u);
  EXPECT_EQ(figures.done_items, 1u);
  EXPECT_EQ(figures.total_items, 2u);
}

}  // namespace strake::cmd::progress_display_test
