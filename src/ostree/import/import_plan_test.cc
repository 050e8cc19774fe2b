#include "ostree/import/import_plan.h"

#include <gtest/gtest.h>

#include "ostree/import/derived_paths.h"
#include "ostree/repository_writer.h"

namespace strake::ostree::import_plan_test {

using Signature = ContainerReference::Signature;
using Transport = ContainerReference::Transport;

TEST(ContainerReference, IsReadInEveryFormAndWrittenInOne) {
  const struct {
    const char* text;
    const char* canonical;
    const char* image;
    Signature signature;
  } cases[] = {
      {"ostree-unverified-registry:quay.io/a/b:c", "ostree-unverified-registry:quay.io/a/b:c", "docker://quay.io/a/b:c",
       Signature::kUnverified},
      {"ostree-unverified-image:registry:quay.io/a/b:c", "ostree-unverified-registry:quay.io/a/b:c",
       "docker://quay.io/a/b:c", Signature::kUnverified},
      {"ostree-unverified-image:docker://quay.io/a/b:c", "ostree-unverified-registry:quay.io/a/b:c",
       "docker://quay.io/a/b:c", Signature::kUnverified},
      {"ostree-unverified-image:oci:/srv/dir:v1", "ostree-unverified-image:oci:/srv/dir:v1", "oci:/srv/dir:v1",
       Signature::kUnverified},
      {"ostree-image-signed:docker://q.io/a", "ostree-image-signed:docker://q.io/a", "docker://q.io/a",
       Signature::kPolicy},
      {"ostree-remote-registry:fedora:q.io/a", "ostree-remote-image:fedora:docker://q.io/a", "docker://q.io/a",
       Signature::kRemote},
      {"ostree-remote-image:fedora:dir:/x", "ostree-remote-image:fedora:dir:/x", "dir:/x", Signature::kRemote},
      {"ostree-unverified-image:containers-storage:localhost/a",
       "ostree-unverified-image:containers-storage:localhost/a", "containers-storage:localhost/a",
       Signature::kUnverified},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.text);
    const auto read = parse_container_reference(test.text);
    ASSERT_TRUE(read.ok()) << read.error().to_string();
    EXPECT_EQ(read->to_string(), test.canonical);
    EXPECT_EQ(read->image(), test.image);
    EXPECT_EQ(read->signature, test.signature);
    EXPECT_EQ(*parse_container_reference(test.canonical), *read);
  }
  for (const char* text :
       {"", "quay.io/a/b", "docker://quay.io/a", "ostree-unverified-registry:", "ostree-unverified-image:quay.io/a",
        "ostree-unverified-image:docker:quay.io/a", "ostree-unverified-image:ftp:x", "ostree-remote-registry::q.io/a",
        "ostree-image-signed:oci:", "ostree-unverified-registry:a\nb=c", "ostree-unverified-registry:a b"}) {
    EXPECT_FALSE(parse_container_reference(text).ok()) << text;
  }
}

TEST(ContainerReference, OriginIsAKeyFile) {
  EXPECT_EQ(origin_text({.name = "quay.io/a/b:c"}),
            "[origin]\ncontainer-image-reference=ostree-unverified-registry:quay.io/a/b:c\n");
  EXPECT_EQ(origin_text({.transport = Transport::kDir, .name = "/a\\b"}),
            "[origin]\ncontainer-image-reference=ostree-unverified-image:dir:/a\\\\b\n");
}

