// Service: delete and deletecollection.
#include <algorithm>

#include "apistore/rules/builtin_rules.h"
#include "apistore/service/object_text.h"
#include "apistore/service/selection.h"
#include "apistore/service/service.h"
#include "apistore/service/service_errors.h"
#include "base/time.h"
#include "codec/json_patch.h"

namespace strake::apistore {

namespace {

constexpr int kRemoveAttempts = 100;
constexpr std::size_t kCollectionPage = 200;  // objects removed in one commit
constexpr std::int64_t kDefaultPodGraceSeconds = 30;

/// The garbage collector does the work and takes the finalizer away; see garbage_collector.h.
void set_propagation(json::Value& object, const std::string& propagation) {
  if (propagation.empty()) return;  // what an earlier request asked for stands
  json::Value& list = json::ensure(object, {"metadata", "finalizers"});
  if (!list.is_array()) list = json::Array{};
  json::Array& finalizers = list.get_array();
  for (auto at = finalizers.begin(); at != finalizers.end();) {
    at = (*at == "orphan" || *at == "foregroundDeletion") ? finalizers.erase(at) : at + 1;
  }
  if (propagation == "Orphan") finalizers.push_back("orphan");
  if (propagation == "Foreground") finalizers.push_back("foregroundDeletion");
  if (finalizers.empty()) json::find(object, {"metadata"})->get_object().erase("finalizers");
}

std::int64_t grace_seconds_of(const Kind& kind, const json::Value& object, const kube::DeleteOptions& options,
                              bool graceful_pods) {
  const bool waits_for_kubelet = graceful_pods && is_core_kind(kind, "Pod") &&
                                 !json::find_string(object, {"spec", "nodeName"}).value_or("").empty();
  if (!waits_for_kubelet) return 0;
  const std::string phase = json::find_string(object, {"status", "phase"}).value_or("");
  if (phase == "Succeeded" || phase == "Failed") return 0;
  if (options.grace_period_seconds) return *options.grace_period_seconds;
  return json::find_int(object, {"spec", "terminationGracePeriodSeconds"}).value_or(kDefaultPodGraceSeconds);
}

}  // namespace

Result<std::optional<Service::Mutation>> Service::plan_removal(Request& request, const Target& at, const Row& row,
                                                               const json::Value& object,
                                                               const kube::DeleteOptions& options) {
  const ErrorSubject subject = at.kind->subject(row.name);
  // kube-apiserver names the kind here, where all other conflicts name the resource.
  ErrorSubject by_kind = subject;
  by_kind.plural = subject.kind;
  if (!options.uid.empty() && options.uid != row.uid) {
    return conflict(
        by_kind, request.details,
        fmt::format(
            "the UID in the precondition ({}) does not match the UID in record ({}). The object might have been "
            "deleted and then recreated",
            options.uid, row.uid));
  }
  if (!options.resource_version.empty() && options.resource_version != std::to_string(row.revision)) {
    return conflict(
        by_kind, request.details,
        fmt::format(
            "the ResourceVersion in the precondition ({}) does not match the ResourceVersion in record ({}). The "
            "object might have been modified",
            options.resource_version, row.revision));
  }
  if (is_core_kind(*at.kind, "Namespace") && (row.name == "default" || row.name == "kube-system")) {
    return forbidden_object(subject, request.details, "this namespace may not be deleted");
  }
  const std::string& propagation = options.propagation;
  if (!propagation.empty() && propagation != "Background" && propagation != "Foreground" && propagation != "Orphan") {
    return bad_request("propagationPolicy \"{}\" is not Background, Foreground or Orphan", propagation);
  }
  if (options.grace_period_seconds && *options.grace_period_seconds < 0) {
    return bad_request("gracePeriodSeconds must not be negative");
  }

  json::Value wanted = object;
  set_propagation(wanted, propagation);
  const std::int64_t grace = grace_seconds_of(*at.kind, wanted, options, options_.graceful_pod_deletion);
  Mutation mutation;
  mutation.key = {at.kind->qualified_name(), row.ns, row.name};
  mutation.expected = row.revision;
  mutation.uid = row.uid;
  mutation.removes = grace == 0 && !has_finalizers(*at.kind, wanted);
  const auto pending = json::find_int(object, {"metadata", "deletionGracePeriodSeconds"});
  const bool deleting = json::find(object, {"metadata", "deletionTimestamp"}) != nullptr;
  if (!mutation.removes && (!deleting || grace < pending.value_or(0))) {
    mark_deleting(*at.kind, wanted, format_rfc3339(runtime_.wall_now() + std::chrono::seconds(grace)), grace);
  }
  if (!mutation.removes && json::same_value(wanted, object)) return std::optional<Mutation>();
  mutation.text = encode_object(wanted, at.kind->api_version(at.kind->storage()));
  return mutation;
}

Result<DeleteAnswer> Service::remove(Request& request, const kube::Resource& resource, const kube::ObjectKey& key,
                                     const kube::DeleteOptions& options) {
  STRAKE_TRY(const Target at, target(resource));
  STRAKE_CHECK_OK(allow(request, "delete", at, key.ns, key.name, ""));
  const StoreKey store_key{at.kind->qualified_name(), key.ns, key.name};
  const std::string api_version = at.kind->api_version(*at.version);
  for (int attempt = 0; attempt < kRemoveAttempts; ++attempt) {
    request.details = {};
    STRAKE_TRY(Row row, existing(request, at, store_key));
    STRAKE_TRY(const json::Value object, parse_stored(row.text, store_key));
    STRAKE_TRY(const std::optional<Mutation> mutation, plan_removal(request, at, row, object, options));
    const bool removes = mutation && mutation->removes;
    std::string text = std::move(row.text);
    if (mutation && !options.dry_run) {
      STRAKE_TRY(std::optional<Row> written, commit(*mutation));
      if (!written) continue;
      if (!removes) text = std::move(written->text);
    }
    STRAKE_TRY(text, in_api_version(std::move(text), api_version));
    return DeleteAnswer{std::move(text), row.uid, removes};
  }
  return modified_meanwhile(at.kind->subject(key.name), request.details);
}

Result<ListAnswer> Service::remove_collection(Request& request, const kube::Resource& resource, const std::string& ns,
                                              const kube::ListOptions& which, const kube::DeleteOptions& options) {
  STRAKE_TRY(const Target at, target(resource));
  STRAKE_TRY(const Selection selection,
             Selection::parse(*at.kind, *at.version, which.label_selector, which.field_selector));
  STRAKE_CHECK_OK(allow(request, "deletecollection", at, ns, selection.name().value_or(""), ""));
  const std::string api_version = at.kind->api_version(*at.version);

  ListAnswer answer;
  ListQuery query{.resource = at.kind->qualified_name(), .ns = ns, .after = {}, .limit = kCollectionPage, .at = {}};
  query.stop = request.stop;
  bool more = true;
  while (more) {
    STRAKE_TRY(ListResult page, store_->list(query));
    more = page.more;
    answer.resource_version = std::to_string(page.revision);
    if (!page.rows.empty()) query.after = {page.rows.back().ns, page.rows.back().name};

    std::vector<Mutation> mutations;
    for (Row& row : page.rows) {
      const StoreKey key{query.resource, row.ns, row.name};
      if (!selection.may_match_text(row.text)) continue;
      STRAKE_TRY(const json::Value object, parse_stored(row.text, key));
      if (!selection.matches(object)) continue;
      auto mutation = plan_removal(request, at, row, object, options);
      // A collection goes on past what may not be deleted: kubectl's `--all` must not stop at a protected namespace.
      if (!mutation.ok() && mutation.error().code() == Code::kDenied) continue;
      if (!mutation.ok()) return std::move(mutation).error();
      if (*mutation) mutations.push_back(**std::move(mutation));
      STRAKE_TRY(std::string text, in_api_version(std::move(row.text), api_version));
      answer.items.push_back(std::move(text));
    }
    if (options.dry_run || mutations.empty()) continue;

    std::vector<const Mutation*> raced;
    const Store::Function function = [&](Txn& txn) -> Status {
      raced.clear();
      for (const Mutation& mutation : mutations) {
        STRAKE_TRY(const Revision current, txn.revision_of(mutation.key));
        Row written;
        if (current != mutation.expected) {
          raced.push_back(&mutation);
        } else if (Status done = apply(txn, mutation, written); !done.ok()) {
          return done;
        }
      }
      return {};
    };
    STRAKE_CHECK_OK(store_->write(function));
    for (const Mutation* const mutation : raced) {
      const auto removed = remove(request, resource, {mutation->key.ns, mutation->key.name}, options);
      if (!removed.ok() && removed.error().code() != Code::kNotFound) return removed.error();
    }
  }
  return answer;
}

}  // namespace strake::apistore
