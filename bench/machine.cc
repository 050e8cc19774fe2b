#include "machine.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <sstream>

#include "base/fd.h"

namespace strake::bench {

namespace {

constexpr std::size_t kMaxProcFileBytes = 1 << 20;
constexpr int kSyncProbes = 64;

Result<std::string> proc_file(pid_t process, std::string_view name) {
  return read_file(fmt::format("/proc/{}/{}", process, name), kMaxProcFileBytes)
      .context("reading what process {} uses", process);
}

/// The rest of the line that begins with `key`, without blanks around it.
std::string line_after(const std::string& text, std::string_view key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(" \t:", key.size());
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

double number_at_start(const std::string& text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string file_system_of(const std::filesystem::path& path) {
  const std::string mounts = read_file("/proc/mounts", kMaxProcFileBytes).value_or("");
  std::istringstream lines(mounts);
  std::string best_folder, best;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string device, folder, type;
    words >> device >> folder >> type;
    const std::string prefix = folder == "/" ? folder : folder + "/";
    if (!path.string().starts_with(prefix) || folder.size() < best_folder.size()) continue;
    best_folder = folder;
    best = fmt::format("{} on {}", type, device);
  }
  return best;
}

/// The median time to append 4 KiB and sync it, as both stores do for a write.
Result<double> synced_write_milliseconds(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "sync-probe";
  const Fd probe(::open(file.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600));
  if (!probe) return errno_error(errno, file.string());
  const std::string block(4096, 'x');
  std::vector<double> times;
  for (int i = 0; i < kSyncProbes; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (::write(probe.get(), block.data(), block.size()) < 0 || ::fdatasync(probe.get()) != 0) {
      return errno_error(errno, file.string());
    }
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

}  // namespace

Result<double> cpu_seconds(const std::vector<pid_t>& processes) {
  double ticks = 0;
  for (const pid_t process : processes) {
    STRAKE_TRY(const std::string stat, proc_file(process, "stat"));
    // The name in parentheses may hold anything; user and system time are the 12th and 13th fields behind it.
    std::istringstream fields(stat.substr(stat.rfind(')') + 1));
    std::string skipped;
    for (int i = 0; i < 11; ++i) fields >> skipped;
    double user = 0, system = 0;
    fields >> user >> system;
    ticks += user + system;
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

Result<double> resident_mebibytes(const std::vector<pid_t>& processes) {
  double kibibytes = 0;
  for (const pid_t process : processes) {
    STRAKE_TRY(const std::string status, proc_file(process, "status"));
    kibibytes += number_at_start(line_after(status, "VmRSS:"));
  }
  return kibibytes / 1024;
}

Result<std::string> describe_machine(const std::filesystem::path& where_data_is) {
  STRAKE_TRY(const double sync, synced_write_milliseconds(where_data_is));
  const std::string memory = read_file("/proc/meminfo", kMaxProcFileBytes).value_or("");
  const std::string processors = read_file("/proc/cpuinfo", kMaxProcFileBytes).value_or("");
  const std::string load = read_file("/proc/loadavg", kMaxProcFileBytes).value_or("");
  return fmt::format(
      "processor    {} cores, {}\n"
      "memory       {:.0f} GiB\n"
      "file system  {}, {:.2f} ms for a synced write of 4 KiB\n"
      "load         {} when this began\n",
      ::sysconf(_SC_NPROCESSORS_ONLN), line_after(processors, "model name"),
      number_at_start(line_after(memory, "MemTotal:")) / (1 << 20), file_system_of(where_data_is), sync,
      load.substr(0, load.find(' ')));
}

}  // namespace strake::bench
