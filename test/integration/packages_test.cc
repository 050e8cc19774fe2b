// Package databases beside the programs they belong to: rpm writes a database and lists it, dpkg-query lists a status
// file, and both put versions in order.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/fd.h"
#include "base/random.h"
#include "base/subprocess.h"
#include "packages/packages.h"
#include "packages/versions.h"
#include "support/lines.h"
#include "support/rpm_database.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

using namespace std::chrono_literals;
using packages::Package;
using packages::PackageSystem;
using std::filesystem::path;

constexpr int kPackages = 300;
constexpr int kVersionPairs = 20'000;
constexpr int kDpkgVersionPairs = 400;  // dpkg compares one pair a process

std::string output_of(std::vector<std::string> argv, std::string stdin_bytes = "") {
  Command command;
  command.argv = std::move(argv);
  command.stdin_bytes = std::move(stdin_bytes);
  command.timeout = 120s;
  const auto output = run_checked(command);
  EXPECT_TRUE(output.ok()) << (output.ok() ? "" : output.error().to_string());
  return output.ok() ? output->stdout_bytes : "";
}

Lines sorted(Lines lines) {
  std::ranges::sort(lines);
  return lines;
}

// --- Databases -------------------------------------------------------------------------------------------------------

constexpr const char* kRpmFormat =
    "%{NAME}|%{EPOCH}|%{VERSION}|%{RELEASE}|%{ARCH}|%{SOURCERPM}|%{LONGSIZE}|%{INSTALLTIME}";

Result<Lines> our_rpm_lines(const path& file) {
  STRAKE_TRY(const std::string bytes, read_file(file, packages::kMaxDatabaseBytes));
  STRAKE_TRY(const auto read, packages::read_rpm_database(bytes));
  Lines lines;
  for (const Package& package : read) {
    lines.push_back(fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", package.name,
                                package.epoch.empty() ? "(none)" : package.epoch, package.version, package.release,
                                package.architecture.empty() ? "(none)" : package.architecture, package.source,
                                package.installed_bytes, package.installed_at.value_or(0)));
  }
  return sorted(std::move(lines));
}

void expect_same_as_rpm(const RpmDatabase& database, std::size_t count) {
  const auto theirs = database.query(kRpmFormat);
  ASSERT_TRUE(theirs.ok()) << theirs.error().to_string();
  EXPECT_EQ(theirs->size(), count);
  const auto ours = our_rpm_lines(database.file());
  ASSERT_TRUE(ours.ok()) << ours.error().to_string();
  EXPECT_EQ(*ours, *theirs);
}

/// Statements run by somebody else's SQLite. What is not committed to the main file when they are done stays in the
/// journal.
void run_sql(const path& file, const std::string& statements) {
  output_of({"python3", "-c",
             "import sqlite3, sys, os\n"
             "database = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
             "for statement in sys.argv[2].split(';'): database.execute(statement).fetchall()\n"
             "os._exit(0)\n",
             file.string(), statements});
}

TEST(PackagesJudge, RpmDatabaseInAllItsStates) {
  const TempDir folder;
  const auto built = build_rpms(folder.path(), kPackages);
  ASSERT_TRUE(built.ok()) << built.error().to_string();
  std::filesystem::create_directory(folder / "db");
  const RpmDatabase database(folder / "db");
  ASSERT_TRUE(database.install(*built).ok());
  {
    SCOPED_TRACE("as rpm left it");
    expect_same_as_rpm(database, kPackages);
  }
  Lines gone;
  for (int i = 1; i <= kPackages; i += 3) gone.push_back(fmt::format("p{:03}", i));
  ASSERT_TRUE(database.erase(gone).ok());
  const std::size_t left = kPackages - gone.size();
  {
    SCOPED_TRACE("after packages were erased");
    expect_same_as_rpm(database, left);
  }
  for (const int page_bytes : {512, 65536, 4096}) {
    SCOPED_TRACE(fmt::format("vacuumed, pages of {} bytes", page_bytes));
    run_sql(database.file(), fmt::format("PRAGMA journal_mode=DELETE;PRAGMA page_size={};VACUUM", page_bytes));
    expect_same_as_rpm(database, left);
  }
  {
    SCOPED_TRACE("with rows that only the journal knows");
    run_sql(database.file(),
            "PRAGMA journal_mode=WAL;PRAGMA wal_autocheckpoint=0;DELETE FROM Packages WHERE hnum % 2 = 0");
    ASSERT_GT(std::filesystem::file_size(folder / "db/rpmdb.sqlite-wal"), 0u);
    std::filesystem::create_directory(folder / "copy");
    std::filesystem::copy_file(database.file(), folder / "copy/rpmdb.sqlite");
    expect_same_as_rpm(RpmDatabase(folder / "copy"), left);
  }
}

TEST(PackagesJudge, DpkgStatusOfThisMachine) {
  const auto status = read_file("/var/lib/dpkg/status", packages::kMaxDatabaseBytes);
  ASSERT_TRUE(status.ok()) << status.error().to_string();
  const TempDir folder;
  // What is there of a package that never was installed whole, and what is left of one that was removed.
  const std::string text = *status +
                           "\nPackage: strake-half\nStatus: install reinstreq half-installed\nArchitecture: all\n"
                           "Version: 2:1.0-beta-3\nMaintainer: n\nDescription: d\n"
                           "\nPackage: strake-gone\nStatus: deinstall ok config-files\nArchitecture: all\n"
                           "Version: 1.0\nMaintainer: n\nDescription: d\n";
  ASSERT_TRUE(write_file_atomic(folder / "status", text, 0644).ok());
  Lines theirs;
  for (const std::string& line :
       lines_of(output_of({"dpkg-query", "--admindir", folder.path().string(), "--show", "--showformat",
                           "${db:Status-Status}|${Package}|${Version}|${Architecture}|${source:Package}\n"}))) {
    const std::size_t state = line.find('|');
    if (const std::string name = line.substr(0, state); name == "config-files" || name == "not-installed") continue;
    theirs.push_back(line.substr(state + 1));
  }
  EXPECT_GT(theirs.size(), 100u);
  const auto read = packages::read_dpkg_status(text);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  Lines ours;
  for (const Package& package : *read) {
    ours.push_back(fmt::format("{}|{}|{}|{}", package.name, version_text(package), package.architecture,
                               package.source.empty() ? package.name : package.source));
  }
  EXPECT_EQ(sorted(std::move(ours)), sorted(std::move(theirs)));
}

