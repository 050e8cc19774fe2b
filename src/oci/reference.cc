#include "oci/reference.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace strake::oci {

namespace {

constexpr std::string_view kDefaultRegistry = "docker.io";
constexpr std::string_view kOldDefaultRegistry = "index.docker.io";
constexpr std::string_view kDefaultNamespace = "library/";
constexpr std::size_t kImageIdLength = 64;

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
  return failure == std::errc() && end == text.data() + text.size() && port > 0 && port <= 65535;
}

bool is_dns_label(std::string_view text) {
  return !text.empty() && text.size() <= 63 && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_alphanumeric(c) || c == '-'; });
}

bool is_dns_name(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  for (;;) {
    const std::size_t dot = text.find('.');
    if (!is_dns_label(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

/// Only what a registry may be written as: no zone, which would mean another host on another machine.
bool is_ipv6_text(std::string_view text) {
  return text.size() >= 2 && text.size() <= 45 && std::count(text.begin(), text.end(), ':') >= 2 &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_hex_digit(c) || c == ':' || c == '.'; });
}

/// Letters and digits in runs, joined by one dot, one or two underscores, or any number of dashes.
bool is_path_component(std::string_view text) {
  if (text.empty() || !is_lower_or_digit(text.front()) || !is_lower_or_digit(text.back())) return false;
  for (std::size_t i = 0; i < text.size();) {
    if (is_lower_or_digit(text[i])) {
      ++i;
      continue;
    }
    const char joint = text[i];
    const std::size_t end = text.find_first_not_of(joint, i);
    const std::size_t length = end - i;
    const bool allowed = joint == '-' || (joint == '.' && length == 1) || (joint == '_' && length <= 2);
    if (!allowed || !is_lower_or_digit(text[end])) return false;
    i = end;
  }
  return true;
}

/// Whether the first component names a registry and not the first folder of a repository on the default one.
bool names_registry(std::string_view first) {
  return first.find_first_of(".:[") != std::string_view::npos || first == "localhost" ||
         std::any_of(first.begin(), first.end(), is_upper);
}

Error wrong_part(std::string_view text, std::string_view part, std::string_view expected) {
  return error(Code::kInvalidArgument, "image reference '{}': {} is not {}", text, part, expected);
}

}  // namespace

bool names_its_registry(std::string_view text) {
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && names_registry(text.substr(0, slash));
}

bool is_registry_host(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos || !is_ipv6_text(text.substr(1, close - 1))) return false;
    const std::string_view rest = text.substr(close + 1);
    return rest.empty() || (rest.starts_with(':') && is_port(rest.substr(1)));
  }
  const std::size_t colon = text.find(':');
  return is_dns_name(text.substr(0, colon)) && (colon == std::string_view::npos || is_port(text.substr(colon + 1)));
}

bool is_repository_path(std::string_view text) {
  if (text.empty() || text.size() > kMaxRepositoryBytes) return false;
  for (;;) {
    const std::size_t slash = text.find('/');
    if (!is_path_component(text.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    text.remove_prefix(slash + 1);
  }
}

bool is_tag(std::string_view text) {
  return !text.empty() && text.size() <= kMaxTagBytes && (is_alphanumeric(text.front()) || text.front() == '_') &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '_' || c == '.' || c == '-'; });
}

std::string Reference::name() const { return fmt::format("{}/{}", registry, repository); }

std::string Reference::tag_or_digest() const {
  if (digest) return digest->to_string();
  return tag.empty() ? "latest" : tag;
}

std::string Reference::to_string() const {
  std::string text = name();
  if (!tag.empty()) text += ":" + tag;
  if (digest) text += "@" + digest->to_string();
  return text;
}

Result<Reference> parse_reference(std::string_view text) {
  if (text.empty()) return error(Code::kInvalidArgument, "the image reference is empty");
  if (text.size() > kMaxReferenceBytes) {
    return error(Code::kInvalidArgument, "the image reference has {} characters, more than {}", text.size(),
                 kMaxReferenceBytes);
  }
  Reference reference;
  std::string_view rest = text;
  if (const std::size_t at = rest.find('@'); at != std::string_view::npos) {
    STRAKE_TRY_CONTEXT(codec::Digest digest, codec::Digest::parse(rest.substr(at + 1)), "image reference '{}'", text);
    reference.digest = std::move(digest);
    rest = rest.substr(0, at);
  }
  // A colon after the last slash ends the name; one before it belongs to a port.
  const std::size_t last_slash = rest.rfind('/');
  const std::size_t name_start = last_slash == std::string_view::npos ? 0 : last_slash + 1;
  if (const std::size_t colon = rest.find(':', name_start); colon != std::string_view::npos) {
    const std::string_view tag = rest.substr(colon + 1);
    if (!is_tag(tag)) {
      return wrong_part(text, fmt::format("the tag '{}'", tag),
                        "up to 128 letters, digits, '_', '.' and '-' that begin with a letter, a digit or '_'");
    }
    reference.tag = tag;
    rest = rest.substr(0, colon);
  }
  const std::size_t slash = rest.find('/');
  const std::string_view first = rest.substr(0, slash);
  if (slash != std::string_view::npos && names_registry(first)) {
    if (!is_registry_host(first)) {
      return wrong_part(text, fmt::format("'{}'", first), "a registry host with an optional port");
    }
    reference.registry = first;
    rest = rest.substr(slash + 1);
  } else {
    reference.registry = kDefaultRegistry;
  }
  if (reference.registry == kOldDefaultRegistry) reference.registry = kDefaultRegistry;
  if (reference.registry == kDefaultRegistry && rest.find('/') == std::string_view::npos) {
    // Tools that look up local images by id would take it for one.
    if (rest.size() == kImageIdLength && std::all_of(rest.begin(), rest.end(), is_hex_digit)) {
      return wrong_part(text, "a name of 64 hexadecimal digits", "a repository: write sha256:... after an @");
    }
    reference.repository = kDefaultNamespace;
  }
  reference.repository += rest;
  if (!is_repository_path(reference.repository)) {
    return wrong_part(text, fmt::format("the repository '{}'", rest),
                      "a path of lower-case letters, digits and single separators ('.', '_', '__', '-')");
  }
  if (reference.name().size() > kMaxRepositoryBytes) {
    return wrong_part(text, "its name", "at most 255 characters long");
  }
  return reference;
}

}  // namespace strake::oci
