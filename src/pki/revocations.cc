#include "pki/revocations.h"

#include "base/fd.h"
#include "base/file_lock.h"
#include "base/time.h"
#include "codec/json.h"

namespace strake::pki {

namespace {

constexpr std::size_t kMaxRevocationFileBytes = 16u << 20;

bool is_serial(std::string_view text) {
  return !text.empty() && text.size() <= 40 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

Status Revocations::read_if_changed() {
  STRAKE_TRY(const std::optional<FileVersion> version, file_version(path_));
  if (!version) {
    entries_.clear();
    version_.reset();
    return {};
  }
  if (version_ == version) return {};
  STRAKE_TRY(const std::string text, read_file(path_, kMaxRevocationFileBytes));
  STRAKE_TRY_CONTEXT(const json::Value document, json::parse(text), "{}", path_.string());
  const json::Value* list = json::find(document, {"revoked"});
  if (list == nullptr || !list->is_array())
    return error(Code::kCorrupt, "{}: revoked is missing or no list", path_.string());
  std::map<std::string, Entry, std::less<>> entries;
  for (const json::Value& item : list->get_array()) {
    Entry entry;
    entry.serial = json::find_string(item, {"serial"}).value_or("");
    entry.reason = json::find_string(item, {"reason"}).value_or("");
    if (!is_serial(entry.serial))
      return error(Code::kCorrupt, "{}: \"{}\" is no serial number", path_.string(), entry.serial);
    STRAKE_TRY_CONTEXT(entry.expires, parse_rfc3339(json::find_string(item, {"expires"}).value_or("")),
                       "{}: {}: expires", path_.string(), entry.serial);
    entries[entry.serial] = std::move(entry);
  }
  entries_ = std::move(entries);
  version_ = version;
  return {};
}

Status Revocations::write() {
  json::Array list;
  for (const auto& [serial, entry] : entries_) {
    list.push_back(
        json::Object{{"serial", serial}, {"expires", format_rfc3339(entry.expires)}, {"reason", entry.reason}});
  }
  version_.reset();  // the next reader sees what is on disk
  return write_file_atomic(path_, json::write_pretty(json::Object{{"revoked", std::move(list)}}), 0600);
}

Status Revocations::revoke(const Entry& entry, WallTime now) {
  if (!is_serial(entry.serial)) {
    return error(Code::kInvalidArgument, "\"{}\" is no serial number: give it in lower case hexadecimal digits",
                 entry.serial);
  }
  const std::lock_guard lock(mutex_);
  STRAKE_TRY(const FileLock writers, lock_for_change(path_));
  STRAKE_CHECK_OK(read_if_changed());
  std::erase_if(entries_, [&](const auto& item) { return item.second.expires <= now; });
  entries_[entry.serial] = entry;
  return write();
}

Result<std::optional<std::string>> Revocations::why_revoked(std::string_view serial) {
  const std::lock_guard lock(mutex_);
  STRAKE_CHECK_OK(read_if_changed());
  const auto found = entries_.find(serial);
  return found == entries_.end() ? std::nullopt : std::optional(found->second.reason);
}

}  // namespace strake::pki