TEST(RefNames, AreEscapedAsTheContainerStackDoes) {
  const struct {
    const char* text;
    const char* escaped;
  } cases[] = {
      {"docker://quay.io/a/b:c", "docker_3A__2F__2F_quay_2E_io/a/b_3A_c"},
      {"sha256:ab", "sha256_3A_ab"},
      {"a_b-c", "a__b-c"},
      {"/lead", "_2F_lead"},
      {"trail/", "trail_2F_"},
      {"a//b", "a/_2F_b"},
      {"..", "_2E__2E_"},
      {"gr\xc3\xbc\xc3\x9f", "gr_FC__DF_"},
      {"\xf0\x9f\x90\xa7", "_1F427_"},
  };
  for (const auto& test : cases) {
    EXPECT_EQ(*escape_ref(test.text), test.escaped);
    EXPECT_EQ(*unescape_ref(test.escaped), test.text);
    EXPECT_TRUE(check_ref_name(std::string(kImageRefPrefix) + test.escaped).ok());
  }
  EXPECT_FALSE(escape_ref("").ok());
  EXPECT_FALSE(escape_ref(std::string_view("a\0b", 3)).ok());
  EXPECT_FALSE(escape_ref("\xff").ok());
  for (const char* text : {"", "_", "_2F", "a.b", "_00_", "_D800_", "_110000_", "_zz_"}) {
    EXPECT_FALSE(unescape_ref(text).ok()) << text;
  }
}

codec::Digest digest_of(std::string_view text) { return codec::Digest::sha256_of(text); }

ImageDescription native_description() {
  ImageDescription image{.manifest_digest = digest_of("manifest"), .manifest = "{}", .config = "{}"};
  for (const char* name : {"commit", "chunk", "derived"}) {
    image.layers.push_back({digest_of(std::string(name) + ".gz"), digest_of(name), 1});
  }
  image.labels = {{"ostree.commit", Checksum::of("commit").hex()},
                  {"ostree.final-diffid", digest_of("chunk").to_string()}};
  return image;
}
const ContainerReference kReference{.name = "quay.io/os/os:1"};

TEST(ImportPlan, ALayerIsThereOnlyWhenThisImporterChecked) {
  const ImageDescription image = native_description();
  RepositoryFacts facts;
  auto plan = plan_import(image, kReference, {}, facts);
  ASSERT_TRUE(plan.ok()) << plan.error().to_string();
  EXPECT_EQ(plan->commit, Checksum::of("commit"));
  EXPECT_EQ(plan->layers[0].kind, LayerKind::kCommit);
  EXPECT_EQ(plan->layers[1].kind, LayerKind::kChunk);
  EXPECT_EQ(plan->layers[2].kind, LayerKind::kDerived);
  for (const PlannedLayer& layer : plan->layers) EXPECT_FALSE(layer.checked || layer.claimed);

  // What others left is a claim.
  for (const LayerDescription& layer : image.layers) {
    facts.refs.insert_or_assign(layer_ref(layer.digest), Checksum::of("theirs"));
  }
  facts.refs.insert_or_assign(*image_ref(kReference), Checksum::of("their merge"));
  facts.imported_manifest = image.manifest_digest.to_string();
  plan = plan_import(image, kReference, {}, facts);
  for (const PlannedLayer& layer : plan->layers) {
    EXPECT_FALSE(layer.checked || layer.checked_any_toplevel);
    EXPECT_EQ(layer.claimed, Checksum::of("theirs"));
  }
  EXPECT_FALSE(plan->present);

  // What was checked counts for the same layer, compressed in any way, and for the same owners alone.
  facts.refs.insert_or_assign(checked_layer_ref(LayerKind::kChunk, digest_of("chunk"), false, {}), Checksum::of("c"));
  facts.refs.insert_or_assign(checked_layer_ref(LayerKind::kDerived, digest_of("derived"), true, {}),
                              Checksum::of("d"));
  facts.refs.insert_or_assign(plan->checked_image_ref, Checksum::of("their merge"));
  plan = plan_import(image, kReference, {}, facts);
  EXPECT_FALSE(plan->layers[0].checked);
  EXPECT_EQ(plan->layers[1].checked, Checksum::of("c"));
  EXPECT_FALSE(plan->layers[2].checked);
  EXPECT_EQ(plan->layers[2].checked_any_toplevel, Checksum::of("d"));
  EXPECT_EQ(plan->present, Checksum::of("their merge"));
  facts.imported_manifest = digest_of("an older one").to_string();
  EXPECT_FALSE(plan_import(image, kReference, {}, facts)->present);
  const auto mapped = plan_import(image, kReference, OwnerMapping{1000, 1000}, facts);
  for (const PlannedLayer& layer : mapped->layers) EXPECT_FALSE(layer.checked || layer.checked_any_toplevel);
  EXPECT_FALSE(mapped->present);
}

