#include "stream/aleph.h"

#include "codec/document_node.h"
#include "codec/hex.h"

namespace strake::stream {

namespace {

constexpr std::string_view kVersionLabel = "org.opencontainers.image.version";
constexpr std::size_t kMaxAlephDepth = 20;
constexpr std::size_t kCommitDigits = 64;

/// The first of several members that says something.
Result<std::string> first_text(const json::DocumentNode& node, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    STRAKE_TRY(std::string text, node.text(name));
    if (!text.empty()) return text;
  }
  return std::string();
}

/// What a label of the image says, where the file keeps the image's labels.
Result<std::string> version_label(const json::Value& document) {
  for (const std::initializer_list<std::string_view> path :
       {std::initializer_list<std::string_view>{"labels"}, {"container-image", "image-labels"}}) {
    const json::Value* labels = json::find(document, path);
    if (labels == nullptr || !labels->is_object()) continue;
    STRAKE_TRY(std::string text, json::DocumentNode(*labels, "labels").text(kVersionLabel));
    if (!text.empty()) return text;
  }
  return std::string();
}

}  // namespace

Result<Aleph> parse_aleph(std::string_view json_text) {
  STRAKE_TRY(const json::Value document,
             json::parse(json_text, {.max_bytes = kMaxAlephBytes, .max_depth = kMaxAlephDepth}));
  if (!document.is_object()) return json::DocumentNode(document).expected("an object");
  const json::DocumentNode root(document);
  Aleph aleph;
  STRAKE_TRY(aleph.version, first_text(root, {"version", "build"}));
  if (aleph.version.empty()) {
    STRAKE_TRY(aleph.version, version_label(document));
  }
  if (aleph.version.empty()) {
    return error(Code::kInvalidArgument, "neither version nor build is there: this is no aleph, or a damaged one");
  }
  STRAKE_TRY(aleph.ostree_commit, root.text("ostree-commit"));
  if (!aleph.ostree_commit.empty() &&
      (aleph.ostree_commit.size() != kCommitDigits || !codec::is_lower_hex(aleph.ostree_commit))) {
    return error(Code::kInvalidArgument, "ostree-commit: '{}' is no checksum", aleph.ostree_commit);
  }
  if (const json::Value* container = json::find(document, {"container-image"})) {
    const json::DocumentNode node(*container, "container-image");
    STRAKE_TRY(aleph.image, node.text("image-name"));
    STRAKE_TRY(aleph.image_digest, node.text("image-digest"));
  }
  if (aleph.image.empty()) {
    STRAKE_TRY(aleph.image, first_text(root, {"target-image", "image", "imgid", "ref"}));
  }
  if (aleph.image_digest.empty()) {
    STRAKE_TRY(aleph.image_digest, root.text("digest"));
  }
  return aleph;
}

}  // namespace strake::stream
