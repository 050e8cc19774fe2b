#include "apistore/rest/resource_handler.h"

#include "apistore/rest/answers.h"
#include "apistore/service/service_errors.h"

namespace strake::apistore::rest {

namespace {

// A watch without a timeout of its own ends by itself after one to two of these: credentials are checked again then,
// and connections spread over servers that come back.
constexpr std::chrono::seconds kMinWatchTime = std::chrono::minutes(30);

net::Response pretty_response(int status, std::string text, bool pretty) {
  if (pretty) {
    if (const auto value = json::parse(text); value.ok()) return json_response(status, json::write_pretty(*value));
  }
  text += '\n';
  return json_response(status, std::move(text));
}

std::string list_text(std::string_view kind, std::string_view api_version, const ListMetadata& metadata,
                      const std::vector<std::string>& items) {
  std::string text = fmt::format(R"({{"kind":"{}","apiVersion":"{}","metadata":{},"items":[)", kind, api_version,
                                 json::write(metadata.to_json()));
  std::size_t size = text.size() + 2;
  for (const std::string& item : items) size += item.size() + 1;
  text.reserve(size);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i != 0) text += ',';
    text += items[i];
  }
  return text += "]}";
}

Result<json::Value> stored_json(const std::string& text) {
  auto object = json::parse(text);
  if (object.ok()) return object;
  return error(Code::kCorrupt, "a stored object cannot be read: {}", object.error().to_string())
      .with_reason(std::string(kStorageDamaged));
}

}  // namespace

/// One request on its way through.
struct ResourceHandler::Call {
  Request request;
  const ResourcePath& path;
  const net::ServerRequest& http;
  Output output;
};

const TableLayout& ResourceHandler::layout(const Call& call) const {
  return tables_.layout(*call.path.kind, *call.path.version);
}

std::optional<net::Response> ResourceHandler::serve(const Identity& identity, const ResourcePath& path, Verb verb,
                                                    const net::ServerRequest& http, const net::Responder& responder,
                                                    std::string& name) {
  Call call{Request{identity.caller, {}, {}, http.stop}, path, http, {}};
  const auto served = [&]() -> Result<std::optional<net::Response>> {
    STRAKE_TRY(call.output, negotiate_output(http.headers, http.target.query));
    const auto answer = [&](Result<net::Response> response) -> Result<std::optional<net::Response>> {
      if (!response.ok()) return std::move(response).error();
      return std::optional(*std::move(response));
    };
    switch (verb) {
      case Verb::kGet: return answer(get(call));
      case Verb::kList: return answer(list(call, identity.proven));
      case Verb::kCreate: return answer(path.subresource == "eviction" ? evict(call) : create(call, name));
      case Verb::kUpdate: return answer(update(call));
      case Verb::kPatch: return answer(patch(call));
      case Verb::kDelete: return answer(remove(call));
      case Verb::kDeleteCollection: return answer(remove_collection(call, identity.proven));
      case Verb::kWatch: break;
    }
    STRAKE_CHECK_OK(watch(call, identity, responder));
    return std::optional<net::Response>();
  };
  Result<std::optional<net::Response>> result = served();
  if (result.ok() && !*result) return std::nullopt;
  if (!result.ok()) service_.note_failure(result.error());
  net::Response response = result.ok() ? **std::move(result) : error_response(result.error(), call.request.details);
  add_warnings(response.headers, call.request.warnings);
  return response;
}

Result<TableOptions> ResourceHandler::table_options(const Call& call) const {
  TableOptions options;
  STRAKE_TRY(options.include, parse_include_object(call.http.target.query.get("includeObject").value_or("")));
  options.meta_version = call.output.meta_version;
  options.now = service_.runtime().wall_now();
  return options;
}

Result<net::Response> ResourceHandler::answer_object(const Call& call, int status, std::string text) const {
  switch (call.output.shape) {
    case Shape::kObject: break;
    case Shape::kTable: {
      STRAKE_TRY(const TableOptions options, table_options(call));
      STRAKE_TRY(const json::Value object, stored_json(text));
      text = layout(call).table_of(object, options);
      break;
    }
    case Shape::kMetadata: {
      STRAKE_TRY(const json::Value object, stored_json(text));
      text = json::write(partial_metadata(object, call.output.meta_version));
      break;
    }
  }
  return pretty_response(status, std::move(text), call.output.pretty);
}

