#include "osimage/os_image.h"

#include <gtest/gtest.h>

#include <mutex>

#include "osimage/testing/sample_os.h"
#include "support/temp_dir.h"

namespace strake::osimage::os_image_test {

using oci::testing::make_layer;
using oci::testing::tar_file;
using oci::testing::tar_folder;
using oci::testing::tar_link;
using oci::testing::TarItem;
using testing::native_image;
using testing::SampleFile;
using testing::SampleImage;
using testing::SampleTree;
using testing::XattrForm;
using Type = codec::TarEntryType;

/// Remembers which blobs were opened.
class CountingSource final : public oci::ImageSource {
 public:
  explicit CountingSource(const oci::ImageSource& inner) : inner_(inner) {}
  std::string description() const override { return inner_.description(); }
  Result<std::vector<oci::Descriptor>> find_entries(std::string_view reference,
                                                    const runtime::Call& call) const override {
    return inner_.find_entries(reference, call);
  }
  Result<std::unique_ptr<oci::BlobSource>> open_blob(const oci::Descriptor& descriptor,
                                                     const runtime::Call& call) const override {
    const std::lock_guard lock(mutex_);
    if (descriptor.media_type.find("layer") != std::string::npos) opened_.push_back(descriptor.digest);
    return inner_.open_blob(descriptor, call);
  }
  std::vector<codec::Digest> take_opened() const {
    const std::lock_guard lock(mutex_);
    return std::exchange(opened_, {});
  }

 private:
  const oci::ImageSource& inner_;
  mutable std::mutex mutex_;
  mutable std::vector<codec::Digest> opened_;
};

/// An image in a layout, and what is needed to open it.
struct Opener {
  explicit Opener(const SampleImage& image) { testing::write_image(directory.path() / "layout", image); }

  Result<std::unique_ptr<OsImage>> open(const OpenOptions& options = {}) {
    if (!source) {
      STRAKE_TRY(oci::Layout opened, oci::Layout::open(directory.path() / "layout"));
      layout = std::make_unique<oci::Layout>(std::move(opened));
      source = std::make_unique<CountingSource>(*layout);
    }
    return OsImage::open(*source, "os", options, runtime, {});
  }