// --- Versions --------------------------------------------------------------------------------------------------------

class VersionGenerator {
 public:
  explicit VersionGenerator(std::string_view alphabet) : alphabet_(alphabet) {}

  std::string text(int most = 8) {
    std::string text(1, static_cast<char>('0' + pick(3)));
    for (std::size_t more = pick(static_cast<std::size_t>(most)); more > 0; --more)
      text += alphabet_[pick(alphabet_.size())];
    return text;
  }

  /// A version that differs little from this one, or not at all in meaning.
  std::string variation(std::string text) {
    const std::size_t at = pick(text.size());
    switch (pick(5)) {
      case 0: return text.insert(at, 1, alphabet_[pick(alphabet_.size())]);
      case 1: return text.insert(at, "0");
      case 2: return text.size() > 1 ? text.erase(std::max<std::size_t>(at, 1), 1) : text;
      case 3: text[std::max<std::size_t>(at, text.size() > 1)] = alphabet_[pick(alphabet_.size())]; return text;
      default: return text + alphabet_[pick(alphabet_.size())];
    }
  }

  std::size_t pick(std::size_t count) { return random_.below(count); }

 private:
  std::string_view alphabet_;
  SeededRandom random_{20260101};
};

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs generated_pairs(VersionGenerator& generator, int count, const std::function<std::string(std::string)>& decorate) {
  Pairs pairs;
  for (int i = 0; i < count; ++i) {
    const std::string left = generator.text();
    const std::string right = generator.pick(4) == 0 ? generator.text() : generator.variation(left);
    pairs.emplace_back(decorate(left), decorate(right));
  }
  return pairs;
}

Package parsed(std::string_view text) {
  // The same form for both: [EPOCH:]VERSION[-RELEASE].
  Package package{.name = "p"};
  if (const std::size_t colon = text.find(':'); colon != text.npos) {
    package.epoch = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  const std::size_t hyphen = text.rfind('-');
  package.version = text.substr(0, hyphen);
  if (hyphen != text.npos) package.release = text.substr(hyphen + 1);
  return package;
}

void expect_same_order(PackageSystem system, const Pairs& pairs, const Lines& theirs) {
  ASSERT_EQ(theirs.size(), pairs.size());
  int equal = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& [left, right] = pairs[i];
    const int ours = compare_versions(system, parsed(left), parsed(right));
    EXPECT_EQ(std::to_string(ours), theirs[i]) << left << " and " << right;
    EXPECT_EQ(compare_versions(system, parsed(right), parsed(left)), -ours) << right << " and " << left;
    equal += ours == 0;
  }
  EXPECT_GT(equal, static_cast<int>(pairs.size()) / 50) << "too few equal pairs to judge equality";
}

std::string pair_lines(const Pairs& pairs) {
  std::string text;
  for (const auto& [left, right] : pairs) text += fmt::format("{} {}\n", left, right);
  return text;
}

TEST(PackagesJudge, RpmOrdersVersionsAlike) {
  VersionGenerator generator("0123aAbz..~~^^_+");
  Pairs pairs = generated_pairs(generator, kVersionPairs, [&](std::string text) {
    if (generator.pick(8) == 0) text = fmt::format("{}:{}", generator.pick(3), text);
    return fmt::format("{}-{}", text, generator.pick(8) == 0 ? generator.text() : "1");
  });
  const TempDir folder;
  ASSERT_TRUE(write_file_atomic(folder / "pairs", pair_lines(pairs), 0644).ok());
  const std::string script = fmt::format(
      "%{{lua: for line in io.lines('{}') do local a, b = line:match('(%S+) (%S+)'); print(rpm.vercmp(a, b) .. '\\n') "
      "end}}",
      (folder / "pairs").string());
  Lines theirs = lines_of(output_of({"rpm", "--eval", script}));
  std::erase(theirs, "");
  expect_same_order(PackageSystem::kRpm, pairs, theirs);
}

TEST(PackagesJudge, DpkgOrdersVersionsAlike) {
  VersionGenerator generator("0123aAbz..~~++");
  const Pairs pairs = generated_pairs(generator, kDpkgVersionPairs, [&](std::string text) {
    if (generator.pick(8) == 0) text = fmt::format("{}:{}", generator.pick(3), text);
    return generator.pick(3) == 0 ? text : fmt::format("{}-{}", text, generator.pick(8) == 0 ? generator.text() : "1");
  });
  const Lines theirs =
      lines_of(output_of({"sh", "-c",
                          "while read -r a b; do if dpkg --compare-versions \"$a\" lt \"$b\"; then echo -1; "
                          "elif dpkg --compare-versions \"$a\" gt \"$b\"; then echo 1; else echo 0; fi; done"},
                         pair_lines(pairs)));
  expect_same_order(PackageSystem::kDpkg, pairs, theirs);
}

}  // namespace
}  // namespace strake::test
