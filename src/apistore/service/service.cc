#include "apistore/service/service.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "api/kinds.h"
#include "api/node.h"
#include "apistore/service/continue_token.h"
#include "apistore/service/object_text.h"
#include "apistore/service/selection.h"
#include "apistore/service/service_errors.h"
#include "apistore/service/service_tasks.h"
#include "base/time.h"
#include "kube/object.h"

namespace strake::apistore {

namespace {

constexpr std::size_t kFilteredPage = 1000;  // rows read at a time while a selector looks for matches

/// Which moment a list shows: nullopt for now.
Result<std::optional<Revision>> wanted_revision(const kube::ListOptions& options, Revision now) {
  const std::string& text = options.resource_version;
  const std::string& match = options.resource_version_match;
  if (!match.empty() && match != "Exact" && match != "NotOlderThan") {
    return bad_request("resourceVersionMatch \"{}\" is not Exact or NotOlderThan", match);
  }
  if (text.empty() && !match.empty())
    return bad_request("resourceVersionMatch is forbidden unless resourceVersion is provided");
  if (text.empty() || text == "0") {
    if (match == "Exact")
      return bad_request("resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"{}\"", text);
    return std::optional<Revision>();
  }
  Revision revision = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), revision);
  if (failed != std::errc() || end != text.data() + text.size() || revision < 0) {
    return bad_request("invalid resource version \"{}\": not a number", text);
  }
  if (revision > now) {
    return error(Code::kTimeout, "Too large resource version: {}, current: {}", revision, now).with_reason("Timeout");
  }
  if (match == "Exact" || (match.empty() && options.limit > 0)) return std::optional<Revision>(revision);
  return std::optional<Revision>();
}

}  // namespace

Service::Service(runtime::Runtime& runtime, std::shared_ptr<const Registry> registry, ServiceOptions options)
    : runtime_(runtime), registry_(std::move(registry)), options_(std::move(options)) {}

Service::~Service() { stop(); }

Result<std::unique_ptr<Service>> Service::open(runtime::Runtime& runtime, std::shared_ptr<const Registry> registry,
                                               ServiceOptions options) {
  std::unique_ptr<Service> service(new Service(runtime, std::move(registry), std::move(options)));
  STRAKE_TRY(service->store_, Store::open(runtime, service->options_.store));
  service->store_->health().on_damage([self = service.get()](const StoreDamage& damage) {
    if (!self->options_.on_problem) return;
    self->options_.on_problem({"store", Error(Code::kCorrupt, damage.to_string()), damage});
  });
  STRAKE_CHECK_OK(service->ensure_namespaces());
  return service;
}

void Service::start() {
  if (!tasks_) tasks_ = std::make_unique<ServiceTasks>(*this);
}

void Service::report(const std::string& part, const Error& error) {
  store_->health().note(error);
  if (options_.on_problem) options_.on_problem({part, error, std::nullopt});
}

void Service::stop() { tasks_.reset(); }

Status Service::ensure_namespaces() {
  for (const std::string_view name :
       {std::string_view("default"), std::string_view("kube-system"), std::string_view("kube-node-lease"),
        api::kMachineConfigNamespace, api::kMachineApiNamespace, api::kStrakeNamespace}) {
    Request request{Caller::system("apiserver"), {}, {}};
    const kube::Object object(kube::core::kNamespace, {"", std::string(name)});
    const auto created = create(request, kube::core::kNamespace, "", object.json(), {});
    if (!created.ok() && created.error().code() != Code::kExists) {
      return Status(created.error()).context("creating the namespace {}", name);
    }
  }
  return {};
}

Result<Service::Target> Service::target(const kube::Resource& resource) const {
  const Kind* kind = registry_->find(resource.group, resource.plural);
  const KindVersion* version = kind == nullptr ? nullptr : kind->version(resource.version);
  if (version == nullptr || !version->served) {
    return error(Code::kNotFound, "the server could not find the requested resource ({} in {})",
                 resource.qualified_name(), resource.api_version())
        .with_reason("NotFound");
  }
  return Target{kind, version};
}

Status Service::allow(const Request& request, std::string_view verb, const Target& target, const std::string& ns,
                      const std::string& name, const std::string& subresource, const json::Value* before,
                      const json::Value* after) const {
  if (request.caller.is_admin()) return {};
  const Access access{std::string(verb), target.kind->group, target.kind->plural, subresource, ns, name};
  return authorize(request.caller, access, evidence_for(request.caller, access, before, after));
}

Evidence Service::evidence_for(const Caller& caller, const Access& access, const json::Value* before,
                               const json::Value* after) const {
  Evidence evidence{before, after};
  if (needs_named_configs(caller, access)) evidence.named_configs = named_configs(caller);
  return evidence;
}

