#include "osimage/os_import.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

#include "osimage/testing/sample_os.h"
#include "ostree/repository.h"
#include "support/temp_dir.h"

namespace strake::osimage::os_import_test {

using oci::testing::make_layer;
using oci::testing::tar_file;
using oci::testing::tar_folder;
using oci::testing::tar_link;
using oci::testing::TarItem;
using ostree::Checksum;
using ostree::ContainerReference;
using ostree::ImportReport;
using ostree::LayerKind;
using ostree::ObjectType;
using ostree::RepositoryMode;
using ostree::RepositoryWriter;
using testing::native_image;
using testing::SampleFile;
using testing::SampleImage;
using testing::SampleTree;
using testing::XattrForm;
using Type = codec::TarEntryType;

const ContainerReference kReference{.name = "quay.io/os/os:1"};

/// Layers from memory; one may be broken, and what is read is remembered.
class MemoryLayers final : public ostree::LayerSource {
 public:
  explicit MemoryLayers(const SampleImage& image) : layers_(image.layers) {}
  Status read_layer(std::size_t number, const std::function<Status(codec::Source& tar)>& read) override {
    asked.push_back(number);
    codec::MemorySource tar(layers_[number]);
    STRAKE_CHECK_OK(read(tar));
    return answer;
  }
  std::vector<std::string>& tars() { return layers_; }

  std::vector<std::size_t> asked;
  Status answer;  ///< what the digest of the compressed layer says at its end

 private:
  std::vector<std::string> layers_;
};

ostree::ImageDescription describe(const SampleImage& image) {
  std::string all;
  for (const std::string& layer : image.layers) all += codec::Digest::sha256_of(layer).to_string();
  ostree::ImageDescription description{.manifest_digest = codec::Digest::sha256_of(all),
                                       .manifest = R"({"layers":[],"b":1})",
                                       .config = R"({"created":"2026-01-02T03:04:05Z"})",
                                       .labels = image.labels};
  for (const std::string& layer : image.layers) {
    const codec::Digest digest = codec::Digest::sha256_of(layer);
    description.layers.push_back({codec::Digest::sha256_of(layer + "compressed"), digest, layer.size()});
  }
  return description;
}

/// An empty repository and what is imported into it.
class OsImport : public ::testing::Test {
 protected:
  Result<ImportReport> import(const SampleImage& image, MemoryLayers& layers,
                              std::optional<ostree::OwnerMapping> owner = {}) {
    STRAKE_TRY(const auto writer, RepositoryWriter::create(folder_ / "repo", RepositoryMode::kBareUser,
                                                           {.sync = ostree::SyncPolicy::kNever}));
    return ostree::import_image(*writer, describe(image), layers, {kReference, owner});
  }
  Result<ImportReport> import(const SampleImage& image) {
    MemoryLayers layers(image);
    return import(image, layers);
  }
  ostree::Repository repository() const { return *ostree::Repository::open(folder_ / "repo"); }
  std::map<std::string, Checksum> refs() const { return *repository().refs(); }

  /// "path=content path>target folder/:mode ..." of a commit, every object hashed on the way.
  std::string listing(const Checksum& checksum) const {
    const ostree::Repository repo = repository();
    const auto commit = ostree::read_commit(repo, checksum);
    if (!commit.ok()) return commit.error().to_string();
    std::string text;
    const Status walked = ostree::walk_tree(repo, *commit, [&](const ostree::TreeEntry& entry) -> Status {
      if (entry.path.empty()) return {};
      if (entry.meta != nullptr) {
        text += fmt::format("{}/:{:o} ", entry.path, entry.meta->mode & 07777);
        return {};
      }
      STRAKE_TRY(const ostree::FileInfo info, repo.read_file_info(entry.checksum));
      codec::StringSink content;
      STRAKE_CHECK_OK(repo.copy_file(entry.checksum, content));
      text += info.is_symlink() ? fmt::format("{}>{} ", entry.path, info.symlink_target)
                                : fmt::format("{}={} ", entry.path, content.text());
      return {};
    });
    return walked.ok() ? text : walked.error().to_string();
  }