  test::TempDir directory;
  runtime::ThreadRuntime runtime;
  std::unique_ptr<oci::Layout> layout;
  std::unique_ptr<CountingSource> source;
};

/// "path" of names, with "/" for folders; with details "path:mode:uid:size>target{attribute}".
std::string listing(const OsImage& image, bool details) {
  std::string text;
  const auto show = [&](const std::string& path, const OsNode& node) -> Status {
    text += path + (node.is_directory() ? "/" : "");
    if (details) {
      text += fmt::format(":{:o}:{}:{}", node.mode, node.uid, node.size);
      if (node.type == NodeType::kSymlink) text += ">" + node.link_target;
      for (const ostree::Xattr& xattr : node.xattrs.get()) text += "{" + xattr.name + "=" + xattr.value + "}";
    }
    text += ' ';
    return {};
  };
  EXPECT_TRUE(walk_nodes("", image.tree().root(), true, NodeOrder::kFoldersLast, show).ok());
  return text;
}

const std::vector<SampleFile> kFiles = {
    {"usr/lib/os-release", "NAME=Sample\n"},
    {.path = "usr/bin/sudo", .content = "#!", .mode = 04755, .uid = 7, .xattrs = {{"security.selinux", "sudo_t"}}},
    {.path = "usr/bin/true", .content = "#!", .mode = 0755, .xattrs = {{"security.selinux", "bin_t"}}},
    {.path = "usr/etc/os-release", .symlink_target = "../usr/lib/os-release"},
    {.path = "usr/etc/passwd", .content = ""},
    {.path = "bin", .symlink_target = "usr/bin"},
    {.path = "loop", .symlink_target = "/loop"},
    {.path = "outside", .symlink_target = "../../../../usr/lib"},
    {.path = "tmp/", .mode = 01777, .xattrs = {{"user.t", "1"}}},
};
constexpr const char* kNames =
    "bin loop outside tmp/ usr/ usr/bin/ usr/bin/sudo usr/bin/true usr/etc/ usr/etc/os-release usr/etc/passwd "
    "usr/lib/ usr/lib/os-release ";
constexpr const char* kDetails =
    "bin:777:0:0>usr/bin loop:777:0:0>/loop outside:777:0:0>../../../../usr/lib tmp/:1777:0:0{user.t=1} usr/:755:0:0 "
    "usr/bin/:755:0:0 usr/bin/sudo:4755:7:2{security.selinux=sudo_t} usr/bin/true:755:0:2{security.selinux=bin_t} "
    "usr/etc/:755:0:0 usr/etc/os-release:777:0:0>../usr/lib/os-release usr/etc/passwd:644:0:0 usr/lib/:755:0:0 "
    "usr/lib/os-release:644:0:12 ";

std::string read(OsImage& image, const std::string& path) {
  const auto found = image.resolve(path, OsImage::LastLink::kFollow, {});
  if (!found.ok()) return "error: " + found.error().message();
  const auto text = image.read_file(found->path, 1 << 20, {});
  return text.ok() ? *text : "error: " + text.error().to_string();
}

void expect_sample(OsImage& image, const SampleTree& tree, const std::string& name) {
  EXPECT_EQ(listing(image, false), kNames) << name;
  EXPECT_EQ(image.facts().commit_checksum, tree.commit()) << name;
  EXPECT_EQ(image.facts().commit->text("version"), "1.0") << name;
  EXPECT_EQ(read(image, "/bin/sudo"), "#!") << name;
  const Status loaded = image.load_details({});
  ASSERT_TRUE(loaded.ok()) << name << ": " << loaded.error().to_string();
  EXPECT_EQ(listing(image, true), kDetails) << name;
  EXPECT_EQ(read(image, "usr/lib/os-release"), "NAME=Sample\n") << name;
  EXPECT_EQ(read(image, "usr/etc/passwd"), "") << name;
}

TEST(OsImage, EveryFormOfACommitLooksTheSame) {
  const SampleTree tree(kFiles);
  const SampleImage old_form{{make_layer({tar_file("etc/noise", "x")}), make_layer(testing::archive_layer(tree))},
                             {{"com.coreos.ostree-commit", tree.commit().hex()}}};
  const SampleImage unlabelled{{make_layer(testing::archive_layer(tree))}};
  const std::pair<const char*, SampleImage> images[] = {
      {"one layer", native_image(tree, 0)},
      {"chunked", native_image(tree, 3)},
      {"chunked, shared attributes", native_image(tree, 2, XattrForm::kShared)},
      {"machine-os-content", old_form},
      {"machine-os-content without labels", unlabelled},
  };
  for (const auto& [name, sample] : images) {
    Opener opener(sample);
    const auto image = opener.open();
    ASSERT_TRUE(image.ok()) << name << ": " << image.error().to_string();
    expect_sample(**image, tree, name);
  }
  const test::TempDir directory;
  ostree::testing::write_archive_repository(directory.path(), tree, "os");
  const auto repository = OsImage::open_repository(directory.path(), "");
  ASSERT_TRUE(repository.ok()) << repository.error().to_string();
  expect_sample(**repository, tree, "repository");
}

TEST(OsImage, NamesNeedTheCommitLayerAloneAndNothingTwice) {
  const SampleTree tree(kFiles);
  const SampleImage sample = native_image(tree, 3);
  Opener opener(sample);
  auto cache = oci::BlobCache::open({opener.directory.path() / "cache"}, opener.runtime);
  ASSERT_TRUE(cache.ok());
  const OpenOptions options{.cache = cache->get()};
  {
    const auto image = opener.open(options);
    ASSERT_TRUE(image.ok()) << image.error().to_string();
    EXPECT_EQ(listing(**image, false), kNames);
    EXPECT_EQ(opener.source->take_opened().size(), 1u);
    ASSERT_TRUE((*image)->load_details({}).ok());
    EXPECT_EQ(opener.source->take_opened().size(), 3u);
  }
  const auto again = opener.open(options);
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  ASSERT_TRUE((*again)->load_details({}).ok());
  EXPECT_EQ(listing(**again, true), kDetails);
  EXPECT_TRUE(opener.source->take_opened().empty());
  EXPECT_EQ(read(**again, "/bin/true"), "#!");
  EXPECT_EQ(opener.source->take_opened().size(), 1u);
}

/// Without a cache, content that is met while looking for it is not fetched a second time.
TEST(OsImage, ContentIsTakenWhileTheLayerPasses) {
  const SampleTree tree(kFiles);
  Opener opener(native_image(tree, 1));
  const auto image = opener.open();
  ASSERT_TRUE(image.ok());
  const auto text = (*image)->read_file("usr/bin/true", 100, {});
  ASSERT_TRUE(text.ok()) << text.error().to_string();
  EXPECT_EQ(opener.source->take_opened().size(), 2u);
}

TEST(OsImage, PlainImages) {
  TarItem sudo = tar_file("usr/bin/sudo", "#!");
  sudo.entry.mode = 04755;
  Opener opener({{make_layer({tar_folder("usr"), sudo, tar_file("etc/a-b", "1"), tar_file("etc/a", "2"),
                              tar_link(Type::kHardLink, "usr/bin/su", "usr/bin/sudo")}),
                  make_layer({tar_file("etc/.wh.a", ""), tar_folder("etc/a"), tar_file("etc/a/x", "3"),
                              tar_link(Type::kSymlink, "bin", "usr/bin")})},
                 {{"containers.bootc", "1"}}});
  const auto image = opener.open();
  ASSERT_TRUE(image.ok()) << image.error().to_string();
  EXPECT_EQ((*image)->facts().form, Form::kPlain);
  EXPECT_EQ(listing(**image, true),
            "bin:644:0:0>usr/bin etc/:755:0:0 etc/a-b:644:0:1 etc/a/:755:0:0 etc/a/x:644:0:1 usr/:755:0:0 "
            "usr/bin/:755:0:0 usr/bin/su:4755:0:2 usr/bin/sudo:4755:0:2 ");
  EXPECT_EQ(read(**image, "/bin/su"), "#!");
  EXPECT_EQ(read(**image, "/etc/a/x"), "3");
}

TEST(OsImage, ALabelAloneMakesNoMachineOsContent) {
  Opener opener({{make_layer({tar_file("usr/lib/os-release", "NAME=x\n")})},
                 {{"com.coreos.ostree-commit", SampleTree(kFiles).commit().hex()}}});
  const auto image = opener.open();
  ASSERT_TRUE(image.ok()) << image.error().to_string();
  EXPECT_EQ((*image)->facts().form, Form::kPlain);
}

TEST(OsImage, MachineOsContentMustHoldItsCommit) {
  const SampleTree tree(kFiles);
  Opener opener({{make_layer(testing::archive_layer(tree))},
                 {{"com.coreos.ostree-commit", ostree::Checksum::of("another").hex()}}});
  const auto image = opener.open();
  ASSERT_FALSE(image.ok());
  EXPECT_NE(image.error().to_string().find("but the repository has no such commit"), std::string::npos)
      << image.error().to_string();
}

TEST(OsImage, PathsStayInside) {
  const SampleTree tree(kFiles);
  Opener opener(native_image(tree, 1));
  const auto image = opener.open();
  ASSERT_TRUE(image.ok());
  const std::pair<const char*, const char*> cases[] = {
      {"/etc/os-release", "NAME=Sample\n"},
      {"../../etc/os-release", "NAME=Sample\n"},
      {"/usr/etc/os-release", "NAME=Sample\n"},
      {"/outside/os-release", "NAME=Sample\n"},
      {"//usr/./lib/../lib/os-release", "NAME=Sample\n"},
      {"/loop", "error: /loop leads through more than 40 symbolic links"},
      {"/usr/lib/none", "error: the image has no /usr/lib/none; in /usr/lib there are: os-release"},
      {"/etc/none/x",
       "error: the image has no /usr/etc/none (asked for: /etc/none/x); in /usr/etc there are: "
       "os-release, passwd"},
      {"/usr/bin/true/x", "error: the image has no /usr/bin/true/x: /usr/bin/true is a file"},
  };
  for (const auto& [path, expected] : cases) EXPECT_EQ(read(**image, path), expected) << path;
  const auto kept = (*image)->resolve("/bin", OsImage::LastLink::kKeep, {});
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->path, "bin");
  EXPECT_EQ((*image)->resolve("/bin/", OsImage::LastLink::kKeep, {})->path, "usr/bin");
}

