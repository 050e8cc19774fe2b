#include "osimage/inspection.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include "base/fd.h"
#include "osimage/difference.h"
#include "osimage/testing/sample_os.h"
#include "support/temp_dir.h"

namespace strake::osimage::inspection_test {

using oci::testing::make_layer;
using oci::testing::tar_file;
using oci::testing::tar_folder;
using oci::testing::TarItem;
using testing::native_image;
using testing::SampleFile;
using testing::SampleImage;
using testing::SampleTree;

constexpr const char* kDpkgStatus =
    "Package: bash\nStatus: install ok installed\nArchitecture: amd64\nVersion: 5.2-1\n\n"
    "Package: vim\nStatus: install ok installed\nArchitecture: amd64\nVersion: 2:9.0-4\n\n";
constexpr const char* kNewerDpkgStatus =
    "Package: bash\nStatus: install ok installed\nArchitecture: amd64\nVersion: 5.3-1\n\n"
    "Package: zsh\nStatus: install ok installed\nArchitecture: amd64\nVersion: 5.9\n\n";

std::vector<SampleFile> os_files() {
  return {
      {"usr/lib/os.release.d/os-release-sample", "PRETTY_NAME=\"Sample OS 1\"\nVERSION_ID=1\nOSTREE_VERSION='1.0'\n"},
      {.path = "usr/lib/os-release", .symlink_target = "./os.release.d/os-release-sample"},
      {"usr/lib/modules/6.1.0/vmlinuz", "kernel"},
      {"usr/lib/modules/6.1.0/initramfs.img", "initramfs"},
      {"usr/lib/modules/6.0.9/extra.ko", "left over"},
      {.path = "usr/lib/modules/6.0.9/vmlinuz", .symlink_target = "nowhere"},
      {"usr/lib/bootc/kargs.d/10-a.toml", "kargs = [\"a=b\", \"c\"]\nmatch-architectures = [\"x86_64\"]\n"},
      {"usr/lib/bootc/kargs.d/20-b.toml", "kargs = \"oops\"\n"},
      {"usr/lib/bootc/kargs.d/README", "no toml"},
      {"usr/lib/sysimage/dpkg/status", kDpkgStatus},
      {"var/lib/rpm/Packages", std::string("\0\0\0\0\0\0\0\0\0\0\0\0\x61\x15\x06\0", 16)},
  };
}

struct Opened {
  explicit Opened(const SampleImage& sample) {
    testing::write_image(directory.path(), sample);
    auto opened = oci::Layout::open(directory.path());
    EXPECT_TRUE(opened.ok());
    layout = std::make_unique<oci::Layout>(*std::move(opened));
    auto found = OsImage::open(*layout, "os", {}, runtime, {});
    EXPECT_TRUE(found.ok()) << found.error().to_string();
    image = *std::move(found);
  }
  test::TempDir directory;
  runtime::ThreadRuntime runtime;
  std::unique_ptr<oci::Layout> layout;
  std::unique_ptr<OsImage> image;
};

TEST(Inspection, OsRelease) {
  const auto values = parse_os_release(
      "# comment\nNAME=Plain\n  PRETTY_NAME=\"A \\\"B\\\" \\$C\"  \nVARIANT='it\\s'\nEMPTY=\nno "
      "equals\n=nothing\r\nLAST=x");
  const std::map<std::string, std::string> expected = {
      {"NAME", "Plain"}, {"PRETTY_NAME", "A \"B\" $C"}, {"VARIANT", "it\\s"}, {"EMPTY", ""}, {"LAST", "x"}};
  EXPECT_EQ(values, expected);
}

TEST(Inspection, KernelArguments) {
  struct Case {
    const char* toml;
    const char* expected;  ///< arguments, architectures, or the problem
  };
  const Case cases[] = {
      {"kargs = [\"a\", \"b=c d\"]", "a,b=c d|"},
      {"kargs = []\nmatch-architectures = [\"aarch64\", \"x86_64\"]", "|aarch64,x86_64"},
      {"match-architectures = [\"aarch64\"]", "kargs is missing"},
      {"kargs = \"a\"", "kargs is not a list"},
      {"kargs = [1]", "kargs holds something that is no text"},
      {"kargs = []\nmatch-arch = []", "unknown key match-arch"},
  };
  for (const Case& c : cases) {
    const KernelArgumentsFile file = parse_kernel_arguments("f", c.toml);
    const std::string shown =
        file.problem.empty() ? fmt::format("{}|{}", fmt::join(file.arguments, ","), fmt::join(file.architectures, ","))
                             : file.problem;
    EXPECT_EQ(shown, c.expected) << c.toml;
  }
  EXPECT_NE(parse_kernel_arguments("f", "kargs = [").problem, "");
}

TEST(Inspection, EveryFormSaysTheSame) {
  const SampleTree tree(os_files());
  SampleImage labelled = native_image(tree, 3);
  labelled.labels["io.openshift.os.streamclass"] = "rhel-9";
  Opened opened(labelled);
  const auto inspection = inspect(*opened.image, {});
  ASSERT_TRUE(inspection.ok()) << inspection.error().to_string();
  const std::string text = describe_inspection(opened.image->facts(), *inspection, true);
  for (const char* expected :
       {"Form:               ostree-native\n", "Name:               Sample OS 1\n", "Stream class:       rhel-9\n",
        "Bootable:           yes\n", "Kernel:             6.1.0\n", "/usr/lib/modules/6.1.0/vmlinuz (6 bytes)\n",
        "/usr/lib/modules/6.1.0/initramfs.img (9 bytes)\n",
        "Kernel arguments:   /usr/lib/bootc/kargs.d/10-a.toml: a=b c   (on x86_64)\n",
        "Kernel arguments:   /usr/lib/bootc/kargs.d/20-b.toml: invalid: kargs is not a list\n",
        "Packages:           2 (dpkg, /usr/lib/sysimage/dpkg/status)\n",
        "Packages:           unsupported: /var/lib/rpm/Packages: ", "bash 5.2-1 amd64\nvim 2:9.0-4 amd64\n"}) {
    EXPECT_NE(text.find(expected), std::string::npos) << expected << "\nin\n" << text;
  }
  EXPECT_EQ(text.find("6.0.9"), std::string::npos);
  const json::Object object = inspection_json(opened.image->facts(), *inspection);
  EXPECT_EQ(json::write(object.at("kernels")),
            R"([{"version":"6.1.0","vmlinuz":{"path":"/usr/lib/modules/6.1.0/vmlinuz","size":6},)"
            R"("initramfs":{"path":"/usr/lib/modules/6.1.0/initramfs.img","size":9}}])");
  EXPECT_EQ(object.at("version"), "1.0");
  EXPECT_EQ(object.at("osRelease").at("OSTREE_VERSION"), "1.0");

  const test::TempDir repository;
  ostree::testing::write_archive_repository(repository.path(), tree, "os");
  auto local = OsImage::open_repository(repository.path(), "os");
  ASSERT_TRUE(local.ok());
  const auto again = inspect(**local, {});
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  const json::Object other = inspection_json((*local)->facts(), *again);
  for (const char* key : {"kernels", "kargs", "osRelease", "packageDatabases", "commit", "version"}) {
    EXPECT_EQ(json::write(other.at(key)), json::write(object.at(key))) << key;
  }
  EXPECT_EQ(other.at("form"), "ostree");
}

TEST(Inspection, WhatAMachineWasInstalledFrom) {
  const test::TempDir root;
  const std::filesystem::path repository = root.path() / "ostree/repo";
  std::filesystem::create_directories(repository);
  ostree::testing::write_archive_repository(repository, SampleTree(os_files(), {{"version", "9.8.20260428-0"}}), "os");
  const auto described = [&]() -> std::string {
    auto image = OsImage::open_repository(repository, "os");
    if (!image.ok()) return image.error().to_string();
    const auto inspection = inspect(**image, {});
    if (!inspection.ok()) return inspection.error().to_string();
    return describe_inspection((*image)->facts(), *inspection, false) +
           json::write(inspection_json((*image)->facts(), *inspection));
  };
  EXPECT_EQ(described().find("nstalled"), std::string::npos) << "a machine without such a record";

  // The oldest name links to the newest, as current images have it.
  ASSERT_TRUE(write_file_atomic(root.path() / ".bootc-aleph.json",
                                R"({"build":"415.92.202311241643-0","imgid":"rhcos.qcow2"})", 0644)
                  .ok());
  std::filesystem::create_symlink(".bootc-aleph.json", root.path() / ".coreos-aleph-version.json");
  const std::string text = described();
  EXPECT_NE(text.find("Installed from:     415.92.202311241643-0 (RHEL 9.2 of OpenShift 4.15, built 2023-11-24), "
                      "886 days older than this commit\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("installedFrom":{"version":"415.92.202311241643-0","image":"rhcos.qcow2"})"),
            std::string::npos)
      << text;

  ASSERT_TRUE(write_file_atomic(root.path() / ".bootc-aleph.json", "{", 0644).ok());
  EXPECT_NE(described().find("Installed from:     unreadable: "), std::string::npos) << described();

  std::filesystem::remove(root.path() / ".bootc-aleph.json");
  ASSERT_EQ(::mkfifo((root.path() / ".bootc-aleph.json").c_str(), 0600), 0);
  EXPECT_EQ(described().find("nstalled"), std::string::npos) << "nobody writes into that FIFO";
}

TEST(Inspection, WhatTheImporterDropsIsNamed) {
  SampleImage image = native_image(SampleTree(os_files()), 1);
  image.layers.push_back(make_layer({tar_file("opt/a", ""), tar_file("opt/b", ""), tar_file("run/x", "")}));
  Opened opened(image);
  const auto inspection = inspect(*opened.image, {});
  ASSERT_TRUE(inspection.ok());
  const std::string text = describe_inspection(opened.image->facts(), *inspection, false);
  EXPECT_NE(text.find("/opt: 2 entries"), std::string::npos) << text;
  EXPECT_NE(text.find("/x: 1 entries"), std::string::npos) << text;
}

// --- Differences ----------------------------------------------------------------------------------------------------

std::string differences(const SampleImage& before, const SampleImage& after, const CompareOptions& options = {}) {
  Opened left(before);
  Opened right(after);
  const auto difference = compare_images(*left.image, *right.image, options, {});
  return difference.ok() ? describe_difference(*difference) : difference.error().to_string();
}

SampleImage plain(const std::vector<std::vector<TarItem>>& layers) {
  SampleImage image;
  for (const auto& items : layers) image.layers.push_back(make_layer(items));
  return image;
}

TEST(Difference, Files) {
  using Files = std::vector<SampleFile>;
  const Files base = {{"usr/a", "1"},
                      {"usr/b", "same size"},
                      {.path = "usr/l", .symlink_target = "a"},
                      {.path = "usr/d/", .mode = 0755},
                      {"usr/gone/x", "1"}};
  const Files changed = {{"usr/a", "22"},
                         {"usr/b", "SAME SIZE"},
                         {.path = "usr/l", .symlink_target = "b"},
                         {.path = "usr/d/", .mode = 0700, .uid = 5},
                         {"usr/new", ""}};
  const char* expected =
      "Files:\n"
      "  ~ /usr/a  (content (1 -> 2 bytes))\n"
      "  ~ /usr/b  (content)\n"
      "  ~ /usr/d  (mode 0755 -> 0700, owner 0:0 -> 5:0)\n"
      "  - /usr/gone\n"
      "  - /usr/gone/x\n"
      "  ~ /usr/l  (target a -> b)\n"
      "  + /usr/new\n";
  EXPECT_EQ(differences(native_image(SampleTree(base), 2), native_image(SampleTree(changed), 0)), expected);
  EXPECT_EQ(differences(native_image(SampleTree(base), 2), native_image(SampleTree(base), 0)), "");

  const Files other_header = {{.path = "usr/b", .content = "same size", .mode = 0600},
                              {.path = "usr/t", .content = "1", .xattrs = {{"user.x", "1"}}}};
  const Files header = {{"usr/b", "same size"}, {"usr/t", "1"}};
  EXPECT_EQ(differences(native_image(SampleTree(header), 1), native_image(SampleTree(other_header), 1)),
            "Files:\n  ~ /usr/b  (mode 0644 -> 0600)\n  ~ /usr/t  (attribute user.x)\n");
}

TEST(Difference, PlainAndMixedForms) {
  const auto one = plain({{tar_file("etc/a", "1"), tar_file("etc/b", "2"), tar_file("etc/k", "k")}});
  const auto two =
      plain({{tar_file("etc/a", "1"), tar_file("etc/b", "2"), tar_file("etc/k", "k")}, {tar_file("etc/b", "3")}});
  const auto repacked = plain({{tar_file("etc/b", "2"), tar_file("etc/a", "1")}, {tar_file("etc/k", "k")}});
  EXPECT_EQ(differences(one, one), "");
  EXPECT_EQ(differences(one, two), "Files:\n  ~ /etc/b  (content)\n");
  EXPECT_EQ(differences(one, repacked), "");
  const SampleTree commit(
      std::vector<SampleFile>{{.path = "usr/etc/a", .content = "1", .xattrs = {{"security.selinux", "x"}}},
                              {"usr/etc/b", "9"},
                              {"usr/etc/k", "k"}});
  EXPECT_EQ(differences(one, native_image(commit, 1)), "Files:\n  ~ /etc/b  (content)\n  + /usr\n");
}

TEST(Difference, Packages) {
  const auto before = plain({{tar_file("var/lib/dpkg/status", kDpkgStatus)}});
  const auto after = plain({{tar_file("var/lib/dpkg/status", kNewerDpkgStatus)}});
  EXPECT_EQ(differences(before, after, {.files = false}),
            "Packages (dpkg):\n  + zsh 5.9 amd64\n  - vim 2:9.0-4 amd64\n  up bash  5.2-1 -> 5.3-1\n");
  EXPECT_EQ(differences(before, before), "");
  const auto unreadable = plain({{tar_file("usr/share/rpm/rpmdb.sqlite", "no database")}});
  const std::string text = differences(unreadable, unreadable);
  EXPECT_TRUE(text.starts_with("Packages (rpm): unreadable: /usr/share/rpm/rpmdb.sqlite: ")) << text;
}

}  // namespace strake::osimage::inspection_test