  test::TempDir folder_;
};

const std::vector<SampleFile> kFiles = {
    {"usr/lib/os-release", "NAME=Sample\n"},
    {.path = "usr/bin/sudo", .content = "#!", .mode = 04755, .uid = 7, .xattrs = {{"security.selinux", "sudo_t"}}},
    {.path = "usr/etc/passwd", .content = ""},
    {.path = "usr/etc/d/", .mode = 0711},
    {.path = "bin", .symlink_target = "usr/bin"},
    {.path = "var/", .mode = 0755},
};

SampleImage with_layers(SampleImage image, const std::vector<std::vector<TarItem>>& layers) {
  for (const auto& items : layers) image.layers.push_back(make_layer(items));
  return image;
}

TarItem tar_mode(TarItem item, std::uint32_t mode) {
  item.entry.mode = mode;
  return item;
}

TEST_F(OsImport, EveryObjectOfTheCommitArrives) {
  const SampleTree tree(kFiles);
  for (const XattrForm form : {XattrForm::kBesideEachFile, XattrForm::kShared}) {
    for (const std::size_t chunks : {std::size_t{0}, std::size_t{3}}) {
      SCOPED_TRACE(chunks);
      const SampleImage image = native_image(tree, chunks, form);
      const auto report = import(image);
      ASSERT_TRUE(report.ok()) << report.error().to_string();
      EXPECT_EQ(report->base_commit, tree.commit());
      const auto commit = ostree::read_commit(repository(), report->merge_commit);
      EXPECT_EQ(commit->parent, tree.commit());
      EXPECT_EQ(commit->timestamp, 1767323045u);
      EXPECT_EQ(commit->text("ostree.manifest"), R"({"b":1,"layers":[]})");
      EXPECT_EQ(commit->text("ostree.manifest-digest"), describe(image).manifest_digest.to_string());
      EXPECT_EQ(listing(report->merge_commit), listing(tree.commit()));
      EXPECT_EQ(refs().at("ostree/container/image/docker_3A__2F__2F_quay_2E_io/os/os_3A_1"), report->merge_commit);
      const auto found = ostree::find_imported_image(repository(), kReference);
      ASSERT_TRUE(found.ok() && *found);
      EXPECT_TRUE((*found)->checked);
    }
  }
}

TEST_F(OsImport, OnlyMissingLayersAreAskedFor) {
  const SampleTree tree(kFiles);
  const SampleImage base = native_image(tree, 2);
  MemoryLayers first(base);
  ASSERT_TRUE(import(base, first).ok());
  EXPECT_EQ(first.asked, (std::vector<std::size_t>{0, 1, 2}));
  MemoryLayers again(base);
  EXPECT_TRUE(import(base, again)->was_present);
  EXPECT_TRUE(again.asked.empty());

  const SampleImage derived = with_layers(base, {{tar_file("etc/new", "1")}});
  MemoryLayers more(derived);
  const auto report = import(derived, more);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(more.asked, (std::vector<std::size_t>{3}));
  EXPECT_EQ(report->layers_read, more.asked);

  // The same commit in other chunks: its own layer is there.
  SampleImage other = native_image(tree, 1);
  MemoryLayers chunk(other);
  const auto rechunked = import(other, chunk);
  ASSERT_TRUE(rechunked.ok()) << rechunked.error().to_string();
  EXPECT_EQ(chunk.asked, (std::vector<std::size_t>{1}));
}

/// Stops in the middle, as a connection or a machine does.
class CutSource final : public codec::Source {
 public:
  CutSource(std::string_view bytes, std::size_t good) : inner_(bytes.substr(0, good)) {}
  Result<std::size_t> read(std::span<std::byte> into) override {
    STRAKE_TRY(const std::size_t got, inner_.read(into));
    if (got == 0) return error(Code::kUnavailable, "the connection is gone");
    return got;
  }

