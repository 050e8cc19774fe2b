#include "osbackend/host_machine.h"

#include "base/text.h"
#include "osbackend/kernel_command_line.h"

namespace strake::osbackend {

namespace {

const std::string kBootIdPath = "/proc/sys/kernel/random/boot_id";
const std::string kCommandLinePath = "/proc/cmdline";

Result<std::string> read_kernel_file(FileTree& root, const std::string& path) {
  STRAKE_TRY_CONTEXT(const auto file, root.read(path), "reading {}", path);
  if (!file) return error(Code::kNotFound, "{} is not there; is /proc mounted?", path);
  return std::string(trimmed(file->contents));
}

}  // namespace

Result<std::string> read_boot_id(FileTree& root) { return read_kernel_file(root, kBootIdPath); }

Result<std::vector<std::string>> read_running_arguments(FileTree& root) {
  STRAKE_TRY(const std::string line, read_kernel_file(root, kCommandLinePath));
  return split_command_line(line);
}

Status restart_machine(ProgramRunner& programs, const std::string& reason, bool something_staged,
                       const runtime::Call& call) {
  Command command;
  // A unit of its own: the one this program runs in is ended by the very restart it asks for.
  command.argv = {"systemd-run", "--collect", "--unit=strake-reboot", "--description=strake: " + reason};
  if (something_staged) {
    command.argv.insert(command.argv.end(), {"--property=Requires=ostree-finalize-staged.service",
                                             "--property=After=ostree-finalize-staged.service"});
  }
  command.argv.insert(command.argv.end(), {"systemctl", "reboot"});
  const auto asked = programs.output_of(command, call);
  return asked.ok() ? Status() : Status(asked.error()).context("asking for a restart");
}

}  // namespace strake::osbackend