std::string refusal(const SampleImage& sample, bool details = false) {
  Opener opener(sample);
  auto image = opener.open();
  if (!image.ok()) return image.error().to_string();
  if (!details) return "accepted";
  const Status loaded = (*image)->load_details({});
  return loaded.ok() ? "accepted" : loaded.error().to_string();
}

// What the ostree importer lets pass: labels and digests that do not agree with the content.
TEST(OsImage, RefusesWhatDoesNotFit) {
  const SampleTree tree(kFiles);
  const SampleTree other(std::vector<SampleFile>{{"usr/lib/os-release", "NAME=Other\n"}});
  const SampleImage good = native_image(tree, 2);
  EXPECT_EQ(refusal(good, true), "accepted");
  struct Case {
    const char* name;
    std::function<void(SampleImage&)> change;
    std::string expected;  ///< a part of the message
  };
  const Case cases[] = {
      {"another commit", [&](SampleImage& i) { i.labels["ostree.commit"] = other.commit().hex(); },
       fmt::format("label ostree.commit says {}, but the commit layer holds {}", other.commit().hex(),
                   tree.commit().hex())},
      {"no commit label", [](SampleImage& i) { i.labels.erase("ostree.commit"); },
       "the image has label ostree.final-diffid but no label ostree.commit"},
      {"no checksum", [](SampleImage& i) { i.labels["ostree.commit"] = "abc"; },
       "label ostree.commit: 'abc' is no ostree checksum"},
      {"final layer elsewhere",
       [](SampleImage& i) { i.labels["ostree.final-diffid"] = codec::Digest::sha256_of("x").to_string(); },
       "which is none of the image's layers"},
      {"final layer twice", [](SampleImage& i) { i.layers.push_back(i.layers.back()); },
       "which are several of the image's layers"},
      {"commit layer twice", [](SampleImage& i) { i.layers.insert(i.layers.begin() + 1, i.layers.front()); },
       "is in the image more than once"},
      {"commit layer of another commit",
       [&](SampleImage& i) { i.layers[0] = make_layer(testing::commit_layer(other)); }, "label ostree.commit says"},
      {"two commits",
       [&](SampleImage& i) {
         auto items = testing::commit_layer(tree);
         for (const TarItem& item : testing::commit_layer(other)) {
           if (item.entry.path.ends_with(".commit")) items.push_back(item);
         }
         i.layers[0] = make_layer(items);
       },
       "but the commit layer holds"},
      {"a folder is missing",
       [&](SampleImage& i) {
         auto items = testing::commit_layer(tree);
         std::erase_if(items, [](const TarItem& item) { return item.entry.path.ends_with(".dirmeta"); });
         i.layers[0] = make_layer(items);
       },
       "is missing in the image"},
      {"a file is missing",
       [&](SampleImage& i) {
         i.layers.pop_back();
         i.labels["ostree.final-diffid"] = codec::Digest::sha256_of(i.layers.back()).to_string();
       },
       "is in none of the image's layers"},
      {"an object twice",
       [&](SampleImage& i) {
         auto items = testing::chunk_layer(tree, 0, 2);
         const auto again = testing::chunk_layer(tree, 0, 2);
         items.insert(items.end(), again.begin(), again.end());
         i.layers[1] = make_layer(items);
       },
       "the object is in the layer twice"},
  };
  for (const Case& c : cases) {
    SampleImage image = good;
    c.change(image);
    const std::string message = refusal(image, true);
    EXPECT_NE(message.find(c.expected), std::string::npos) << c.name << ": " << message;
  }
}

