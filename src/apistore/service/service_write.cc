// Service: create, update, patch.
#include "apistore/rules/builtin_rules.h"
#include "apistore/rules/metadata_rules.h"
#include "apistore/service/object_text.h"
#include "apistore/service/service.h"
#include "apistore/service/service_errors.h"
#include "codec/json_patch.h"
#include "codec/strategic_merge.h"

namespace strake::apistore {

namespace {

constexpr int kNameAttempts = 8;      // generated names that may collide before the client is told
constexpr int kCommitAttempts = 100;  // lost races before the client is told

Error unsupported_patch(std::string_view supported) {
  return error(Code::kUnsupported,
               "the body of the request was in an unknown format - accepted media types include: {}", supported)
      .with_reason("UnsupportedMediaType");
}

constexpr std::string_view kGoMap = "map[string]interface {}";

/// In the words of the decoder of kube-apiserver, which names its own types.
Error wrong_patch(const json::Value& patch, std::string_view prefix, std::string_view expected) {
  const std::string_view found =
      patch.is_bool() ? "bool" : (patch.is_number() ? std::string_view("number") : json::type_name(patch));
  return bad_request("{}json: cannot unmarshal {} into Go value of type {}", prefix, found, expected);
}

constexpr std::string_view kJsonAndMerge = "application/json-patch+json, application/merge-patch+json";
constexpr std::string_view kAllPatches =
    "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json";

Result<json::Value> patched(const json::Value& current, kube::PatchType type, const json::Value& patch,
                            const Kind& kind) {
  const bool strategic = kind.merge_schema.has_value();
  Result<json::Value> result = error(Code::kInternal, "no patch was applied");
  switch (type) {
    case kube::PatchType::kJson:
      if (!patch.is_array()) return wrong_patch(patch, "error decoding patch: ", "[]handlers.jsonPatchOp");
      result = json::apply_json_patch(current, patch);
      break;
    case kube::PatchType::kMerge:
      if (!patch.is_object()) return wrong_patch(patch, "error decoding patch: ", kGoMap);
      result = json::apply_merge_patch(current, patch);
      break;
    case kube::PatchType::kStrategic:
      if (!strategic) return unsupported_patch(kJsonAndMerge);
      if (!patch.is_object()) return wrong_patch(patch, "", kGoMap);
      result = json::apply_strategic_merge(current, patch, *kind.merge_schema);
      break;
    case kube::PatchType::kApply: return unsupported_patch(strategic ? kAllPatches : kJsonAndMerge);
  }
  if (result.ok()) return result;
  // A failed `test` is no conflict of versions: a client that reads again and repeats it fails again.
  return error(Code::kInvalidArgument, "the server rejected our request due to an error in our request: {}",
               result.error().to_string())
      .with_reason("Invalid");
}

/// Nothing is changed for a client that left.
Status still_wanted(const Request& request) {
  if (!request.stop.stop_requested()) return {};
  return runtime::wake_error(runtime::Wake::kCancelled, "a write");
}

Result<bool> is_deleting(const Row& row, const StoreKey& key) {
  if (row.text.find("\"deletionTimestamp\"") == std::string::npos) return false;
  STRAKE_TRY(const json::Value object, parse_stored(row.text, key));
  return json::find(object, {"metadata", "deletionTimestamp"}) != nullptr;
}

}  // namespace

Result<std::pair<StoreKey, Revision>> Service::open_namespace(Request& request, const Target& target,
                                                              const std::string& ns, const std::string& name) {
  const StoreKey key{"namespaces", "", ns};
  STRAKE_TRY(const std::optional<Row> row, store_->get(key));
  if (!row) return not_found({"", "Namespace", "namespaces", ns}, request.details);
  STRAKE_TRY(const bool terminating, is_deleting(*row, key));
  if (terminating) {
    Error failure = forbidden_object(
        target.kind->subject(name), request.details,
        fmt::format("unable to create new content in namespace {} because it is being terminated", ns));
    request.details.causes.push_back(
        {"NamespaceTerminating", fmt::format("namespace {} is being terminated", ns), "metadata.namespace"});
    return failure;
  }
  return std::pair(key, row->revision);
}

Result<ObjectAnswer> Service::create(Request& request, const kube::Resource& resource, const std::string& ns,
                                     json::Value object, const kube::WriteOptions& options) {
  STRAKE_TRY(const Target at, target(resource));
  if (!object.is_object()) return bad_request("the body is {}, not an object", json::type_name(object));
  const std::string own_ns = json::find_string(object, {"metadata", "namespace"}).value_or("");
  const std::string asked_name = json::find_string(object, {"metadata", "name"}).value_or("");
  const std::string actual_ns = at.kind->namespaced ? (ns.empty() ? own_ns : ns) : "";
  if (!own_ns.empty() && own_ns != actual_ns) {
    return bad_request("the namespace of the provided object does not match the namespace sent on the request");
  }
  if (at.kind->namespaced && actual_ns.empty()) return bad_request("an empty namespace may not be set during creation");
  STRAKE_CHECK_OK(allow(request, "create", at, actual_ns, asked_name, ""));

  const bool generates =
      asked_name.empty() && !json::find_string(object, {"metadata", "generateName"}).value_or("").empty();
  WriteRequest rules = write_request(request, at, options);
  NewIdentity identity{actual_ns, asked_name, runtime_.random().uuid()};
  std::optional<json::Value> prepared;
  bool other_is_deleting = false;
  for (int attempt = 1; attempt <= kCommitAttempts; ++attempt) {
    Mutation mutation;
    if (at.kind->namespaced) {
      STRAKE_TRY(mutation.also_unchanged, open_namespace(request, at, actual_ns, asked_name));
    }
    if (!prepared) {
      if (generates) identity.name = generated_name(object, runtime_.random());
      STRAKE_TRY(prepared, prepare_create(rules, generates ? object : std::exchange(object, json::Value()), identity));
      STRAKE_CHECK_OK(allow(request, "create", at, actual_ns, identity.name, "", nullptr, &*prepared));
    }
    mutation.key = {at.kind->qualified_name(), actual_ns, identity.name};
    mutation.uid = identity.uid;
    mutation.text = encode_object(*prepared, at.kind->api_version(at.kind->storage()));
    STRAKE_CHECK_OK(check_size(request, at, mutation, identity.name));
    STRAKE_CHECK_OK(count_against_quota(request, at, mutation, identity.name, 0));
    if (!options.dry_run) {
      STRAKE_TRY(std::optional<Row> written, commit(mutation));
      if (written) return answer(at, *std::move(prepared), *std::move(written));
    }
    STRAKE_TRY(const std::optional<Row> in_the_way, store_->get(mutation.key));
    if (!in_the_way) {
      if (options.dry_run) return ObjectAnswer{json::write(*prepared), *std::move(prepared)};
      continue;  // the namespace changed while we looked, or the other object is gone again
    }
    STRAKE_TRY(other_is_deleting, is_deleting(*in_the_way, mutation.key));
    if (!generates || attempt >= kNameAttempts) break;
    prepared.reset();
  }
  return already_exists(at.kind->subject(identity.name), request.details, other_is_deleting);
}

Result<ObjectAnswer> Service::modify(Request& request, const Target& at, const kube::ObjectKey& key,
                                     std::string_view verb, const kube::WriteOptions& options, UpdateSource source,
                                     const Change& change) {
  if (!options.subresource.empty() && (options.subresource != "status" || !at.version->has_status)) {
    return error(Code::kNotFound, "the server could not find the requested resource ({}/{})", at.kind->qualified_name(),
                 options.subresource)
        .with_reason("NotFound");
  }
  STRAKE_CHECK_OK(allow(request, verb, at, key.ns, key.name, options.subresource));
  const StoreKey store_key{at.kind->qualified_name(), key.ns, key.name};
  for (int attempt = 0; attempt < kCommitAttempts; ++attempt) {
    WriteRequest rules = write_request(request, at, options);
    STRAKE_CHECK_OK(still_wanted(request));
    STRAKE_TRY(Row row, existing(request, at, store_key));
    const std::size_t row_bytes = row.text.size();
    STRAKE_TRY(json::Value old, parse_stored(row.text, store_key));
    old.get_object()["apiVersion"] = at.kind->api_version(*at.version);
    STRAKE_TRY(json::Value wanted, change(old));
    STRAKE_CHECK_OK(still_wanted(request));  // a large patch took a while
    STRAKE_TRY(json::Value prepared, prepare_update(rules, old, std::move(wanted), source));
    STRAKE_CHECK_OK(allow(request, verb, at, key.ns, key.name, options.subresource, &old, &prepared));
    if (json::same_value(old, prepared)) return answer(at, std::move(prepared), std::move(row));

    Mutation mutation;
    mutation.key = store_key;
    mutation.expected = row.revision;
    mutation.uid = row.uid;
    mutation.text = encode_object(prepared, at.kind->api_version(at.kind->storage()));
    const bool deleting = json::find(prepared, {"metadata", "deletionTimestamp"}) != nullptr;
    const auto grace = json::find_int(prepared, {"metadata", "deletionGracePeriodSeconds"}).value_or(0);
    mutation.removes = deleting && grace == 0 && !has_finalizers(*at.kind, prepared);
    STRAKE_CHECK_OK(check_size(request, at, mutation, key.name));
    STRAKE_CHECK_OK(count_against_quota(request, at, mutation, key.name, row_bytes));
    if (options.dry_run) return ObjectAnswer{json::write(prepared), std::move(prepared)};
    STRAKE_TRY(std::optional<Row> written, commit(mutation));
    if (written) return answer(at, std::move(prepared), *std::move(written));
  }
  return modified_meanwhile(at.kind->subject(key.name), request.details);
}

Result<ObjectAnswer> Service::update(Request& request, const kube::Resource& resource, const kube::ObjectKey& key,
                                     json::Value object, const kube::WriteOptions& options) {
  STRAKE_TRY(const Target at, target(resource));
  return modify(request, at, key, "update", options, UpdateSource::kReplacement,
                [&](const json::Value&) -> Result<json::Value> { return object; });
}

Result<ObjectAnswer> Service::patch(Request& request, const kube::Resource& resource, const kube::ObjectKey& key,
                                    kube::PatchType type, const json::Value& patch, const kube::WriteOptions& options) {
  STRAKE_TRY(const Target at, target(resource));
  return modify(request, at, key, "patch", options, UpdateSource::kPatch,
                [&](const json::Value& current) { return patched(current, type, patch, *at.kind); });
}

}  // namespace strake::apistore
