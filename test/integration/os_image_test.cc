// `strake os` on real OS images of every form, beside what ostree, ostree-ext, buildah, rpm and dpkg say about them.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "integration/os_image_fixture.h"
#include "support/registry_server.h"

namespace strake::test {
namespace {

using std::filesystem::path;
using OsImage = OsImageFixture;

// --- Listings --------------------------------------------------------------------------------------------------------

TEST_F(OsImage, ListsACommitInEveryFormAsOstreeDoes) {
  const std::string theirs = judged({"ostree", "--repo=bare-user", "ls", "-R", "-X", "-C", kOsBranch});
  EXPECT_GT(lines_of(theirs).size(), 130u);
  for (const std::string& form : forms_of_the_commit()) {
    SCOPED_TRACE(form);
    expect_same_lines(lines_of(os_checked({"ls", form, "/", "-R", "--ostree", "-X", "-C"})), lines_of(theirs));
  }
  expect_same_lines(lines_of(os_checked({"ls", layout("derived"), "/", "-R", "--ostree", "-X", "-C", "--base"})),
                    lines_of(theirs));
}

TEST_F(OsImage, ListsWhatSkopeoMadeOfTheImage) {
  const std::string theirs = judged({"ostree", "--repo=archive", "ls", "-R", "-X", "-C", kOsBranch});
  const struct {
    const char* what;
    std::string target;
    Lines options;
  } cases[] = {
      {"docker-archive", "docker-archive:" + (work_ / "docker.tar").string() + ":os:v1", {}},
      {"oci-archive", "oci-archive:" + (work_ / "oci.tar").string() + ":v1", {}},
      {"zstd", "oci:" + (work_ / "zstd").string() + ":v1", {"--dest-compress-format=zstd", "--dest-compress"}},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.what);
    Lines copy{"skopeo", "--policy", "policy.json", "copy", "--quiet"};
    copy.insert(copy.end(), test.options.begin(), test.options.end());
    copy.insert(copy.end(), {"oci:derived:v1", test.target});
    judged(std::move(copy));
    expect_same_lines(lines_of(os_checked({"ls", test.target, "/", "-R", "--ostree", "-X", "-C", "--base"})),
                      lines_of(theirs));
  }
}

TEST_F(OsImage, ListsPartsAsOstreeDoes) {
  const struct {
    const char* path;
    std::vector<std::string> options;
  } cases[] = {
      {"/", {}},
      {"/usr/share/odd", {}},
      {"/usr/share/odd", {"-C"}},
      {"/usr/share", {"-R"}},
      {"/usr/share", {"-d"}},
      {"/usr/share/odd/-rf", {"-X"}},
      {"/usr/etc/os-release", {}},
      {"/bin", {}},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.path);
    std::vector<std::string> theirs{"ostree", "--repo=archive", "ls"},
        ours{"ls", layout("chunked"), test.path, "--ostree"};
    theirs.insert(theirs.end(), test.options.begin(), test.options.end());
    theirs.insert(theirs.end(), {kOsBranch, test.path});
    ours.insert(ours.end(), test.options.begin(), test.options.end());
    expect_same_lines(lines_of(os_checked(std::move(ours))), lines_of(judged(std::move(theirs))));
  }
}

TEST_F(OsImage, MergesDerivedLayersAsTheImporterDoes) {
  expect_same_lines(lines_of(os_checked({"ls", layout("derived"), "/", "-R", "--ostree", "-X"})),
                    lines_of(judged({"ostree", "--repo=merged", "ls", "-R", "-X", kOsBranch})));
}

/// The root itself is not in the layers; every tool gives it a mode of its own.
constexpr const char* kListUnpacked = R"script(set -eu
$BUILDAH from --quiet --signature-policy policy.json --name unpacked-plain oci:plain:v1 >&2
cd "$($BUILDAH mount unpacked-plain)"
find . -mindepth 1 -printf '%y%#m %U %G %s %P -> %l\n'
)script";

