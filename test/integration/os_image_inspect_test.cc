// `strake os inspect` and `strake os diff` beside ostree, rpm and dpkg.
#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "codec/json.h"
#include "integration/os_image_fixture.h"

namespace strake::test {
namespace {

constexpr const char* kRpmFields = "%{NAME}|%{EPOCH}|%{VERSION}|%{RELEASE}|%{ARCH}";
constexpr const char* kRpmIdentity = "%{NAME}-%|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}.%{ARCH}";

std::string text_or_none(const json::Object& object, std::string_view key) {
  const json::Value* value = object.if_contains(key);
  return value == nullptr ? "(none)" : std::string(value->as_string());
}

/// As kRpmFields prints it.
Lines package_lines(const json::Value& packages) {
  Lines lines;
  for (const json::Value& item : packages.as_array()) {
    const json::Object& package = item.as_object();
    lines.push_back(fmt::format("{}|{}|{}|{}|{}", text_or_none(package, "name"), text_or_none(package, "epoch"),
                                text_or_none(package, "version"), text_or_none(package, "release"),
                                text_or_none(package, "architecture")));
  }
  std::ranges::sort(lines);
  return lines;
}

Lines text_lines(const json::Value& texts) {
  Lines lines;
  for (const json::Value& text : texts.as_array()) lines.emplace_back(text.as_string());
  return lines;
}

class OsImageInspected : public OsImageFixture {
 protected:
  json::Value parsed(const std::string& text) const {
    auto value = json::parse(text);
    EXPECT_TRUE(value.ok()) << (value.ok() ? text : value.error().to_string());
    return value.ok() ? *std::move(value) : json::Value(json::Object());
  }
  json::Value inspected(const std::string& image) const { return parsed(os_checked({"inspect", image, "-o", "json"})); }

