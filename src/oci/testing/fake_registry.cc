#include "oci/testing/fake_registry.h"

#include <algorithm>
#include <fstream>

#include "codec/base64.h"
#include "oci/registry/registry_protocol.h"

namespace strake::oci::testing {

namespace {

net::Response plain(int status, std::string body = {}, net::Headers headers = {}) {
  return {status, std::move(headers), std::move(body)};
}

net::Response refusal(int status, std::string_view code) {
  return plain(status, fmt::format(R"({{"errors":[{{"code":"{}","message":"refused by the test"}}]}})", code),
               {{"Content-Type", "application/json"}});
}

std::string digest_of(std::string_view bytes) { return codec::Digest::sha256_of(bytes).to_string(); }

}  // namespace

FakeRegistry::FakeRegistry(Options options) : options_(std::move(options)) {
  net::ServerOptions server;
  server.max_body_bytes = 64u << 20;
  server_ = std::make_unique<net::testing::TestServer>(
      [this](const net::ServerRequest& request, net::Responder responder) { handle(request, responder); },
      std::move(server));
}

FakeRegistry::~FakeRegistry() { server_.reset(); }

std::string FakeRegistry::host() const { return fmt::format("127.0.0.1:{}", server_->server().port()); }

RegistryOptions FakeRegistry::client_options(const std::filesystem::path& folder, bool credentials) {
  std::ofstream(folder / "ca.crt") << ca_pem();
  RegistryOptions options;
  options.trust.certificate_authority = folder / "ca.crt";
  options.proxy = net::ProxySettings{};
  options.patience.backoff.initial = std::chrono::milliseconds(1);
  options.patience.backoff.cap = std::chrono::milliseconds(5);
  if (credentials) {
    std::ofstream(folder / "auth.json") << fmt::format(R"({{"auths":{{"{}":{{"auth":"{}"}}}}}})", host(),
                                                       codec::encode_base64(options_.user + ":" + options_.password));
    options.credentials.files = {folder / "auth.json"};
  }
  return options;
}

void FakeRegistry::put_blob(const std::string& repository, const std::string& bytes) {
  const std::scoped_lock lock(mutex_);
  repositories_[repository].blobs[digest_of(bytes)] = bytes;
}

void FakeRegistry::put_manifest(const std::string& repository, const std::string& tag, const std::string& type,
                                const std::string& bytes) {
  const std::scoped_lock lock(mutex_);
  repositories_[repository].manifests[tag] = {type, bytes};
  repositories_[repository].manifests[digest_of(bytes)] = {type, bytes};
}

bool FakeRegistry::has_blob(const std::string& repository, const codec::Digest& digest) const {
  const std::scoped_lock lock(mutex_);
  const auto found = repositories_.find(repository);
  return found != repositories_.end() && found->second.blobs.contains(digest.to_string());
}

std::optional<std::string> FakeRegistry::manifest(const std::string& repository, const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  const auto found = repositories_.find(repository);
  if (found == repositories_.end() || !found->second.manifests.contains(name)) return std::nullopt;
  return found->second.manifests.at(name).second;
}

void FakeRegistry::intercept(Intercept intercept) {
  const std::scoped_lock lock(mutex_);
  intercept_ = std::move(intercept);
}

void FakeRegistry::cut_next_blob_after(std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  cut_ = bytes;
}

void FakeRegistry::hang_up(bool always) {
  const std::scoped_lock lock(mutex_);
  hangs_up_ = always;
}

void FakeRegistry::forget_tokens() {
  const std::scoped_lock lock(mutex_);
  tokens_.clear();
}

std::vector<std::string> FakeRegistry::requests() const {
  const std::scoped_lock lock(mutex_);
  return requests_;
}

std::size_t FakeRegistry::count(std::string_view request) const {
  const std::scoped_lock lock(mutex_);
  return static_cast<std::size_t>(std::count(requests_.begin(), requests_.end(), request));
}

void FakeRegistry::handle(const net::ServerRequest& request, const net::Responder& responder) {
  const std::unique_lock lock(mutex_);
  requests_.push_back(request.method + " " + request.target.path);
  if (hangs_up_) {
    responder.stream({200, {}}, {.buffer_bytes = 1})->write("more than the buffer takes");
    return;
  }
  std::optional<net::Response> response;
  if (intercept_) response = intercept_(request);
  if (!response) response = answer(request);
  const bool is_blob = request.method == "GET" && request.target.path.find("/blobs/sha256:") != std::string::npos;
  if (is_blob && response->status < 300 && cut_) {
    // Without a length: the body seems to end, as it does behind a proxy that lost its server.
    const auto sink = responder.stream({response->status, response->headers});
    sink->write(response->body.substr(0, *cut_));
    sink->close();
    cut_.reset();
    return;
  }
  responder.send(*std::move(response));
}

net::Response FakeRegistry::token(const net::ServerRequest& request) {
  const std::string given(request.headers.get("Authorization").value_or(""));
  const bool known = given == basic_authorization({options_.user, options_.password});
  if (!given.empty() && !known) return refusal(401, "UNAUTHORIZED");
  const std::string token = fmt::format("token{}", ++counter_);
  for (const std::string_view scope : request.target.query.all("scope")) {
    const bool push = scope.ends_with("push");
    if (known || (options_.anonymous_pull && !push)) tokens_.insert(fmt::format("{} {}", token, scope));
  }
  return plain(200, fmt::format(R"({{"token":"{}","expires_in":300}})", token));
}

bool FakeRegistry::allowed(const net::ServerRequest& request, const std::string& repository, bool write) const {
  const std::string_view given = request.headers.get("Authorization").value_or("");
  if (options_.auth == Options::Auth::kNone) return true;
  if (options_.auth == Options::Auth::kBasic) {
    return given == basic_authorization({options_.user, options_.password});
  }
  if (!given.starts_with("Bearer ")) return false;
  const std::string token(given.substr(7));
  return tokens_.contains(fmt::format("{} repository:{}:pull,push", token, repository)) ||
         (!write && tokens_.contains(fmt::format("{} repository:{}:pull", token, repository)));
}

net::Response FakeRegistry::unauthorized(const std::string& repository) const {
  net::Response response = refusal(401, "UNAUTHORIZED");
  const std::string challenge =
      options_.auth == Options::Auth::kBasic
          ? R"(Basic realm="test")"
          : fmt::format(R"(Bearer realm="https://{}/token",service="fake",scope="repository:{}:pull")", host(),
                        repository);
  response.headers.add("WWW-Authenticate", challenge);
  return response;
}

net::Response FakeRegistry::answer(const net::ServerRequest& request) {
  const std::vector<std::string>& path = request.target.segments;
  if (request.target.path == "/token") return token(request);
  if (request.target.path == "/v2/") {
    return options_.auth == Options::Auth::kNone ? plain(200, "{}") : unauthorized("");
  }
  // /v2/<repository>/(manifests|blobs|referrers)/<rest>
  const auto kind = std::find_if(path.begin(), path.end(), [](const std::string& part) {
    return part == "manifests" || part == "blobs" || part == "referrers";
  });
  if (path.size() < 3 || path.front() != "v2" || kind == path.end() || kind + 1 == path.end()) return refusal(404, "X");
  std::string name;
  for (auto part = path.begin() + 1; part != kind; ++part) name += (name.empty() ? "" : "/") + *part;
  const bool write = request.method != "GET" && request.method != "HEAD";
  if (!allowed(request, name, write)) return unauthorized(name);
  Repository& repository = repositories_[name];
  if (*kind == "manifests") return answer_manifest(request, repository, *(kind + 1));
  if (*kind == "referrers") return answer_referrers(request, repository, *(kind + 1));
  if (*(kind + 1) != "uploads") return answer_blob(request, repository, *(kind + 1));
  return kind + 2 == path.end() ? start_upload(request, name) : continue_upload(request, name, *(kind + 2));
}

net::Response FakeRegistry::answer_manifest(const net::ServerRequest& request, Repository& repository,
                                            const std::string& name) {
  if (request.method == "PUT") {
    const std::string type(request.headers.get("Content-Type").value_or(""));
    repository.manifests[name] = {type, request.body};
    repository.manifests[digest_of(request.body)] = {type, request.body};
    return plain(201);
  }
  const auto found = repository.manifests.find(name);
  if (found == repository.manifests.end()) return refusal(404, "MANIFEST_UNKNOWN");
  return plain(200, found->second.second,
               {{"Content-Type", found->second.first}, {"Docker-Content-Digest", digest_of(found->second.second)}});
}

net::Response FakeRegistry::answer_referrers(const net::ServerRequest& request, const Repository& repository,
                                             const std::string& digest) const {
  if (!options_.referrers) return refusal(404, "NOT_FOUND");
  json::Array listed;
  const std::size_t first = parse_decimal(request.target.query.get("n").value_or("0")).value_or(0);
  std::size_t number = 0;
  bool more = false;
  for (const auto& [name, typed] : repository.manifests) {
    const auto document = json::parse(typed.second);
    if (!name.starts_with("sha256:") || !document.ok()) continue;
    if (json::find_string(*document, {"subject", "digest"}) != digest || number++ < first) continue;
    more = listed.size() == options_.referrers_a_page;
    if (more) break;
    listed.push_back(json::Object{{"mediaType", typed.first},
                                  {"digest", name},
                                  {"size", typed.second.size()},
                                  {"artifactType", json::find_string(*document, {"artifactType"}).value_or("")}});
  }
  net::Headers headers{{"Content-Type", std::string(media_type::kOciIndex)}};
  if (more) headers.add("Link", fmt::format("<{}?n={}>; rel=\"next\"", request.target.path, first + listed.size()));
  return plain(200,
               json::write(json::Object{
                   {"schemaVersion", 2}, {"mediaType", media_type::kOciIndex}, {"manifests", std::move(listed)}}),
               std::move(headers));
}

net::Response FakeRegistry::answer_blob(const net::ServerRequest& request, Repository& repository,
                                        const std::string& digest) {
  const auto found = repository.blobs.find(digest);
  if (found == repository.blobs.end()) return refusal(404, "BLOB_UNKNOWN");
  const std::string& bytes = found->second;
  const std::string_view range = request.headers.get("Range").value_or("");
  if (!options_.ranges || !range.starts_with("bytes=")) return plain(200, bytes);
  const auto first = parse_decimal(range.substr(6, range.find('-') - 6)).value_or(0);
  if (first >= bytes.size()) return refusal(416, "RANGE");
  return plain(206, bytes.substr(first),
               {{"Content-Range", fmt::format("bytes {}-{}/{}", first, bytes.size() - 1, bytes.size())}});
}

net::Response FakeRegistry::start_upload(const net::ServerRequest& request, const std::string& name) {
  if (const auto digest = request.target.query.get("mount"); digest && options_.mounts) {
    const std::string from(request.target.query.get("from").value_or(""));
    const auto& blobs = repositories_[from].blobs;
    if (const auto found = blobs.find(std::string(*digest)); found != blobs.end() && allowed(request, from, false)) {
      repositories_[name].blobs[found->first] = found->second;
      return plain(201);
    }
  }
  const std::string id = fmt::format("u{}", ++counter_);
  uploads_[id] = "";
  return plain(202, "", {{"Location", fmt::format("/v2/{}/blobs/uploads/{}?state=x", name, id)}, {"Range", "0-0"}});
}

net::Response FakeRegistry::continue_upload(const net::ServerRequest& request, const std::string& name,
                                            const std::string& id) {
  const auto found = uploads_.find(id);
  if (found == uploads_.end()) return refusal(404, "BLOB_UPLOAD_UNKNOWN");
  const std::string location = fmt::format("/v2/{}/blobs/uploads/{}?state=x", name, id);
  std::string& held = found->second;
  const auto progress = [&](int status) {
    return plain(status, "",
                 {{"Location", location}, {"Range", fmt::format("0-{}", held.empty() ? 0 : held.size() - 1)}});
  };
  if (request.method == "GET") return progress(204);
  if (request.method == "PATCH") {
    const std::string range(request.headers.get("Content-Range").value_or(""));
    if (range != fmt::format("{}-{}", held.size(), held.size() + request.body.size() - 1)) return refusal(416, "RANGE");
    held += request.body;
    return progress(202);
  }
  held += request.body;
  const std::string digest = digest_of(held);
  if (request.target.query.get("digest") != digest) return refusal(400, "DIGEST_INVALID");
  repositories_[name].blobs[digest] = held;
  uploads_.erase(found);
  return plain(201);
}

}  // namespace strake::oci::testing
