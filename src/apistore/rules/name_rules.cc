#include "apistore/rules/name_rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace strake::apistore {

namespace {

constexpr std::size_t kMaxLabelBytes = 63;
constexpr std::size_t kMaxSubdomainBytes = 253;

constexpr const char* kLabelRule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr const char* kSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr const char* kQualifiedNameRule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr const char* kLabelValueRule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

constexpr const char* kDataKeyRule =
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

std::string too_many_bytes(std::size_t limit) { return fmt::format("must be no more than {} bytes", limit); }

bool is_dns1123_label(std::string_view text) {
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && alphanumeric(text.front()) && alphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return alphanumeric(c) || c == '-'; });
}

/// Alphanumeric characters, '-', '_' and '.'.
bool is_of_name_characters(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

/// The part of a label key behind its prefix, or a label value that is not empty.
bool is_label_name(std::string_view text) {
  return is_of_name_characters(text) && is_alphanumeric(text.front()) && is_alphanumeric(text.back());
}

}  // namespace

std::optional<std::string> dns1123_label_problem(std::string_view text) {
  if (text.size() > kMaxLabelBytes) return too_many_bytes(kMaxLabelBytes);
  if (!is_dns1123_label(text)) return kLabelRule;
  return std::nullopt;
}

std::optional<std::string> dns1123_subdomain_problem(std::string_view text) {
  if (text.size() > kMaxSubdomainBytes) return too_many_bytes(kMaxSubdomainBytes);
  std::string_view rest = text;
  while (true) {
    const std::size_t dot = rest.find('.');
    if (!is_dns1123_label(rest.substr(0, dot))) return kSubdomainRule;
    if (dot == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(dot + 1);
  }
}

std::vector<std::string> qualified_name_problems(std::string_view text) {
  std::vector<std::string> problems;
  std::string_view name = text;
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    const std::string_view prefix = text.substr(0, slash);
    name = text.substr(slash + 1);
    if (name.find('/') != std::string_view::npos) {
      return {
          fmt::format("a qualified name {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                      kQualifiedNameRule)};
    }
    if (prefix.empty()) {
      problems.emplace_back("prefix part must be non-empty");
    } else if (const auto problem = dns1123_subdomain_problem(prefix)) {
      problems.push_back("prefix part " + *problem);
    }
  }
  if (name.empty()) {
    problems.emplace_back("name part must be non-empty");
  } else if (name.size() > kMaxLabelBytes) {
    problems.push_back("name part " + too_many_bytes(kMaxLabelBytes));
  }
  if (!is_label_name(name)) problems.push_back(fmt::format("name part {}", kQualifiedNameRule));
  return problems;
}

std::vector<std::string> label_value_problems(std::string_view text) {
  std::vector<std::string> problems;
  if (text.size() > kMaxLabelBytes) problems.push_back(too_many_bytes(kMaxLabelBytes));
  if (!text.empty() && !is_label_name(text)) problems.emplace_back(kLabelValueRule);
  return problems;
}

std::vector<std::string> data_key_problems(std::string_view text) {
  std::vector<std::string> problems;
  if (text.size() > kMaxSubdomainBytes) {
    problems.push_back(fmt::format("must be no more than {} characters", kMaxSubdomainBytes));
  }
  if (!is_of_name_characters(text)) problems.emplace_back(kDataKeyRule);
  if (text == "." || text == "..") {
    problems.push_back(fmt::format("must not be '{}'", text));
  } else if (text.starts_with("..")) {
    problems.emplace_back("must not start with '..'");
  }
  return problems;
}

}  // namespace strake::apistore
