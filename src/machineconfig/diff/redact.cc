#include "machineconfig/diff/redact.h"

#include <fmt/format.h>

namespace strake::machineconfig {

namespace {

bool hide_members_of(json::Object& object) {
  bool hidden = false;
  for (auto& [name, member] : object) {
    const std::string_view key = name;
    if (key == "passwordHash" || key == "httpHeaders") {
      member = "(hidden)";  // not even a size: that of a hash tells its kind
      hidden = true;
    } else if (key == "source" && member.is_string() && json::as_view(member.get_string()).starts_with("data:")) {
      member = fmt::format("(hidden, {} bytes)", member.get_string().size());
      hidden = true;
    } else if (hide_secret_members(member)) {
      hidden = true;
    }
  }
  return hidden;
}

}  // namespace

bool hide_secret_members(json::Value& section) {
  if (json::Object* object = section.if_object()) return hide_members_of(*object);
  bool hidden = false;
  if (json::Array* array = section.if_array()) {
    for (json::Value& element : *array) hidden = hide_secret_members(element) || hidden;
  }
  return hidden;
}

}  // namespace strake::machineconfig
