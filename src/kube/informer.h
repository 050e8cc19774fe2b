// Informer: a local copy of the objects of one kind, kept current by list and watch.
//
// One task lists (page by page), then watches from the list's version. A stream that ends is resumed from the last
// version seen; a version that is gone leads to a new list, and so does the optional resync interval, because a watch
// may lose events without anybody noticing. What a list no longer holds is reported as deleted.
//
// A watch delivers changes in the order of their versions, so an event that is not newer than the last one is a
// repetition and is dropped: a late duplicate never takes an object back in time or brings a deleted one to life.
//
// Handlers run in the informer's task, one at a time, after the store has the new state. They must be quick: put a key
// in a queue. Reading the store is safe from any task.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/runtime.h"
#include "kube/hooks.h"
#include "kube/kube_api.h"
#include "net/retry.h"

namespace strake::kube {

struct InformerOptions {
  std::string ns;  ///< empty: all namespaces
  std::string label_selector;
  std::string field_selector;
  std::uint32_t page_size = 500;
  /// What to keep of each object, for who needs little of it: metadata.name, namespace, uid and resourceVersion must
  /// stay. For ten thousand Nodes of 2 KiB it saves tens of MiB.
  std::function<Object(const Object&)> reduce;
  std::optional<runtime::Duration> resync;  ///< lists again this long after the last list
  std::chrono::seconds watch_timeout{300};  ///< asked of the server; up to as much again is added at random
  std::chrono::seconds list_timeout{60};    ///< for each page
  net::BackoffPolicy backoff{std::chrono::milliseconds(200), 2.0, std::chrono::seconds(30), 0.5};
  Hooks hooks{};
};

class Informer {
 public:
  struct Handlers {
    std::function<void(const ObjectPtr& added)> on_add;
    std::function<void(const ObjectPtr& before, const ObjectPtr& now)> on_update;
    std::function<void(const ObjectPtr& last_known)> on_delete;
  };
  /// The values under which an object is found; several or none are fine.
  using IndexFunction = std::function<std::vector<std::string>(const Object&)>;

  Informer(runtime::Runtime& runtime, KubeApi& api, Resource resource, InformerOptions options = {});
  ~Informer();
  Informer(const Informer&) = delete;
  Informer& operator=(const Informer&) = delete;

  // Before start().
  void add_index(std::string name, IndexFunction function);
  void add_handlers(Handlers handlers);
  void on_change(std::function<void(const ObjectKey&)> handler);

  void start();
  /// Ends the task; the store keeps its last state.
  void stop();

  /// The first list is complete and its handlers have run.
  bool synced() const;
  Status wait_synced(const Call& call);

  ObjectPtr get(const ObjectKey& key) const;  ///< nullptr when there is none
  std::vector<ObjectPtr> list() const;        ///< in the order of their keys
  std::vector<ObjectPtr> by_index(std::string_view name, std::string_view value) const;
  std::size_t size() const;

  const Resource& resource() const { return resource_; }
  /// Why the last list or watch failed, while it has not succeeded since.
  std::optional<Error> last_error() const;

 private:
  struct Index {
    IndexFunction function;
    std::map<std::string, std::set<ObjectKey>, std::less<>> keys;
  };
  struct Notice {
    ObjectPtr before;
    ObjectPtr now;
  };
  /// Why watching ended.
  enum class WatchEnd { kResume, kListAgain, kStopped };

  void run(std::stop_token stop);
  Result<std::string> list_all(std::stop_token stop, std::vector<ObjectPtr>& objects);
  Result<WatchEnd> watch(std::stop_token stop, std::optional<runtime::TimePoint> resync_at);
  void replace_all(std::vector<ObjectPtr> objects);
  ObjectPtr kept(Object object) const;
  void apply(WatchEvent event);
  std::optional<Notice> store_locked(const ObjectKey& key, ObjectPtr object);
  void notify(const Notice& notice);
  void set_error(std::optional<Error> error);
  void made_contact();

  runtime::Runtime& runtime_;
  KubeApi& api_;
  const Resource resource_;
  const InformerOptions options_;
  std::vector<Handlers> handlers_;

  mutable std::mutex mutex_;
  runtime::Condition synced_changed_;
  std::map<ObjectKey, ObjectPtr> objects_;
  std::map<std::string, Index, std::less<>> indexes_;
  bool synced_ = false;
  std::optional<Error> last_error_;

  std::string version_;  ///< of the last list or event; the task's own
  unsigned failures_ = 0;
  runtime::Task task_;  // last: ends before what it uses
};

}  // namespace strake::kube
