#include "apistore/rest/request.h"

#include <algorithm>
#include <charconv>

#include "apistore/rest/discovery.h"
#include "apistore/service/service_errors.h"
#include "base/text.h"

namespace strake::apistore::rest {

namespace {

constexpr std::size_t kMaxBodyBytes = 3u << 20;
constexpr std::size_t kMaxBodyDepth = 100;

Error no_such_resource() {
  return error(Code::kNotFound, "the server could not find the requested resource").with_reason("NotFound");
}

/// What people ask kubectl for and only a whole cluster has: refused with the reason, not just with 404.
Error no_such_subresource(const Kind& kind, std::string_view subresource) {
  const bool runs_something = subresource == "log" || subresource == "exec" || subresource == "attach" ||
                              subresource == "portforward" || subresource == "proxy";
  if (!runs_something) return no_such_resource();
  return error(Code::kNotFound,
               "{}/{} does not exist here: this is Strake's embedded API server, no kubelet stands behind it; look at "
               "the node itself",
               kind.plural, subresource)
      .with_reason("NotFound");
}
Error no_such_kind(std::string_view plural) {
  if (plural != "serviceaccounts") return no_such_resource();
  return error(Code::kNotFound,
               "there are no service accounts here: this is Strake's embedded API server, its users have certificates "
               "or tokens of its own (docs/api-differences.md)")
      .with_reason("NotFound");
}

bool is_pods(const Kind& kind) { return kind.builtin && kind.group.empty() && kind.plural == kube::core::kPod.plural; }

/// The methods a path answers to, apart from HEAD.
std::vector<std::string> methods_of(const ResourcePath& path) {
  if (path.subresource == "eviction") return {"POST"};
  if (!path.subresource.empty()) return {"GET", "PATCH", "PUT"};
  if (!path.name.empty()) return {"DELETE", "GET", "PATCH", "PUT"};
  if (path.kind->namespaced && path.ns.empty()) return {"GET"};
  const auto verbs = verbs_of(*path.kind);
  if (std::find(verbs.begin(), verbs.end(), "deletecollection") == verbs.end()) return {"GET", "POST"};
  return {"DELETE", "GET", "POST"};
}

/// As the decoder of Kubernetes' own parameters: only these two mean no.
bool flag(std::string_view value) { return !(value == "0" || equal_ignoring_case(value, "false")); }

}  // namespace

std::string_view to_string(Verb verb) {
  switch (verb) {
    case Verb::kGet: return "get";
    case Verb::kList: return "list";
    case Verb::kWatch: return "watch";
    case Verb::kCreate: return "create";
    case Verb::kUpdate: return "update";
    case Verb::kPatch: return "patch";
    case Verb::kDelete: return "delete";
    case Verb::kDeleteCollection: return "deletecollection";
  }
  return "unknown";
}

Result<ResourcePath> resolve_path(const Registry& registry, const std::vector<std::string>& segments,
                                  kube::StatusDetails& details) {
  // "api", version, ... for the core group; "apis", group, version, ... for the others.
  if (segments.empty() || (segments[0] != "api" && segments[0] != "apis")) return no_such_resource();
  const bool core = segments[0] == "api";
  std::size_t at = core ? 1 : 2;
  if (segments.size() <= at + 1) return no_such_resource();
  const std::string group = core ? "" : segments[1];
  if (!core && group.empty()) return no_such_resource();
  const std::string& version_name = segments[at++];

  ResourcePath path;
  const std::size_t left = segments.size() - at;
  // /namespaces/NAME and /namespaces/NAME/status are the namespace itself; with anything else behind it, it holds
  // objects.
  const bool in_namespace =
      segments[at] == "namespaces" && left >= 3 && !(core && segments[at + 2] == "status" && left == 3);
  if (in_namespace) {
    path.ns = segments[at + 1];
    at += 2;
  }
  path.kind = registry.find(group, segments[at]);
  if (path.kind == nullptr) return no_such_kind(segments[at]);
  path.version = path.kind->version(version_name);
  if (path.version == nullptr || !path.version->served) return no_such_resource();
  if (in_namespace && !path.kind->namespaced) return no_such_resource();
  if (segments.size() > at + 3) return no_such_resource();
  if (segments.size() > at + 1) path.name = segments[at + 1];
  if (segments.size() > at + 2) path.subresource = segments[at + 2];

  if (path.kind->namespaced && !in_namespace && !path.name.empty()) return no_such_resource();
  const bool known_subresource = path.subresource.empty() ||
                                 (path.subresource == "status" && path.version->has_status) ||
                                 (path.subresource == "eviction" && is_pods(*path.kind));
  if (!known_subresource) {
    // kube-apiserver answers for its own kinds with a plain 404, and for custom resources as if the object were
    // missing.
    if (path.kind->builtin) return no_such_subresource(*path.kind, path.subresource);
    return not_found(path.kind->subject(path.name), details);
  }
  return path;
}

Result<Verb> verb_for(const ResourcePath& path, std::string_view method, const net::Query& query,
                      std::vector<std::string>& allowed) {
  allowed = methods_of(path);
  const std::string_view effective = method == "HEAD" ? std::string_view("GET") : method;
  if (std::find(allowed.begin(), allowed.end(), effective) == allowed.end()) {
    return error(Code::kUnsupported, "the server does not allow this method on the requested resource")
        .with_reason("MethodNotAllowed");
  }
  if (effective == "POST") return Verb::kCreate;
  if (effective == "PUT") return Verb::kUpdate;
  if (effective == "PATCH") return Verb::kPatch;
  if (effective == "DELETE") return path.name.empty() ? Verb::kDeleteCollection : Verb::kDelete;
  if (!path.name.empty()) return Verb::kGet;
  const auto watch = query.get("watch");
  return watch && flag(*watch) && method == "GET" ? Verb::kWatch : Verb::kList;
}

Result<json::Value> parse_json_body(std::string_view body) {
  auto value = json::parse(body, {.max_bytes = kMaxBodyBytes, .max_depth = kMaxBodyDepth});
  if (value.ok()) return value;
  return bad_request("the body of the request cannot be read: {}", value.error().to_string());
}

// --- options
// -----------------------------------------------------------------------------------------------------------

namespace {

/// Collects what is wrong with the options of a request, in the words of a Status.
class OptionReader {
 public:
  OptionReader(const net::Query& query, std::string_view kind) : query_(query), kind_(kind) {}

