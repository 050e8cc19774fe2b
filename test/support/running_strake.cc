#include "support/running_strake.h"

#include <gtest/gtest.h>

#include <signal.h>

#include <charconv>

#include "base/fd.h"
#include "support/strake_command.h"

namespace strake::test {

namespace {

using namespace std::chrono_literals;

/// How often a state is looked at, and how many looks a loaded machine gets.
constexpr auto kBetweenLooks = 20ms;
constexpr int kLooks = 3000;

ChildProcess start(std::vector<std::string> arguments, const std::filesystem::path& log,
                   const std::vector<std::string>& through) {
  Command command = strake_command(std::move(arguments));
  command.argv.insert(command.argv.begin(), through.begin(), through.end());
  command.log_file = log;
  auto child = ChildProcess::start(command);
  EXPECT_TRUE(child.ok()) << (child.ok() ? "" : child.error().to_string());
  return *std::move(child);
}

/// "SigBlk:\t0000000000004002" -> the text behind the colon.
std::string field_of(const std::string& status, const std::string& name) {
  const std::size_t at = status.find(name + ":\t");
  if (at == std::string::npos) return "";
  const std::size_t value = at + name.size() + 2;
  return status.substr(value, status.find('\n', value) - value);
}

}  // namespace

RunningStrake::RunningStrake(std::vector<std::string> arguments, std::filesystem::path log,
                             std::vector<std::string> through)
    : log_(std::move(log)), child_(start(std::move(arguments), log_, through)) {}

std::string RunningStrake::said() const { return read_file(log_, 16 << 20).value_or(""); }

bool RunningStrake::has_said(const std::string& text) { return said().find(text) != std::string::npos; }

/// Both signals blocked: from then on they are the program's own business.
bool RunningStrake::is_idle(const std::string&) {
  const std::string status = read_file(fmt::format("/proc/{}/status", child_.pid()), 1 << 16).value_or("");
  const std::string mask_text = field_of(status, "SigBlk");
  std::uint64_t mask = 0;
  std::from_chars(mask_text.data(), mask_text.data() + mask_text.size(), mask, 16);
  const std::uint64_t both = 1ull << (SIGTERM - 1) | 1ull << (SIGINT - 1);
  return (mask & both) == both && field_of(status, "State").starts_with("S");
}

bool RunningStrake::wait_until(const std::string& what, bool (RunningStrake::*reached)(const std::string&),
                               const std::string& text) {
  for (int look = 0; look < kLooks; ++look) {
    if ((this->*reached)(text)) return true;
    if (child_.wait_exit(kBetweenLooks)) break;
  }
  const bool in_time = (this->*reached)(text);
  EXPECT_TRUE(in_time) << "never " << what << ":\n" << said();
  return in_time;
}

bool RunningStrake::wait_until_said(const std::string& text) {
  return wait_until("said '" + text + "'", &RunningStrake::has_said, text);
}

bool RunningStrake::wait_until_idle() { return wait_until("waited", &RunningStrake::is_idle, ""); }

ExitStatus RunningStrake::end_by(int signal) {
  ::kill(child_.pid(), signal);
  const auto ended = child_.wait_exit(30s);
  EXPECT_TRUE(ended.has_value()) << "still running after signal " << signal << ":\n" << said();
  return ended ? *ended : child_.kill_now();
}

}  // namespace strake::test
