#include "apistore/rules/write_rules.h"

#include <algorithm>
#include <array>

#include "apistore/rules/builtin_rules.h"
#include "apistore/rules/builtin_validation.h"
#include "apistore/rules/metadata_rules.h"
#include "apistore/service/service_errors.h"
#include "codec/json_patch.h"

namespace strake::apistore {

namespace {

constexpr std::size_t kNameSuffixBytes = 5;
constexpr std::size_t kMaxGeneratedPrefixBytes = 63 - kNameSuffixBytes;  // together they fit a label

std::string text_at(const json::Value& object, std::initializer_list<std::string_view> path) {
  return json::find_string(object, path).value_or("");
}

json::Object& metadata_of(json::Value& object) { return object.get_object()["metadata"].get_object(); }

void copy_member(const json::Object& from, json::Object& to, std::string_view name) {
  if (const json::Value* value = from.if_contains(name); value != nullptr) {
    to[name] = *value;
  } else {
    to.erase(name);
  }
}

Status check_identity(const WriteRequest& request, json::Value& object) {
  if (!object.is_object()) return bad_request("the body is {}, not an object", json::type_name(object));
  const std::string expected = request.kind.api_version(request.version);
  // kube-apiserver reads its own kinds into the type the path names; clients that know types (Python's) rely on it. Of
  // a custom resource it knows no more than what the body says.
  if (request.kind.builtin) {
    json::Object& root = object.get_object();
    if (text_at(object, {"kind"}).empty()) root["kind"] = request.kind.kind;
    if (text_at(object, {"apiVersion"}).empty()) root["apiVersion"] = expected;
  }
  const std::string api_version = text_at(object, {"apiVersion"});
  const std::string kind = text_at(object, {"kind"});
  if (kind.empty()) return bad_request("Object 'Kind' is missing in the body; expected {}", request.kind.kind);
  if (api_version.empty()) return bad_request("Object 'apiVersion' is missing in the body; expected {}", expected);
  if (api_version != expected) {
    return bad_request("the API version in the data ({}) does not match the expected API version ({})", api_version,
                       expected);
  }
  if (kind != request.kind.kind) {
    return bad_request("{} in version \"{}\" cannot be handled as a {}: the kind in the data does not match", kind,
                       request.version.name, request.kind.kind);
  }
  return {};
}

/// The object cannot be read as one of its kind. What a patch makes of an object was written by nobody: it is shown
/// whole, as the value of the patch.
Error not_decodable(WriteRequest& request, const json::Value& object, UpdateSource source, const std::string& why) {
  if (source == UpdateSource::kPatch) {
    return invalid_object({}, {FieldProblem::invalid("patch", json::Value(json::write_canonical(object)), why)},
                          request.details);
  }
  return bad_request("{} in version \"{}\" cannot be handled as a {}: {}", request.kind.kind, request.version.name,
                     request.kind.kind, why);
}

/// Removes what is unknown and says so, the way fieldValidation asks for.
Status decode(WriteRequest& request, json::Value& object, UpdateSource source) {
  STRAKE_CHECK_OK(check_identity(request, object));
  const bool strict = request.options.field_validation == "Strict";
  const json::Value sent = strict && source == UpdateSource::kPatch ? object : json::Value();
  STRAKE_TRY(std::vector<std::string> unknown, shape_metadata(object));
  std::vector<std::string> fields;
  if (!request.kind.builtin) {
    fields = request.version.schema.prune(object);
  } else if (request.kind.fields != nullptr) {
    auto shaped = shape_as(*request.kind.fields, object);
    if (!shaped.ok()) return not_decodable(request, object, source, shaped.error().message());
    fields = *std::move(shaped);
  }
  unknown.insert(unknown.end(), fields.begin(), fields.end());
  if (strict && !unknown.empty()) {
    std::string list;
    for (const std::string& path : unknown)
      list += fmt::format("{}unknown field \"{}\"", list.empty() ? "" : ", ", path);
    return not_decodable(request, sent, source, "strict decoding error: " + list);
  }
  if (request.options.field_validation != "Ignore") {
    for (const std::string& path : unknown) request.warnings.push_back(fmt::format("unknown field \"{}\"", path));
  }
  json::Object& metadata = metadata_of(object);
  metadata.erase("managedFields");
  metadata.erase("selfLink");
  return {};
}

Status validate(WriteRequest& request, const json::Value& object, const json::Value* old) {
  std::vector<FieldProblem> problems;
  check_metadata(request.kind, object, problems);
  check_builtin(request.kind, object, old, problems);
  const std::vector<FieldProblem> fields = request.version.schema.validate(object, old);
  problems.insert(problems.end(), fields.begin(), fields.end());
  if (problems.empty()) return {};
  return invalid_object(request.kind.subject(text_at(object, {"metadata", "name"})), problems, request.details);
}

/// What `status` of a kind may be written through.
bool separates_status(const WriteRequest& request) { return request.version.has_status; }

/// The state without metadata and, where it has its own generation-free life, without status.
bool same_desired_state(const WriteRequest& request, const json::Value& a, const json::Value& b) {
  const auto counts = [&](std::string_view name) {
    return name != "metadata" && name != "apiVersion" && name != "kind" &&
           !(name == "status" && separates_status(request));
  };
  const auto covers = [&](const json::Object& left, const json::Object& right) {
    return std::all_of(left.begin(), left.end(), [&](const auto& member) {
      if (!counts({member.key().data(), member.key().size()})) return true;
      const json::Value* other = right.if_contains(member.key());
      return other != nullptr && json::same_value(member.value(), *other);
    });
  };
  return covers(a.get_object(), b.get_object()) && covers(b.get_object(), a.get_object());
}

/// Brings a status write and a spec write back to the part each may change.
json::Value keep_to_subresource(const WriteRequest& request, const json::Value& old, json::Value object) {
  const json::Object& old_root = old.get_object();
  if (request.options.subresource == "status") {
    if (request.kind.builtin) {
      copy_member(old_root, object.get_object(), "spec");
      return object;
    }
    json::Value kept = old;
    copy_member(object.get_object(), kept.get_object(), "status");
    return kept;
  }
  if (separates_status(request)) copy_member(old_root, object.get_object(), "status");
  return object;
}

Status check_immutable_metadata(WriteRequest& request, const json::Value& old, json::Value& object,
                                UpdateSource source) {
  const json::Object& before = old.get_object().at("metadata").get_object();
  json::Object& metadata = metadata_of(object);
  const ErrorSubject subject = request.kind.subject(text_at(old, {"metadata", "name"}));
  if (const std::string uid = text_at(object, {"metadata", "uid"});
      !uid.empty() && uid != text_at(old, {"metadata", "uid"})) {
    // In a whole object it says which object is meant; a patch would change it.
    if (source == UpdateSource::kPatch) {
      return invalid_object(subject, {FieldProblem::invalid("metadata.uid", json::Value(uid), "field is immutable")},
                            request.details);
    }
    return conflict(subject, request.details,
                    fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", uid,
                                text_at(old, {"metadata", "uid"})));
  }
  for (const std::string_view name : {"name", "namespace"}) {
    const std::string given = text_at(object, {"metadata", name});
    if (given.empty() || given == text_at(old, {"metadata", name})) continue;
    return bad_request("the {} of the object ({}) does not match the {} on the URL ({})", name, given, name,
                       text_at(old, {"metadata", name}));
  }
  for (const std::string_view name : {"name", "namespace", "generateName", "uid", "creationTimestamp",
                                      "deletionTimestamp", "deletionGracePeriodSeconds", "generation"}) {
    copy_member(before, metadata, name);
  }
  if (!before.contains("deletionTimestamp")) return {};
  std::vector<std::string> added;
  const json::Value* old_list = before.if_contains("finalizers");
  if (const json::Value* list = metadata.if_contains("finalizers"); list != nullptr) {
    for (const json::Value& finalizer : list->get_array()) {
      const bool known = old_list != nullptr && std::find(old_list->get_array().begin(), old_list->get_array().end(),
                                                          finalizer) != old_list->get_array().end();
      if (!known) added.push_back(json::write(finalizer));
    }
  }
  if (added.empty()) return {};
  return invalid_object(
      subject,
      {FieldProblem::forbidden("metadata.finalizers",
                               fmt::format("no new finalizers can be added if the object is being deleted, "
                                           "found new finalizers []string{{{}}}",
                                           fmt::join(added, ", ")))},
      request.details);
}

}  // namespace

