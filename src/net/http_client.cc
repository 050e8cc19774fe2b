#include "net/http_client.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include <curl/curl.h>

#include "base/text.h"
#include "net/client_trust.h"
#include "net/endpoint.h"
#include "net/http_transfer.h"
#include "net/url.h"
#include "net/x509.h"

namespace strake::net {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::size_t kMaxIdleChannels = 16;

struct ListFree {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

bool is_loopback(const std::string& host) {
  in_addr address{};
  const bool numeric = inet_pton(AF_INET, host.c_str(), &address) == 1;  // a name may begin with "127." too
  return host == "localhost" || host == "::1" || (numeric && (ntohl(address.s_addr) >> 24U) == 127);
}

curl_blob blob_of(const std::string& text) {
  // libcurl takes a pointer to non-const and copies, as asked by the flag.
  return {const_cast<char*>(text.data()), text.size(), CURL_BLOB_COPY};
}

std::size_t curl_header_line(char* data, std::size_t size, std::size_t count, void* transfer) {
  auto& target = *static_cast<HttpTransfer*>(transfer);
  target.last_activity = std::chrono::steady_clock::now();
  return target.guarded(size * count, [&] { return target.take_header_line({data, size * count}); });
}

std::size_t curl_body_data(char* data, std::size_t size, std::size_t count, void* transfer) {
  auto& target = *static_cast<HttpTransfer*>(transfer);
  target.last_activity = std::chrono::steady_clock::now();
  return target.guarded(size * count, [&] { return target.take_data({data, size * count}); });
}

/// What a transfer may connect to.
struct SocketGuard {
  HttpTransfer& transfer;
  std::string url;               ///< for messages
  std::uint16_t proxy_port = 0;  ///< of the user's own proxy, which may well be on this machine
};

/// The address of a name is known here for the first time, and nothing was sent yet.
curl_socket_t curl_open_guarded(void* data, curlsocktype, curl_sockaddr* address) {
  auto& guard = *static_cast<SocketGuard*>(data);
  const std::string_view leads_to = forbidden_address(address->addr);
  sockaddr_in first_fields{};  // the port is at the same place in both families
  std::memcpy(&first_fields, &address->addr, sizeof first_fields);
  const bool is_proxy = guard.proxy_port != 0 && ntohs(first_fields.sin_port) == guard.proxy_port;
  if (!leads_to.empty() && !is_proxy) {
    guard.transfer.failure = foreign_url_refused(guard.url, leads_to);
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/// For the server and for a proxy that speaks TLS.
CURLcode curl_tls_context(CURL*, void* tls_context, void* trust) {
  static_cast<const ClientTrust*>(trust)->install(tls_context);
  return CURLE_OK;
}

int curl_progress(void* transfer, curl_off_t, curl_off_t, curl_off_t, curl_off_t uploaded) {
  // Uploading counts as activity too; libcurl has no callback for bytes sent out of memory.
  auto& [target, last_uploaded] = *static_cast<std::pair<HttpTransfer*, curl_off_t>*>(transfer);
  if (uploaded != last_uploaded) {
    last_uploaded = uploaded;
    target->last_activity = std::chrono::steady_clock::now();
  }
  return 0;
}

Error unreachable(Error error) { return std::move(error).with_verdict(Verdict::kUnreachable); }

Error curl_failure(CURLcode code, const char* detail, long proxy_answer) {
  const std::string text = *detail != '\0' ? detail : curl_easy_strerror(code);
  if (proxy_answer == 407) {
    return error(Code::kUnauthenticated, "the proxy wants credentials: put user and password into the proxy URL");
  }
  switch (static_cast<int>(code)) {
    case CURLE_OPERATION_TIMEDOUT: return unreachable(error(Code::kTimeout, "{}", text));
    case CURLE_PEER_FAILED_VERIFICATION:
      return error(
          Code::kDenied,
          "the server's certificate is not trusted: {}; name the CA that issued it with --certificate-authority (of a "
          "kubeconfig: certificate-authority), or use a host name the certificate is valid for",
          text);
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_FUNCTION_ARGUMENT: return error(Code::kInvalidArgument, "{}", text);
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING: return error(Code::kCorrupt, "{}", text);
    case CURLE_OUT_OF_MEMORY: return error(Code::kExhausted, "{}", text);
    default: return unreachable(error(Code::kUnavailable, "{}", text));
  }
}

std::string environment_value(const char* lower, const char* upper) {
  for (const char* name : {lower, upper}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  }
  return {};
}

}  // namespace

ProxySettings proxy_from_environment() {
  return {environment_value("https_proxy", "HTTPS_PROXY"), environment_value("http_proxy", "HTTP_PROXY"),
          environment_value("no_proxy", "NO_PROXY"), true};
}

struct HttpClient::Impl {
  struct EasyFree {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  };
  struct MultiFree {
    void operator()(CURLM* handle) const { curl_multi_cleanup(handle); }
  };

  /// One transfer at a time. The multi handle owns the connections, so a channel that is used again finds them open.
  struct Channel {
    std::unique_ptr<CURLM, MultiFree> multi{curl_multi_init()};
    std::unique_ptr<CURL, EasyFree> easy{curl_easy_init()};  // after `multi`: it must go first
  };

  ClientOptions options;
  ProxySettings proxy;
  ClientTrust trust;

  std::mutex mutex;
  std::vector<std::unique_ptr<Channel>> idle;  ///< the latest used last: its connections are the freshest

  Result<std::unique_ptr<Channel>> take_channel() {
    {
      const std::scoped_lock lock(mutex);
      if (!idle.empty()) {
        auto channel = std::move(idle.back());
        idle.pop_back();
        return channel;
      }
    }
    auto channel = std::make_unique<Channel>();
    if (!channel->multi || !channel->easy) return error(Code::kExhausted, "libcurl has no memory for another transfer");
    return channel;
  }

  void return_channel(std::unique_ptr<Channel> channel) {
    const std::scoped_lock lock(mutex);
    if (idle.size() < kMaxIdleChannels) idle.push_back(std::move(channel));
  }

  Result<ResponseHead> call(const Request& request, bool decompress, const OnHead& on_head, const OnData& on_data,
                            const CallOptions& call);
  Status run(Channel& channel, const Request& request, const Url& url, bool own_origin, bool decompress,
             HttpTransfer& transfer, std::string& redirect_url, const CallOptions& call, SteadyTime deadline);
  Status apply_options(CURL* easy, const Request& request, const Url& url, bool own_origin, bool decompress,
                       std::unique_ptr<curl_slist, ListFree>& header_list) const;
  void apply_trust(CURL* easy, bool own_origin) const;
  void apply_proxy(CURL* easy, const Url& url) const;
  /// "" where the server is asked directly.
  std::string proxy_for(const Url& url) const;
};

std::string HttpClient::Impl::proxy_for(const Url& url) const {
  if (proxy.bypass_loopback && is_loopback(url.host)) return {};
  return url.scheme == "https" ? proxy.https_proxy : proxy.http_proxy;
}

/// 1080 is what libcurl takes where none is given.
std::uint16_t port_of_proxy(const std::string& proxy) {
  constexpr std::uint16_t kDefaultProxyPort = 1080;
  if (proxy.empty()) return 0;
  const Result<Url> parsed = parse_url(proxy.find("://") == std::string::npos ? "http://" + proxy : proxy);
  return parsed.ok() && parsed->port ? *parsed->port : kDefaultProxyPort;
}

void HttpClient::Impl::apply_trust(CURL* easy, bool own_origin) const {
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
  // What is compiled into libcurl would be trusted besides what was asked for. Without the function below nothing is.
  for (const CURLoption option : {CURLOPT_CAINFO, CURLOPT_CAPATH, CURLOPT_PROXY_CAINFO, CURLOPT_PROXY_CAPATH}) {
    curl_easy_setopt(easy, option, nullptr);
  }
  curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);  // ours is shared already
  curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, curl_tls_context);
  curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, &trust);
  if (own_origin && !options.client_certificate_pem.empty()) {
    curl_blob certificate = blob_of(options.client_certificate_pem);
    curl_blob key = blob_of(options.client_key_pem);
    curl_easy_setopt(easy, CURLOPT_SSLCERT_BLOB, &certificate);
    curl_easy_setopt(easy, CURLOPT_SSLCERTTYPE, "PEM");
    curl_easy_setopt(easy, CURLOPT_SSLKEY_BLOB, &key);
    curl_easy_setopt(easy, CURLOPT_SSLKEYTYPE, "PEM");
  }
}