  std::string text(std::string_view name) const { return std::string(query_.get(name).value_or("")); }

  std::optional<bool> boolean(std::string_view name) const {
    const auto value = query_.get(name);
    if (!value) return std::nullopt;
    return flag(*value);
  }

  Result<std::optional<std::int64_t>> integer(std::string_view name) const {
    const auto value = query_.get(name);
    if (!value || value->empty()) return std::optional<std::int64_t>();
    std::int64_t number = 0;
    const auto [end, failure] = std::from_chars(value->data(), value->data() + value->size(), number);
    if (failure != std::errc() || end != value->data() + value->size()) {
      return bad_request("the query parameter {} is not a number: \"{}\"", name, *value);
    }
    return std::optional(number);
  }

  void one_of(std::string_view field, const std::string& value, const std::vector<std::string>& supported) {
    if (value.empty() || std::find(supported.begin(), supported.end(), value) != supported.end()) return;
    problems_.push_back(FieldProblem::not_supported(std::string(field), json::Value(value), supported));
  }
  void forbid(std::string_view field, std::string_view why) {
    problems_.push_back(FieldProblem::forbidden(std::string(field), why));
  }
  void invalid(std::string_view field, const std::string& value, std::string_view why) {
    problems_.push_back(FieldProblem::invalid(std::string(field), json::Value(value), why));
  }

  /// "All" or nothing, perhaps several times.
  bool dry_run(const std::vector<std::string>& values) {
    const bool known =
        std::all_of(values.begin(), values.end(), [](const std::string& value) { return value == "All"; });
    if (!known) {
      json::Array shown;
      for (const std::string& value : values) shown.emplace_back(value);
      problems_.push_back(FieldProblem::not_supported("dryRun", std::move(shown), std::vector<std::string>{"All"}));
    }
    return !values.empty();
  }
  bool dry_run() {
    const auto views = query_.all("dryRun");
    return dry_run({views.begin(), views.end()});
  }

  Status finish(kube::StatusDetails& details) const {
    if (problems_.empty()) return {};
    return invalid_object({"meta.k8s.io", std::string(kind_), "", ""}, problems_, details);
  }

