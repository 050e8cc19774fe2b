#include <algorithm>
#include <array>

#include "base/text.h"
#include "machineconfig/lint/lint_config.h"

namespace strake::machineconfig {

namespace {

/// Permissions people write, by the digits they write them with. Read as decimal none of them makes sense.
constexpr std::array kOctalDigits = {400, 440, 444, 500, 550, 555, 600, 640, 644, 660, 664,  666,  700,
                                     711, 740, 744, 750, 751, 755, 770, 771, 775, 777, 1777, 2755, 4755};

std::string scheme_of(std::string_view source) {
  const std::string_view scheme = source.substr(0, source.find(':'));
  const bool is_scheme = !scheme.empty() && scheme.size() < source.size() &&
                         std::ranges::all_of(scheme, [](char c) { return is_alphanumeric(c) || c == '+' || c == '-'; });
  return is_scheme ? lower_case(scheme) : "";
}

void lint_source(const LintedConfig& config, const json::Value& resource, const std::string& member) {
  const std::string scheme = scheme_of(json::find_string(resource, {"source"}).value_or(""));
  if (scheme.empty() || scheme == "data") return;
  config.add(LintRuleId::kRemoteSource, ignition_field(member + ".source"),
             fmt::format("{}.source: a running node does not fetch from a {}: URL", named_member(member), scheme));
}

/// The decimal number for the digits of an octal one.
int octal(int digits) {
  int value = 0;
  for (int place = 1; digits > 0; digits /= 10, place *= 8) value += digits % 10 * place;
  return value;
}

}  // namespace

void lint_sources(const LintedConfig& config) {
  config.each("storage", "files", [&](const json::Value& file, const std::string& member) {
    if (const json::Value* contents = json::find(file, {"contents"})) {
      lint_source(config, *contents, member + ".contents");
    }
    const json::Value* append = json::find(file, {"append"});
    if (append == nullptr) return;
    const bool appends = append->is_array() ? !append->get_array().empty() : append->is_bool() && append->get_bool();
    if (!appends) return;
    config.add(LintRuleId::kRefusedByNodes, ignition_field(member + ".append"),
               fmt::format("{}.append: nodes cannot append to a file", named_member(member)));
    if (!append->is_array()) return;
    for (std::size_t i = 0; i < append->get_array().size(); ++i) {
      lint_source(config, append->get_array()[i], fmt::format("{}.append[{}]", member, i));
    }
  });
}

void lint_modes(const LintedConfig& config) {
  for (const std::string_view list : {"files", "directories"}) {
    config.each("storage", list, [&](const json::Value& item, const std::string& member) {
      const auto mode = json::find_int(item, {"mode"});
      if (!mode || std::ranges::find(kOctalDigits, *mode) == kOctalDigits.end()) return;
      const int meant = octal(static_cast<int>(*mode));
      config.add(LintRuleId::kDecimalMode, ignition_field(member + ".mode"),
                 fmt::format("{}.mode: {} is decimal, and means {:#o}", named_member(member), *mode, *mode),
                 fmt::format("for {:#o} write {}, in YAML also {:#o}", meant, meant, meant));
    });
  }
}

}  // namespace strake::machineconfig
