// How the program was built and how it runs, in the words of others: what an attacker who found a defect would still
// have to get past.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/subprocess.h"
#include "support/places.h"
#include "support/running_strake.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

using namespace std::chrono_literals;

std::string readelf(const char* what) {
  Command command;
  command.argv = {"readelf", "--wide", what, strake_program().string()};
  command.timeout = 60s;
  const auto output = run_checked(command);
  EXPECT_TRUE(output.ok()) << (output.ok() ? "" : output.error().to_string());
  return output.ok() ? output->stdout_bytes : "";
}

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Hardening, TheProgramIsLoadedAnywhereAndItsTablesAreReadOnly) {
  EXPECT_TRUE(holds(readelf("--file-header"), "DYN (Position-Independent Executable file)"));
  const std::string segments = readelf("--program-headers"), dynamic = readelf("--dynamic");
  EXPECT_TRUE(holds(segments, "GNU_RELRO"));
  EXPECT_TRUE(holds(dynamic, "BIND_NOW") || holds(dynamic, "NOW")) << dynamic;
  EXPECT_FALSE(holds(dynamic, "RPATH") || holds(dynamic, "RUNPATH")) << "libraries come from the system alone";
  EXPECT_FALSE(holds(dynamic, "TEXTREL"));
}

TEST(Hardening, NoMemoryIsBothWritableAndExecutable) {
  const std::string segments = readelf("--program-headers");
  EXPECT_TRUE(holds(segments, "GNU_STACK"));
  EXPECT_FALSE(holds(segments, "RWE")) << segments;
}

TEST(Hardening, OverrunsAreNoticed) {
  const std::string symbols = readelf("--dyn-syms");
  EXPECT_TRUE(holds(symbols, "__stack_chk_fail"));
  EXPECT_TRUE(holds(symbols, "__memcpy_chk") || holds(symbols, "__read_chk") || holds(symbols, "__fdelt_chk") ||
              holds(symbols, "__snprintf_chk") || holds(symbols, "__memmove_chk"))
      << "nothing was compiled with _FORTIFY_SOURCE";
}

/// The instruction at which an indirect jump may land. The note that makes the kernel insist on it is missing, because
/// Debian's own start-up files have none.
TEST(Hardening, IndirectJumpsHaveMarkedTargets) {
#if defined(__x86_64__)
  const std::string program = read_file(strake_program(), 1u << 30).value_or("");
  std::size_t marks = 0;
  for (std::size_t at = program.find("\xf3\x0f\x1e\xfa"); at != std::string::npos;
       at = program.find("\xf3\x0f\x1e\xfa", at + 4)) {
    ++marks;
  }
  EXPECT_GT(marks, 5000U);
#endif
}

TEST(Hardening, MemoryIsNeverWrittenToACoreFile) {
  TempDir folder;
  const std::string pipe = (folder.path() / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  RunningStrake strake({"ignition", "validate", pipe}, folder.path() / "log");
  ASSERT_TRUE(strake.wait_until_idle());
  const std::string limits = read_file(fmt::format("/proc/{}/limits", strake.pid()), 1 << 16).value_or("");
  EXPECT_TRUE(holds(limits, "Max core file size        0                    0 ")) << limits;
  strake.end_by(SIGTERM);
}

}  // namespace
}  // namespace strake::test