TEST_F(OsImage, ListsAPlainImageAsItUnpacks) {
  const auto unpacked = images_->run_as_builder(kListUnpacked);
  ASSERT_TRUE(unpacked.ok()) << unpacked.error().to_string();
  Lines theirs;
  for (std::string line : lines_of(*unpacked)) {
    const char type = line[0];
    std::string mode, uid, gid, size;
    std::string_view rest = std::string_view(line).substr(1);
    for (std::string* field : {&mode, &uid, &gid, &size}) {
      *field = rest.substr(0, rest.find(' '));
      rest.remove_prefix(field->size() + 1);
    }
    if (type != 'l') rest.remove_suffix(std::string_view(" -> ").size());
    theirs.push_back(fmt::format("{}{:0>5} {} {} {:>6} /{}", type == 'f' ? '-' : type, mode, uid, gid,
                                 type == 'f' ? size : "0", rest));
  }
  Lines ours = lines_of(os_checked({"ls", layout("plain"), "/", "-R", "--ostree"}));
  EXPECT_GT(ours.size(), 40u);
  ours.erase(ours.begin());
  std::ranges::sort(theirs);
  std::ranges::sort(ours);
  expect_same_lines(ours, theirs);
}

TEST_F(OsImage, NamesNeedTheCommitLayerAlone) {
  const LayoutEditor chunked = editable("chunked");
  const Lines layers = chunked.layer_digests();
  std::uintmax_t all_bytes = 0;
  for (const std::string& layer : layers) all_bytes += std::filesystem::file_size(chunked.blob(layer));
  EXPECT_LT(std::filesystem::file_size(chunked.blob(layers[0])) * 20, all_bytes) << "more than 5 % of the image";

  for (std::size_t i = 1; i < layers.size(); ++i) ASSERT_TRUE(chunked.remove_blob(layers[i]).ok());
  Lines theirs = split(judged({"ostree", "--repo=archive", "ls", "-R", "--nul-filenames-only", kOsBranch}), '\0');
  std::erase(theirs, "/");
  Lines ours = lines_of(os_checked({"ls", name_of(chunked), "/", "-R"}));
  for (std::string& name : ours) {
    if (name.ends_with('/')) name.pop_back();
  }
  std::ranges::sort(theirs);
  std::ranges::sort(ours);
  expect_same_lines(ours, theirs);
}

TEST_F(OsImage, OfARegistryNamesFetchTheCommitLayerAlone) {
  const auto registry = RegistryServer::start(RegistryLogin::kPassword);
  ASSERT_TRUE(registry.ok()) << registry.error().to_string();
  const std::string name = (*registry)->host() + "/test/os:v1";
  const path auth_file = (*registry)->login_folder() / "config.json";
  judged({"skopeo", "--policy", "policy.json", "copy", "--quiet", "--dest-cert-dir",
          (*registry)->certificate_folder().string(), "--dest-authfile", auth_file.string(), "oci:chunked:v1",
          "docker://" + name});
  // What the registry keeps of all other layers is gone: whoever asks for one gets an error.
  const Lines layers = editable("chunked").layer_digests();
  std::size_t removed = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator((*registry)->directory())) {
    const auto is_of = [&](const std::string& digest) {
      return file.path().filename() == "data" && file.path().parent_path().filename() == digest.substr(7);
    };
    if (std::any_of(layers.begin() + 1, layers.end(), is_of)) removed += std::filesystem::remove(file.path());
  }
  EXPECT_EQ(removed, layers.size() - 1);
  const Lines access{"--certificate-authority", (*registry)->ca_file(), "--authfile", auth_file};
  Lines list{"ls", name, "/", "-R"}, details{"ls", name, "/", "-R", "-l"};
  list.insert(list.end(), access.begin(), access.end());
  details.insert(details.end(), access.begin(), access.end());
  expect_same_lines(lines_of(os_checked(list)), lines_of(os_checked({"ls", layout("chunked"), "/", "-R"})));
  EXPECT_EQ(os(details).exit.exit_code, 3) << "what files are is in the layers that are gone";
}

// --- Cache -----------------------------------------------------------------------------------------------------------

TEST_F(OsImage, TheSecondListingReadsNoLayer) {
  for (const char* form : {"single", "chunked", "derived", "plain", "machine-os"}) {
    SCOPED_TRACE(form);
    const LayoutEditor image = editable(form);
    const std::vector<std::string> list{"ls", name_of(image), "/", "-R", "--ostree", "-X"};
    const std::string first = os_checked(list);
    EXPECT_NE(first, "");
    for (const std::string& layer : image.layer_digests()) ASSERT_TRUE(image.remove_blob(layer).ok());
    expect_same_lines(lines_of(os_checked(list)), lines_of(first));
  }
}

