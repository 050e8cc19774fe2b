#include "stub/convert.h"

#include "ignition/config.h"
#include "stub/stub.h"

namespace strake::stub {

namespace {

using ignition::SpecVersion;

/// An object of the stub's, rebuilt member by member, so that the order stays.
template <typename Change>
json::Object rebuilt(const json::Object& object, Change change) {
  json::Object result;
  for (const auto& member : object) {
    auto [name, value] = change(std::string_view(member.key()), member.value());
    if (!name.empty()) result.emplace(name, std::move(value));
  }
  return result;
}

using Renamed = std::pair<std::string, json::Value>;

json::Object with_merge(const json::Object& config) {
  return rebuilt(config, [](std::string_view name, const json::Value& value) -> Renamed {
    // Spec 2 may say in so many words that nothing replaces the config; spec 3 says it by silence.
    if (value.is_null()) return {};
    return {std::string(name == "append" ? "merge" : name), value};
  });
}

bool is_empty_section(const json::Value& value) {
  if (value.is_null()) return true;
  if (value.is_array()) return value.get_array().empty();
  if (!value.is_object()) return false;
  for (const auto& member : value.get_object()) {
    if (!is_empty_section(member.value())) return false;
  }
  return true;
}

/// A pointer and nothing else: the version and one name change.
json::Value renamed_pointer(const json::Value& stub, SpecVersion to) {
  return rebuilt(stub.get_object(), [&](std::string_view section, const json::Value& value) -> Renamed {
    if (section == "networkd") return {};
    if (section != "ignition" || !value.is_object()) return {std::string(section), value};
    return {std::string(section),
            rebuilt(value.get_object(), [&](std::string_view name, const json::Value& member) -> Renamed {
              if (name == "version") return {std::string(name), json::Value(ignition::to_string(to))};
              if (name == "config" && member.is_object()) return {std::string(name), with_merge(member.get_object())};
              return {std::string(name), member};
            })};
  });
}

bool is_only_pointer(const json::Value& stub) {
  for (const auto& section : stub.get_object()) {
    if (section.key() != "ignition" && !is_empty_section(section.value())) return false;
  }
  return true;
}

Status check_same(const Stub& before, const Stub& after) {
  bool same = before.pointers == after.pointers && before.authorities.size() == after.authorities.size();
  const auto old_trust = before.trusted(), new_trust = after.trusted();
  same = same && old_trust.size() == new_trust.size();
  for (std::size_t i = 0; same && i < old_trust.size(); ++i) {
    same = old_trust[i].info().sha256 == new_trust[i].info().sha256;
  }
  if (same) return {};
  return error(Code::kInternal, "the converted stub does not point and trust as the old one does; nothing was changed");
}

}  // namespace

Result<Converted> convert_stub(std::string_view bytes, SpecVersion to) {
  STRAKE_TRY(const Stub before, read_stub(bytes));
  STRAKE_TRY(const std::string text, ignition::decode_config_bytes(bytes));
  Converted converted{text, false, before.version};
  if (before.version.major == 3 && before.version >= to) return converted;
  STRAKE_TRY(const json::Value old, json::parse(text));
  json::Value next;
  if (is_only_pointer(old)) {
    next = renamed_pointer(old, to);
  } else {
    STRAKE_TRY(next, ignition::convert(old, to));
  }
  converted.text = json::write(next);
  converted.changed = true;
  STRAKE_TRY_CONTEXT(const Stub after, read_stub(converted.text), "the converted stub");
  STRAKE_CHECK_OK(check_same(before, after));
  return converted;
}

}  // namespace strake::stub
