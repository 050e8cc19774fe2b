#include "net/url.h"

#include <algorithm>
#include <charconv>

#include <boost/url.hpp>

#include "base/text.h"

namespace strake::net {
namespace {

bool is_control_character(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; }

bool has_control_character(std::string_view text) { return std::ranges::any_of(text, is_control_character); }

Result<std::string> decode_escapes(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '+' && plus_is_space) {
      out.push_back(' ');
    } else if (c != '%') {
      out.push_back(c);
    } else {
      const int high = i + 2 < text.size() ? hex_digit_value(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit_value(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return error(Code::kInvalidArgument, "a percent sign must be followed by two hexadecimal digits");
      }
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    }
  }
  return out;
}

Result<std::vector<std::string>> decode_segments(std::string_view path) {
  std::vector<std::string> segments;
  path.remove_prefix(1);  // the caller has seen the leading slash
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    STRAKE_TRY(std::string segment, decode_escapes(path.substr(0, slash), false));
    if (segment.empty() || segment == "." || segment == "..") {
      return error(Code::kInvalidArgument, "the path has an empty, '.' or '..' segment");
    }
    if (has_control_character(segment)) return error(Code::kInvalidArgument, "the path holds a control character");
    if (segments.size() == kMaxPathSegments) {
      return error(Code::kInvalidArgument, "the path has more than {} segments", kMaxPathSegments);
    }
    segments.push_back(std::move(segment));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return segments;
}

std::string bracketed_host(const Url& url) {
  return url.host.find(':') == std::string::npos ? url.host : "[" + url.host + "]";
}

std::string authority_of(const Url& url) {
  return url.port ? fmt::format("{}:{}", bracketed_host(url), *url.port) : bracketed_host(url);
}

Result<Url> url_from_view(const boost::urls::url_view& view) {
  Url url;
  url.scheme = lower_case(std::string(view.scheme()));
  if (url.scheme != "http" && url.scheme != "https") {
    return error(Code::kUnsupported, "the URL scheme is '{}': use https (or http)", url.scheme);
  }
  url.user = view.user();
  url.password = view.password();
  url.host = lower_case(view.host_address());
  if (url.host.empty()) return error(Code::kInvalidArgument, "the URL names no host");
  if (has_control_character(url.host) || url.host.find_first_of("/?#@ ") != std::string::npos) {
    return error(Code::kInvalidArgument, "the host of the URL holds a character no host name has");
  }
  if (const auto digits = view.port(); !digits.empty()) {
    std::uint16_t port = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (parsed.ec != std::errc{} || port == 0)
      return error(Code::kInvalidArgument, "the port of the URL is not in 1..65535");
    url.port = port;
  }
  url.path = std::string(view.encoded_path());
  if (url.path.empty()) url.path = "/";
  // Boost.URL takes "host:84s3/a" for port 84 and path "s3/a".
  if (!url.path.starts_with('/')) return error(Code::kInvalidArgument, "the port of the URL is not a number");
  STRAKE_TRY(const std::string decoded, decode_escapes(url.path, false));
  STRAKE_CHECK_OK(refuse_control_characters(decoded, "the path of the URL"));
  url.query = std::string(view.encoded_query());
  return url;
}

}  // namespace

std::optional<std::string_view> Query::get(std::string_view name) const {
  for (const QueryParameter& parameter : parameters_) {
    if (parameter.name == name) return parameter.value;
  }
  return std::nullopt;
}

std::vector<std::string_view> Query::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const QueryParameter& parameter : parameters_) {
    if (parameter.name == name) values.emplace_back(parameter.value);
  }
  return values;
}

std::uint16_t Url::effective_port() const {
  if (port) return *port;
  return scheme == "https" ? 443 : 80;
}

std::string Url::origin() const { return fmt::format("{}://{}:{}", scheme, bracketed_host(*this), effective_port()); }

std::string Url::redacted() const { return fmt::format("{}://{}{}", scheme, authority_of(*this), path); }

std::string Url::to_string() const {
  std::string text = scheme + "://";
  if (!user.empty() || !password.empty()) {
    text += percent_encode(user);
    if (!password.empty()) text += ":" + percent_encode(password);
    text += "@";
  }
  text += authority_of(*this) + path;
  if (!query.empty()) text += "?" + query;
  return text;
}

void Url::add_query(std::string_view name, std::string_view value) {
  if (!query.empty()) query += "&";
  query += percent_encode(name) + "=" + percent_encode(value);
}