void HttpClient::Impl::apply_proxy(CURL* easy, const Url& url) const {
  // Set even when empty: otherwise libcurl reads the environment by itself.
  curl_easy_setopt(easy, CURLOPT_PROXY, proxy_for(url).c_str());
  curl_easy_setopt(easy, CURLOPT_NOPROXY, proxy.no_proxy.c_str());
  curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(easy, CURLOPT_HEADEROPT, CURLHEADER_SEPARATE);  // a proxy must not see the request's own header
}

Status HttpClient::Impl::apply_options(CURL* easy, const Request& request, const Url& url, bool own_origin,
                                       bool decompress, std::unique_ptr<curl_slist, ListFree>& header_list) const {
  apply_trust(easy, own_origin);
  apply_proxy(easy, url);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  // As our parser understood it, so that libcurl goes to no other host than the one that was checked.
  curl_easy_setopt(easy, CURLOPT_URL, url.to_string().c_str());
  // The library would drop "/./" and "//", which a signed or content-addressed URL may need.
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  // One transfer a connection: HTTP/2 would bring its framing and nothing else.
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, options.user_agent.c_str());
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count()));
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  // Cancelling during a slow name look-up must not wait for the resolver.
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  if (decompress && !request.headers.has("Accept-Encoding")) curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");

  const bool sends_body =
      !request.body.empty() || request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  if (request.method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else if (sends_body) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.c_str());
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  } else {
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }

  const auto append = [&](const std::string& line) {
    curl_slist* longer = curl_slist_append(header_list.get(), line.c_str());
    if (longer == nullptr) return false;
    [[maybe_unused]] const curl_slist* const kept_by_longer = header_list.release();
    header_list.reset(longer);
    return true;
  };
  bool appended = true;
  for (const Header& header : request.headers) {
    const bool secret = equal_ignoring_case(header.name, "Authorization") || equal_ignoring_case(header.name, "Cookie");
    if (secret && !own_origin) continue;
    // A name with a semicolon is how libcurl spells a field with an empty value.
    appended = appended && append(header.value.empty() ? header.name + ";" : header.name + ": " + header.value);
  }
  // Without this the library claims a form for every body.
  if (sends_body && !request.headers.has("Content-Type")) appended = appended && append("Content-Type:");
  if (!appended) return error(Code::kExhausted, "libcurl has no memory for the request header");
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, header_list.get());

  const bool has_credentials = !options.bearer_token.empty() || options.basic_auth.has_value();
  if (has_credentials && own_origin && !request.headers.has("Authorization")) {
    if (url.scheme != "https" && !is_loopback(url.host)) {
      return error(Code::kInvalidArgument, "credentials are not sent over plain http: use an https URL");
    }
    if (!options.bearer_token.empty()) {
      curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
      curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, options.bearer_token.c_str());
    } else {
      curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
      curl_easy_setopt(easy, CURLOPT_USERNAME, options.basic_auth->user.c_str());
      curl_easy_setopt(easy, CURLOPT_PASSWORD, options.basic_auth->password.c_str());
    }
  }
  return {};
}

