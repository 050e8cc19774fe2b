#include "api/strake_config.h"

namespace strake::api {

std::string_view to_string(Mode mode) {
  switch (mode) {
    case Mode::kObserve: return "observe";
    case Mode::kAssist: return "assist";
    case Mode::kOwn: return "own";
  }
  return "observe";
}

Result<Mode> parse_mode(std::string_view text) {
  for (const Mode mode : {Mode::kObserve, Mode::kAssist, Mode::kOwn}) {
    if (text == to_string(mode)) return mode;
  }
  return error(Code::kInvalidArgument, "mode '{}' is not observe, assist or own", text);
}

Result<std::optional<Mode>> StrakeConfigView::mode(std::string_view capability) const {
  STRAKE_TRY(const auto all, modes());
  const auto found = all.find(std::string(capability));
  return found == all.end() ? std::optional<Mode>{} : std::optional<Mode>{found->second};
}

Result<std::map<std::string, Mode>> StrakeConfigView::modes() const {
  std::map<std::string, Mode> modes;
  for (const auto& [capability, text] : text_map_at(object_, kStrakeConfigFields["spec.modes"])) {
    STRAKE_TRY_CONTEXT(const Mode mode, parse_mode(text), "StrakeConfig cluster, spec.modes.{}", capability);
    modes.emplace(capability, mode);
  }
  return modes;
}

void StrakeConfigEdit::set_mode(std::string_view capability, std::optional<Mode> mode) {
  json::ensure(object_, {"spec", "modes", capability}) = mode ? json::Value(to_string(*mode)) : json::Value();
}

void StrakeConfigEdit::set_release_keyring(std::string_view name, const std::optional<std::string>& armoured) {
  json::ensure(object_, {"spec", "releaseKeyrings", name}) = armoured ? json::Value(*armoured) : json::Value();
}

}  // namespace strake::api