Result<net::Response> ResourceHandler::answer_list(const Call& call, const ListAnswer& answer) const {
  const ListMetadata metadata{answer.resource_version, answer.continue_token, answer.remaining_items};
  std::string text;
  switch (call.output.shape) {
    case Shape::kObject:
      text =
          list_text(call.path.kind->list_kind, call.path.kind->api_version(*call.path.version), metadata, answer.items);
      break;
    case Shape::kTable: {
      STRAKE_TRY(const TableOptions options, table_options(call));
      STRAKE_TRY(text, layout(call).table_of_list(answer.items, metadata, options));
      break;
    }
    case Shape::kMetadata: {
      std::vector<std::string> partial;
      partial.reserve(answer.items.size());
      for (const std::string& item : answer.items) {
        STRAKE_TRY(const json::Value object, stored_json(item));
        partial.push_back(json::write(partial_metadata(object, call.output.meta_version)));
      }
      text = list_text("PartialObjectMetadataList", fmt::format("meta.k8s.io/{}", call.output.meta_version), metadata,
                       partial);
      break;
    }
  }
  return pretty_response(200, std::move(text), call.output.pretty);
}

Result<net::Response> ResourceHandler::get(Call& call) {
  STRAKE_TRY(std::string text,
             service_.get_text(call.request, call.path.resource(), call.path.key(), call.path.subresource));
  return answer_object(call, 200, std::move(text));
}

Result<net::Response> ResourceHandler::list(Call& call, const Caller& user) {
  STRAKE_TRY(const UserGuard::Hold one_of_few, guard_.begin_list(user));
  STRAKE_TRY(const kube::ListOptions options, parse_list_options(call.http.target.query, call.request.details));
  STRAKE_TRY(const ListAnswer answer, service_.list(call.request, call.path.resource(), call.path.ns, options));
  return answer_list(call, answer);
}

Result<net::Response> ResourceHandler::create(Call& call, std::string& name) {
  STRAKE_TRY(const kube::WriteOptions options,
             parse_write_options(call.http.target.query, "CreateOptions", call.request.details));
  STRAKE_TRY(json::Value object, read_body(call.http.headers, call.http.body));
  STRAKE_TRY(ObjectAnswer answer,
             service_.create(call.request, call.path.resource(), call.path.ns, std::move(object), options));
  name = json::find_string(answer.object, {"metadata", "name"}).value_or("");
  return answer_object(call, 201, std::move(answer.text));
}

Result<net::Response> ResourceHandler::evict(Call& call) {
  STRAKE_TRY(const kube::WriteOptions write,
             parse_write_options(call.http.target.query, "CreateOptions", call.request.details));
  STRAKE_TRY(const json::Value eviction, read_body(call.http.headers, call.http.body));
  const std::string kind = json::find_string(eviction, {"kind"}).value_or("Eviction");
  const std::string api_version = json::find_string(eviction, {"apiVersion"}).value_or("policy/v1");
  if (kind != "Eviction" || (api_version != "policy/v1" && api_version != "policy/v1beta1")) {
    return bad_request("the body must be an Eviction of policy/v1, not {} of {}", kind.empty() ? "nothing" : kind,
                       api_version.empty() ? "nothing" : api_version);
  }
  const std::string name = json::find_string(eviction, {"metadata", "name"}).value_or(call.path.name);
  const std::string ns = json::find_string(eviction, {"metadata", "namespace"}).value_or(call.path.ns);
  if (name != call.path.name || ns != call.path.ns) {
    return bad_request("the Eviction is about {}/{}, the request about {}/{}", ns, name, call.path.ns, call.path.name);
  }
  kube::DeleteOptions options;
  if (const json::Value* given = json::find(eviction, {"deleteOptions"}); given != nullptr && !given->is_null()) {
    STRAKE_TRY(options, delete_options_from_json(*given, call.request.details));
  }
  options.dry_run = options.dry_run || write.dry_run;
  STRAKE_CHECK_OK(service_.evict(call.request, call.path.key(), options));
  return json_response(201, success_status({}));
}

