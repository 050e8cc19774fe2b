#include <gtest/gtest.h>

#include "packages/packages.h"
#include "packages/testing/database_builder.h"

namespace strake::packages::rpm_database_test {

std::string header(std::string_view name, std::string_view version) {
  return RpmHeaderBuilder()
      .text(RpmTag::kName, name)
      .text(RpmTag::kVersion, version)
      .text(RpmTag::kRelease, "1")
      .text(RpmTag::kArchitecture, "noarch")
      .bytes();
}

void expect_error(std::string_view bytes, Code code, std::string_view says) {
  const auto packages = read_rpm_database(bytes);
  ASSERT_FALSE(packages.ok());
  EXPECT_EQ(packages.error().code(), code);
  EXPECT_NE(packages.error().to_string().find(says), std::string::npos) << packages.error().to_string();
}

TEST(RpmDatabase, PackagesAreSortedByNameThenVersion) {
  DatabaseBuilder database;
  database.run(kCreateRpmPackages);
  database.insert("Packages", 7, header("zlib", "1.2"));
  database.insert("Packages", 8, header("kernel", "6.10"));
  database.insert("Packages", 9, header("kernel", "6.9"));
  const auto packages = read_rpm_database(database.bytes());
  ASSERT_TRUE(packages.ok()) << packages.error().to_string();
  std::vector<std::string> names;
  for (const Package& package : *packages) names.push_back(identity_text(PackageSystem::kRpm, package));
  EXPECT_EQ(names, (std::vector<std::string>{"kernel-6.9-1.noarch", "kernel-6.10-1.noarch", "zlib-1.2-1.noarch"}));
}

TEST(RpmDatabase, AnEmptyTableHasNoPackages) {
  DatabaseBuilder database;
  database.run(kCreateRpmPackages);
  const auto packages = read_rpm_database(database.bytes());
  ASSERT_TRUE(packages.ok());
  EXPECT_TRUE(packages->empty());
}

TEST(RpmDatabase, NamesTheRowThatIsBroken) {
  DatabaseBuilder database;
  database.run(kCreateRpmPackages);
  database.insert("Packages", 41, header("good", "1"));
  database.insert("Packages", 42, "short");
  expect_error(database.bytes(), Code::kCorrupt, "row 42: an rpm header of 5 bytes");
}

TEST(RpmDatabase, RefusesAnotherTable) {
  DatabaseBuilder database;
  database.run("CREATE TABLE Packages (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO Packages VALUES (1, 'bash')");
  expect_error(database.bytes(), Code::kCorrupt, "row 1 holds no rpm header");
}

TEST(RpmDatabase, SaysThatTheTableMayBeInTheJournal) {
  DatabaseBuilder database;
  database.run("CREATE TABLE x (y)");
  std::string bytes = database.bytes();
  expect_error(bytes, Code::kCorrupt, "without a table Packages");
  bytes[18] = bytes[19] = 2;
  expect_error(bytes, Code::kCorrupt, "rpmdb.sqlite-wal");
}

TEST(RpmDatabase, OlderDatabasesAreNamed) {
  const std::string zeros(12, '\0');
  expect_error(zeros + "\x61\x15\x06" + std::string(4096, '\0'), Code::kUnsupported, "Berkeley DB");
  expect_error(zeros + std::string("\x00\x06\x15\x61", 4) + zeros, Code::kUnsupported, "Berkeley DB");
  expect_error("RpmP" + zeros, Code::kUnsupported, "ndb");
  expect_error("", Code::kCorrupt, "it is empty");
}

}  // namespace strake::packages::rpm_database_test
