#include "apistore/service/service_tasks.h"

#include <algorithm>

#include "apistore/service/budget_status.h"
#include "apistore/service/garbage_collector.h"
#include "apistore/service/object_text.h"
#include "apistore/store/database.h"
#include "base/time.h"

namespace strake::apistore {

namespace {

constexpr runtime::Duration kFirstRestartDelay = std::chrono::seconds(1);
constexpr runtime::Duration kLastRestartDelay = std::chrono::minutes(1);
constexpr runtime::Duration kCheckLook = std::chrono::seconds(5);  // how soon a first sign of damage is followed up
constexpr runtime::Duration kCheckPause = std::chrono::milliseconds(5);  // between pages of objects: others come first
constexpr std::size_t kCheckPage = 100;
constexpr std::size_t kEventPage = 500;

/// When an Event was last seen; nullopt when it says nothing readable.
std::optional<runtime::WallTime> last_seen(const json::Value& event) {
  std::optional<runtime::WallTime> latest;
  for (const auto& path : {std::initializer_list<std::string_view>{"metadata", "creationTimestamp"},
                           {"lastTimestamp"},
                           {"eventTime"},
                           {"series", "lastObservedTime"}}) {
    const auto text = json::find_string(event, path);
    if (!text) continue;
    const auto time = parse_rfc3339(*text);
    if (time.ok()) latest = latest ? std::max(*latest, *time) : *time;
  }
  return latest;
}

}  // namespace

ServiceTasks::ServiceTasks(Service& service) : service_(service) {
  const bool checked_at_start = service.store().file_bytes() <= kCheckedAtStartBytes;
  next_check_ = service.runtime().now() + (checked_at_start ? service.options().check_interval : kCheckLook);
  spawn("garbage collector", [collector = std::make_shared<GarbageCollector>(service)](std::stop_token stop) {
    return collector->run(std::move(stop));
  });
  spawn("budget status", [budgets = std::make_shared<BudgetStatus>(service)](std::stop_token stop) {
    return budgets->run(std::move(stop));
  });
  spawn("store sweeper", [this](std::stop_token stop) { return sweep(std::move(stop)); });
  if (!service.options().store.directory.empty()) {
    spawn("store check", [this](std::stop_token stop) { return check(stop); });
  }
}

ServiceTasks::~ServiceTasks() {
  for (runtime::Task& task : tasks_) task.request_stop();
  for (runtime::Task& task : tasks_) task.join();
}

void ServiceTasks::spawn(const std::string& name, std::function<Status(std::stop_token)> body) {
  tasks_.push_back(service_.runtime().spawn(name, [this, name, body = std::move(body)](std::stop_token stop) {
    runtime::Runtime& runtime = service_.runtime();
    runtime::Duration delay = kFirstRestartDelay;
    while (!stop.stop_requested()) {
      const runtime::TimePoint start = runtime.now();
      const Status done = body(stop);
      if (done.ok()) {
        delay = kFirstRestartDelay;
        continue;
      }
      if (stop.stop_requested()) return;
      // Whatever failed (a full disk, a place in history that is gone) is tried anew from the present state.
      if (runtime.now() - start > kLastRestartDelay) delay = kFirstRestartDelay;
      if (done.error().code() != Code::kExpired) service_.report(name, done.error());
      if (!runtime.sleep(delay, stop).ok()) return;
      delay = std::min(2 * delay, kLastRestartDelay);
    }
  }));
}

/// One whole check, after waiting for its time to come.
Status ServiceTasks::check(const std::stop_token& stop) {
  Store& store = service_.store();
  runtime::Runtime& runtime = service_.runtime();
  while (runtime.now() < next_check_ && !store.health().take_check_request()) {
    STRAKE_CHECK_OK(runtime.sleep(std::min<runtime::Duration>(kCheckLook, next_check_ - runtime.now()), stop));
  }
  next_check_ = runtime.now() + service_.options().check_interval;
  STRAKE_CHECK_OK(store.check_file(stop));
  if (store.health().damage()) return {};
  return check_objects(stop);
}

/// Pages that fit together may still hold text that is no object: SQLite keeps no checksums.
Status ServiceTasks::check_objects(const std::stop_token& stop) {
  for (const Kind& kind : service_.registry().kinds()) {
    ListQuery query{.resource = kind.qualified_name(), .ns = "", .after = {}, .limit = kCheckPage, .at = {}};
    bool more = true;
    while (more) {
      STRAKE_TRY(const ListResult page, service_.store().list(query));
      more = page.more;
      for (const Row& row : page.rows) {
        const StoreKey key{query.resource, row.ns, row.name};
        STRAKE_TRY(const json::Value object, parse_stored(row.text, key));
        const bool named_so = json::find_string(object, {"metadata", "name"}).value_or("") == row.name &&
                              json::find_string(object, {"metadata", "namespace"}).value_or("") == row.ns;
        if (named_so) continue;
        return error(Code::kCorrupt, "the stored {} calls itself something else", key.to_string())
            .with_reason(std::string(kStorageDamaged));
      }
      if (more) query.after = {page.rows.back().ns, page.rows.back().name};
      STRAKE_CHECK_OK(service_.runtime().sleep(kCheckPause, stop));
    }
  }
  return {};
}

Status ServiceTasks::sweep(std::stop_token stop) {
  STRAKE_CHECK_OK(service_.runtime().sleep(service_.options().sweep_interval, stop));
  STRAKE_CHECK_OK(service_.store().compact());
  return expire_events(service_);
}

Status expire_events(Service& service) {
  const runtime::WallTime now = service.runtime().wall_now();
  const auto lifetime = std::chrono::duration_cast<runtime::WallTime::duration>(service.options().event_lifetime);
  ListQuery query{.resource = "events", .ns = "", .after = {}, .limit = kEventPage, .at = {}};
  bool more = true;
  while (more) {
    STRAKE_TRY(const ListResult page, service.store().list(query));
    more = page.more;
    if (more) query.after = {page.rows.back().ns, page.rows.back().name};
    for (const Row& row : page.rows) {
      STRAKE_TRY(const json::Value event, parse_stored(row.text, {query.resource, row.ns, row.name}));
      const auto seen = last_seen(event);
      if (seen && now - *seen < lifetime) continue;
      Request request{Caller::system("event-lifetime"), {}, {}};
      kube::DeleteOptions options;
      options.resource_version = std::to_string(row.revision);  // one that was seen again meanwhile stays
      const auto removed = service.remove(request, kube::core::kEvent, {row.ns, row.name}, options);
      if (removed.ok() || removed.error().code() == Code::kNotFound || removed.error().code() == Code::kConflict)
        continue;
      return removed.error();
    }
  }
  return {};
}

}  // namespace strake::apistore
