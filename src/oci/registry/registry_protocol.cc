#include "oci/registry/registry_protocol.h"

#include <algorithm>
#include <charconv>

#include <fmt/ranges.h>

#include "base/text.h"
#include "codec/base64.h"
#include "net/retry.h"

namespace strake::oci {

namespace {

constexpr std::size_t kMaxQuotedBytes = 300;
constexpr std::size_t kMaxTokenBytes = 64u << 10;
/// What the token specification assumes when a server does not say.
constexpr std::chrono::seconds kDefaultTokenLifetime{60};
constexpr std::chrono::seconds kLongestTokenLifetime{3600};
constexpr std::string_view kClientId = "strake";

/// A stranger's text for our error line.
std::string quotable(std::string_view text) {
  std::string safe(text.substr(0, kMaxQuotedBytes));
  std::replace_if(
      safe.begin(), safe.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return safe;
}

/// What the registry wrote into the body of a refusal; empty when it is not in the form of the specification.
std::string registry_messages(std::string_view body) {
  const Result<json::Value> document = json::parse(body);
  if (!document.ok()) return "";
  if (const auto details = json::find_string(*document, {"details"})) return *details;  // token servers
  const json::Value* errors = json::find(*document, {"errors"});
  if (errors == nullptr || !errors->is_array()) return "";
  std::vector<std::string> texts;
  for (const json::Value& item : errors->get_array()) {
    const std::string code = json::find_string(item, {"code"}).value_or("");
    const std::string message = json::find_string(item, {"message"}).value_or("");
    texts.push_back(message.empty() ? code : fmt::format("{} ({})", message, code));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string_view without_parameters(std::string_view content_type) {
  content_type = content_type.substr(0, content_type.find(';'));
  while (content_type.ends_with(' ')) content_type.remove_suffix(1);
  return content_type;
}

}  // namespace

std::vector<std::string> Scope::to_strings() const {
  std::vector<std::string> scopes{fmt::format("repository:{}:{}", repository, push ? "pull,push" : "pull")};
  if (!mount_from.empty()) scopes.push_back(fmt::format("repository:{}:pull", mount_from));
  return scopes;
}

std::string api_host(std::string_view registry) {
  return registry == "docker.io" ? "registry-1.docker.io" : std::string(registry);
}

Result<Challenge> choose_challenge(const net::Headers& headers) {
  std::vector<std::string> offered;
  std::optional<Challenge> basic;
  for (const std::string_view header : headers.all("WWW-Authenticate")) {
    STRAKE_TRY(std::vector<Challenge> challenges, parse_challenges(header));
    for (Challenge& challenge : challenges) {
      if (challenge.scheme == "bearer" && challenge.parameters.contains("realm")) return std::move(challenge);
      if (challenge.scheme == "basic" && !basic) basic = challenge;
      offered.push_back(challenge.scheme);
    }
  }
  if (basic) return *std::move(basic);
  return error(Code::kUnsupported, "the registry wants a proof of identity this program cannot give (it offers: {})",
               offered.empty() ? "nothing" : fmt::format("{}", fmt::join(offered, ", ")));
}

Result<net::Request> plan_token_request(const Challenge& challenge, const Scope& scope,
                                        const std::optional<Credentials>& credentials, bool allow_http) {
  const std::string realm = challenge.parameters.at("realm");
  STRAKE_TRY_CONTEXT(net::Url url, net::parse_url(realm), "the token realm of the registry");
  if (url.scheme != "https" && !allow_http) {
    return error(Code::kDenied, "the registry names a token realm without TLS ({}): refused", url.redacted());
  }
  if (!url.user.empty() || !url.password.empty()) {
    return error(Code::kDenied, "the registry names a token realm with credentials in it: refused");
  }
  const auto service = challenge.parameters.find("service");
  net::Request request;
  if (credentials && !credentials->identity_token.empty()) {
    net::Query form{{"grant_type", "refresh_token"},
                    {"client_id", std::string(kClientId)},
                    {"scope", fmt::format("{}", fmt::join(scope.to_strings(), " "))},
                    {"refresh_token", credentials->identity_token}};
    if (service != challenge.parameters.end()) form.add("service", service->second);
    request.method = "POST";
    request.url = url.to_string();
    request.headers.add("Content-Type", "application/x-www-form-urlencoded");
    request.body = net::to_string(form);
    return request;
  }
  if (service != challenge.parameters.end()) url.add_query("service", service->second);
  for (const std::string& text : scope.to_strings()) url.add_query("scope", text);
  if (credentials) {
    url.add_query("account", credentials->user);
    request.headers.add("Authorization", basic_authorization(*credentials));
  }
  request.url = url.to_string();
  return request;
}

Result<Token> parse_token(std::string_view body) {
  const Result<json::Value> answer = json::parse(body);
  if (!answer.ok() || !answer->is_object()) {
    return error(Code::kCorrupt, "the answer of the token server is not a JSON object");  // quoted it would be a secret
  }
  Token token;
  token.value = json::find_string(*answer, {"token"}).value_or("");
  if (token.value.empty()) token.value = json::find_string(*answer, {"access_token"}).value_or("");
  if (token.value.empty() || token.value.size() > kMaxTokenBytes) {
    return error(Code::kCorrupt, "the token server answered without a token");
  }
  STRAKE_CHECK_OK(net::validate({"Authorization", token.value}).context("the token of the token server"));
  const auto seconds = std::chrono::seconds(json::find_int(*answer, {"expires_in"}).value_or(0));
  token.lifetime = std::clamp(seconds, kDefaultTokenLifetime, kLongestTokenLifetime);
  return token;
}

std::string basic_authorization(const Credentials& credentials) {
  return "Basic " + codec::encode_base64(credentials.user + ":" + credentials.password);
}

Error registry_error(const net::Response& response, std::chrono::sys_seconds now) {
  const std::string said = quotable(registry_messages(response.body));
  Error problem = error(net::code_for_status(response.status), "the registry answered {} {}{}{}", response.status,
                        net::reason_phrase(response.status), said.empty() ? "" : ": ", said);
  const auto later = net::retry_time(response.status, response.headers, now);
  return later ? std::move(problem).with_retry_after(*later) : std::move(problem);
}

std::optional<std::uint64_t> parse_decimal(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<ContentRange> parse_content_range(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  const std::size_t dash = text.find('-');
  const std::size_t slash = text.find('/');
  if (!text.starts_with(kUnit) || dash == std::string_view::npos || slash == std::string_view::npos || slash < dash) {
    return std::nullopt;
  }
  const auto first = parse_decimal(text.substr(kUnit.size(), dash - kUnit.size()));
  const auto last = parse_decimal(text.substr(dash + 1, slash - dash - 1));
  const std::string_view total = text.substr(slash + 1);
  if (!first || !last || *last < *first) return std::nullopt;
  if (total == "*") return ContentRange{*first, *last};
  const auto size = parse_decimal(total);
  if (!size || *size <= *last) return std::nullopt;
  return ContentRange{*first, *last, size};
}

std::optional<std::uint64_t> parse_upload_range(std::string_view text) {
  if (text.starts_with("bytes=")) text.remove_prefix(6);
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos || text.substr(0, dash) != "0") return std::nullopt;
  const auto last = parse_decimal(text.substr(dash + 1));
  if (!last || *last == UINT64_MAX) return std::nullopt;
  return *last == 0 ? 0 : *last + 1;
}

std::optional<std::string> next_link(std::string_view header) {
  while (!header.empty()) {
    const std::size_t open = header.find('<');
    const std::size_t close = header.find('>', open == std::string_view::npos ? 0 : open);
    if (open == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
    const std::string_view target = header.substr(open + 1, close - open - 1);
    header.remove_prefix(close + 1);
    const std::string_view parameters = header.substr(0, header.find('<'));
    header.remove_prefix(parameters.size());
    for (const std::string_view parameter : split(parameters, ';')) {
      std::string_view text = parameter.substr(0, parameter.find(','));
      text = trimmed(text);
      if (text == "rel=next" || text == "rel=\"next\"") return std::string(target);
    }
  }
  return std::nullopt;
}

std::string accepted_manifest_types() {
  return fmt::format("{}, {}, {}, {}", media_type::kOciIndex, media_type::kOciManifest, media_type::kDockerList,
                     media_type::kDockerManifest);
}

Result<Descriptor> describe_manifest(std::string_view bytes, const net::Headers& headers,
                                     std::string_view tag_or_digest) {
  const auto hash_as = [&](codec::Digest::Algorithm algorithm) {
    codec::Hasher hasher(algorithm);
    hasher.update(bytes);
    return std::move(hasher).finish();
  };
  // Before anything in it is looked at.
  const Result<codec::Digest> asked = codec::Digest::parse(tag_or_digest);
  const codec::Digest found = hash_as(asked.ok() ? asked->algorithm() : codec::Digest::Algorithm::kSha256);
  if (asked.ok() && found != *asked) {
    return not_genuine("the registry answered with a manifest of digest {} when {} was asked for", found.to_string(),
                       asked->to_string());
  }
  if (const auto claimed = headers.get("Docker-Content-Digest"); claimed && !asked.ok()) {
    const Result<codec::Digest> digest = codec::Digest::parse(*claimed);
    if (digest.ok() && hash_as(digest->algorithm()) != *digest) {
      return not_genuine("the manifest has digest {}, but the registry announced {}", found.to_string(),
                         digest->to_string());
    }
  }
  const std::string_view announced = without_parameters(headers.get("Content-Type").value_or(""));
  const bool known = is_index_type(announced) || is_manifest_type(announced);
  // Registries that serve files say text/plain or application/json: then the document speaks for itself.
  STRAKE_TRY(const auto document, parse_document(bytes, known ? announced : std::string_view()));
  return Descriptor{std::visit([](const auto& parsed) { return parsed.media_type; }, document), found, bytes.size()};
}

}  // namespace strake::oci
