#include "apistore/service/garbage_collector.h"

#include <algorithm>

#include "apistore/service/object_text.h"

namespace strake::apistore {

namespace {

constexpr std::size_t kLoadPage = 1000;

Request collector_request() { return {Caller::system("garbage-collector"), {}, {}}; }

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// False for the plain changes of what neither owns, nor is owned, nor dies: nearly all. An object that lost its last
/// owner must be forgotten as a dependent.
bool may_concern_collector(const StoreEvent& event) {
  return event.type == ChangeType::kDeleted || contains(event.object, "\"ownerReferences\"") ||
         contains(event.object, "\"deletionTimestamp\"") ||
         (event.previous && contains(*event.previous, "\"ownerReferences\""));
}

bool has_finalizer(const json::Value& object, std::string_view name) {
  const json::Value* list = json::find(object, {"metadata", "finalizers"});
  if (list == nullptr || !list->is_array()) return false;
  return std::any_of(list->get_array().begin(), list->get_array().end(), [&](const json::Value& item) {
    return item.is_string() && json::as_view(item.get_string()) == name;
  });
}

const json::Array& references_of(const json::Value& object) {
  static const json::Array kNone;
  const json::Value* list = json::find(object, {"metadata", "ownerReferences"});
  return list != nullptr && list->is_array() ? list->get_array() : kNone;
}

/// Gone or changed in the meantime: the event of that change brings it back to us.
Status settled(Status status) {
  if (!status.ok() && (status.error().code() == Code::kNotFound || status.error().code() == Code::kConflict)) return {};
  return status;
}

template <typename T>
Status settled(const Result<T>& result) {
  return result.ok() ? Status() : settled(Status(result.error()));
}

std::string group_of(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? "" : std::string(api_version.substr(0, slash));
}

}  // namespace

Status GarbageCollector::run(std::stop_token stop) {
  SubscribeOptions options;
  options.after = service_.store().revision();
  options.filter = may_concern_collector;
  STRAKE_TRY(const auto changes, service_.store().subscribe(std::move(options)));
  STRAKE_CHECK_OK(load());
  while (true) {
    STRAKE_TRY(const StoreEventPtr event, changes->next({stop, std::nullopt}));
    STRAKE_CHECK_OK(handle(*event));
  }
}

Status GarbageCollector::load() {
  owners_.clear();
  dependents_.clear();
  foreground_.clear();
  terminating_.clear();
  struct Found {
    StoreKey key;
    std::string uid;
    std::string text;
  };
  std::vector<Found> found;  // acted upon once all owners are known
  for (const Kind& kind : service_.registry().kinds()) {
    ListQuery query{.resource = kind.qualified_name(), .ns = "", .after = {}, .limit = kLoadPage, .at = {}};
    bool more = true;
    while (more) {
      STRAKE_TRY(ListResult page, service_.store().list(query));
      more = page.more;
      if (more) query.after = {page.rows.back().ns, page.rows.back().name};
      for (Row& row : page.rows) {
        if (!contains(row.text, "\"ownerReferences\"") && !contains(row.text, "\"deletionTimestamp\"")) continue;
        found.push_back({{query.resource, row.ns, row.name}, row.uid, std::move(row.text)});
      }
    }
  }
  for (const Found& object : found) STRAKE_CHECK_OK(examine(object.key, object.uid, object.text));
  return {};
}

Status GarbageCollector::handle(const StoreEvent& event) {
  if (event.type != ChangeType::kDeleted) return examine(event.key, event.uid, event.object);
  const std::vector<Owner> owners = forget(event.key);
  foreground_.erase(event.uid);
  for (const Owner& owner : owners) {
    const auto waiting = foreground_.find(owner.uid);
    if (waiting != foreground_.end()) STRAKE_CHECK_OK(finish_foreground(StoreKey(waiting->second), owner.uid));
  }
  if (const auto found = dependents_.find(event.uid); found != dependents_.end()) {
    const std::set<StoreKey> orphans = found->second;
    for (const StoreKey& orphan : orphans) STRAKE_CHECK_OK(collect(orphan));
  }
  if (event.key.resource == "namespaces") {
    terminating_.erase(event.key.name);
  } else if (terminating_.contains(event.key.ns)) {
    return finish_namespace(event.key.ns);
  }
  return {};
}

Status GarbageCollector::examine(const StoreKey& key, std::string_view uid, std::string_view text) {
  const bool may_own = contains(text, "\"ownerReferences\"");
  const bool may_die = contains(text, "\"deletionTimestamp\"");
  if (!may_own) forget(key);
  if (!may_own && !may_die) return {};
  STRAKE_TRY(const json::Value object, parse_stored(text, key));

  std::vector<Owner> owners;
  bool looks_orphaned = false;
  for (const json::Value& reference : references_of(object)) {
    owners.push_back({json::find_string(reference, {"uid"}).value_or(""),
                      json::find_bool(reference, {"blockOwnerDeletion"}).value_or(false)});
    STRAKE_TRY(const OwnerState state, owner_state(key, reference));
    looks_orphaned = looks_orphaned || state == OwnerState::kGone || state == OwnerState::kForeground;
  }
  note_owners(key, std::move(owners));
  if (looks_orphaned) STRAKE_CHECK_OK(collect(key));

  if (json::find(object, {"metadata", "deletionTimestamp"}) == nullptr) return {};
  if (key.resource == "namespaces") return empty_namespace(key.name);
  if (has_finalizer(object, "orphan")) return orphan_dependents(key, std::string(uid));
  if (!has_finalizer(object, "foregroundDeletion")) return {};
  foreground_[std::string(uid)] = key;
  if (const auto found = dependents_.find(std::string(uid)); found != dependents_.end()) {
    const std::set<StoreKey> dependents = found->second;
    for (const StoreKey& dependent : dependents) STRAKE_CHECK_OK(collect(dependent));
  }
  return finish_foreground(key, std::string(uid));
}

void GarbageCollector::note_owners(const StoreKey& key, std::vector<Owner> owners) {
  forget(key);
  if (owners.empty()) return;
  for (const Owner& owner : owners) dependents_[owner.uid].insert(key);
  owners_[key] = std::move(owners);
}

std::vector<GarbageCollector::Owner> GarbageCollector::forget(const StoreKey& key) {
  const auto found = owners_.find(key);
  if (found == owners_.end()) return {};
  std::vector<Owner> owners = std::move(found->second);
  owners_.erase(found);
  for (const Owner& owner : owners) {
    const auto dependents = dependents_.find(owner.uid);
    if (dependents == dependents_.end()) continue;
    dependents->second.erase(key);
    if (dependents->second.empty()) dependents_.erase(dependents);
  }
  return owners;
}

Result<GarbageCollector::OwnerState> GarbageCollector::owner_state(const StoreKey& dependent,
                                                                   const json::Value& reference) const {
  const auto text = [&](std::string_view name) { return json::find_string(reference, {name}).value_or(""); };
  const Kind* kind = service_.registry().find_kind(group_of(text("apiVersion")), text("kind"));
  if (kind == nullptr || (kind->namespaced && dependent.ns.empty())) return OwnerState::kUnknown;
  const StoreKey key{kind->qualified_name(), kind->namespaced ? dependent.ns : "", text("name")};
  STRAKE_TRY(const std::optional<Row> row, service_.store().get(key));
  if (!row || row->uid != text("uid")) return OwnerState::kGone;
  if (!contains(row->text, "\"foregroundDeletion\"")) return OwnerState::kAlive;
  STRAKE_TRY(const json::Value owner, parse_stored(row->text, key));
  const bool waits =
      json::find(owner, {"metadata", "deletionTimestamp"}) != nullptr && has_finalizer(owner, "foregroundDeletion");
  return waits ? OwnerState::kForeground : OwnerState::kAlive;
}

Status GarbageCollector::collect(const StoreKey& dependent) {
  STRAKE_TRY(const std::optional<Row> row, service_.store().get(dependent));
  if (!row) return {};
  STRAKE_TRY(const json::Value object, parse_stored(row->text, dependent));
  if (json::find(object, {"metadata", "deletionTimestamp"}) != nullptr) return {};
  bool kept = false;
  bool foreground = false;
  std::set<std::string> gone;
  for (const json::Value& reference : references_of(object)) {
    STRAKE_TRY(const OwnerState state, owner_state(dependent, reference));
    switch (state) {
      case OwnerState::kAlive:
      case OwnerState::kUnknown: kept = true; break;
      case OwnerState::kForeground: foreground = true; break;
      case OwnerState::kGone: gone.insert(json::find_string(reference, {"uid"}).value_or("")); break;
    }
  }
  if (kept) return gone.empty() ? Status() : drop_owners(dependent, gone);
  if (!foreground && gone.empty()) return {};
  // Inside a foreground deletion the dependents of the dependent go first as well.
  const bool has_dependents = dependents_.contains(row->uid);
  return remove(dependent, row->uid, foreground && has_dependents ? "Foreground" : "Background");
}

Status GarbageCollector::finish_foreground(const StoreKey& owner, const std::string& uid) {
  if (const auto found = dependents_.find(uid); found != dependents_.end()) {
    const bool blocked = std::any_of(found->second.begin(), found->second.end(), [&](const StoreKey& dependent) {
      const std::vector<Owner>& owners = owners_.at(dependent);
      return std::any_of(owners.begin(), owners.end(), [&](const Owner& one) { return one.uid == uid && one.blocks; });
    });
    if (blocked) return {};
  }
  foreground_.erase(uid);
  return drop_finalizer(owner, uid, "foregroundDeletion");
}

Status GarbageCollector::orphan_dependents(const StoreKey& owner, const std::string& uid) {
  if (const auto found = dependents_.find(uid); found != dependents_.end()) {
    const std::set<StoreKey> dependents = found->second;
    for (const StoreKey& dependent : dependents) STRAKE_CHECK_OK(drop_owners(dependent, {uid}));
  }
  return drop_finalizer(owner, uid, "orphan");
}

Status GarbageCollector::drop_finalizer(const StoreKey& owner, const std::string& uid, std::string_view finalizer) {
  STRAKE_TRY(const std::optional<Row> row, service_.store().get(owner));
  if (!row || row->uid != uid) return {};
  STRAKE_TRY(const json::Value object, parse_stored(row->text, owner));
  json::Array left;
  if (const json::Value* list = json::find(object, {"metadata", "finalizers"}); list != nullptr) {
    for (const json::Value& item : list->get_array()) {
      if (json::as_view(item.get_string()) != finalizer) left.push_back(item);
    }
  }
  // With the version: somebody else's finalizer added meanwhile must not be lost.
  const json::Value patch = json::Object{
      {"metadata", json::Object{{"finalizers", std::move(left)}, {"resourceVersion", std::to_string(row->revision)}}}};
  const Kind* kind = service_.registry().find_qualified(owner.resource);
  Request request = collector_request();
  return settled(service_.patch(request, kind->resource(kind->storage()), {owner.ns, owner.name},
                                kube::PatchType::kMerge, patch, {}));
}

Status GarbageCollector::drop_owners(const StoreKey& dependent, const std::set<std::string>& gone_uids) {
  STRAKE_TRY(const std::optional<Row> row, service_.store().get(dependent));
  if (!row) return {};
  STRAKE_TRY(const json::Value object, parse_stored(row->text, dependent));
  json::Array left;
  for (const json::Value& reference : references_of(object)) {
    if (!gone_uids.contains(json::find_string(reference, {"uid"}).value_or(""))) left.push_back(reference);
  }
  json::Value kept = left.empty() ? json::Value(nullptr) : json::Value(std::move(left));
  const json::Value patch =
      json::Object{{"metadata", json::Object{{"ownerReferences", std::move(kept)},
                                             {"resourceVersion", std::to_string(row->revision)}}}};
  const Kind* kind = service_.registry().find_qualified(dependent.resource);
  Request request = collector_request();
  return settled(service_.patch(request, kind->resource(kind->storage()), {dependent.ns, dependent.name},
                                kube::PatchType::kMerge, patch, {}));
}

Status GarbageCollector::remove(const StoreKey& key, const std::string& uid, const std::string& propagation) {
  const Kind* kind = service_.registry().find_qualified(key.resource);
  kube::DeleteOptions options;
  options.uid = uid;
  options.propagation = propagation;
  Request request = collector_request();
  return settled(service_.remove(request, kind->resource(kind->storage()), {key.ns, key.name}, options));
}

Status GarbageCollector::empty_namespace(const std::string& ns) {
  if (terminating_.insert(ns).second) {
    for (const Kind& kind : service_.registry().kinds()) {
      if (!kind.namespaced) continue;
      Request request = collector_request();
      STRAKE_CHECK_OK(settled(service_.remove_collection(request, kind.resource(kind.storage()), ns, {}, {})));
    }
  }
  return finish_namespace(ns);
}

Status GarbageCollector::finish_namespace(const std::string& ns) {
  for (const Kind& kind : service_.registry().kinds()) {
    if (!kind.namespaced) continue;
    STRAKE_TRY(
        const std::int64_t left,
        service_.store().count({.resource = kind.qualified_name(), .ns = ns, .after = {}, .limit = 0, .at = {}}));
    if (left > 0) return {};
  }
  const json::Value patch = json::Object{{"spec", json::Object{{"finalizers", json::Array{}}}}};
  Request request = collector_request();
  return settled(service_.patch(request, kube::core::kNamespace, {"", ns}, kube::PatchType::kMerge, patch, {}));
}

}  // namespace strake::apistore