TEST(ImportPlan, LabelsThatLieAreRefused) {
  const struct {
    const char* what;
    std::function<void(ImageDescription&)> change;
    const char* says;
  } cases[] = {
      {"no layers", [](auto& i) { i.layers.clear(); }, "no layers"},
      {"no commit", [](auto& i) { i.labels.erase("ostree.commit"); }, "no label ostree.commit"},
      {"no checksum", [](auto& i) { i.labels["ostree.commit"] = "x"; }, "no ostree checksum"},
      {"no such layer", [](auto& i) { i.labels["ostree.final-diffid"] = digest_of("?").to_string(); }, "is none"},
      {"no digest", [](auto& i) { i.labels["ostree.final-diffid"] = "chunk"; }, "ostree.final-diffid"},
      {"the last layer twice", [](auto& i) { i.layers.push_back(i.layers[1]); }, "are several"},
      {"the commit layer twice", [](auto& i) { i.layers.push_back(i.layers[0]); }, "more than once"},
      {"two commits", [](auto& i) { i.annotations["ostree.commit"] = Checksum::of("x").hex(); }, "annotation"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.what);
    ImageDescription image = native_description();
    test.change(image);
    const auto plan = plan_import(image, kReference, {}, {});
    ASSERT_FALSE(plan.ok());
    EXPECT_NE(plan.error().to_string().find(test.says), std::string::npos) << plan.error().to_string();
  }
}

TEST(ImportPlan, LayersOfNoImageAreRemoved) {
  const Checksum any = Checksum::of("");
  const std::string used = layer_ref(digest_of("a.gz"));
  const std::string used_ours = checked_layer_ref(LayerKind::kChunk, digest_of("a"), false, {});
  const std::map<std::string, Checksum> refs = {
      {used, any},
      {used_ours, any},
      {layer_ref(digest_of("b.gz")), any},
      {checked_layer_ref(LayerKind::kDerived, digest_of("b"), true, OwnerMapping{1, 2}), any},
      {*image_ref(kReference), any},
      {"os/stable", any}};
  const auto removed = plan_layer_removal(refs, {{{digest_of("a.gz")}, {digest_of("a")}}});
  EXPECT_EQ(removed, (std::vector<std::string>{
                         layer_ref(digest_of("b.gz")),
                         checked_layer_ref(LayerKind::kDerived, digest_of("b"), true, OwnerMapping{1, 2})}));
}

TEST(DerivedPaths, GoWhereTheyAreDeployed) {
  using Kind = DeployedEntry::Kind;
  const struct {
    const char* path;
    bool any_toplevel;
    Kind kind;
    const char* result;
  } cases[] = {
      {"usr/bin/a", false, Kind::kPlaced, "usr/bin/a"},
      {"etc/a", false, Kind::kPlaced, "usr/etc/a"},
      {"var/a", false, Kind::kPlaced, "var/a"},
      {"run", false, Kind::kPlaced, "run"},
      {"run/lock/a", true, Kind::kDropped, "lock"},
      {"opt/a", false, Kind::kDropped, "opt"},
      {"opt/a", true, Kind::kPlaced, "opt/a"},
      {"sysroot/ostree/repo/x", true, Kind::kDropped, "sysroot"},
      {"etc/.wh.a", false, Kind::kRemoves, "usr/etc/a"},
      {"etc/.wh..wh..opq", false, Kind::kOpaque, "usr/etc"},
      {".wh.usr", false, Kind::kDropped, ".wh.usr"},
      {".wh..wh..opq", true, Kind::kOpaque, ""},
      {"usr/.wh..wh.aufs", false, Kind::kIgnored, "usr/"},
      {"usr/.wh.", false, Kind::kIgnored, "usr/"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.path);
    const DeployedEntry entry = deploy_entry(test.path, false, test.any_toplevel);
    EXPECT_EQ(entry.kind, test.kind);
    EXPECT_EQ(entry.path, test.result);
  }
  EXPECT_EQ(deploy_entry("usr/.wh.folder", true, false).kind, Kind::kPlaced);
}

}  // namespace strake::ostree::import_plan_test