 private:
  codec::MemorySource inner_;
};

class CutLayers final : public ostree::LayerSource {
 public:
  CutLayers(const SampleImage& image, std::size_t good) : image_(image), left_(good) {}
  Status read_layer(std::size_t number, const std::function<Status(codec::Source& tar)>& read) override {
    const std::string& tar = image_.layers[number];
    CutSource cut(tar, left_);
    codec::MemorySource whole(tar);
    const bool enough = left_ >= tar.size();
    left_ -= std::min(left_, tar.size());
    return read(enough ? static_cast<codec::Source&>(whole) : cut);
  }

 private:
  const SampleImage& image_;
  std::size_t left_;
};

TEST_F(OsImport, WhatRefsLeadToIsWholeWhereverItStops) {
  const SampleTree tree(kFiles);
  const SampleImage image = with_layers(native_image(tree, 2), {{tar_file("usr/new", "content")}});
  std::size_t all = 0;
  for (const std::string& layer : image.layers) all += layer.size();
  std::set<std::string> seen;
  for (std::size_t good = 0; good < all; good += 1500) {
    std::filesystem::remove_all(folder_ / "repo");
    CutLayers layers(image, good);
    const auto writer =
        RepositoryWriter::create(folder_ / "repo", RepositoryMode::kBareUser, {.sync = ostree::SyncPolicy::kNever});
    const auto report = ostree::import_image(**writer, describe(image), layers, {kReference});
    ASSERT_FALSE(report.ok()) << good;
    for (const auto& [name, commit] : refs()) {
      seen.insert(name);
      EXPECT_EQ(listing(commit).find("missing"), std::string::npos) << name << " after " << good;
    }
    EXPECT_FALSE(refs().contains(*ostree::image_ref(kReference)));
  }
  EXPECT_EQ(seen.size(), 6u) << "two chunks and the commit layer, each with a ref of ours";
  MemoryLayers rest(image);
  ASSERT_TRUE(import(image, rest).ok());
  EXPECT_EQ(rest.asked, (std::vector<std::size_t>{3})) << "what was complete is not read again";
}

TEST_F(OsImport, SizesAreLimited) {
  const SampleTree tree(kFiles);
  const std::string large(ostree::kMaxMetadataBytes + 1, 'x');
  const std::string name = "sysroot/ostree/repo/objects/aa/" + std::string(62, 'a');
  TarItem many = tar_file("usr/a", "");
  for (int i = 0; i < 300; ++i) many.entry.xattrs.emplace(fmt::format("user.{}", i), std::string(4000, 'x'));
  const SampleImage images[] = {
      [&] {
        SampleImage image = native_image(tree, 0);
        image.layers[0] = make_layer({tar_file(name + ".dirtree", large)});
        image.labels["ostree.final-diffid"] = codec::Digest::sha256_of(image.layers[0]).to_string();
        return image;
      }(),
      [&] {
        SampleImage image = native_image(tree, 0);
        image.layers[0] = make_layer({tar_file(name + ".file-xattrs-link", large)});
        image.labels["ostree.final-diffid"] = codec::Digest::sha256_of(image.layers[0]).to_string();
        return image;
      }(),
      with_layers({}, {{many}}),
  };
  for (const SampleImage& image : images) {
    const auto report = import(image);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code(), Code::kExhausted) << report.error().to_string();
  }
}

/// A wrong bit, wherever it is, leaves no ref behind.
TEST_F(OsImport, AWrongBitAnywhereIsRefused) {
  const SampleTree tree(kFiles);
  const SampleImage image = with_layers(native_image(tree, 1), {{tar_file("usr/new", "content")}});
  std::size_t refused = 0;
  for (std::size_t layer = 0; layer < image.layers.size(); ++layer) {
    const std::string& tar = image.layers[layer];
    for (std::size_t at = 0; at < tar.size(); at += 97) {
      // Padding and trailing zeros are covered by the digest of the layer, as is everything else.
      MemoryLayers layers(image);
      layers.tars()[layer][at] = static_cast<char>(tar[at] ^ 1);
      const auto report = import(image, layers);
      ASSERT_FALSE(report.ok()) << "byte " << at << " of layer " << layer;
      EXPECT_FALSE(refs().contains(*ostree::image_ref(kReference)));
      ++refused;
    }
    MemoryLayers cut(image);
    cut.tars()[layer].resize(tar.size() / 2);
    EXPECT_FALSE(import(image, cut).ok());
  }
  EXPECT_GT(refused, 100u);
  EXPECT_TRUE(import(image).ok());
}