std::string generated_name(const json::Value& object, Random& random) {
  return text_at(object, {"metadata", "generateName"}).substr(0, kMaxGeneratedPrefixBytes) +
         random.name_suffix(kNameSuffixBytes);
}

Result<json::Value> prepare_create(WriteRequest& request, json::Value object, const NewIdentity& identity) {
  STRAKE_CHECK_OK(decode(request, object, UpdateSource::kReplacement));
  if (!text_at(object, {"metadata", "resourceVersion"}).empty()) {
    return bad_request("resourceVersion should not be set on objects to be created");
  }
  if (identity.name.empty()) {
    return invalid_object(request.kind.subject(""),
                          {FieldProblem::required("metadata.name", "name or generateName is required")},
                          request.details);
  }
  json::Object& metadata = metadata_of(object);
  for (const std::string_view name :
       {"resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"}) {
    metadata.erase(name);
  }
  metadata["name"] = identity.name;
  if (request.kind.namespaced) {
    metadata["namespace"] = identity.ns;
  } else {
    metadata.erase("namespace");
  }
  metadata["uid"] = identity.uid;
  metadata["creationTimestamp"] = request.now;
  if (has_generation(request.kind)) metadata["generation"] = 1;
  if (!request.kind.builtin && separates_status(request)) object.get_object().erase("status");
  if (request.kind.builtin) fill_builtin_on_create(request.kind, object);
  request.version.schema.apply_defaults(object);
  if (request.kind.fields != nullptr) {
    // Again: the steps above may have taken away what the type always has.
    STRAKE_CHECK_OK(shape_as(*request.kind.fields, object));
  }
  STRAKE_CHECK_OK(validate(request, object, nullptr));
  return object;
}