Result<net::Response> ResourceHandler::update(Call& call) {
  STRAKE_TRY(kube::WriteOptions options,
             parse_write_options(call.http.target.query, "UpdateOptions", call.request.details));
  options.subresource = call.path.subresource;
  STRAKE_TRY(json::Value object, read_body(call.http.headers, call.http.body));
  STRAKE_TRY(ObjectAnswer answer,
             service_.update(call.request, call.path.resource(), call.path.key(), std::move(object), options));
  return answer_object(call, 200, std::move(answer.text));
}

Result<net::Response> ResourceHandler::patch(Call& call) {
  STRAKE_TRY(const kube::PatchType type, patch_type(call.http.headers, *call.path.kind));
  STRAKE_TRY(kube::WriteOptions options,
             parse_write_options(call.http.target.query, "PatchOptions", call.request.details));
  options.subresource = call.path.subresource;
  STRAKE_TRY(const json::Value body, parse_json_body(call.http.body));
  STRAKE_TRY(ObjectAnswer answer,
             service_.patch(call.request, call.path.resource(), call.path.key(), type, body, options));
  return answer_object(call, 200, std::move(answer.text));
}

Result<net::Response> ResourceHandler::remove(Call& call) {
  STRAKE_TRY(const kube::DeleteOptions options,
             parse_delete_options(call.http.target.query, call.http.headers, call.http.body, call.request.details));
  STRAKE_TRY(DeleteAnswer answer, service_.remove(call.request, call.path.resource(), call.path.key(), options));
  if (!answer.gone) return answer_object(call, 200, std::move(answer.text));
  const kube::StatusDetails about{call.path.name, call.path.kind->group, call.path.kind->plural, answer.uid, {}};
  return json_response(200, success_status(about));
}

Result<net::Response> ResourceHandler::remove_collection(Call& call, const Caller& user) {
  STRAKE_TRY(const UserGuard::Hold one_of_few, guard_.begin_list(user));
  STRAKE_TRY(const kube::ListOptions which, parse_list_options(call.http.target.query, call.request.details));
  STRAKE_TRY(const kube::DeleteOptions options,
             parse_delete_options(call.http.target.query, call.http.headers, call.http.body, call.request.details));
  STRAKE_TRY(const ListAnswer answer,
             service_.remove_collection(call.request, call.path.resource(), call.path.ns, which, options));
  return answer_list(call, answer);
}

Status ResourceHandler::watch(Call& call, const Identity& identity, const net::Responder& responder) {
  STRAKE_TRY(WatchQuery query, parse_watch_options(call.http.target.query, call.request.details));
  runtime::Runtime& runtime = service_.runtime();
  if (!query.timeout) {
    const auto spread = static_cast<std::uint64_t>(kMinWatchTime.count());
    query.timeout = kMinWatchTime + std::chrono::seconds(runtime.random().below(spread));
  }
  if (identity.expires) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(*identity.expires - runtime.wall_now());
    query.timeout = std::min(*query.timeout, std::max(left, std::chrono::seconds(1)));
  }
  WatchEncoding encoding;
  STRAKE_TRY(encoding.hold, guard_.begin_watch(identity.proven));
  encoding.metadata_only = call.output.shape == Shape::kMetadata;
  STRAKE_TRY(encoding.table_options, table_options(call));
  if (call.output.shape == Shape::kTable) encoding.table = &layout(call);

  net::ResponseHead head{200, {{"Content-Type", "application/json"}, {"Cache-Control", "no-cache, private"}}};
  const auto open = [&](std::function<void()> ready) {
    query.ready = std::move(ready);
    return service_.watch(call.request, call.path.resource(), call.path.ns, query);
  };
  return watches_.serve(open, std::move(encoding), head, responder);
}

}  // namespace strake::apistore::rest