Status Service::may(const Caller& caller, const Access& access) const {
  return authorize(caller, access, evidence_for(caller, access, nullptr, nullptr));
}

std::vector<std::string> Service::named_configs(const Caller& caller) const {
  const std::string node = caller.agent_node();
  if (node.empty()) return {};
  // Whatever cannot be read names nothing.
  const StoreKey key{kube::core::kNode.qualified_name(), "", node};
  const auto row = store_->get(key);
  if (!row.ok() || !*row) return {};
  auto object = parse_stored((*row)->text, key);
  if (!object.ok()) return {};
  const api::NodeView view = api::node_view(kube::Object(*std::move(object)));
  std::vector<std::string> names;
  for (const std::string& name : {view.current_config, view.desired_config}) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

Result<Row> Service::existing(Request& request, const Target& target, const StoreKey& key) {
  STRAKE_TRY(std::optional<Row> row, store_->get(key));
  if (!row) return not_found(target.kind->subject(key.name), request.details);
  return *std::move(row);
}

Result<std::string> Service::get_text(Request& request, const kube::Resource& resource, const kube::ObjectKey& key,
                                      const std::string& subresource) {
  STRAKE_TRY(const Target at, target(resource));
  STRAKE_CHECK_OK(allow(request, "get", at, key.ns, key.name, subresource));
  STRAKE_TRY(Row row, existing(request, at, {at.kind->qualified_name(), key.ns, key.name}));
  return in_api_version(std::move(row.text), at.kind->api_version(*at.version));
}

Result<ObjectAnswer> Service::get(Request& request, const kube::Resource& resource, const kube::ObjectKey& key) {
  STRAKE_TRY(std::string text, get_text(request, resource, key));
  STRAKE_TRY(json::Value object, parse_stored(text, {resource.qualified_name(), key.ns, key.name}));
  return ObjectAnswer{std::move(text), std::move(object)};
}

Result<ListAnswer> Service::list(Request& request, const kube::Resource& resource, const std::string& ns,
                                 const kube::ListOptions& options) {
  STRAKE_TRY(const Target at, target(resource));
  STRAKE_TRY(const Selection selection,
             Selection::parse(*at.kind, *at.version, options.label_selector, options.field_selector));
  STRAKE_CHECK_OK(allow(request, "list", at, ns, selection.name().value_or(""), ""));
  if (at.version->deprecated) {
    request.warnings.push_back(
        at.version->deprecation_warning.empty()
            ? fmt::format("{} {} is deprecated", at.kind->api_version(*at.version), at.kind->kind)
            : at.version->deprecation_warning);
  }

  ListQuery query{.resource = at.kind->qualified_name(), .ns = ns, .after = {}, .limit = options.limit, .at = {}};
  query.stop = request.stop;
  if (!options.continue_token.empty()) {
    if (!options.resource_version.empty() && options.resource_version != "0") {
      return bad_request("specifying resource version is not allowed when using continue");
    }
    STRAKE_TRY(ContinueToken token, ContinueToken::decode(options.continue_token));
    query.at = token.revision;
    query.after = {std::move(token.ns), std::move(token.name)};
  } else {
    STRAKE_TRY(query.at, wanted_revision(options, store_->revision()));
  }

  // Every agent lists and watches its own Node: looking through all of them each time would cost their square.
  if (options.continue_token.empty() && (!at.kind->namespaced || !ns.empty())) query.only = selection.name();

  const std::string api_version = at.kind->api_version(*at.version);
  ListAnswer answer;
  // A selector may take many pages of rows to fill one page of answers; all of them show the same revision. What it
  // leaves out is not kept in memory beyond its page.
  if (!selection.everything()) query.limit = std::max<std::size_t>(options.limit, kFilteredPage);
  bool more = true;
  while (more) {
    STRAKE_TRY(ListResult page, store_->list(query));
    answer.resource_version = std::to_string(page.revision);
    query.at = page.revision;
    more = page.more;
    for (std::size_t i = 0; i < page.rows.size(); ++i) {
      if (request.stop.stop_requested()) return runtime::wake_error(runtime::Wake::kCancelled, "a list");
      Row& row = page.rows[i];
      STRAKE_TRY(const bool matches, selection.matches_text(row.text));
      query.after = {row.ns, row.name};
      if (!matches) continue;
      STRAKE_TRY(std::string text, in_api_version(std::move(row.text), api_version));
      answer.items.push_back(std::move(text));
      if (options.limit == 0 || answer.items.size() < options.limit) continue;
      if (more || i + 1 < page.rows.size())
        answer.continue_token = ContinueToken{page.revision, row.ns, row.name}.encode();
      more = false;
      break;
    }
  }
  if (!answer.continue_token.empty() && selection.everything()) {
    STRAKE_TRY(answer.remaining_items, store_->count(query));
  }
  return answer;
}

Result<std::unique_ptr<Watch>> Service::watch(Request& request, const kube::Resource& resource, const std::string& ns,
                                              const WatchQuery& query) {
  STRAKE_TRY(const Target at, target(resource));
  STRAKE_TRY(const Selection selection,
             Selection::parse(*at.kind, *at.version, query.label_selector, query.field_selector));
  STRAKE_CHECK_OK(allow(request, "watch", at, ns, selection.name().value_or(""), ""));
  return Watch::open({runtime_, *store_, *at.kind, *at.version, ns, options_.bookmark_interval}, query);
}

WriteRequest Service::write_request(Request& request, const Target& target, const kube::WriteOptions& options) {
  request.warnings.clear();
  request.details = {};
  return {*target.kind,     *target.version, options, format_rfc3339(runtime_.wall_now()),
          request.warnings, request.details};
}

Status Service::check_size(Request& request, const Target& target, const Mutation& mutation,
                           const std::string& name) const {
  const std::size_t size = mutation.text.before.size() + mutation.text.after.size();
  if (size <= options_.max_object_bytes) return {};
  return too_large(target.kind->subject(name), request.details, size, options_.max_object_bytes);
}

Status Service::count_against_quota(Request& request, const Target& target, Mutation& mutation, const std::string& name,
                                    std::size_t size_before) const {
  if (request.caller.is_admin() || mutation.removes) return {};
  const std::size_t size = mutation.text.before.size() + mutation.text.after.size();
  if (size <= size_before) return {};
  mutation.counted_user = request.caller.user;
  mutation.added_bytes = static_cast<std::int64_t>(size - size_before);
  if (size <= options_.quota.object_bytes) return {};
  return forbidden_object(
      target.kind->subject(name), request.details,
      fmt::format("exceeded quota: objects written by user \"{}\" may have {} bytes, this one has {}",
                  request.caller.user, options_.quota.object_bytes, size));
}

Status Service::check_quota(Txn& txn, const Mutation& mutation) const {
  if (mutation.counted_user.empty()) return {};
  const bool creates = mutation.expected == 0;
  if (!creates) {
    STRAKE_TRY(const std::string owner, txn.owner_of(mutation.uid));
    if (owner != mutation.counted_user) return {};
  }
  STRAKE_TRY(const Txn::Stored stored, txn.stored_by(mutation.counted_user));
  const std::int64_t objects = stored.objects + (creates ? 1 : 0);
  const std::int64_t bytes = stored.bytes + mutation.added_bytes;
  if (objects <= options_.quota.objects && bytes <= options_.quota.bytes) return {};
  return error(Code::kDenied,
               "{} \"{}\" is forbidden: exceeded quota: of user \"{}\", requested: objects={},bytes={}, used: "
               "objects={},bytes={}, limited: objects={},bytes={}",
               mutation.key.resource, mutation.key.name, mutation.counted_user, creates ? 1 : 0, mutation.added_bytes,
               stored.objects, stored.bytes, options_.quota.objects, options_.quota.bytes)
      .with_reason("Forbidden");
}

Status Service::apply(Txn& txn, const Mutation& mutation, Row& written) {
  if (mutation.removes) {
    STRAKE_TRY(written, txn.remove(mutation.key, mutation.text));
  } else {
    STRAKE_TRY(written, txn.put(mutation.key, mutation.uid, mutation.text, mutation.counted_user));
  }
  return {};
}

Result<std::optional<Row>> Service::commit(const Mutation& mutation) {
  std::optional<Row> written;
  const Store::Function function = [&](Txn& txn) -> Status {
    written.reset();
    STRAKE_TRY(const Revision current, txn.revision_of(mutation.key));
    if (current != mutation.expected) return {};
    if (mutation.also_unchanged) {
      STRAKE_TRY(const Revision other, txn.revision_of(mutation.also_unchanged->first));
      if (other != mutation.also_unchanged->second) return {};
    }
    STRAKE_CHECK_OK(check_quota(txn, mutation));
    Row row;
    if (Status done = apply(txn, mutation, row); !done.ok()) return done;
    written = std::move(row);
    return {};
  };
  STRAKE_CHECK_OK(store_->write(function));
  return written;
}

Result<ObjectAnswer> Service::answer(const Target& target, json::Value object, Row written) const {
  const std::string api_version = target.kind->api_version(*target.version);
  json::Object& root = object.get_object();
  root["apiVersion"] = api_version;
  root["metadata"].get_object()["resourceVersion"] = std::to_string(written.revision);
  STRAKE_TRY(std::string text, in_api_version(std::move(written.text), api_version));
  return ObjectAnswer{std::move(text), std::move(object)};
}

}  // namespace strake::apistore
