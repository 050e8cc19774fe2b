// A small API server in memory, for this module's own tests: objects with versions, watches, and links that fail on
// demand.
//
// FakeServer holds the objects; each FakeClient is one link to it with faults of its own, so that a test can cut one
// client off while the others go on. Validation, ownership and admission are absent on purpose: the real store has
// them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/runtime.h"
#include "kube/kube_api.h"

namespace strake::kube::testing {

class FakeServer {
 public:
  explicit FakeServer(runtime::Runtime& runtime) : runtime_(runtime), changed_(runtime) {}

  /// Watches from any version so far answer kExpired, and so do the continue tokens of lists.
  void expire_history();
  /// Ends every open watch in good order.
  void end_streams();
  /// Every open watch that asked for bookmarks gets one.
  void send_bookmarks();

  std::uint64_t version() const;

 private:
  friend class FakeClient;
  friend class FakeWatch;

  struct Change {
    std::uint64_t version;
    std::string resource;
    WatchType type;
    Object object;
  };
  using StoreKey = std::pair<std::string, ObjectKey>;

  Object stamp(Object object, WatchType type, const Resource& resource);

  runtime::Runtime& runtime_;
  mutable std::mutex mutex_;
  runtime::Condition changed_;
  std::map<StoreKey, Object> objects_;
  std::vector<Change> history_;
  std::uint64_t version_ = 100;
  std::uint64_t compacted_ = 0;  ///< versions below are gone
  std::uint64_t stream_epoch_ = 0;
  std::uint64_t bookmark_epoch_ = 0;
  std::uint64_t next_uid_ = 1;
};

/// What the link to the server does to a call.
enum class Link {
  kUp,
  kRefused,      ///< fails at once, nothing happens at the server
  kSilent,       ///< the request is lost: waits until the caller gives up
  kAnswersLost,  ///< the server acts, but the answer is lost: waits until the caller gives up
};

struct LinkFaults {
  double fail_call = 0;  ///< probability: kUnavailable, before or after the server acted
  double drop_event = 0;
  double duplicate_event = 0;
  double end_stream = 0;  ///< probability, at each event, that the stream ends in good order instead
};

struct CallCounts {
  int attempts = 0;  ///< of any kind, whether they reached the server or not
  int get = 0, list = 0, watch = 0, create = 0, update = 0, patch = 0, remove = 0;
};

class FakeClient final : public KubeApi {
 public:
  explicit FakeClient(FakeServer& server) : server_(server) {}

  void set_link(Link link);
  /// As Link::kRefused, with this answer.
  void refuse_with(Error answer);
  void set_faults(LinkFaults faults);
  CallCounts counts() const;

  Result<Object> get(const Resource& resource, const ObjectKey& key, const Call& call) override;
  Result<ListPage> list(const Resource& resource, const std::string& ns, const ListOptions& options,
                        const Call& call) override;
  Result<std::unique_ptr<WatchStream>> watch(const Resource& resource, const std::string& ns,
                                             const WatchOptions& options, const Call& call) override;
  Result<Object> create(const Resource& resource, const Object& object, const WriteOptions& options,
                        const Call& call) override;
  Result<Object> update(const Resource& resource, const Object& object, const WriteOptions& options,
                        const Call& call) override;
  Result<Object> patch(const Resource& resource, const ObjectKey& key, PatchType type, const json::Value& patch,
                       const WriteOptions& options, const Call& call) override;
  Result<Object> remove(const Resource& resource, const ObjectKey& key, const DeleteOptions& options,
                        const Call& call) override;
  Status remove_collection(const Resource& resource, const std::string& ns, const ListOptions& which,
                           const DeleteOptions& options, const Call& call) override;
  Status evict(const ObjectKey& pod, const DeleteOptions& options, const Call& call) override;

 private:
  friend class FakeWatch;

  template <typename T>
  Result<T> through_link(std::string_view where, const Call& call, const std::function<Result<T>()>& act);

  FakeServer& server_;
  Link link_ = Link::kUp;  // guarded by the server's mutex, as everything below
  Error refusal_{Code::kUnavailable, "connection refused"};
  LinkFaults faults_;
  CallCounts counts_;
};

}  // namespace strake::kube::testing
