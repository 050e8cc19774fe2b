// What the store keeps and tells: keys, texts and changes. It knows JSON text, nothing of Kubernetes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "codec/json.h"

namespace strake::apistore {

using Revision = std::int64_t;

struct StoreKey {
  std::string resource;  ///< kube::Resource::qualified_name()
  std::string ns;
  std::string name;

  auto operator<=>(const StoreKey&) const = default;
  std::string to_string() const;
};

/// An object's text, cut where its revision belongs: the number is known only when the write takes its turn.
struct RevisionedText {
  std::string before;
  std::string after;

  std::string with(Revision revision) const;
};

struct Row {
  std::string ns;
  std::string name;
  std::string uid;
  Revision revision = 0;
  std::string text;
};

enum class ChangeType { kCreated = 0, kUpdated = 1, kDeleted = 2 };
std::string_view to_string(ChangeType type);

/// One committed change; shared by every watcher of it.
class StoreEvent {
 public:
  Revision revision = 0;
  StoreKey key;
  std::string uid;
  ChangeType type = ChangeType::kCreated;
  std::string object;                   ///< for kDeleted: the last state, with the revision of the deletion
  std::optional<std::string> previous;  ///< nullopt for kCreated

  /// Parsed at the first call and kept: a thousand watchers with selectors parse an object once.
  Result<const json::Value*> parsed_object() const { return parsed(object, object_once_, object_json_); }
  /// Null for kCreated.
  Result<const json::Value*> parsed_previous() const;
  std::size_t size_bytes() const { return sizeof(StoreEvent) + object.size() + (previous ? previous->size() : 0); }

 private:
  Result<const json::Value*> parsed(const std::string& text, std::once_flag& once,
                                    std::optional<Result<json::Value>>& kept) const;

  mutable std::once_flag object_once_;
  mutable std::once_flag previous_once_;
  mutable std::optional<Result<json::Value>> object_json_;
  mutable std::optional<Result<json::Value>> previous_json_;
};

using StoreEventPtr = std::shared_ptr<const StoreEvent>;

/// kExpired with the words clients know.
Error expired_revision(Revision asked, Revision oldest);

}  // namespace strake::apistore