Status HttpClient::Impl::run(Channel& channel, const Request& request, const Url& url, bool own_origin, bool decompress,
                             HttpTransfer& transfer, std::string& redirect_url, const CallOptions& call,
                             SteadyTime deadline) {
  CURL* easy = channel.easy.get();
  CURLM* multi = channel.multi.get();
  curl_easy_reset(easy);  // keeps the connections
  std::unique_ptr<curl_slist, ListFree> header_list;
  STRAKE_CHECK_OK(apply_options(easy, request, url, own_origin, decompress, header_list));
  std::array<char, CURL_ERROR_SIZE> detail{};
  std::pair<HttpTransfer*, curl_off_t> upload{&transfer, 0};
  SocketGuard guard{transfer, url.redacted(), port_of_proxy(proxy_for(url))};
  if (options.foreign_urls && is_allowed_location(url.to_string(), *options.foreign_urls)) {
    // Another URL of the same host, which is not allowed, must not find this connection open.
    curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
  } else if (options.foreign_urls) {
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, curl_open_guarded);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, &guard);
  }
  std::unique_ptr<curl_slist, ListFree> addresses, detours;
  for (const auto& [place, address] : options.known_addresses) {
    // An IPv6 address alone stands without brackets and is no endpoint.
    auto& list = parse_endpoint(address).ok() ? detours : addresses;
    list.reset(curl_slist_append(list.release(), fmt::format("{}:{}", place, address).c_str()));
  }
  if (addresses) curl_easy_setopt(easy, CURLOPT_RESOLVE, addresses.get());
  if (detours) curl_easy_setopt(easy, CURLOPT_CONNECT_TO, detours.get());
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, detail.data());
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, curl_header_line);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, curl_body_data);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, curl_progress);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &upload);
  transfer.last_activity = std::chrono::steady_clock::now();

  const std::stop_callback wake(call.stop, [multi] { curl_multi_wakeup(multi); });
  if (curl_multi_add_handle(multi, easy) != CURLM_OK) return error(Code::kInternal, "libcurl refused the transfer");

  Status outcome;
  for (;;) {
    int running = 0;
    const CURLMcode performed = curl_multi_perform(multi, &running);
    if (transfer.failure) {
      outcome = *transfer.failure;
      break;
    }
    if (performed != CURLM_OK) {
      outcome = error(Code::kInternal, "{}", curl_multi_strerror(performed));
      break;
    }
    // A transfer that is a watch has a complete head long before its first data: tell the caller now.
    if (transfer.head_complete) transfer.guarded(1, [&] { return transfer.deliver_head(); });
    if (transfer.failure) {
      outcome = *transfer.failure;
      break;
    }
    int left = 0;
    if (const CURLMsg* message = curl_multi_info_read(multi, &left);
        message != nullptr && message->msg == CURLMSG_DONE) {
      long proxy_answer = 0;
      curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &proxy_answer);
      if (message->data.result != CURLE_OK) outcome = curl_failure(message->data.result, detail.data(), proxy_answer);
      break;
    }
    if (call.stop.stop_requested()) {
      outcome = error(Code::kCancelled, "the call was cancelled");
      break;
    }
    const auto now = std::chrono::steady_clock::now();
    SteadyTime until = deadline;
    if (call.idle_timeout.count() > 0) until = std::min(until, transfer.last_activity + call.idle_timeout);
    if (now >= until) {
      outcome =
          unreachable(now >= deadline ? error(Code::kTimeout, "no complete answer within {} ms", call.timeout.count())
                                      : error(Code::kTimeout, "nothing received for {} ms", call.idle_timeout.count()));
      break;
    }
    // Rounded up, so that the loop does not spin through the last millisecond.
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(
        std::min<SteadyTime::duration>(until - now, std::chrono::hours(1)));
    curl_multi_poll(multi, nullptr, 0, static_cast<int>(wait.count()), nullptr);
  }
  if (outcome && transfer.redirecting) {
    char* target = nullptr;
    curl_easy_getinfo(easy, CURLINFO_REDIRECT_URL, &target);
    if (target != nullptr) redirect_url = target;
  }
  curl_multi_remove_handle(multi, easy);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, nullptr);  // points into this frame, as these do
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, nullptr);
  curl_easy_setopt(easy, CURLOPT_RESOLVE, nullptr);
  curl_easy_setopt(easy, CURLOPT_CONNECT_TO, nullptr);
  return outcome;
}