TEST(OsImage, EveryObjectIsComparedWithItsName) {
  const SampleTree tree(kFiles);
  const auto objects = testing::commit_layer(tree, true);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    auto items = objects;
    TarItem& item = items[i];
    if (item.entry.path.ends_with("config")) continue;
    if (!item.content.empty()) {
      item.content.back() ^= 1;
    } else if (item.entry.type == Type::kSymlink) {
      item.entry.link_target += "x";
    } else {
      item.entry.mode ^= 1;
      if (item.entry.path.ends_with("-xattrs-link")) continue;  // its own mode says nothing
    }
    SampleImage image = native_image(tree, 0);
    image.layers[0] = make_layer(items);
    image.labels["ostree.final-diffid"] = codec::Digest::sha256_of(image.layers[0]).to_string();
    EXPECT_NE(refusal(image, true), "accepted") << item.entry.path;
  }
}

TEST(OsImage, LayersMustBeThoseOfTheConfig) {
  const SampleTree tree(kFiles);
  const SampleImage sample = native_image(tree, 1);
  for (std::size_t wrong = 0; wrong < 3; ++wrong) {
    const test::TempDir directory;
    auto writer = oci::LayoutWriter::create(directory.path());
    ASSERT_TRUE(writer.ok());
    std::vector<std::string> layers = sample.layers;
    layers.push_back(make_layer({tar_file("usr/new", "1")}));
    json::Array ids;
    json::Array blobs;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      ids.emplace_back(codec::Digest::sha256_of(layers[i]).to_string());
      const std::string content = i == wrong ? layers[i] + std::string(512, '\0') : layers[i];
      blobs.emplace_back(writer->add_blob(oci::media_type::kOciLayer, content)->to_json());
    }
    json::Object labels;
    for (const auto& [key, value] : sample.labels) labels[key] = value;
    const auto config =
        writer->add_blob(oci::media_type::kOciConfig,
                         json::write(json::Object{{"os", "linux"},
                                                  {"architecture", "amd64"},
                                                  {"config", json::Object{{"Labels", labels}}},
                                                  {"rootfs", json::Object{{"type", "layers"}, {"diff_ids", ids}}}}));
    const auto manifest = writer->add_blob(
        oci::media_type::kOciManifest,
        json::write(json::Object{{"schemaVersion", 2}, {"config", config->to_json()}, {"layers", blobs}}));
    writer->tag(*manifest, "os");
    ASSERT_TRUE(writer->finish().ok());
    const auto layout = oci::Layout::open(directory.path());
    ASSERT_TRUE(layout.ok());
    runtime::ThreadRuntime runtime;
    const auto image = OsImage::open(*layout, "os", {}, runtime, {});
    const Status loaded = image.ok() ? (*image)->load_details({}) : Status(image.error());
    ASSERT_FALSE(loaded.ok()) << wrong;
    EXPECT_NE(loaded.error().to_string().find("but the image config says"), std::string::npos)
        << loaded.error().to_string();
  }
}