Status refuse_control_characters(std::string_view text, std::string_view what) {
  const auto found = std::ranges::find_if(text, is_control_character);
  if (found == text.end()) return {};
  return error(Code::kInvalidArgument, "{} holds a control character (0x{:02x} at byte {}): it is not used", what,
               static_cast<unsigned>(static_cast<unsigned char>(*found)), found - text.begin());
}

Result<Url> parse_url(std::string_view text) {
  STRAKE_CHECK_OK(refuse_control_characters(text, "the URL"));
  if (text.size() > kMaxUrlBytes) return error(Code::kInvalidArgument, "the URL is longer than {} bytes", kMaxUrlBytes);
  try {
    const auto view = boost::urls::parse_uri({text.data(), text.size()});
    if (view.has_error()) {
      return error(Code::kInvalidArgument, "not an absolute URL such as https://host/path: {}", view.error().message());
    }
    return url_from_view(*view);
  } catch (const std::exception& problem) {
    return error(Code::kInvalidArgument, "not an absolute URL: {}", problem.what());
  }
}

Result<Url> resolve(const Url& base, std::string_view reference) {
  if (reference.size() > kMaxUrlBytes) {
    return error(Code::kInvalidArgument, "the URL reference is longer than {} bytes", kMaxUrlBytes);
  }
  try {
    const std::string base_text = base.to_string();
    const auto base_view = boost::urls::parse_uri(base_text);
    const auto reference_view = boost::urls::parse_uri_reference({reference.data(), reference.size()});
    if (base_view.has_error()) return error(Code::kInvalidArgument, "{} is not a URL", base.redacted());
    if (reference_view.has_error()) {
      return error(Code::kInvalidArgument, "not a URL reference: {}", reference_view.error().message());
    }
    boost::urls::url resolved;
    const auto outcome = boost::urls::resolve(*base_view, *reference_view, resolved);
    if (outcome.has_error()) return error(Code::kInvalidArgument, "not a URL reference: {}", outcome.error().message());
    return url_from_view(resolved);
  } catch (const std::exception& problem) {
    return error(Code::kInvalidArgument, "not a URL reference: {}", problem.what());
  }
}

Result<Target> parse_target(std::string_view text) {
  if (text.size() > kMaxUrlBytes) {
    return error(Code::kInvalidArgument, "the request target is longer than {} bytes", kMaxUrlBytes);
  }
  if (!text.starts_with('/')) {
    STRAKE_TRY_CONTEXT(const Url url, parse_url(text), "request target");
    Target target{url.path, {}, {}};
    STRAKE_TRY(target.segments, decode_segments(target.path));
    STRAKE_TRY(target.query, parse_query(url.query));
    return target;
  }
  // A fragment never travels in a request; clients that send one mean nothing by it.
  text = text.substr(0, text.find('#'));
  const std::size_t question = text.find('?');
  Target target;
  target.path = std::string(text.substr(0, question));
  STRAKE_TRY(target.segments, decode_segments(target.path));
  if (question != std::string_view::npos) {
    STRAKE_TRY(target.query, parse_query(text.substr(question + 1)));
  }
  return target;
}

Result<Query> parse_query(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::size_t ampersand = text.find('&');
    const std::string_view pair = text.substr(0, ampersand);
    if (!pair.empty()) {
      if (query.size() == kMaxQueryParameters) {
        return error(Code::kInvalidArgument, "the query has more than {} parameters", kMaxQueryParameters);
      }
      const std::size_t equals = pair.find('=');
      STRAKE_TRY_CONTEXT(std::string name, decode_escapes(pair.substr(0, equals), true), "query");
      std::string value;
      if (equals != std::string_view::npos) {
        STRAKE_TRY_CONTEXT(value, decode_escapes(pair.substr(equals + 1), true), "query parameter {}", name);
      }
      query.add(std::move(name), std::move(value));
    }
    if (ampersand == std::string_view::npos) break;
    text.remove_prefix(ampersand + 1);
  }
  return query;
}

std::string to_string(const Query& query) {
  std::string text;
  for (const QueryParameter& parameter : query) {
    if (!text.empty()) text += "&";
    text += percent_encode(parameter.name) + "=" + percent_encode(parameter.value);
  }
  return text;
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool unreserved = is_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~';
    if (unreserved) {
      out.push_back(c);
    } else {
      out.push_back('%');
      out.push_back(kHex[byte >> 4U]);
      out.push_back(kHex[byte & 0x0FU]);
    }
  }
  return out;
}

Result<std::string> percent_decode(std::string_view text) { return decode_escapes(text, false); }

std::string encode_path(const std::vector<std::string>& segments) {
  std::string path;
  for (const std::string& segment : segments) path += "/" + percent_encode(segment);
  return path.empty() ? "/" : path;
}

}  // namespace strake::net