/// Content that is not what the manifest's digest says: found at the end of the layer, after its objects were written.
TEST_F(OsImport, NothingOfASubstitutedLayerIsUsedLater) {
  const SampleTree tree(kFiles);
  const SampleImage good = with_layers(native_image(tree, 0), {{tar_file("usr/tool", "genuine")}});
  MemoryLayers evil(good);
  evil.tars()[1] = make_layer({tar_file("usr/tool", "evil")});
  EXPECT_FALSE(import(good, evil).ok());
  MemoryLayers lying(good);
  lying.answer = error(Code::kCorrupt, "the blob has another digest");
  EXPECT_FALSE(import(good, lying).ok());
  for (const auto& [name, commit] : refs()) EXPECT_EQ(name.find("image"), std::string::npos) << name;

  const auto report = import(good);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_NE(listing(report->merge_commit).find("usr/tool=genuine"), std::string::npos);
}

/// What another importer left behind a failed pull: its refs, leading to content nobody checked.
TEST_F(OsImport, RefsOfOthersAreNotBelieved) {
  const SampleTree tree(kFiles);
  const SampleImage good = with_layers(native_image(tree, 1), {{tar_file("usr/tool", "genuine")}});
  const SampleImage evil = with_layers(native_image(tree, 1), {{tar_file("usr/tool", "evil")}});
  const auto evil_report = import(evil);
  ASSERT_TRUE(evil_report.ok());
  const ostree::ImageDescription wanted = describe(good);
  const Checksum evil_layer = refs().at(ostree::layer_ref(describe(evil).layers[2].digest));
  {
    const auto writer = RepositoryWriter::open(folder_ / "repo");
    for (const auto& [name, commit] : refs()) {
      if (!name.starts_with("strake/")) continue;
      ASSERT_TRUE((*writer)->remove_ref(name).ok());
    }
    ASSERT_TRUE((*writer)->write_ref(ostree::layer_ref(wanted.layers[2].digest), evil_layer).ok());
  }
  MemoryLayers layers(good);
  const auto report = import(good, layers);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_NE(listing(report->merge_commit).find("usr/tool=genuine"), std::string::npos);
  EXPECT_EQ(layers.asked, (std::vector<std::size_t>{2})) << "the commit can be checked where it lies, the layer cannot";
  EXPECT_NE(refs().at(ostree::layer_ref(wanted.layers[2].digest)), evil_layer);
}

TEST_F(OsImport, ADamagedObjectOfOthersIsReplaced) {
  const SampleTree tree(kFiles);
  const SampleImage image = native_image(tree, 1);
  ASSERT_TRUE(import(image).ok());
  const Checksum victim = tree.files.begin()->first;
  const auto path = folder_ / "repo" / ostree::object_path(RepositoryMode::kBareUser, ObjectType::kFile, victim);
  {
    const auto writer = RepositoryWriter::open(folder_ / "repo");
    for (const auto& [name, commit] : refs()) {
      if (!name.starts_with("strake/")) continue;
      ASSERT_TRUE((*writer)->remove_ref(name).ok());
    }
    std::filesystem::resize_file(path, 1);
  }
  MemoryLayers layers(image);
  const auto report = import(image, layers);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(layers.asked, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(listing(report->merge_commit).find("checksum"), std::string::npos);
}

TEST_F(OsImport, AnImageThatIsNotCompleteIsRefused) {
  const SampleTree tree(kFiles);
  const std::vector<TarItem> whole = testing::commit_layer(tree, true);
  std::size_t left_out = 0;
  for (std::size_t i = 1; i < whole.size(); ++i) {
    if (whole[i].entry.path.find("xattrs") != std::string::npos) continue;
    std::vector<TarItem> items = whole;
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(i));
    SampleImage image = native_image(tree, 0);
    image.layers[0] = make_layer(items);
    image.labels["ostree.final-diffid"] = codec::Digest::sha256_of(image.layers[0]).to_string();
    const auto report = import(image);
    ASSERT_FALSE(report.ok()) << whole[i].entry.path;
    ++left_out;
    // Even though another image may have brought the object.
    if (left_out == 1) {
      ASSERT_TRUE(import(native_image(tree, 0)).ok());
    }
  }
  EXPECT_GT(left_out, 8u);
}