/// One link with a long target, in a folder that is in the tree 65536 times.
TEST(OsImage, ASmallImageCannotTakeAllMemory) {
  using ostree::Checksum;
  using ostree::ObjectType;
  SampleTree tree(std::vector<SampleFile>{{.path = "l", .symlink_target = std::string(4000, 'x')}});
  const Checksum meta = Checksum::of(ostree::serialize_dirmeta({0, 0, 0040755, {}}));
  std::string bytes = ostree::serialize_dirtree({{{"l", tree.files.begin()->first}}, {}});
  for (int i = 0; i < 16; ++i) {
    const Checksum below = Checksum::of(bytes);
    tree.metadata[{ObjectType::kDirTree, below}] = bytes;
    bytes = ostree::serialize_dirtree({{}, {{"a", below, meta}, {"b", below, meta}}});
  }
  tree.metadata[{ObjectType::kDirTree, Checksum::of(bytes)}] = bytes;
  tree.metadata.erase({ObjectType::kCommit, tree.commit()});
  const std::string commit = ostree::serialize_commit(
      {ostree::Variant::array("{sv}", {}), std::nullopt, "", "", 0, Checksum::of(bytes), meta});
  tree.metadata[{ObjectType::kCommit, Checksum::of(commit)}] = commit;
  SampleImage image = native_image(tree, 1);
  image.labels["ostree.commit"] = Checksum::of(commit).hex();
  const std::string message = refusal(image, true);
  EXPECT_NE(message.find("symbolic links take more than"), std::string::npos) << message;
}