Result<ResponseHead> HttpClient::Impl::call(const Request& original, bool decompress, const OnHead& on_head,
                                            const OnData& on_data, const CallOptions& call) {
  if (!is_http_token(original.method)) {
    return error(Code::kInvalidArgument, "the HTTP method holds a character it must not");
  }
  for (const Header& header : original.headers) STRAKE_CHECK_OK(validate(header));
  STRAKE_TRY(Url url, parse_url(original.url));
  if (!url.user.empty() || !url.password.empty()) {
    return error(Code::kInvalidArgument, "the URL of {} holds credentials: give them as client options",
                 url.redacted());
  }
  if (call.stop.stop_requested()) return error(Code::kCancelled, "the call was cancelled");
  const std::string first_origin = url.origin();
  const auto start = std::chrono::steady_clock::now();
  const SteadyTime deadline = call.timeout.count() > 0 ? start + call.timeout : SteadyTime::max();

  STRAKE_TRY(std::unique_ptr<Channel> channel, take_channel());
  Request request = original;
  for (unsigned hop = 0;; ++hop) {
    if (options.foreign_urls) STRAKE_CHECK_OK(check_foreign_url(url.to_string(), *options.foreign_urls));
    HttpTransfer transfer;
    transfer.on_head = &on_head;
    transfer.on_data = &on_data;
    transfer.max_header_bytes = options.max_header_bytes;
    transfer.follow_redirects = options.max_redirects > 0;
    std::string redirect_url;
    Status outcome =
        run(*channel, request, url, url.origin() == first_origin, decompress, transfer, redirect_url, call, deadline);
    if (!outcome) {
      return_channel(std::move(channel));
      return std::move(outcome).error().context(fmt::format("{} {}", request.method, url.redacted()));
    }
    if (!transfer.redirecting) {
      return_channel(std::move(channel));
      return std::move(transfer.head);
    }
    const std::string from = url.redacted();
    if (hop == options.max_redirects) {
      return error(Code::kExhausted, "{} {}: more than {} redirects", original.method, from, options.max_redirects);
    }
    auto next = parse_url(redirect_url);
    if (!next) return std::move(next).error().context(fmt::format("following the redirect of {}", from));
    if (url.scheme == "https" && next->scheme != "https") {
      return error(Code::kDenied, "{} redirects from https to http ({}): refused", from, next->redacted());
    }
    url = *std::move(next);
    url.user.clear();  // a server cannot choose who we are
    url.password.clear();
    // RFC 9110 section 15.4: 303 always asks for a GET; 301 and 302 turn a POST into one, as every client does.
    const bool to_get = (transfer.head.status == 303 && request.method != "HEAD") ||
                        ((transfer.head.status == 301 || transfer.head.status == 302) && request.method == "POST");
    if (to_get) {
      request.method = "GET";
      request.body.clear();
      for (const char* field : {"Content-Type", "Content-Encoding", "Content-Length"}) request.headers.remove(field);
    }
  }
}

