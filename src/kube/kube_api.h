// KubeApi: the one way our code talks to an API server, whichever it is.
//
// Three implementations: HTTPS (kube/https_api.h: a real cluster, or `strake up` from another process), in process
// (apistore/in_process_api.h) and simulated (apistore/simulated_api.h: the same store in memory behind seeded faults).
// Controllers see only this interface. ADR-001 records why it looks like this.
//
// Errors: kNotFound (404), kExists (409 AlreadyExists), kConflict (409 Conflict), kExpired (410: list again),
// kInvalidArgument (400, 422), kDenied (403), kUnauthenticated (401), kExhausted (429, 413, 507; see retry_after()),
// kUnavailable (5xx, connection), kTimeout, kCancelled, kUnsupported (405, 406, 415). `Error::reason()` carries the
// Status reason word. Reads and watches retry nothing by themselves except 429 with Retry-After and connection failures
// of idempotent calls (HTTPS only); writes are never repeated behind the caller's back.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/runtime.h"
#include "kube/object.h"
#include "kube/resource.h"

namespace strake::kube {

using runtime::Call;

struct ListOptions {
  std::string label_selector{};
  std::string field_selector{};
  std::uint32_t limit = 0;       ///< 0 = everything in one answer
  std::string continue_token{};  ///< of the page before
  std::string resource_version{};
  std::string resource_version_match{};
};

struct ListPage {
  std::vector<Object> items;
  std::string resource_version{};
  std::string continue_token{};  ///< empty on the last page
};

enum class WatchType { kAdded, kModified, kDeleted, kBookmark };
std::string_view to_string(WatchType type);
Result<WatchType> parse_watch_type(std::string_view text);

struct WatchEvent {
  WatchType type = WatchType::kAdded;
  Object object;  ///< for kBookmark only kind and metadata.resourceVersion
};

struct WatchOptions {
  std::string label_selector{};
  std::string field_selector{};
  std::string resource_version{};  ///< events after this version; "" or "0" starts with the present state as kAdded
  bool bookmarks = true;
  std::optional<std::chrono::seconds> timeout{};  ///< the server ends the stream after this
};

/// An open watch; destruction closes it.
class WatchStream {
 public:
  virtual ~WatchStream() = default;
  /// The next event; nullopt when the server ended the stream in good order (watch again from the last version seen);
  /// kExpired when that version is gone (list again).
  virtual Result<std::optional<WatchEvent>> next(const Call& call) = 0;
};

struct WriteOptions {
  bool dry_run = false;
  std::string field_manager = "strake";
  std::string field_validation{};  ///< "", "Ignore", "Warn" or "Strict"
  std::string subresource{};       ///< "" or "status"
  bool force = false;              ///< server-side apply only: take fields over from other managers
};

enum class PatchType { kJson, kMerge, kStrategic, kApply };
std::string_view content_type(PatchType type);

struct DeleteOptions {
  std::string uid{};               ///< precondition, when not empty
  std::string resource_version{};  ///< precondition, when not empty
  std::string propagation{};       ///< "", "Background", "Foreground" or "Orphan"
  std::optional<std::int64_t> grace_period_seconds{};
  bool dry_run = false;
};

class KubeApi {
 public:
  virtual ~KubeApi() = default;

  virtual Result<Object> get(const Resource& resource, const ObjectKey& key, const Call& call) = 0;
  /// `ns` empty: all namespaces, or a cluster-scoped kind.
  virtual Result<ListPage> list(const Resource& resource, const std::string& ns, const ListOptions& options,
                                const Call& call) = 0;
  virtual Result<std::unique_ptr<WatchStream>> watch(const Resource& resource, const std::string& ns,
                                                     const WatchOptions& options, const Call& call) = 0;

  /// With metadata.generateName and no name, the server chooses the name.
  virtual Result<Object> create(const Resource& resource, const Object& object, const WriteOptions& options,
                                const Call& call) = 0;
  /// Replaces the object; metadata.resourceVersion, when present, must be the current one.
  virtual Result<Object> update(const Resource& resource, const Object& object, const WriteOptions& options,
                                const Call& call) = 0;
  virtual Result<Object> patch(const Resource& resource, const ObjectKey& key, PatchType type, const json::Value& patch,
                               const WriteOptions& options, const Call& call) = 0;
  /// The object as it was, or as it now waits for its finalizers.
  virtual Result<Object> remove(const Resource& resource, const ObjectKey& key, const DeleteOptions& options,
                                const Call& call) = 0;
  virtual Status remove_collection(const Resource& resource, const std::string& ns, const ListOptions& which,
                                   const DeleteOptions& options, const Call& call) = 0;
  /// Removes a pod unless a PodDisruptionBudget forbids it now (kExhausted).
  virtual Status evict(const ObjectKey& pod, const DeleteOptions& options, const Call& call) = 0;
};

}  // namespace strake::kube
