#include "apistore/service/watch.h"

#include <charconv>

#include "apistore/service/object_text.h"
#include "apistore/service/service_errors.h"

namespace strake::apistore {

namespace {

constexpr std::size_t kInitialPage = 500;

Result<Revision> parse_revision(std::string_view text) {
  Revision revision = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), revision);
  if (failed != std::errc() || end != text.data() + text.size() || revision < 0) {
    return bad_request("invalid resource version \"{}\": not a number", text);
  }
  return revision;
}

ServiceEvent text_event(kube::WatchType type, std::string text) {
  return {type, std::make_shared<const std::string>(std::move(text))};
}

}  // namespace

Watch::Watch(const Start& start, Selection selection, const WatchQuery& query)
    : start_(start),
      selection_(std::move(selection)),
      bookmarks_(query.bookmarks),
      marks_initial_end_(query.initial_events.value_or(false) && query.bookmarks),
      api_version_(start.kind.api_version(start.version)) {}

Result<std::unique_ptr<Watch>> Watch::open(const Start& start, const WatchQuery& query) {
  STRAKE_TRY(Selection selection,
             Selection::parse(start.kind, start.version, query.label_selector, query.field_selector));
  std::unique_ptr<Watch> watch(new Watch(start, std::move(selection), query));
  const bool from_now = query.resource_version.empty() || query.resource_version == "0";
  watch->initial_ = query.initial_events.value_or(from_now);
  if (!from_now) {
    STRAKE_TRY(watch->revision_, parse_revision(query.resource_version));
  }
  if (from_now || watch->initial_) watch->revision_ = std::max(watch->revision_, start.store.revision());
  SubscribeOptions options;
  options.resource = start.kind.qualified_name();
  options.ns = start.ns;
  options.after = watch->revision_;
  if (auto name = watch->selection_.name()) {
    // Every agent watches its own Node: without this each change of one Node would wake the agents of all.
    options.filter = [name = *std::move(name)](const StoreEvent& event) { return event.key.name == name; };
  }
  options.ready = query.ready;
  STRAKE_TRY(watch->changes_, start.store.subscribe(std::move(options)));
  const runtime::TimePoint now = start.runtime.now();
  if (query.timeout) watch->end_ = now + *query.timeout;
  watch->bookmark_at_ = now + start.bookmark_interval;
  return watch;
}

Result<std::optional<ServiceEvent>> Watch::next(const runtime::Call& call) {
  while (true) {
    STRAKE_TRY(Poll poll, try_next());
    if (poll.ended) return std::optional<ServiceEvent>();
    if (poll.event) return std::move(poll.event);
    runtime::Call wait = call;
    const runtime::TimePoint wake = wake_at();
    if (!wait.deadline || wake < *wait.deadline) wait.deadline = wake;
    Result<StoreEventPtr> event = changes_->next(wait);
    if (event.ok()) {
      STRAKE_TRY(std::optional<ServiceEvent> seen, seen_through_selectors(*event));
      if (seen) return seen;
    } else if (event.error().code() != Code::kTimeout || (call.deadline && start_.runtime.now() >= *call.deadline)) {
      return std::move(event).error();
    }
  }
}

Result<Watch::Poll> Watch::try_next() {
  while (true) {
    const runtime::TimePoint now = start_.runtime.now();
    if (end_ && now >= *end_) return Poll{std::nullopt, true};
    if (initial_) {
      STRAKE_TRY(initial_, fill_initial());
    }
    if (!waiting_.empty()) {
      Poll poll{std::move(waiting_.front()), false};
      waiting_.pop_front();
      return poll;
    }
    if (initial_) continue;
    if (now >= bookmark_at_) {
      bookmark_at_ = now + start_.bookmark_interval;
      if (bookmarks_) return Poll{bookmark(changes_->caught_up_to(), false), false};
    }
    STRAKE_TRY(const StoreEventPtr event, changes_->try_next());
    if (event == nullptr) return Poll{};
    STRAKE_TRY(std::optional<ServiceEvent> seen, seen_through_selectors(event));
    if (seen) return Poll{std::move(seen), false};
  }
}

/// Keeps one page of the present state in `waiting_`; false when the last one is there.
Result<bool> Watch::fill_initial() {
  if (!waiting_.empty()) return true;
  if (initial_more_) {
    STRAKE_TRY(ListResult page, start_.store.list({.resource = start_.kind.qualified_name(),
                                                   .ns = start_.ns,
                                                   .after = initial_after_,
                                                   .limit = kInitialPage,
                                                   .at = revision_}));
    for (Row& row : page.rows) {
      STRAKE_TRY(const bool matches, selection_.matches_text(row.text));
      if (!matches) continue;
      STRAKE_TRY(std::string text, in_api_version(std::move(row.text), api_version_));
      waiting_.push_back(text_event(kube::WatchType::kAdded, std::move(text)));
    }
    initial_more_ = page.more;
    if (page.more) initial_after_ = {page.rows.back().ns, page.rows.back().name};
    if (page.more) return true;
  }
  if (marks_initial_end_) waiting_.push_back(bookmark(revision_, true));
  return false;
}

Result<ServiceEvent> Watch::shared_text(kube::WatchType type, const StoreEventPtr& event) const {
  if (&start_.version == &start_.kind.storage())
    return ServiceEvent{type, std::shared_ptr<const std::string>(event, &event->object)};
  STRAKE_TRY(std::string text, in_api_version(event->object, api_version_));
  return text_event(type, std::move(text));
}

Result<std::optional<ServiceEvent>> Watch::seen_through_selectors(const StoreEventPtr& event) const {
  using kube::WatchType;
  const auto shown = [&](WatchType type) -> Result<std::optional<ServiceEvent>> {
    STRAKE_TRY(ServiceEvent text, shared_text(type, event));
    return std::optional(std::move(text));
  };
  if (selection_.everything()) {
    switch (event->type) {
      case ChangeType::kCreated: return shown(WatchType::kAdded);
      case ChangeType::kUpdated: return shown(WatchType::kModified);
      case ChangeType::kDeleted: return shown(WatchType::kDeleted);
    }
  }
  bool was = false;
  if (event->previous && selection_.may_match_text(*event->previous)) {
    STRAKE_TRY(const json::Value* const previous, event->parsed_previous());
    was = selection_.matches(*previous);
  }
  bool is = false;
  if (event->type != ChangeType::kDeleted && selection_.may_match_text(event->object)) {
    STRAKE_TRY(const json::Value* const object, event->parsed_object());
    is = selection_.matches(*object);
  }
  if (is) return shown(was ? WatchType::kModified : WatchType::kAdded);
  if (!was) return std::optional<ServiceEvent>();
  if (event->type == ChangeType::kDeleted) return shown(WatchType::kDeleted);
  // It left the selection: to this watcher it is gone, as it was, at the revision that took it away.
  STRAKE_TRY(const json::Value* const last, event->parsed_previous());
  return text_event(WatchType::kDeleted, encode_object(*last, api_version_).with(event->revision));
}

ServiceEvent Watch::bookmark(Revision revision, bool ends_initial) {
  json::Object metadata{{"resourceVersion", std::to_string(revision)}, {"creationTimestamp", nullptr}};
  if (ends_initial) metadata["annotations"] = json::Object{{"k8s.io/initial-events-end", "true"}};
  return text_event(kube::WatchType::kBookmark,
                    json::write(json::Object{
                        {"kind", start_.kind.kind}, {"apiVersion", api_version_}, {"metadata", std::move(metadata)}}));
}

}  // namespace strake::apistore
