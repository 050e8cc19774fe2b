#include <algorithm>
#include <filesystem>

#include <fmt/ranges.h>

#include "base/fd.h"
#include "base/suggest.h"
#include "cmd/cli/commands.h"
#include "cmd/cli/man_page.h"

namespace strake::cmd {

namespace {

constexpr ArgumentSpec kManArguments[] = {
    {"VERB", "the verb, as on the command line; default: the program", false, true}};
constexpr OptionSpec kManOptions[] = {{"dir", "DIR", "write all pages into DIR/man1 instead", "", kFolderValue}};
constexpr ExitMeaning kManExits[] = {{kExitOk, "printed or written"}};

Status write_all_pages(const std::filesystem::path& directory) {
  const std::filesystem::path section = directory / "man1";
  std::error_code failure;
  std::filesystem::create_directories(section, failure);
  if (failure) return errno_error(failure.value(), section.string());
  STRAKE_CHECK_OK(write_file_atomic(section / "strake.1", program_man_page(all_commands()), 0644));
  for (const CommandSpec* spec : all_commands()) {
    STRAKE_CHECK_OK(write_file_atomic(section / man_page_name(*spec), man_page(*spec), 0644));
  }
  return {};
}

Result<int> run_man(const Invocation& invocation) {
  if (invocation.has("dir")) {
    STRAKE_CHECK_OK(write_all_pages(invocation.path("dir")));
    return kExitOk;
  }
  const std::string path = fmt::format("{}", fmt::join(invocation.list("VERB"), " "));
  if (path.empty()) {
    invocation.out().document(program_man_page(all_commands()));
    return kExitOk;
  }
  std::vector<std::string_view> paths;
  for (const CommandSpec* spec : all_commands()) {
    paths.push_back(spec->path);
    if (spec->path != path) continue;
    invocation.out().document(man_page(*spec));
    return kExitOk;
  }
  return error(Code::kInvalidArgument, "there is no verb '{}'{}", path, did_you_mean(path, paths));
}

}  // namespace

const CommandSpec kManCommand{"man",
                              "Print the man page of a verb, or write them all.",
                              "The pages are made from the same table as --help.\n\n"
                              "  strake man release verify | man -l -\n"
                              "  strake man --dir ~/.local/share/man        then: man strake-release-verify",
                              kManArguments,
                              kManOptions,
                              run_man,
                              kManExits};

}  // namespace strake::cmd