// --- Derived layers -------------------------------------------------------------------------------------------------

TEST(OsImage, DerivedLayersMergeAsTheImporterDoes) {
  TarItem private_folder = tar_folder("etc/d");
  private_folder.entry.mode = 0711;
  struct Case {
    const char* name;
    std::vector<std::vector<TarItem>> layers;
    const char* expected;
  };
  const std::vector<SampleFile> base = {
      {"usr/etc/d/f", "1"}, {"usr/x/y", "2"}, {.path = "usr/esc", .symlink_target = "/host"}};
  const Case cases[] = {
      {"nothing", {{}}, "usr/ usr/esc usr/etc/ usr/etc/d/ usr/etc/d/f usr/x/ usr/x/y "},
      {"etc is usr/etc",
       {{tar_file("etc/new", "")}},
       "usr/ usr/esc usr/etc/ usr/etc/new usr/etc/d/ usr/etc/d/f usr/x/ usr/x/y "},
      {"whiteout", {{tar_file("etc/d/.wh.f", "")}}, "usr/ usr/esc usr/etc/ usr/etc/d/ usr/x/ usr/x/y "},
      {"whiteout spares its own layer",
       {{tar_file("usr/x/.wh.y", ""), tar_file("usr/x/y", "3")}},
       "usr/ usr/esc usr/etc/ usr/etc/d/ usr/etc/d/f usr/x/ usr/x/y "},
      {"a folder is no whiteout",
       {{tar_folder("usr/x/.wh.y")}},
       "usr/ usr/esc usr/etc/ usr/etc/d/ usr/etc/d/f usr/x/ usr/x/y usr/x/.wh.y/ "},
      {"opaque",
       {{tar_folder("etc/d"), tar_file("etc/d/.wh..wh..opq", ""), tar_file("etc/d/g", "")}},
       "usr/ usr/esc usr/etc/ usr/etc/d/ usr/etc/d/g usr/x/ usr/x/y "},
      {"aufs leftovers",
       {{tar_file("usr/.wh..wh.aufs", "")}},
       "usr/ usr/esc usr/etc/ usr/etc/d/ usr/etc/d/f usr/x/ usr/x/y "},
      {"through a link: replaced, not followed",
       {{tar_file("usr/esc/pwn", "")}},
       "usr/ usr/esc/ usr/esc/pwn usr/etc/ usr/etc/d/ usr/etc/d/f usr/x/ usr/x/y "},
      {"folder becomes a file", {{tar_file("usr/x", "")}}, "usr/ usr/esc usr/x usr/etc/ usr/etc/d/ usr/etc/d/f "},
      {"other places are dropped",
       {{tar_file("opt/a", ""), tar_folder("run"), tar_file("run/b", ""), tar_file(".wh.usr", ""),
         tar_file("var/c", "")}},
       "run/ usr/ usr/esc usr/etc/ usr/etc/d/ usr/etc/d/f usr/x/ usr/x/y var/ var/c "},
      {"what builders inject",
       {{tar_file("etc/hostname", ""), tar_file("etc/resolv.conf", ""), tar_file("etc/hosts", "")}},
       "usr/ usr/esc usr/etc/ usr/etc/hosts usr/etc/d/ usr/etc/d/f usr/x/ usr/x/y "},
      {"hard links",
       {{tar_file("usr/a", "1"), tar_link(Type::kHardLink, "etc/b", "usr/a")},
        {tar_link(Type::kHardLink, "usr/c", "etc/d/f")}},
       "usr/ usr/a usr/c usr/esc usr/etc/ usr/etc/b usr/etc/d/ usr/etc/d/f usr/x/ usr/x/y "},
  };
  for (const Case& c : cases) {
    SampleImage image = native_image(SampleTree(base), 1);
    for (const auto& items : c.layers) image.layers.push_back(make_layer(items));
    Opener opener(image);
    const auto opened = opener.open();
    ASSERT_TRUE(opened.ok()) << c.name << ": " << opened.error().to_string();
    EXPECT_EQ(listing(**opened, false), c.expected) << c.name;
    EXPECT_EQ((*opened)->facts().derived_layers, c.layers.size()) << c.name;
    EXPECT_FALSE((*opened)->tree().find("usr")->checksum) << c.name;
    const auto bare = opener.open({.base_only = true});
    ASSERT_TRUE(bare.ok());
    EXPECT_EQ(listing(**bare, false), "usr/ usr/esc usr/etc/ usr/etc/d/ usr/etc/d/f usr/x/ usr/x/y ") << c.name;
  }
}

