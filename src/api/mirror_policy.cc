#include "api/mirror_policy.h"

#include "api/kinds.h"

namespace strake::api {

namespace {

/// The three kinds name the members of an entry alike.
MirrorEntry read_mirror_entry(const json::Value& item) {
  MirrorEntry entry{item_text_at(item, kImageDigestMirrorSetFields["spec.imageDigestMirrors[].source"]),
                    {},
                    item_text_at(item, kImageDigestMirrorSetFields["spec.imageDigestMirrors[].mirrorSourcePolicy"])};
  const json::Value* mirrors = json::find(item, {"mirrors"});
  if (mirrors == nullptr || !mirrors->is_array()) return entry;
  for (const json::Value& mirror : mirrors->get_array()) {
    if (mirror.is_string()) entry.mirrors.emplace_back(json::as_view(mirror.get_string()));
  }
  return entry;
}

}  // namespace

std::vector<MirrorEntry> mirror_entries(const json::Value& object) {
  const std::string kind = json::find_string(object, {"kind"}).value_or("");
  const json::Array* items = nullptr;
  if (kind == kImageDigestMirrorSet.kind)
    items = &items_at(object, kImageDigestMirrorSetFields["spec.imageDigestMirrors"]);
  if (kind == kImageTagMirrorSet.kind) items = &items_at(object, kImageTagMirrorSetFields["spec.imageTagMirrors"]);
  if (kind == kImageContentSourcePolicy.kind)
    items = &items_at(object, kImageContentSourcePolicyFields["spec.repositoryDigestMirrors"]);
  std::vector<MirrorEntry> entries;
  if (items == nullptr) return entries;
  for (const json::Value& item : *items) entries.push_back(read_mirror_entry(item));
  return entries;
}

}  // namespace strake::api
