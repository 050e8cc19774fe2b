#include "kube/https_api.h"

#include "kube/https_watch.h"

namespace strake::kube {

namespace {

constexpr std::chrono::seconds kWatchIdleSlack{30};
constexpr const char* kJsonType = "application/json";

/// A name travels as one segment of a path. An empty one would turn the deletion of an object into that of all.
Status check_path_name(std::string_view what, std::string_view name) {
  if (name.empty()) return error(Code::kInvalidArgument, "the {} is empty", what);
  if (name == "." || name == ".." || name.find_first_of("/%") != std::string_view::npos || name.size() > 253) {
    return error(Code::kInvalidArgument, "\"{}\" cannot be a {}", name, what);
  }
  return {};
}

Result<std::vector<std::string>> collection_path(const Resource& resource, const std::string& ns) {
  std::vector<std::string> path;
  if (resource.group.empty()) {
    path = {"api", resource.version};
  } else {
    path = {"apis", resource.group, resource.version};
  }
  if (!ns.empty()) {
    if (!resource.namespaced) {
      return error(Code::kInvalidArgument, "{} are not in namespaces, but {} was given", resource.qualified_name(), ns);
    }
    STRAKE_CHECK_OK(check_path_name("namespace", ns));
    path.insert(path.end(), {"namespaces", ns});
  }
  path.push_back(resource.plural);
  return path;
}

Status check_has_namespace(const Resource& resource, const std::string& ns) {
  if (!resource.namespaced || !ns.empty()) return {};
  return error(Code::kInvalidArgument, "{}: a namespace is needed", resource.qualified_name());
}

Result<std::vector<std::string>> object_path(const Resource& resource, const ObjectKey& key,
                                             const std::string& subresource = "") {
  STRAKE_CHECK_OK(check_has_namespace(resource, key.ns));
  STRAKE_TRY(std::vector<std::string> path, collection_path(resource, key.ns));
  STRAKE_CHECK_OK(check_path_name("name", key.name));
  path.push_back(key.name);
  if (!subresource.empty()) path.push_back(subresource);
  return path;
}

void add_if(net::Query& query, std::string name, const std::string& value) {
  if (!value.empty()) query.add(std::move(name), value);
}

net::Query list_query(const ListOptions& options) {
  net::Query query;
  add_if(query, "labelSelector", options.label_selector);
  add_if(query, "fieldSelector", options.field_selector);
  if (options.limit != 0) query.add("limit", std::to_string(options.limit));
  add_if(query, "continue", options.continue_token);
  add_if(query, "resourceVersion", options.resource_version);
  add_if(query, "resourceVersionMatch", options.resource_version_match);
  return query;
}

net::Query write_query(const WriteOptions& options) {
  net::Query query;
  if (options.dry_run) query.add("dryRun", "All");
  add_if(query, "fieldManager", options.field_manager);
  add_if(query, "fieldValidation", options.field_validation);
  return query;
}

json::Object delete_options_json(const DeleteOptions& options) {
  json::Object body{{"kind", "DeleteOptions"}, {"apiVersion", "v1"}};
  json::Object preconditions;
  if (!options.uid.empty()) preconditions["uid"] = options.uid;
  if (!options.resource_version.empty()) preconditions["resourceVersion"] = options.resource_version;
  if (!preconditions.empty()) body["preconditions"] = std::move(preconditions);
  if (!options.propagation.empty()) body["propagationPolicy"] = options.propagation;
  if (options.grace_period_seconds) body["gracePeriodSeconds"] = *options.grace_period_seconds;
  if (options.dry_run) body["dryRun"] = json::Array{"All"};
  return body;
}

Result<Object> object_from_answer(Result<json::Value> answer) {
  if (!answer.ok()) return std::move(answer).error();
  if (!answer->is_object())
    return error(Code::kCorrupt, "the server answered {} instead of an object", json::type_name(*answer));
  return Object(*std::move(answer));
}

Result<ListPage> page_from_answer(const Resource& resource, json::Value answer) {
  json::Value* items = json::find(answer, {"items"});
  if (items == nullptr || (!items->is_array() && !items->is_null())) {
    return error(Code::kCorrupt, "the server's list of {} has no items", resource.qualified_name());
  }
  ListPage page;
  page.resource_version = json::find_string(answer, {"metadata", "resourceVersion"}).value_or("");
  page.continue_token = json::find_string(answer, {"metadata", "continue"}).value_or("");
  if (items->is_null()) return page;
  page.items.reserve(items->get_array().size());
  for (json::Value& item : items->get_array()) {
    if (!item.is_object())
      return error(Code::kCorrupt, "the server's list of {} holds no objects", resource.qualified_name());
    // Inside lists servers leave out what the list's own kind implies.
    json::Object& fields = item.get_object();
    if (!fields.contains("apiVersion")) fields["apiVersion"] = resource.api_version();
    if (!fields.contains("kind")) fields["kind"] = resource.kind;
    page.items.emplace_back(std::move(item));
  }
  return page;
}

}  // namespace

Result<std::unique_ptr<HttpsApi>> HttpsApi::create(runtime::Runtime& runtime, ClusterAccess access,
                                                   HttpsOptions options) {
  STRAKE_TRY(std::shared_ptr<HttpsTransport> transport,
             HttpsTransport::create(runtime, std::move(access), std::move(options)));
  return std::unique_ptr<HttpsApi>(new HttpsApi(std::move(transport)));
}

Result<json::Value> HttpsApi::get_raw(std::vector<std::string> path, const Call& call) {
  ApiRequest request;
  request.path = std::move(path);
  return transport_->call(request, call);
}

Result<json::Value> HttpsApi::post_raw(std::vector<std::string> path, const json::Value& body, const Call& call) {
  ApiRequest request;
  request.method = "POST";
  request.path = std::move(path);
  request.body = json::write(body);
  request.content_type = "application/json";
  return transport_->call(request, call);
}

Result<Object> HttpsApi::get(const Resource& resource, const ObjectKey& key, const Call& call) {
  ApiRequest request;
  STRAKE_TRY(request.path, object_path(resource, key));
  return object_from_answer(transport_->call(request, call))
      .context("reading {} {}", resource.qualified_name(), key.to_string());
}

Result<ListPage> HttpsApi::list(const Resource& resource, const std::string& ns, const ListOptions& options,
                                const Call& call) {
  ApiRequest request;
  STRAKE_TRY(request.path, collection_path(resource, ns));
  request.query = list_query(options);
  STRAKE_TRY_CONTEXT(json::Value answer, transport_->call(request, call), "listing {}", resource.qualified_name());
  return page_from_answer(resource, std::move(answer));
}

Result<std::unique_ptr<WatchStream>> HttpsApi::watch(const Resource& resource, const std::string& ns,
                                                     const WatchOptions& options, const Call& call) {
  ApiRequest request;
  STRAKE_TRY(request.path, collection_path(resource, ns));
  request.query.add("watch", "1");
  add_if(request.query, "labelSelector", options.label_selector);
  add_if(request.query, "fieldSelector", options.field_selector);
  add_if(request.query, "resourceVersion", options.resource_version);
  if (options.bookmarks) request.query.add("allowWatchBookmarks", "true");
  std::chrono::milliseconds idle_timeout{0};
  if (options.timeout) {
    request.query.add("timeoutSeconds", std::to_string(options.timeout->count()));
    idle_timeout = *options.timeout + kWatchIdleSlack;
  }
  return open_https_watch(transport_, request, idle_timeout, call).context("watching {}", resource.qualified_name());
}

Result<Object> HttpsApi::create(const Resource& resource, const Object& object, const WriteOptions& options,
                                const Call& call) {
  ApiRequest request;
  request.method = "POST";
  STRAKE_CHECK_OK(check_has_namespace(resource, object.ns()));
  STRAKE_TRY(request.path, collection_path(resource, object.ns()));
  request.query = write_query(options);
  request.body = json::write(object.json());
  request.content_type = kJsonType;
  return object_from_answer(transport_->call(request, call))
      .context("creating {} {}", resource.qualified_name(), object.key().to_string());
}

Result<Object> HttpsApi::update(const Resource& resource, const Object& object, const WriteOptions& options,
                                const Call& call) {
  ApiRequest request;
  request.method = "PUT";
  STRAKE_TRY(request.path, object_path(resource, object.key(), options.subresource));
  request.query = write_query(options);
  request.body = json::write(object.json());
  request.content_type = kJsonType;
  return object_from_answer(transport_->call(request, call))
      .context("updating {} {}", resource.qualified_name(), object.key().to_string());
}

Result<Object> HttpsApi::patch(const Resource& resource, const ObjectKey& key, PatchType type, const json::Value& patch,
                               const WriteOptions& options, const Call& call) {
  ApiRequest request;
  request.method = "PATCH";
  STRAKE_TRY(request.path, object_path(resource, key, options.subresource));
  request.query = write_query(options);
  if (type == PatchType::kApply && options.force) request.query.add("force", "true");
  request.body = json::write(patch);
  request.content_type = content_type(type);
  return object_from_answer(transport_->call(request, call))
      .context("patching {} {}", resource.qualified_name(), key.to_string());
}

Result<Object> HttpsApi::remove(const Resource& resource, const ObjectKey& key, const DeleteOptions& options,
                                const Call& call) {
  ApiRequest request;
  request.method = "DELETE";
  STRAKE_TRY(request.path, object_path(resource, key));
  request.body = json::write(delete_options_json(options));
  request.content_type = kJsonType;
  STRAKE_TRY_CONTEXT(Object removed, object_from_answer(transport_->call(request, call)), "deleting {} {}",
                     resource.qualified_name(), key.to_string());
  if (removed.kind() != "Status" || resource.kind == "Status") return removed;
  Object named(resource, key);
  const std::string uid = removed.text({"details", "uid"});
  if (!uid.empty()) json::ensure(named.json(), {"metadata", "uid"}) = uid;
  return named;
}

Status HttpsApi::remove_collection(const Resource& resource, const std::string& ns, const ListOptions& which,
                                   const DeleteOptions& options, const Call& call) {
  ApiRequest request;
  request.method = "DELETE";
  STRAKE_CHECK_OK(check_has_namespace(resource, ns));
  STRAKE_TRY(request.path, collection_path(resource, ns));
  request.query = list_query(which);
  request.body = json::write(delete_options_json(options));
  request.content_type = kJsonType;
  Result<json::Value> answer = transport_->call(request, call);
  if (!answer.ok()) return std::move(answer).error().context(fmt::format("deleting {}", resource.qualified_name()));
  return {};
}

Status HttpsApi::evict(const ObjectKey& pod, const DeleteOptions& options, const Call& call) {
  ApiRequest request;
  request.method = "POST";
  STRAKE_TRY(request.path, object_path(core::kPod, pod, "eviction"));
  request.body = json::write(json::Object{{"apiVersion", "policy/v1"},
                                          {"kind", "Eviction"},
                                          {"metadata", json::Object{{"name", pod.name}, {"namespace", pod.ns}}},
                                          {"deleteOptions", delete_options_json(options)}});
  request.content_type = kJsonType;
  Result<json::Value> answer = transport_->call(request, call);
  if (!answer.ok()) return std::move(answer).error().context(fmt::format("evicting pod {}", pod.to_string()));
  return {};
}

Result<Object> server_side_apply(KubeApi& api, const Resource& resource, const Object& object,
                                 const WriteOptions& options, const Call& call) {
  // The server refuses what only it may write; an object read from it and changed would carry both.
  Object applied = object;
  if (json::Value* metadata = json::find(applied.json(), {"metadata"}); metadata != nullptr && metadata->is_object()) {
    for (const char* field : {"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"}) {
      metadata->get_object().erase(field);
    }
  }
  return api.patch(resource, applied.key(), PatchType::kApply, applied.json(), options, call);
}

}  // namespace strake::kube