TEST_F(OsImport, ObjectLayersOfAWrongShapeAreRefused) {
  const SampleTree tree(kFiles);
  const SampleTree other(std::vector<SampleFile>{{"usr/other", "x"}});
  const std::vector<TarItem> whole = testing::commit_layer(tree, true);
  const auto object = [](std::string name) { return "sysroot/ostree/repo/objects/aa/" + std::string(62, 'a') + name; };
  const struct {
    const char* what;
    std::function<void(std::vector<TarItem>&)> change;
    const char* says;
  } cases[] = {
      {"an object twice", [](auto& items) { items.push_back(items.back()); }, "twice"},
      {"a commit of something else", [&](auto& items) { items.push_back(testing::commit_layer(other)[1]); },
       "others too"},
      {"an unknown kind", [&](auto& items) { items.push_back(tar_file(object(".sizes2"), "x")); }, "no object"},
      {"an unknown file", [](auto& items) { items.push_back(tar_file("sysroot/ostree/repo/hooks", "x")); },
       "no object"},
      {"the oldest format", [](auto& items) { items.push_back(tar_file("sysroot/ostree/repo/xattrs/x", "x")); },
       "format 0"},
      {"a way out", [](auto& items) { items.push_back(tar_file("sysroot/ostree/repo/../../etc/x", "x")); }, ".."},
      {"attributes behind their file",
       [](auto& items) {
         for (std::size_t i = 1; i < items.size(); ++i) {
           if (items[i].content == "#!" && items[i].entry.uid == 7) std::swap(items[i - 1], items[i]);
         }
       },
       "has the checksum"},
      {"a device", [&](auto& items) { items.push_back(tar_link(Type::kFifo, object(".file"), "")); }, "is a fifo"},
      {"metadata of no commit", [&](auto& items) { items.push_back(tar_file(object(".commitmeta"), "")); },
       "which is not there"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.what);
    std::vector<TarItem> items = whole;
    test.change(items);
    SampleImage image = native_image(tree, 0);
    image.layers[0] = make_layer(items);
    image.labels["ostree.final-diffid"] = codec::Digest::sha256_of(image.layers[0]).to_string();
    const auto report = import(image);
    ASSERT_FALSE(report.ok());
    EXPECT_NE(report.error().to_string().find(test.says), std::string::npos) << report.error().to_string();
    EXPECT_TRUE(refs().empty());
  }
  // Folders have no place in a layer of files.
  SampleImage image = native_image(tree, 1);
  image.layers[1] = make_layer({testing::commit_layer(tree)[2]});
  image.labels["ostree.final-diffid"] = codec::Digest::sha256_of(image.layers[1]).to_string();
  EXPECT_NE(import(image).error().to_string().find("holds files alone"), std::string::npos);
}