 private:
  const net::Query& query_;
  std::string_view kind_;
  std::vector<FieldProblem> problems_;
};

const std::vector<std::string> kPropagationPolicies = {"Background", "Foreground", "Orphan"};

void set_propagation(kube::DeleteOptions& options, const std::optional<bool>& orphan, OptionReader& reader) {
  reader.one_of("propagationPolicy", options.propagation, kPropagationPolicies);
  if (!orphan) return;
  if (options.propagation.empty()) {
    options.propagation = *orphan ? "Orphan" : "Background";
  } else {
    reader.invalid("propagationPolicy", options.propagation,
                   "orphanDependents and deletionPropagation cannot be both set");
  }
}

}  // namespace

Result<kube::ListOptions> parse_list_options(const net::Query& query, kube::StatusDetails& details) {
  constexpr std::int64_t kMaxLimit = 1'000'000;  // larger wishes are the same as this one
  OptionReader reader(query, "ListOptions");
  kube::ListOptions options;
  options.label_selector = reader.text("labelSelector");
  options.field_selector = reader.text("fieldSelector");
  options.continue_token = reader.text("continue");
  options.resource_version = reader.text("resourceVersion");
  options.resource_version_match = reader.text("resourceVersionMatch");
  STRAKE_TRY(const auto limit, reader.integer("limit"));
  if (limit && *limit > 0) options.limit = static_cast<std::uint32_t>(std::min(*limit, kMaxLimit));

  const std::string& match = options.resource_version_match;
  if (!match.empty()) {
    if (options.resource_version.empty()) {
      reader.forbid("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided");
    }
    if (!options.continue_token.empty()) {
      reader.forbid("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided");
    }
    reader.one_of("resourceVersionMatch", match, {"Exact", "NotOlderThan"});
    if (match == "Exact" && options.resource_version == "0") {
      reader.forbid("resourceVersionMatch", "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    }
  }
  if (reader.boolean("sendInitialEvents"))
    reader.forbid("sendInitialEvents", "sendInitialEvents is forbidden for list");
  STRAKE_CHECK_OK(reader.finish(details));
  return options;
}

Result<WatchQuery> parse_watch_options(const net::Query& query, kube::StatusDetails& details) {
  OptionReader reader(query, "ListOptions");
  WatchQuery options;
  options.label_selector = reader.text("labelSelector");
  options.field_selector = reader.text("fieldSelector");
  options.resource_version = reader.text("resourceVersion");
  options.bookmarks = reader.boolean("allowWatchBookmarks").value_or(false);
  options.initial_events = reader.boolean("sendInitialEvents");
  STRAKE_TRY(const auto timeout, reader.integer("timeoutSeconds"));
  constexpr std::int64_t kMaxTimeoutSeconds = 24 * 60 * 60;
  if (timeout && *timeout > 0) options.timeout = std::chrono::seconds(std::min(*timeout, kMaxTimeoutSeconds));

  const std::string match = reader.text("resourceVersionMatch");
  if (options.initial_events && match != "NotOlderThan") {
    reader.forbid("resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  }
  if (!match.empty() && !options.initial_events) {
    reader.forbid("resourceVersionMatch",
                  "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  }
  reader.one_of("resourceVersionMatch", match, {"NotOlderThan"});
  STRAKE_CHECK_OK(reader.finish(details));
  return options;
}

Result<kube::WriteOptions> parse_write_options(const net::Query& query, std::string_view kind,
                                               kube::StatusDetails& details) {
  constexpr std::size_t kMaxManagerBytes = 128;
  OptionReader reader(query, kind);
  kube::WriteOptions options;
  options.dry_run = reader.dry_run();
  options.field_manager = reader.text("fieldManager");
  options.field_validation = reader.text("fieldValidation");
  reader.one_of("fieldValidation", options.field_validation, {"", "Ignore", "Strict", "Warn"});
  if (options.field_manager.size() > kMaxManagerBytes) {
    reader.invalid("fieldManager", options.field_manager,
                   fmt::format("may not be more than {} bytes", kMaxManagerBytes));
  }
  STRAKE_CHECK_OK(reader.finish(details));
  return options;
}

Result<kube::DeleteOptions> delete_options_from_json(const json::Value& value, kube::StatusDetails& details) {
  if (!value.is_object()) return bad_request("DeleteOptions must be an object, not {}", json::type_name(value));
  const std::string kind = json::find_string(value, {"kind"}).value_or("DeleteOptions");
  if (kind != "DeleteOptions") return bad_request("the body of a deletion is of kind DeleteOptions, not {}", kind);

  const net::Query no_query;
  OptionReader reader(no_query, "DeleteOptions");
  kube::DeleteOptions options;
  options.uid = json::find_string(value, {"preconditions", "uid"}).value_or("");
  options.resource_version = json::find_string(value, {"preconditions", "resourceVersion"}).value_or("");
  options.propagation = json::find_string(value, {"propagationPolicy"}).value_or("");
  options.grace_period_seconds = json::find_int(value, {"gracePeriodSeconds"});
  std::vector<std::string> dry_run;
  if (const json::Value* list = json::find(value, {"dryRun"}); list != nullptr && list->is_array()) {
    for (const json::Value& item : list->get_array()) {
      dry_run.emplace_back(item.is_string() ? json::as_view(item.get_string()) : std::string_view("not a string"));
    }
  }
  options.dry_run = reader.dry_run(dry_run);
  set_propagation(options, json::find_bool(value, {"orphanDependents"}), reader);
  STRAKE_CHECK_OK(reader.finish(details));
  return options;
}

Result<kube::DeleteOptions> parse_delete_options(const net::Query& query, const net::Headers& headers,
                                                 std::string_view body, kube::StatusDetails& details) {
  if (!body.empty()) {
    STRAKE_TRY(const json::Value value, read_body(headers, body));
    return delete_options_from_json(value, details);
  }
  OptionReader reader(query, "DeleteOptions");
  kube::DeleteOptions options;
  options.propagation = reader.text("propagationPolicy");
  STRAKE_TRY(options.grace_period_seconds, reader.integer("gracePeriodSeconds"));
  options.dry_run = reader.dry_run();
  set_propagation(options, reader.boolean("orphanDependents"), reader);
  STRAKE_CHECK_OK(reader.finish(details));
  return options;
}

}  // namespace strake::apistore::rest
