#include "support/strake_in_process.h"

#include <fcntl.h>

#include <cstdio>
#include <fstream>

#include "base/fd.h"
#include "base/result.h"
#include "cmd/cli/command_line.h"
#include "cmd/cli/commands.h"
#include "support/temp_dir.h"

namespace strake::test {

namespace {

constexpr std::size_t kMaxPrinted = std::size_t{64} << 20;

/// The process has one; the next question reads its own.
void give_standard_input(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file) << bytes;
  STRAKE_INVARIANT(std::freopen(file.c_str(), "r", stdin) != nullptr);
}

}  // namespace

InProcessOutput run_in_process(const std::vector<std::string>& arguments, const std::string& stdin_bytes) {
  static const TempDir folder;
  static SignalStop signals;
  const std::filesystem::path out_file = folder / "out", err_file = folder / "err";
  give_standard_input(folder / "in", stdin_bytes);
  std::vector<const char*> words{"strake"};
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  InProcessOutput ran;
  {
    const Fd out = *open_file(out_file, O_RDWR | O_CREAT | O_TRUNC, 0600);
    const Fd err = *open_file(err_file, O_RDWR | O_CREAT | O_TRUNC, 0600);
    cmd::Output output(out.get(), err.get());
    ran.exit_code = cmd::run_command_line({cmd::all_commands(), cmd::verb_groups()}, words, output, signals);
  }
  ran.out = *read_file(out_file, kMaxPrinted);
  ran.err = *read_file(err_file, kMaxPrinted);
  return ran;
}

}  // namespace strake::test