TEST(OsImage, FoldersOfTheBaseKeepTheirMode) {
  TarItem existing = tar_folder("etc/d");
  existing.entry.mode = 0711;
  TarItem added = tar_folder("etc/new");
  added.entry.mode = 0700;
  SampleImage image = native_image(SampleTree(std::vector<SampleFile>{{"usr/etc/d/f", "1"}}), 1);
  image.layers.push_back(make_layer({existing, added}));
  image.layers.push_back(make_layer({tar_file("etc/d/.wh..wh..opq", ""), existing}));
  Opener opener(image);
  const auto opened = opener.open();
  ASSERT_TRUE(opened.ok()) << opened.error().to_string();
  EXPECT_EQ((*opened)->tree().find("usr/etc/new")->mode, 0700u);
  EXPECT_EQ((*opened)->tree().find("usr/etc/d")->mode, 0711u);  // the opaque marker makes it a new folder
  image.layers.pop_back();
  Opener without(image);
  EXPECT_EQ((*without.open())->tree().find("usr/etc/d")->mode, 0755u);
}

TEST(OsImage, ContentOfDerivedLayers) {
  SampleImage image =
      native_image(SampleTree(std::vector<SampleFile>{
                       {"usr/etc/d/f", "base"}, {"usr/lib/ostree/prepare-root.conf", "[composefs]\nenabled = yes\n"}}),
                   1);
  image.layers.push_back(make_layer(
      {tar_file("etc/d/g", "derived"), tar_link(Type::kHardLink, "usr/h", "etc/d/f"), tar_file("opt/a", "kept")}));
  Opener opener(image);
  auto cache = oci::BlobCache::open({opener.directory.path() / "cache"}, opener.runtime);
  ASSERT_TRUE(cache.ok());
  const auto opened = opener.open({.cache = cache->get()});
  ASSERT_TRUE(opened.ok()) << opened.error().to_string();
  EXPECT_EQ(read(**opened, "/etc/d/f"), "base");
  EXPECT_EQ(read(**opened, "/etc/d/g"), "derived");
  EXPECT_EQ(read(**opened, "/usr/h"), "base");
  EXPECT_EQ(read(**opened, "/opt/a"), "kept");  // composefs: the root is of the image's making
  opener.source->take_opened();
  const auto again = opener.open({.cache = cache->get()});
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(listing(**again, false), listing(**opened, false));
  EXPECT_TRUE(opener.source->take_opened().empty());
}

}  // namespace strake::osimage::os_image_test
