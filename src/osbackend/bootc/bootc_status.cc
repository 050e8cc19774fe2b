#include "osbackend/bootc/bootc_status.h"

#include "codec/json.h"

namespace strake::osbackend {

namespace {

constexpr std::size_t kMaxBootcStatusBytes = 8u << 20;

Result<std::optional<BootcEntry>> entry_of(const json::Value& document, std::string_view name) {
  const json::Value* value = json::find(document, {"status", name});
  if (value == nullptr || value->is_null()) return std::optional<BootcEntry>();
  if (!value->is_object()) return error(Code::kCorrupt, "bootc status: status.{}: not an object", name);
  BootcEntry entry;
  if (const auto checksum = json::find_string(*value, {"ostree", "checksum"})) {
    entry.id = fmt::format("{}-{}.{}", json::find_string(*value, {"ostree", "stateroot"}).value_or("default"),
                           *checksum, json::find_int(*value, {"ostree", "deploySerial"}).value_or(0));
  }
  if (const auto origin = json::find_string(*value, {"image", "image", "image"})) {
    const auto digest = json::find_string(*value, {"image", "imageDigest"});
    // The digest of what was fetched counts, whatever the name said.
    const std::string name_only = origin->substr(0, digest ? origin->find('@') : std::string::npos);
    const auto image = ImageReference::with_digest(name_only, digest.value_or(""));
    if (image.ok()) entry.image = *image;
  }
  entry.version = json::find_string(*value, {"image", "version"}).value_or("");
  entry.incompatible = json::find_bool(*value, {"incompatible"}).value_or(false);
  entry.pinned = json::find_bool(*value, {"pinned"}).value_or(false);
  return std::optional(std::move(entry));
}

}  // namespace

Result<BootcStatus> parse_bootc_status(std::string_view text) {
  STRAKE_TRY_CONTEXT(const json::Value value, json::parse(text, {.max_bytes = kMaxBootcStatusBytes}), "bootc status");
  if (json::find_string(value, {"kind"}) != "BootcHost")
    return error(Code::kCorrupt, "bootc status: not a BootcHost document");
  BootcStatus status;
  status.is_bootc_host = json::find_string(value, {"status", "type"}) == "bootcHost";
  STRAKE_TRY(status.booted, entry_of(value, "booted"));
  STRAKE_TRY(status.staged, entry_of(value, "staged"));
  STRAKE_TRY(status.rollback, entry_of(value, "rollback"));
  return status;
}

}  // namespace strake::osbackend