Result<json::Value> prepare_update(WriteRequest& request, const json::Value& old, json::Value object,
                                   UpdateSource source) {
  STRAKE_CHECK_OK(decode(request, object, source));
  const ErrorSubject subject = request.kind.subject(text_at(old, {"metadata", "name"}));
  const std::string asked_version = text_at(object, {"metadata", "resourceVersion"});
  if (asked_version.empty()) {
    if (source == UpdateSource::kReplacement && !allows_unconditional_update(request.kind)) {
      // kube-apiserver names the resource here, where everything else that is invalid names the kind.
      ErrorSubject by_resource = subject;
      by_resource.kind = subject.plural;
      return invalid_object(by_resource,
                            {FieldProblem::invalid("metadata.resourceVersion", 0, "must be specified for an update")},
                            request.details);
    }
  } else if (asked_version != text_at(old, {"metadata", "resourceVersion"})) {
    return modified_meanwhile(subject, request.details);
  }
  STRAKE_CHECK_OK(check_immutable_metadata(request, old, object, source));
  copy_member(old.get_object().at("metadata").get_object(), metadata_of(object), "resourceVersion");
  object = keep_to_subresource(request, old, std::move(object));
  if (request.kind.builtin) fill_builtin_on_update(request.kind, object);
  request.version.schema.apply_defaults(object);
  if (has_generation(request.kind) && !same_desired_state(request, old, object)) {
    metadata_of(object)["generation"] = json::find_int(old, {"metadata", "generation"}).value_or(0) + 1;
  }
  STRAKE_CHECK_OK(validate(request, object, &old));
  return object;
}

bool has_finalizers(const Kind& kind, const json::Value& object) {
  const auto has_some = [&](std::initializer_list<std::string_view> path) {
    const json::Value* list = json::find(object, path);
    return list != nullptr && list->is_array() && !list->get_array().empty();
  };
  return has_some({"metadata", "finalizers"}) || (is_core_kind(kind, "Namespace") && has_some({"spec", "finalizers"}));
}

void mark_deleting(const Kind& kind, json::Value& object, const std::string& at, std::int64_t grace_seconds) {
  json::Object& metadata = metadata_of(object);
  metadata["deletionTimestamp"] = at;
  metadata["deletionGracePeriodSeconds"] = grace_seconds;
  // What is being deleted is wanted differently: its controllers must look again.
  if (const auto generation = json::find_int(object, {"metadata", "generation"}); generation && *generation > 0) {
    metadata["generation"] = *generation + 1;
  }
  if (is_core_kind(kind, "Namespace")) json::ensure(object, {"status", "phase"}) = "Terminating";
}

}  // namespace strake::apistore
