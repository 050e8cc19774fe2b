#include "apistore/rest/router.h"

#include <fmt/format.h>

#include "apistore/rest/answers.h"
#include "apistore/rest/reviews.h"
#include "base/text.h"
#include "kube/resource.h"

namespace strake::apistore::rest {

namespace {

Error no_such_path() {
  return error(Code::kNotFound, "the server could not find the requested resource").with_reason("NotFound");
}

net::Response method_not_allowed(const std::vector<std::string>& allowed) {
  net::Response response =
      error_response(error(Code::kUnsupported, "the server does not allow this method on the requested resource")
                         .with_reason("MethodNotAllowed"));
  response.headers.set("Allow", fmt::format("{}", fmt::join(allowed, ", ")));
  return response;
}

bool is_read_method(const net::ServerRequest& request) { return request.method == "GET" || request.method == "HEAD"; }

/// Documents that change only with the program: clients may keep them and ask whether they still hold.
net::Response cacheable(const net::ServerRequest& request, const OpenApi::Document& document, bool immutable) {
  const std::string tag = fmt::format("\"{}\"", document.hash);
  net::Response response = json_response(200, "");
  response.headers.set("ETag", tag);
  response.headers.set("Vary", "Accept");
  if (immutable) response.headers.set("Cache-Control", "public, immutable");
  if (request.headers.has_token("If-None-Match", tag)) {
    response.status = 304;
    response.headers.remove("Content-Type");
    return response;
  }
  response.body = document.text;
  return response;
}

/// A document without types, in the form kubectl asks for. kubectl checks objects of kind List and of unknown kinds
/// against it before it sends them, and gives up without one; from an empty one it leaves the checking to the server.
net::Response empty_open_api_v2(const net::ServerRequest& request) {
  constexpr std::string_view kProtobufType = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
  // openapi.v2.Document: swagger (1) "2.0", info (2) with title (1) "strake" and version (2) "v1"
  constexpr std::string_view kProtobuf =
      "\x0a\x03"
      "2.0"
      "\x12\x0c"
      "\x0a\x06"
      "strake"
      "\x12\x02"
      "v1";
  if (request.headers.get("Accept").value_or("").find(kProtobufType) != std::string_view::npos) {
    return text_response(200, std::string(kProtobuf), "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
  }
  return json_response(200, R"({"swagger":"2.0","info":{"title":"strake","version":"v1"},"paths":{}})");
}

}  // namespace

Result<std::unique_ptr<Router>> Router::make(Service& service, RouterOptions options) {
  STRAKE_TRY(Tables tables, Tables::make(service.registry()));
  return std::unique_ptr<Router>(new Router(service, std::move(options), std::move(tables)));
}

Router::Router(Service& service, RouterOptions options, Tables tables)
    : service_(service),
      tables_(std::move(tables)),
      discovery_(service.registry(), options.program_version),
      open_api_(service.registry()),
      tokens_(options.token_file),
      revocations_(options.revocation_file),
      credentials_{options.token_file.empty() ? nullptr : &tokens_,
                   options.revocation_file.empty() ? nullptr : &revocations_},
      enrolment_(options.enrolment.authority == nullptr
                     ? nullptr
                     : std::make_unique<Enrolment>(service, tokens_, revocations_, options.enrolment)),
      guard_(options.user_limits),
      sweep_(credentials_, options.token_file, options.revocation_file, connections_),
      audit_(options.audit),
      watches_(service.runtime(), options.watches),
      resources_(service, tables_, watches_, guard_),
      more_metrics_(std::move(options.more_metrics)) {}

void Router::stop() {
  stopping_ = true;
  watches_.stop();
}

void Router::handle(const net::ServerRequest& request, const net::Responder& responder) {
  if (request.stop.stop_requested()) return;  // it waited for its turn longer than its client did
  const runtime::TimePoint start = service_.runtime().now();
  Subject subject;
  std::optional<net::Response> response = answer(request, responder, subject);
  const int code = response ? response->status : 200;
  const runtime::Duration elapsed = service_.runtime().now() - start;
  write_down(subject, request, code, response ? response->body.size() : 0, elapsed);
  counters_
      .counter("strake_apiserver_requests_total", "Requests answered, by verb, resource and HTTP status.",
               {{"verb", subject.verb}, {"resource", subject.resource}, {"code", std::to_string(code)}})
      .add();
  if (!response) return;
  const std::chrono::duration<double> taken = elapsed;
  counters_
      .histogram("strake_apiserver_request_duration_seconds", "Time from a request to its answer, without watches.",
                 net::default_duration_buckets(), {{"verb", subject.verb}})
      .observe(taken.count());
  responder.send(*std::move(response));
}

std::optional<net::Response> Router::answer(const net::ServerRequest& request, const net::Responder& responder,
                                            Subject& subject) {
  if (auto response = health(request)) {
    subject.is_health_check = true;
    return response;
  }
  if (enrolment_ && Enrolment::is_join(request)) {
    subject.verb = "create";
    subject.resource = "access/join";
    return enrolment_->join(request);
  }
  Result<Identity> identity = authenticate(request, credentials_, service_.runtime().wall_now());
  if (!identity.ok()) return error_response(identity.error());
  subject.record.user = identity->proven.user;
  subject.record.groups = identity->proven.groups;
  subject.by_administrator = identity->proven.is_admin();
  if (const Status admitted = admit(request, *identity, responder); !admitted.ok()) {
    return error_response(admitted.error());
  }
  subject.record.acting_as = request.headers.get("Impersonate-User").value_or("");
  Result<Caller> caller = acting_caller(identity->caller, request.headers);
  if (!caller.ok()) return error_response(caller.error());
  identity->caller = *std::move(caller);

  if (enrolment_ && Enrolment::is_ours(request)) {
    subject.verb = request.method == "POST" ? "create" : "get";
    subject.resource = "access";
    subject.record.subresource = request.target.segments.back();
    return enrolment_->answer(identity->caller, request);
  }
  const auto& segments = request.target.segments;
  const std::string first = segments.empty() ? "" : segments[0];
  const std::string* document = discovery_.document(segments);
  if (document != nullptr || first == "openapi" || first == "metrics") {
    if (!is_read_method(request)) return method_not_allowed({"GET"});
    subject.verb = "get";
    Result<net::Response> response = [&]() -> Result<net::Response> {
      if (first == "metrics" && segments.size() == 1) return metrics(identity->caller);
      if (first == "openapi") return open_api(request);
      if (document == nullptr) return no_such_path();
      STRAKE_CHECK_OK(accepts_json(request.headers));
      return json_response(200, *document);
    }();
    return response.ok() ? *std::move(response) : error_response(response.error());
  }

  if (const ReviewKind* review = find_review(segments)) {
    subject.verb = "create";
    subject.resource = fmt::format("{}.{}", review->plural, review->group);
    if (request.method != "POST") return method_not_allowed({"POST"});
    kube::StatusDetails about;
    const auto answered = [&]() -> Result<net::Response> {
      STRAKE_CHECK_OK(accepts_json(request.headers));
      STRAKE_TRY(json::Value body, read_body(request.headers, request.body));
      STRAKE_TRY(
          const json::Value answer,
          answer_review(*review, std::move(body), {identity->caller, service_.named_configs(identity->caller)}, about));
      return json_response(201, json::write(answer) + "\n");
    }();
    return answered.ok() ? *answered : error_response(answered.error(), about);
  }

  kube::StatusDetails details;
  const Result<ResourcePath> path = resolve_path(service_.registry(), segments, details);
  if (!path.ok()) return error_response(path.error(), details);
  subject.resource = path->kind->qualified_name();
  subject.record.resource = subject.resource;
  subject.record.ns = path->ns;
  subject.record.name = path->name;
  subject.record.subresource = path->subresource;
  if (!path->subresource.empty()) subject.resource += "/" + path->subresource;
  std::vector<std::string> allowed;
  const Result<Verb> verb = verb_for(*path, request.method, request.target.query, allowed);
  if (!verb.ok()) return method_not_allowed(allowed);
  subject.verb = to_string(*verb);
  auto response = resources_.serve(*identity, *path, *verb, request, responder, subject.record.name);
  const bool is_write = *verb == Verb::kCreate || *verb == Verb::kUpdate || *verb == Verb::kPatch;
  if (response && is_write && response->status < 300) {
    guard_.charge_stored(identity->proven, response->body.size(), service_.runtime().now());
  }
  return response;
}

Status Router::admit(const net::ServerRequest& request, const Identity& identity, const net::Responder& responder) {
  const Caller& user = identity.proven;
  const std::size_t most = user.is_admin() ? 0 : guard_.limits().connections;
  if (Status known = connections_.admit(request.connection, user.user, identity.credential, most); !known.ok()) {
    responder.end_connection();
    return known;
  }
  STRAKE_CHECK_OK(guard_.admit_request(user, request.body.size(), service_.runtime().now()));
  if (const auto share = guard_.queue_share(user)) responder.count_queue_in(share);
  return {};
}

void Router::write_down(Subject& subject, const net::ServerRequest& request, int code, std::size_t answer_bytes,
                        runtime::Duration taken) {
  if (audit_ == nullptr || subject.is_health_check) return;
  AuditRecord& record = subject.record;
  record.source = request.peer_address;
  record.verb = subject.verb == "other" ? lower_case(request.method) : subject.verb;
  if (record.resource.empty()) {
    record.resource = subject.resource;
    if (record.resource.empty()) record.path = "/" + fmt::format("{}", fmt::join(request.target.segments, "/"));
  }
  record.code = code;
  record.request_bytes = request.body.size();
  record.answer_bytes = answer_bytes;
  record.duration = std::chrono::duration_cast<std::chrono::microseconds>(taken);
  audit_->record(std::move(record), subject.by_administrator);
}

Status Router::sweep_credentials() {
  STRAKE_TRY(const std::size_t cut, sweep_.look(service_.runtime().wall_now()));
  if (cut > 0) {
    counters_
        .counter("strake_apiserver_credentials_ended_total",
                 "Connections cut because their credential was revoked or has expired.")
        .add(static_cast<double>(cut));
  }
  return {};
}

Status Router::check_ready() {
  if (stopping_) return error(Code::kUnavailable, "the server is stopping");
  STRAKE_CHECK_OK(service_.store().health().check_writable());
  STRAKE_TRY(const auto row, service_.store().get({kube::core::kNamespace.qualified_name(), "", "default"}));
  if (!row) return error(Code::kUnavailable, "the namespace default does not exist");
  return {};
}

bool Router::is_health_check(const net::ServerRequest& request) {
  const auto& segments = request.target.segments;
  return segments.size() == 1 && (segments[0] == "livez" || segments[0] == "readyz" || segments[0] == "healthz");
}

std::optional<net::Refusal> Router::refuse_unknown(const net::ServerRequest& head) {
  Subject subject;
  if (enrolment_ && Enrolment::is_join(head)) {
    auto refusal = enrolment_->refuse_join(head);
    subject.verb = "create";
    subject.resource = "access/join";
    if (refusal) write_down(subject, head, refusal->status, 0, runtime::Duration(0));
    return refusal;
  }
  const Result<Identity> identity = authenticate(head, credentials_, service_.runtime().wall_now());
  if (identity.ok()) return std::nullopt;
  const bool unknown = identity.error().code() == Code::kUnauthenticated;
  write_down(subject, head, unknown ? 401 : 500, 0, runtime::Duration(0));
  return net::Refusal{unknown ? 401 : 500,
                      unknown ? identity.error().message() : "who sends this cannot be found out now"};
}

std::optional<net::Response> Router::health(const net::ServerRequest& request) {
  if (!is_health_check(request)) return std::nullopt;
  const std::string& name = request.target.segments[0];
  if (!is_read_method(request)) return method_not_allowed({"GET"});
  if (name != "livez") {
    if (const Status ready = check_ready(); !ready.ok()) {
      // Anybody may ask; names of files and the like are for administrators.
      std::string text = name + " check failed\n";
      if (request.target.query.get("verbose")) {
        const Result<Identity> identity = authenticate(request, credentials_, service_.runtime().wall_now());
        const bool told = identity.ok() && identity->caller.is_admin();
        text = fmt::format("[-]{} failed: {}\n{}", stopping_ ? "running" : "store",
                           told ? ready.error().to_string() : "ask as an administrator for the reason", text);
      }
      return text_response(503, std::move(text));
    }
    if (request.target.query.get("verbose"))
      return text_response(200, "[+]running ok\n[+]store ok\n" + name + " check passed\n");
  }
  return text_response(200, "ok");
}

Result<net::Response> Router::open_api(const net::ServerRequest& request) const {
  const auto& segments = request.target.segments;
  if (segments.size() == 2 && segments[1] == "v2") return empty_open_api_v2(request);
  if (segments.size() < 2 || segments[1] != "v3") return no_such_path();
  STRAKE_CHECK_OK(accepts_json(request.headers));
  if (segments.size() == 2) return cacheable(request, open_api_.index(), false);
  const std::string path = fmt::format("{}", fmt::join(segments.begin() + 2, segments.end(), "/"));
  const OpenApi::Document* document = open_api_.find(path);
  if (document == nullptr) return no_such_path();
  const auto hash = request.target.query.get("hash");
  if (hash && *hash != document->hash) {
    net::Response moved = json_response(301, "");
    moved.headers.set("Location", fmt::format("/openapi/v3/{}?hash={}", path, document->hash));
    return moved;
  }
  return cacheable(request, *document, hash.has_value());
}

Result<net::Response> Router::metrics(const Caller& caller) {
  if (!caller.is_admin()) {
    return error(Code::kDenied, "forbidden: User \"{}\" cannot get path \"/metrics\"", caller.user)
        .with_reason("Forbidden");
  }
  for (const Kind& kind : service_.registry().kinds()) {
    STRAKE_TRY(
        const std::int64_t count,
        service_.store().count({.resource = kind.qualified_name(), .ns = "", .after = {}, .limit = 0, .at = {}}));
    counters_.gauge("strake_apistore_objects", "Objects stored, by resource.", {{"resource", kind.qualified_name()}})
        .set(static_cast<double>(count));
  }
  counters_.gauge("strake_apistore_revision", "The newest resourceVersion.")
      .set(static_cast<double>(service_.store().revision()));
  counters_.gauge("strake_apiserver_watches", "Open watches.").set(static_cast<double>(watches_.open_watches()));
  counters_.gauge("strake_apistore_damaged", "1 when the database is damaged and nothing is written any more.")
      .set(service_.store().health().damage() ? 1 : 0);
  if (audit_ != nullptr) {
    const AuditLog::Stats audit = audit_->stats();
    counters_.gauge("strake_apiserver_audit_lines", "Lines written to the audit log.")
        .set(static_cast<double>(audit.written));
    counters_.gauge("strake_apiserver_audit_lost", "Lines the audit log lost: a full or a slow disk.")
        .set(static_cast<double>(audit.lost));
    counters_.gauge("strake_apiserver_audit_summed_up", "Requests the audit log counted instead of writing each.")
        .set(static_cast<double>(audit.summed_up));
  }
  if (!service_.options().store.directory.empty()) {
    counters_.gauge("strake_apistore_bytes", "Size of the database files.")
        .set(static_cast<double>(service_.store().file_bytes()));
  }
  return text_response(200, counters_.text() + (more_metrics_ ? more_metrics_() : ""), net::kMetricsContentType);
}

}  // namespace strake::apistore::rest
