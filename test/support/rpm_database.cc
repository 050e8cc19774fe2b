#include "support/rpm_database.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/subprocess.h"
#include "support/lines.h"

namespace strake::test {
namespace {

using namespace std::chrono_literals;
using std::filesystem::path;

constexpr auto kRpmTimeout = 120s;

// The subpackages are written by the Lua that rpm has built in; nothing else is as fast.
constexpr const char* kSpec = R"(Name: main
Version: 1
Release: 1
Summary: holds the others
License: none
BuildArch: noarch
%description
%{{lua:
local endings = {{"", "~rc1", "^20240101git1", ".5a", "~rc1^b"}}
for i = 1, {} do
  local name = string.format("p%03d", i)
  print("%package -n " .. name .. "\n")
  print(string.format("Version: %d.%d%s\n", i % 7, i, endings[i % #endings + 1]))
  print(string.format("Release: %d.{}\nSummary: number %d\n", i % 3, i))
  if i % 4 == 0 then print(string.format("Epoch: %d\n", i % 8)) end
  print("%description -n " .. name .. "\n" .. string.rep("some words ", i % 12 * 300) .. "\n")
  print("%files -n " .. name .. "\n")
end
}}
)";

/// Nothing of the caller's macros and settings.
Command rpm_command(std::vector<std::string> argv, const path& home) {
  Command command;
  command.argv = std::move(argv);
  command.env = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home.string(), "TMPDIR=" + home.string(),
                 "LC_ALL=C.UTF-8"};
  command.cwd = home;
  command.timeout = kRpmTimeout;
  command.stdout_limit_bytes = std::size_t{64} << 20;
  return command;
}

}  // namespace

Result<std::vector<path>> build_rpms(const path& folder, int count, const std::string& dist) {
  const path spec = folder / "packages.spec";
  STRAKE_CHECK_OK(write_file_atomic(spec, fmt::format(kSpec, count, dist), 0644));
  STRAKE_TRY_CONTEXT(const ProcessOutput built,
                     run_checked(rpm_command({"rpmbuild", "-bb", "--quiet", "--define", "_topdir " + folder.string(),
                                              "--define", "_binary_payload w0.gzdio", spec.string()},
                                             folder)),
                     "building {} packages", count);
  std::vector<path> files;
  std::error_code failure;
  for (const auto& file : std::filesystem::directory_iterator(folder / "RPMS/noarch", failure)) {
    files.push_back(file.path());
  }
  if (std::cmp_not_equal(files.size(), count)) {
    return error(Code::kInternal, "rpmbuild made {} packages instead of {}", files.size(), count);
  }
  std::ranges::sort(files);
  return files;
}

Result<std::string> RpmDatabase::rpm(std::vector<std::string> arguments) const {
  std::vector<std::string> argv{"rpm", "--dbpath", folder_.string(), "--define", "_db_backend sqlite"};
  argv.insert(argv.end(), std::make_move_iterator(arguments.begin()), std::make_move_iterator(arguments.end()));
  STRAKE_TRY(ProcessOutput output, run_checked(rpm_command(std::move(argv), folder_)));
  return std::move(output.stdout_bytes);
}

Status RpmDatabase::install(const std::vector<path>& packages) const {
  std::vector<std::string> arguments{"--install",   "--justdb",      "--nodeps",
                                     "--noscripts", "--nosignature", "--force-debian"};
  for (const path& package : packages) arguments.push_back(package);
  STRAKE_TRY_CONTEXT(const std::string output, rpm(std::move(arguments)), "recording packages in {}", folder_.string());
  return {};
}

Status RpmDatabase::erase(const std::vector<std::string>& names) const {
  std::vector<std::string> arguments{"--erase", "--justdb", "--nodeps", "--noscripts", "--force-debian"};
  arguments.insert(arguments.end(), names.begin(), names.end());
  STRAKE_TRY_CONTEXT(const std::string output, rpm(std::move(arguments)), "erasing packages in {}", folder_.string());
  return {};
}

Result<std::vector<std::string>> RpmDatabase::query(const std::string& format) const {
  STRAKE_TRY_CONTEXT(const std::string output, rpm({"--query", "--all", "--queryformat", format + "\n"}),
                     "listing the packages in {}", folder_.string());
  Lines lines = lines_of(output);
  std::ranges::sort(lines);
  return lines;
}

}  // namespace strake::test