TEST_F(OsImage, WithoutCacheNothingIsWritten) {
  for (const char* form : {"single", "chunked", "derived", "plain", "machine-os"}) {
    SCOPED_TRACE(form);
    Command command = strake_command({"os", "ls", layout(form), "/", "-R", "-l", "--no-cache"});
    command.env = {"PATH=/usr/bin:/bin", "HOME=" + (work_ / "home").string(),
                   "XDG_CACHE_HOME=" + (work_ / "cache-home").string(), "TMPDIR=" + work_.path().string()};
    const auto output = run(command);
    ASSERT_TRUE(output.ok()) << output.error().to_string();
    EXPECT_EQ(output->exit.exit_code, 0) << output->stderr_bytes;
    EXPECT_TRUE(std::filesystem::is_empty(work_.path()));
  }
}

// --- Content ---------------------------------------------------------------------------------------------------------

TEST_F(OsImage, PrintsFilesAsOstreeDoes) {
  const std::string tool = judged({"ostree", "--repo=archive", "cat", kOsBranch, "/usr/bin/tool"});
  const std::string release = judged({"ostree", "--repo=archive", "cat", kOsBranch, "/usr/lib/os-release"});
  EXPECT_EQ(tool.size(), 30'000u);
  for (const std::string& form : all_forms()) {
    SCOPED_TRACE(form);
    EXPECT_TRUE(os_checked({"cat", form, "/usr/bin/same-tool"}) == tool);
    EXPECT_EQ(os_checked({"cat", form, "/etc/os-release"}), release) << "a link that leads to another folder";
    EXPECT_EQ(os_checked({"cat", form, "/usr/share/odd/also empty"}), "");
  }
  EXPECT_EQ(os_checked({"cat", layout("derived"), "/etc/site.conf"}), "setting = 2\n");
  EXPECT_EQ(os_checked({"cat", layout("derived"), "/etc/site.conf", "--base"}), "setting = 1\n");
  EXPECT_EQ(os_checked({"cat", layout("plain"), "/usr/share/odd/-rf"}), "replaced\n");
}

TEST_F(OsImage, WhatIsNotThereExitsWith3) {
  for (const std::string& form : all_forms()) {
    SCOPED_TRACE(form);
    for (const char* verb : {"ls", "cat"}) {
      const ProcessOutput output = os({verb, form, "/usr/share/nothing/here"});
      EXPECT_EQ(output.exit.exit_code, 3);
      EXPECT_EQ(output.stdout_bytes, "");
      EXPECT_NE(output.stderr_bytes.find("/usr/share"), std::string::npos) << output.stderr_bytes;
    }
  }
  EXPECT_EQ(os({"cat", layout("derived"), "/usr/share/many/7"}).exit.exit_code, 3) << "removed by the upper layer";
  EXPECT_EQ(os({"cat", layout("plain"), "/usr/share/many/7"}).exit.exit_code, 3) << "removed by the upper layer";
}

/// Contents, types, modes and link targets of everything below a folder; modes of folders are left out, because a
/// checkout changes them.
Lines described_folder(const OsImages& images, const std::string& folder) {
  const auto described = images.run_as_builder(
      "cd \"$1\"; find . ! -type d -printf '%y %#m %s %P -> %l\\0'; find . -type f -exec sha256sum -z '{}' +",
      {folder});
  EXPECT_TRUE(described.ok()) << (described.ok() ? "" : described.error().to_string());
  Lines lines = described.ok() ? split(*described, '\0') : Lines();
  std::ranges::sort(lines);
  return lines;
}

TEST_F(OsImage, ExtractsWhatOstreeChecksOut) {
  judged({"ostree", "--repo=archive", "checkout", "-U", kOsBranch, (work_ / "theirs").string()});
  const Lines theirs = described_folder(*images_, work_ / "theirs");
  EXPECT_GT(theirs.size(), 120u);
  for (const std::string& form : {layout("chunked"), layout("machine-os"), forms_of_the_commit().front()}) {
    SCOPED_TRACE(form);
    os_checked({"extract", form, "/", (work_ / "ours").string()});
    expect_same_lines(described_folder(*images_, work_ / "ours"), theirs);
    std::filesystem::remove_all(work_ / "ours");
  }
}

}  // namespace
}  // namespace strake::test