TEST_F(OsImport, DerivedLayersAreMerged) {
  const SampleTree tree(kFiles);
  const struct {
    const char* what;
    std::vector<std::vector<TarItem>> layers;
    const char* listing;
  } cases[] = {
      {"files are added and replaced",
       {{tar_file("etc/new", "1"), tar_file("usr/lib/os-release", "NAME=Mine"), tar_folder("usr/x")}},
       "bin>usr/bin usr/:755 usr/bin/:755 usr/bin/sudo=#! usr/etc/:755 usr/etc/new=1 usr/etc/passwd= usr/etc/d/:711 "
       "usr/lib/:755 usr/lib/os-release=NAME=Mine usr/x/:755 var/:755 "},
      {"a folder that exists keeps its mode",
       {{tar_mode(tar_folder("etc/d"), 0700), tar_file("etc/d/f", "1")}},
       "bin>usr/bin usr/:755 usr/bin/:755 usr/bin/sudo=#! usr/etc/:755 usr/etc/passwd= usr/etc/d/:711 usr/etc/d/f=1 "
       "usr/lib/:755 usr/lib/os-release=NAME=Sample\n var/:755 "},
      {"whiteouts speak about layers below, wherever they stand",
       {{tar_file("usr/lib/os-release", "new"), tar_file("usr/lib/.wh.os-release", "ignored"),
         tar_file("usr/bin/.wh.sudo", ""), tar_file("usr/.wh.nothing", ""), tar_file("usr/bin/.wh..wh.aufs", "")}},
       "bin>usr/bin usr/:755 usr/bin/:755 usr/etc/:755 usr/etc/passwd= usr/etc/d/:711 usr/lib/:755 "
       "usr/lib/os-release=new var/:755 "},
      {"an opaque folder is the layer's own",
       {{tar_mode(tar_folder("etc"), 0750), tar_file("etc/.wh..wh..opq", ""), tar_file("etc/only", "1")}},
       "bin>usr/bin usr/:755 usr/bin/:755 usr/bin/sudo=#! usr/etc/:750 usr/etc/only=1 usr/lib/:755 "
       "usr/lib/os-release=NAME=Sample\n var/:755 "},
      {"hard links lead to content of the layer, before or behind",
       {{tar_link(Type::kHardLink, "usr/b", "./usr//a"), tar_file("usr/a", "1"),
         tar_link(Type::kHardLink, "etc/c", "/usr/a")}},
       "bin>usr/bin usr/:755 usr/a=1 usr/b=1 usr/bin/:755 usr/bin/sudo=#! usr/etc/:755 usr/etc/c=1 usr/etc/passwd= "
       "usr/etc/d/:711 usr/lib/:755 usr/lib/os-release=NAME=Sample\n var/:755 "},
      {"what a build injects goes",
       {{tar_file("etc/hostname", ""), tar_file("etc/resolv.conf", "")}, {tar_file("usr/etc/hosts", "")}},
       "bin>usr/bin usr/:755 usr/bin/:755 usr/bin/sudo=#! usr/etc/:755 usr/etc/hosts= usr/etc/passwd= usr/etc/d/:711 "
       "usr/lib/:755 usr/lib/os-release=NAME=Sample\n var/:755 "},
      {"what has no place is dropped",
       {{tar_file("opt/x", "1"), tar_file("run/y", "1"), tar_file("bin/tool", "1"), tar_file(".wh.usr", ""),
         tar_link(Type::kCharacterDevice, "dev/null", "")}},
       "bin>usr/bin usr/:755 usr/bin/:755 usr/bin/sudo=#! usr/etc/:755 usr/etc/passwd= usr/etc/d/:711 usr/lib/:755 "
       "usr/lib/os-release=NAME=Sample\n var/:755 "},
      {"files become folders and folders files",
       {{tar_file("usr/lib", "a file"), tar_file("usr/bin/sudo/inside", "1")}},
       "bin>usr/bin usr/:755 usr/lib=a file usr/bin/:755 usr/bin/sudo/:755 usr/bin/sudo/inside=1 usr/etc/:755 "
       "usr/etc/passwd= usr/etc/d/:711 var/:755 "},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.what);
    const auto report = import(with_layers(native_image(tree, 1), test.layers));
    ASSERT_TRUE(report.ok()) << report.error().to_string();
    EXPECT_EQ(listing(report->merge_commit), test.listing);
  }
  const auto report = import(with_layers(native_image(tree, 1), {{tar_file("opt/x", "1"), tar_file("run/y", "1")}}));
  EXPECT_EQ(report->dropped, (std::map<std::string, std::size_t>{{"opt", 1}, {"y", 1}}));
}

