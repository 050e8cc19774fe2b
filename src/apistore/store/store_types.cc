#include "apistore/store/store_types.h"

namespace strake::apistore {

std::string StoreKey::to_string() const {
  return ns.empty() ? fmt::format("{}/{}", resource, name) : fmt::format("{}/{}/{}", resource, ns, name);
}

std::string RevisionedText::with(Revision revision) const {
  const std::string number = std::to_string(revision);
  std::string text;
  text.reserve(before.size() + number.size() + after.size());
  return text.append(before).append(number).append(after);
}

std::string_view to_string(ChangeType type) {
  switch (type) {
    case ChangeType::kCreated: return "created";
    case ChangeType::kUpdated: return "updated";
    case ChangeType::kDeleted: return "deleted";
  }
  return "unknown";
}

Result<const json::Value*> StoreEvent::parsed_previous() const {
  if (!previous) return nullptr;
  return parsed(*previous, previous_once_, previous_json_);
}

Result<const json::Value*> StoreEvent::parsed(const std::string& text, std::once_flag& once,
                                              std::optional<Result<json::Value>>& kept) const {
  std::call_once(once, [&] { kept.emplace(json::parse(text)); });
  if (!kept->ok())
    return Error(Code::kCorrupt, kept->error().message()).context("reading the stored " + key.to_string());
  return &**kept;
}

Error expired_revision(Revision asked, Revision oldest) {
  return error(Code::kExpired, "too old resource version: {} ({})", asked, oldest).with_reason("Expired");
}

}  // namespace strake::apistore
