// A watch as clients see it: the present state if asked for, then changes seen through selectors, bookmarks, and an end
// in good order.
//
// Two ways to read it. next() waits, for code with a task of its own. try_next() never waits, for a server with a
// thousand streams on few threads: call it until it answers "nothing now", then again when `ready` was called or
// `wake_at()` has come.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "apistore/schema/registry.h"
#include "apistore/service/selection.h"
#include "apistore/store/store.h"
#include "kube/kube_api.h"

namespace strake::apistore {

struct WatchQuery {
  std::string label_selector;
  std::string field_selector;
  std::string resource_version;  ///< events after this one; "" and "0" begin with the present state
  bool bookmarks = false;
  std::optional<bool> initial_events;  ///< sendInitialEvents: with true, a bookmark marks the end of the present state
  std::optional<std::chrono::seconds> timeout;
  std::function<void()> ready;  ///< see SubscribeOptions::ready
};

/// Text is shared: a thousand watchers of one change hold one copy.
struct ServiceEvent {
  kube::WatchType type = kube::WatchType::kAdded;
  std::shared_ptr<const std::string> text;  ///< the object
};

class Watch {
 public:
  struct Start {
    runtime::Runtime& runtime;
    Store& store;
    const Kind& kind;
    const KindVersion& version;
    std::string ns;
    runtime::Duration bookmark_interval;
  };
  static Result<std::unique_ptr<Watch>> open(const Start& start, const WatchQuery& query);

  /// nullopt: the timeout asked for has come. kExpired: list again. kTimeout and kCancelled: the call's own end; the
  /// watch goes on.
  Result<std::optional<ServiceEvent>> next(const runtime::Call& call);

  struct Poll {
    std::optional<ServiceEvent> event;
    bool ended = false;
  };
  Result<Poll> try_next();
  /// When try_next() has something to say although nothing changed.
  runtime::TimePoint wake_at() const { return end_ ? std::min(*end_, bookmark_at_) : bookmark_at_; }

 private:
  Watch(const Start& start, Selection selection, const WatchQuery& query);

  Result<bool> fill_initial();
  Result<std::optional<ServiceEvent>> seen_through_selectors(const StoreEventPtr& event) const;
  ServiceEvent bookmark(Revision revision, bool ends_initial);
  Result<ServiceEvent> shared_text(kube::WatchType type, const StoreEventPtr& event) const;

  const Start start_;
  const Selection selection_;
  const bool bookmarks_;
  const bool marks_initial_end_;
  const std::string api_version_;

  bool initial_ = false;  ///< the present state is not all handed out yet
  Revision revision_ = 0;
  std::optional<std::pair<std::string, std::string>> initial_after_;
  bool initial_more_ = true;
  std::deque<ServiceEvent> waiting_;
  std::unique_ptr<Subscription> changes_;
  std::optional<runtime::TimePoint> end_;
  runtime::TimePoint bookmark_at_;
};

}  // namespace strake::apistore