/// A link in one layer and a folder of its name in the next: others write through the link, to wherever it leads.
TEST_F(OsImport, LinksThatLeadOutAreNotFollowed) {
  const SampleTree tree(kFiles);
  std::filesystem::create_directory(folder_ / "outside");
  const std::string outside = (folder_ / "outside").string();
  const SampleImage image = with_layers(
      native_image(tree, 1), {{tar_link(Type::kSymlink, "usr/esc", outside)}, {tar_file("usr/esc/pwn", "1")}});
  const auto report = import(image);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "outside"));
  EXPECT_NE(listing(report->merge_commit).find("usr/esc/:755 usr/esc/pwn=1"), std::string::npos);
  // Through a link of the base, and within one layer.
  EXPECT_TRUE(import(with_layers(native_image(tree, 1), {{tar_file("usr/etc/d/../../../x", "1")}})).error().code() ==
              Code::kInvalidArgument);
  const auto within = import(
      with_layers(native_image(tree, 1), {{tar_link(Type::kSymlink, "usr/esc", outside), tar_file("usr/esc/x", "1")}}));
  ASSERT_FALSE(within.ok());
  EXPECT_EQ(within.error().code(), Code::kCorrupt);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "outside"));
}

TEST_F(OsImport, DerivedLayersOfAWrongShapeAreRefused) {
  const SampleTree tree(kFiles);
  TarItem foreign = tar_file("usr/a", "1");
  foreign.entry.uid = std::uint64_t{1} << 40;
  const struct {
    const char* what;
    std::vector<TarItem> items;
    Code code;
  } cases[] = {
      {"a hard link to a layer below", {tar_link(Type::kHardLink, "usr/x", "usr/lib/os-release")}, Code::kCorrupt},
      {"a hard link out", {tar_link(Type::kHardLink, "usr/x", "../../etc/shadow")}, Code::kInvalidArgument},
      {"a hard link to itself", {tar_link(Type::kHardLink, "usr/x", "usr/x")}, Code::kCorrupt},
      {"a device", {tar_link(Type::kCharacterDevice, "usr/null", "")}, Code::kUnsupported},
      {"a fifo", {tar_link(Type::kFifo, "etc/pipe", "")}, Code::kUnsupported},
      {"a path through a file", {tar_file("usr/a", "1"), tar_file("usr/a/b", "1")}, Code::kCorrupt},
      {"no UTF-8", {tar_file("usr/\xff", "1")}, Code::kUnsupported},
      {"a long name", {tar_file("usr/" + std::string(300, 'a'), "1")}, Code::kCorrupt},
      {"an owner nobody is", {foreign}, Code::kCorrupt},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.what);
    const auto report = import(with_layers(native_image(tree, 1), {test.items}));
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code(), test.code) << report.error().to_string();
    EXPECT_FALSE(refs().contains(*ostree::image_ref(kReference)));
  }
}

TEST_F(OsImport, PlainImagesBringTheirRoot) {
  SampleImage image = with_layers({}, {{tar_mode(tar_folder("."), 0711), tar_file("etc/a", "1"), tar_file("opt/b", "2"),
                                        tar_file("tmp/c", "3"), tar_link(Type::kSymlink, "lib", "usr/lib")},
                                       {tar_file("opt/.wh.b", ""), tar_file("opt/d", "4")}});
  image.labels = {{"containers.bootc", "1"}};
  const auto report = import(image);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_FALSE(report->base_commit);
  EXPECT_EQ(listing(report->merge_commit), "lib>usr/lib opt/:755 opt/d=4 usr/:755 usr/etc/:755 usr/etc/a=1 ");
  const auto commit = ostree::read_commit(repository(), report->merge_commit);
  const auto meta = ostree::read_metadata(repository(), ObjectType::kDirMeta, commit->root_meta);
  EXPECT_EQ(ostree::parse_dirmeta(*meta)->mode, S_IFDIR | 0711u);
}

