#include "oci/registry/registry_client.h"

#include <algorithm>

#include "oci/registry/registry_auth.h"

namespace strake::oci {

namespace {

constexpr std::size_t kMaxErrorBytes = 16u << 10;
constexpr std::size_t kMaxAnswerHeaderBytes = 64u << 10;
constexpr unsigned kMaxRegistryRedirects = 5;
constexpr std::chrono::seconds kTransferStart{60};
/// A registry that does not even greet is given up soon: another place may have the image.
constexpr unsigned kGreetingAttempts = 2;

Result<net::HttpClient> make_client(const RegistryTrust& trust, const RegistryOptions& options, unsigned redirects) {
  net::ClientOptions client;
  client.ca_pem = trust.ca_pem;
  client.also_trust_system_roots = options.trust.also_system_roots;
  client.client_certificate_pem = trust.client_certificate_pem;
  client.client_key_pem = trust.client_key_pem;
  client.proxy = options.proxy;
  client.max_redirects = redirects;
  client.max_header_bytes = kMaxAnswerHeaderBytes;
  client.max_body_bytes = kMaxManifestBytes;
  return net::HttpClient::create(std::move(client));
}

}  // namespace

/// One blob on its way, over any number of attempts.
struct RegistryClient::Transfer {
  const Descriptor& descriptor;
  const OnData& on_data;
  std::uint64_t position;  ///< how much of the blob is there
  const RegistryOptions& options;
  runtime::Runtime& runtime;
  const std::string item = descriptor.digest.to_string();  // NOLINT: short, and told with every piece

  // Of the present attempt:
  net::Response refusal = {};
  bool refused = false;
  std::uint64_t skip = 0;  ///< a registry without ranges begins again
  std::optional<Error> consumer_error = {};
  PaceWatch pace = PaceWatch(options.patience.limit);