HttpClient::HttpClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpClient> HttpClient::create(ClientOptions options) {
  static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (initialized != CURLE_OK) {
    return error(Code::kInternal, "libcurl does not start: {}", curl_easy_strerror(initialized));
  }

  // Only with OpenSSL is there a context to put authorities into; other libraries are refused here, not at every
  // server.
  if (const curl_version_info_data* built = curl_version_info(CURLVERSION_NOW);
      built->ssl_version == nullptr || std::string_view(built->ssl_version).find("OpenSSL") == std::string_view::npos) {
    return error(Code::kUnsupported, "libcurl was built without OpenSSL: install libcurl4, not libcurl3-gnutls");
  }

  auto impl = std::make_unique<Impl>();
  STRAKE_TRY(impl->trust, options.ca_sha256.empty()
                              ? resolve_client_trust(options.ca_pem, options.ca_file, options.also_trust_system_roots)
                              : pinned_client_trust(options.ca_sha256));
  if (!options.client_certificate_pem.empty() || !options.client_key_pem.empty()) {
    STRAKE_TRY_CONTEXT(const Certificate certificate, Certificate::from_pem(options.client_certificate_pem),
                       "client certificate");
    STRAKE_TRY_CONTEXT(const PrivateKey key, PrivateKey::from_pem(options.client_key_pem), "client key");
    STRAKE_CHECK_OK(check_key_matches(certificate, key));
  }
  STRAKE_CHECK_OK(validate({"Authorization", options.bearer_token}).context("bearer token"));
  STRAKE_CHECK_OK(validate({"User-Agent", options.user_agent}));
  impl->proxy = options.proxy ? *options.proxy : proxy_from_environment();
  impl->options = std::move(options);
  return HttpClient(std::move(impl));
}

Result<Response> HttpClient::send(const Request& request, const CallOptions& call) const {
  Response response;
  const std::size_t limit = impl_->options.max_body_bytes;
  const OnData collect = [&](std::string_view data) -> Status {
    if (data.size() > limit - response.body.size()) {
      return error(Code::kExhausted, "the response body is longer than {} bytes", limit);
    }
    response.body.append(data);
    return {};
  };
  // A body of many megabytes is else copied again and again as it grows. The number is only a hint: `collect` judges.
  const OnHead make_room = [&](const ResponseHead& head) -> Status {
    const std::string_view announced = head.headers.get("Content-Length").value_or("");
    std::size_t size = 0;
    std::from_chars(announced.data(), announced.data() + announced.size(), size);
    if (request.method != "HEAD") response.body.reserve(std::min(size, limit));
    return {};
  };
  STRAKE_TRY(ResponseHead head, impl_->call(request, true, make_room, collect, call));
  response.status = head.status;
  response.headers = std::move(head.headers);
  if (!request.headers.has("Accept-Encoding") && response.headers.has("Content-Encoding")) {
    // They describe the compressed body, which is no longer there.
    response.headers.remove("Content-Encoding");
    response.headers.remove("Content-Length");
  }
  return response;
}

Result<ResponseHead> HttpClient::stream(const Request& request, const OnHead& on_head, const OnData& on_data,
                                        const CallOptions& call) const {
  return impl_->call(request, false, on_head, on_data, call);
}

}  // namespace strake::net