  Lines rpm_lines(const RpmDatabase& database, const char* format = kRpmFields) const {
    auto lines = database.query(format);
    EXPECT_TRUE(lines.ok()) << (lines.ok() ? "" : lines.error().to_string());
    return lines.ok() ? *std::move(lines) : Lines();
  }
};

TEST_F(OsImageInspected, CommitVersionKernelAndPackagesInEveryForm) {
  const Lines rpms = rpm_lines(images_->rpm_database());
  EXPECT_EQ(rpms.size(), 22u);
  // As text of a GVariant: 'VERSION'.
  const std::string version = judged({"ostree", "--repo=archive", "show", "--print-metadata-key=version", kOsBranch});
  EXPECT_EQ(version, fmt::format("'{}'\n", kOsVersion));
  for (const std::string& form : forms_of_the_commit()) {
    SCOPED_TRACE(form);
    const json::Value facts = inspected(form);
    EXPECT_EQ(facts.at("commit").at("checksum"), json::Value(images_->commit()));
    EXPECT_EQ(facts.at("commit").at("version"), json::Value(kOsVersion));
    EXPECT_EQ(facts.at("osRelease").at("ID"), json::Value("testos"));
    ASSERT_EQ(facts.at("kernels").as_array().size(), 1u);
    EXPECT_EQ(facts.at("kernels").at(0).at("version"), json::Value(kOsKernel));
    EXPECT_EQ(facts.at("kernels").at(0).at("initramfs").at("size"), json::Value(200'000));
    EXPECT_EQ(facts.at("kargs").as_array().size(), 2u);
    ASSERT_EQ(facts.at("packageDatabases").as_array().size(), 1u);
    expect_same_lines(package_lines(facts.at("packageDatabases").at(0).at("packages")), rpms);
  }
}

TEST_F(OsImageInspected, ADerivedImageShowsWhatTheUpperLayerMadeOfIt) {
  const json::Value facts = inspected(layout("derived"));
  EXPECT_EQ(facts.at("commit").at("checksum"), json::Value(images_->commit()));
  EXPECT_EQ(facts.at("layers").at("derived"), json::Value(1));
  ASSERT_EQ(facts.at("kernels").as_array().size(), 1u);
  EXPECT_EQ(facts.at("kernels").at(0).at("version"), json::Value(kDerivedOsKernel));
  EXPECT_TRUE(facts.at("kargs").as_array().empty());
  expect_same_lines(package_lines(facts.at("packageDatabases").at(0).at("packages")),
                    rpm_lines(images_->derived_rpm_database()));
}

TEST_F(OsImageInspected, APlainImageShowsThePackagesOfDpkg) {
  const json::Value facts = inspected(layout("plain"));
  EXPECT_FALSE(facts.as_object().contains("commit"));
  Lines ours;
  for (const json::Value& item : facts.at("packageDatabases").at(0).at("packages").as_array()) {
    const json::Object& package = item.as_object();
    const std::string epoch = text_or_none(package, "epoch");
    ours.push_back(fmt::format("{} {}{}-{} {}", text_or_none(package, "name"), epoch == "(none)" ? "" : epoch + ":",
                               text_or_none(package, "version"), text_or_none(package, "release"),
                               text_or_none(package, "architecture")));
  }
  expect_same_lines(ours, lines_of(judged({"sh", "-c",
                                           "dpkg-query --admindir dpkg --show --showformat "
                                           "'${db:Status-Status}: ${Package} ${Version} ${Architecture}\\n' | "
                                           "sed -n 's/^installed: //p'"})));
}

TEST_F(OsImageInspected, DiffersInFilesAsOstreeSays) {
  const ProcessOutput output = os({"diff", layout("chunked"), layout("derived"), "-o", "json"});
  EXPECT_EQ(output.exit.exit_code, 2) << output.stderr_bytes;
  Lines ours;
  std::set<std::string> removed;
  const json::Value difference = parsed(output.stdout_bytes);
  for (const json::Value& file : difference.at("files").as_array()) {
    const std::string path(file.at("path").as_string());
    const std::string change(file.at("change").as_string());
    // Of a folder that is gone ostree names the folder alone.
    if (change == "removed" && !removed.insert(path).second) continue;
    if (change == "removed" && removed.contains(path.substr(0, path.rfind('/')))) continue;
    ours.push_back(fmt::format("{}    {}", change == "added" ? 'A' : change == "removed" ? 'D' : 'M', path));
  }
  Lines theirs = lines_of(judged({"ostree", "--repo=merged", "diff", images_->commit(), kOsBranch}));
  std::ranges::sort(ours);
  std::ranges::sort(theirs);
  EXPECT_GT(theirs.size(), 100u);
  expect_same_lines(ours, theirs);
}

TEST_F(OsImageInspected, DiffersInPackagesAsRpmSays) {
  const json::Value difference =
      parsed(os({"diff", layout("chunked"), layout("derived"), "--only", "packages", "-o", "json"}).stdout_bytes);
  const Lines before = rpm_lines(images_->rpm_database(), kRpmIdentity);
  const Lines after = rpm_lines(images_->derived_rpm_database(), kRpmIdentity);
  Lines only_after, only_before;
  std::ranges::set_difference(after, before, std::back_inserter(only_after));
  std::ranges::set_difference(before, after, std::back_inserter(only_before));
  EXPECT_EQ(only_after.size(), 3u);
  EXPECT_EQ(only_before.size(), 4u);

  const json::Value& changes = difference.at("packages").at(0);
  Lines added = text_lines(changes.at("added")), removed = text_lines(changes.at("removed"));
  ASSERT_EQ(changes.at("upgraded").as_array().size(), 1u);
  EXPECT_TRUE(changes.at("downgraded").as_array().empty());
  const json::Value& upgraded = changes.at("upgraded").at(0);
  const auto identity = [&](const char* side) {
    return fmt::format("{}-{}.{}", text_or_none(upgraded.as_object(), "name"), text_or_none(upgraded.as_object(), side),
                       text_or_none(upgraded.as_object(), "architecture"));
  };
  EXPECT_EQ(identity("before"), "p009-2.9~rc1^b-0.el9.noarch");
  added.push_back(identity("after"));
  removed.push_back(identity("before"));
  std::ranges::sort(added);
  std::ranges::sort(removed);
  expect_same_lines(added, only_after);
  expect_same_lines(removed, only_before);
}

TEST_F(OsImageInspected, FormsOfTheSameCommitDoNotDiffer) {
  const Lines forms = forms_of_the_commit();
  for (const std::string& form : forms) {
    SCOPED_TRACE(form);
    const ProcessOutput output = os({"diff", forms.front(), form});
    EXPECT_EQ(output.exit.exit_code, 0) << output.stdout_bytes << output.stderr_bytes;
  }
}

}  // namespace
}  // namespace strake::test