  Status take_head(const net::ResponseHead& head);
  Status take_data(std::string_view data);
};

Status RegistryClient::Transfer::take_head(const net::ResponseHead& head) {
  if (head.status != 200 && head.status != 206) {
    refused = true;
    refusal.status = head.status;
    refusal.headers = head.headers;
    return {};
  }
  skip = position;
  pace.begin(runtime.now());
  std::uint64_t expected = descriptor.size;
  if (head.status == 206) {
    const auto range = parse_content_range(head.headers.get("Content-Range").value_or(""));
    if (!range || range->first != position || range->total.value_or(descriptor.size) != descriptor.size) {
      return error(Code::kCorrupt, "the registry answered with another range than bytes {} to {}", position,
                   descriptor.size);
    }
    skip = 0;
    expected -= position;
  }
  const auto length = parse_decimal(head.headers.get("Content-Length").value_or(""));
  if (length && *length != expected) {
    return not_genuine("the registry announces {} bytes, the descriptor says {}", *length, expected);
  }
  return {};
}

Status RegistryClient::Transfer::take_data(std::string_view data) {
  if (refused) {
    refusal.body.append(data.substr(0, kMaxErrorBytes - std::min(kMaxErrorBytes, refusal.body.size())));
    return {};
  }
  const std::size_t received = data.size();
  const std::size_t again = static_cast<std::size_t>(std::min<std::uint64_t>(skip, data.size()));
  skip -= again;
  data.remove_prefix(again);
  if (data.empty()) return pace.came(received, runtime.now());
  if (data.size() > descriptor.size - position) {
    return not_genuine("the registry sends more than the {} bytes the descriptor says", descriptor.size);
  }
  position += data.size();
  options.hooks.bytes(item, position, descriptor.size);
  Status taken = on_data(data);
  if (!taken.ok()) {
    consumer_error = taken.error();
    return taken;
  }
  return position == descriptor.size ? Status() : pace.came(received, runtime.now());
}

RegistryOptions registry_options_from_process() {
  RegistryOptions options;
  options.credentials = credential_options_from_process();
  options.trust.certificate_folders = default_certificate_folders();
  return options;
}

RegistryClient::RegistryClient(std::string registry, bool insecure, const RegistryOptions& options,
                               net::HttpClient direct, net::HttpClient following, runtime::Runtime& runtime)
    : registry_(std::move(registry)),
      options_(options),
      direct_(std::move(direct)),
      following_(std::move(following)),
      runtime_(runtime),
      auth_(std::make_unique<RegistryAuth>(registry_, insecure, options.credentials, direct_, runtime)) {}

RegistryClient::~RegistryClient() = default;

Result<std::shared_ptr<RegistryClient>> RegistryClient::create(std::string registry, bool insecure,
                                                               const RegistryOptions& options,
                                                               runtime::Runtime& runtime) {
  STRAKE_TRY(const RegistryTrust trust, load_registry_trust(registry, options.trust));
  STRAKE_TRY_CONTEXT(net::HttpClient direct, make_client(trust, options, 0), "registry {}", registry);
  STRAKE_TRY_CONTEXT(net::HttpClient following, make_client(trust, options, kMaxRegistryRedirects), "registry {}",
                     registry);
  return std::shared_ptr<RegistryClient>(
      new RegistryClient(std::move(registry), insecure, options, std::move(direct), std::move(following), runtime));
}

Error RegistryClient::answer_error(const net::Response& response) {
  Error problem = registry_error(response, std::chrono::floor<std::chrono::seconds>(runtime_.wall_now()));
  if (problem.code() == Code::kNotFound) return std::move(problem).with_verdict(Verdict::kAbsent);
  if (response.status == 401 || response.status == 403) {
    return error(problem.code(), "{}; {}", problem.message(), auth_->advice());
  }
  return problem;
}

net::CallOptions RegistryClient::transfer_limits(std::uint64_t bytes, const runtime::Call& call) {
  const auto seconds = bytes / std::max<std::uint64_t>(options_.slowest_bytes_per_second, 1);
  const auto total = kTransferStart + std::chrono::seconds(std::min<std::uint64_t>(seconds, 7u * 24 * 3600));
  return call_options(runtime_, call, total, options_.idle_timeout);
}

Result<std::string> RegistryClient::url(std::string_view repository, std::string_view kind, std::string_view name,
                                        const runtime::Call& call) {
  std::string base;
  const auto greet = [&]() -> Status {
    STRAKE_TRY(base, auth_->base_url(call));
    return {};
  };
  Patience brief = options_.patience;
  brief.max_attempts = std::min(kGreetingAttempts, brief.max_attempts);
  STRAKE_CHECK_OK(try_patiently(brief, registry_, options_.hooks, runtime_, call, greet, [] { return false; }));
  return fmt::format("{}/v2/{}/{}/{}", base, repository, kind, name);
}

/// Only the registry's own origin sees what we have from it: an upload may be sent elsewhere.
Status RegistryClient::authorize(net::Request& request, const Scope& scope, const runtime::Call& call) {
  STRAKE_TRY(const std::string base, auth_->base_url(call));
  STRAKE_TRY(const net::Url own, net::parse_url(base));
  STRAKE_TRY(const net::Url target, net::parse_url(request.url));
  request.headers.remove("Authorization");
  if (own.origin() != target.origin()) return {};
  STRAKE_TRY(std::string authorization, auth_->authorization(scope, call));
  if (!authorization.empty()) request.headers.set("Authorization", std::move(authorization));
  return {};
}

Result<net::Response> RegistryClient::send(net::Request request, const Scope& scope, const runtime::Call& call,
                                           std::uint64_t body_bytes) {
  for (bool again = false;; again = true) {
    STRAKE_CHECK_OK(authorize(request, scope, call));
    STRAKE_TRY(net::Response answer, following_.send(request, transfer_limits(body_bytes, call)));
    if (answer.status != 401 || again || !request.headers.has("Authorization")) return answer;
    auth_->forget_token(scope);
  }
}

/// For what may be repeated without harm.
Result<net::Response> RegistryClient::send_retrying(const net::Request& request, const Scope& scope,
                                                    const runtime::Call& call) {
  net::Response answer;
  const auto attempt = [&]() -> Status {
    STRAKE_TRY(answer, send(request, scope, call, request.body.size()));
    if (answer.status == 429 || answer.status >= 500) return answer_error(answer);
    return {};
  };
  STRAKE_CHECK_OK(retry(attempt, [] { return false; }, call));
  return answer;
}

Result<FetchedManifest> RegistryClient::fetch_manifest(const std::string& repository, const std::string& tag_or_digest,
                                                       const runtime::Call& call) {
  const auto fetch = [&]() -> Result<FetchedManifest> {
    net::Request request;
    STRAKE_TRY(request.url, url(repository, "manifests", tag_or_digest, call));
    request.headers.add("Accept", accepted_manifest_types());
    request.headers.add("Accept-Encoding", "identity");  // the digest is of the bytes as they were pushed
    STRAKE_TRY(net::Response answer, send_retrying(request, Scope{repository}, call));
    if (answer.status != 200) return answer_error(answer);
    STRAKE_TRY(Descriptor descriptor, describe_manifest(answer.body, answer.headers, tag_or_digest));
    return FetchedManifest{std::move(descriptor), std::move(answer.body)};
  };
  return fetch().context("fetching manifest {}/{} {}", registry_, repository, tag_or_digest);
}

Status RegistryClient::fetch_once(const std::string& blob_url, const Scope& scope, Transfer& transfer,
                                  const runtime::Call& call) {
  net::Request request;
  request.url = blob_url;
  request.headers.add("Accept-Encoding", "identity");
  if (transfer.position > 0) request.headers.add("Range", fmt::format("bytes={}-", transfer.position));
  for (bool again = false;; again = true) {
    transfer.refused = false;
    transfer.refusal = {};
    STRAKE_CHECK_OK(authorize(request, scope, call));
    STRAKE_TRY(const net::ResponseHead head,
               following_.stream(
                   request, [&](const net::ResponseHead& answer) { return transfer.take_head(answer); },
                   [&](std::string_view data) { return transfer.take_data(data); },
                   transfer_limits(transfer.descriptor.size - transfer.position, call)));
    if (head.status == 401 && !again && request.headers.has("Authorization")) {
      auth_->forget_token(scope);
      continue;
    }
    if (head.status != 200 && head.status != 206) {
      transfer.refusal.status = head.status;
      if (head.status >= 400) return answer_error(transfer.refusal);
      return error(Code::kCorrupt, "the registry answered {}", head.status);
    }
    if (transfer.position < transfer.descriptor.size) {
      return error(Code::kUnavailable, "the body ended after {} of {} bytes", transfer.position,
                   transfer.descriptor.size);
    }
    return {};
  }
}

Status RegistryClient::fetch_blob(const std::string& repository, const Descriptor& descriptor, std::uint64_t offset,
                                  const OnData& on_data, const runtime::Call& call) {
  if (offset > descriptor.size) {
    return error(Code::kInvalidArgument, "blob {} has {} bytes, not {}", descriptor.digest.to_string(), descriptor.size,
                 offset);
  }
  if (offset == descriptor.size) return {};
  Transfer transfer{descriptor, on_data, offset, options_, runtime_};
  std::uint64_t before = offset;
  STRAKE_TRY(const std::string blob_url, url(repository, "blobs", descriptor.digest.to_string(), call));
  const auto attempt = [&]() -> Status {
    before = transfer.position;
    Status outcome = fetch_once(blob_url, Scope{repository}, transfer, call);
    if (!transfer.consumer_error) return outcome;
    // Whoever takes the bytes failed, and has had some of them: fetching again cannot help.
    return error(transfer.consumer_error->code() == Code::kCancelled ? Code::kCancelled : Code::kIo, "{}",
                 transfer.consumer_error->to_string());
  };
  Status fetched = retry(attempt, [&] { return transfer.position > before && !transfer.pace.trickles(); }, call);
  if (!fetched.ok() && fetched.error().code() == Code::kNotFound) {
    // Who asks for a blob has its manifest: a registry takes no manifest before its blobs, but loses blobs.
    fetched = Error(fetched.error()).context("the image is not whole there, mirror or push it again");
  }
  return std::move(fetched).context("fetching blob {}/{} {}", registry_, repository, descriptor.digest.to_string());
}

}  // namespace strake::oci
