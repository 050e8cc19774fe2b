#include "apistore/service/service_tasks.h"

#include <algorithm>

#include "apistore/service/budget_status.h"
#include "apistore/service/garbage_collector.h"
#include "apistore/service/object_text.h"
#include "base/time.h"

namespace strake::apistore {

namespace {

constexpr auto kRestartDelay = std::chrono::seconds(1);
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
  spawn("garbage collector", [collector = std::make_shared<GarbageCollector>(service)](std::stop_token stop) {
    return collector->run(std::move(stop));
  });
  spawn("budget status", [budgets = std::make_shared<BudgetStatus>(service)](std::stop_token stop) {
    return budgets->run(std::move(stop));
  });
  spawn("store sweeper", [this](std::stop_token stop) { return sweep(std::move(stop)); });
}

ServiceTasks::~ServiceTasks() {
  for (runtime::Task& task : tasks_) task.request_stop();
  for (runtime::Task& task : tasks_) task.join();
}

void ServiceTasks::spawn(const std::string& name, std::function<Status(std::stop_token)> body) {
  tasks_.push_back(service_.runtime().spawn(name, [this, body = std::move(body)](std::stop_token stop) {
    while (!stop.stop_requested()) {
      // Whatever failed (a full disk, a place in history that is gone) is tried anew from the present state.
      if (!body(stop).ok() && !service_.runtime().sleep(kRestartDelay, stop).ok()) return;
    }
  }));
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