TEST_F(OsImport, AnOsWithARootOfItsOwnKeepsAnyFolder) {
  std::vector<SampleFile> files = kFiles;
  const SampleImage layer = with_layers({}, {{tar_file("opt/x", "1")}});
  SampleImage image = native_image(SampleTree(files), 0);
  image.layers.push_back(layer.layers[0]);
  EXPECT_EQ(listing(import(image)->merge_commit).find("opt/x"), std::string::npos);
  files.push_back({"usr/lib/ostree/prepare-root.conf", "[composefs]\nenabled = yes\n"});
  image = native_image(SampleTree(files), 0);
  image.layers.push_back(layer.layers[0]);
  // The same layer, imported before for an OS that drops it.
  EXPECT_NE(listing(import(image)->merge_commit).find("opt/x=1"), std::string::npos);
}

TEST_F(OsImport, OwnersAreMappedAfterTheyWereChecked) {
  const SampleTree tree(kFiles);
  const ostree::OwnerMapping owner{4321, 8765};
  const SampleImage image = with_layers(native_image(tree, 2), {{tar_mode(tar_file("etc/new", "1"), 0)}});
  MemoryLayers layers(image);
  const auto report = import(image, layers, owner);
  ASSERT_TRUE(report.ok()) << report.error().to_string();
  EXPECT_EQ(report->image_commit, tree.commit());
  EXPECT_NE(report->base_commit, tree.commit());
  const ostree::Repository repo = repository();
  const auto commit = ostree::read_commit(repo, report->merge_commit);
  EXPECT_EQ(commit->text("strake.image-commit"), tree.commit().hex());
  EXPECT_EQ(ostree::read_commit(repo, *report->base_commit)->text("version"), "1.0");
  std::size_t files = 0;
  const Status walked = ostree::walk_tree(repo, *commit, [&](const ostree::TreeEntry& entry) -> Status {
    if (entry.meta != nullptr) {
      EXPECT_EQ(entry.meta->uid, 4321u) << entry.path;
      EXPECT_EQ(entry.meta->mode & 0700, 0700u) << entry.path;
      return {};
    }
    STRAKE_TRY(const ostree::FileInfo info, repo.read_file_info(entry.checksum));
    EXPECT_EQ(info.gid, 8765u) << entry.path;
    EXPECT_TRUE(info.is_symlink() || (info.mode & 0600) == 0600) << entry.path;
    EXPECT_TRUE(info.xattrs.empty()) << entry.path;
    ++files;
    return {};
  });
  EXPECT_TRUE(walked.ok()) << walked.error().to_string();
  EXPECT_EQ(files, 5u);
  // Found again, and a chunk that is known serves another commit layer.
  EXPECT_TRUE(import(image, layers, owner)->was_present);
  // A wrong bit is the image's, not the mapping's.
  MemoryLayers wrong(image);
  wrong.tars()[1][600] = static_cast<char>(wrong.tars()[1][600] ^ 1);
  EXPECT_FALSE(import(image, wrong, ostree::OwnerMapping{1, 1}).ok());
}

TEST_F(OsImport, LayersNobodyNeedsAreForgotten) {
  const SampleTree tree(kFiles);
  SampleImage image = native_image(tree, 1);
  ASSERT_TRUE(import(image).ok());
  const auto writer = RepositoryWriter::open(folder_ / "repo");
  // The manifest of the sample names no layers: all of them go, the image stays.
  const auto removed = ostree::remove_unused_layers(**writer);
  ASSERT_TRUE(removed.ok()) << removed.error().to_string();
  EXPECT_EQ(removed->size(), 4u);
  EXPECT_EQ(refs().size(), 2u);
}

}  // namespace strake::osimage::os_import_test
