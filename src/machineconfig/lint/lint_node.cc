#include <algorithm>
#include <array>

#include "api/machine_config.h"
#include "base/text.h"
#include "machineconfig/lint/lint_config.h"

namespace strake::machineconfig {

namespace {

struct SectionFact {
  std::string_view section, member;
  bool refused;  ///< running nodes refuse a change; else they ignore it
};

/// What comes after the first boot to nothing, or to a degraded pool (impact/reconcile.h).
constexpr std::array kFirstBootSections = {
    SectionFact{"storage", "disks", true},
    SectionFact{"storage", "filesystems", true},
    SectionFact{"storage", "raid", true},
    SectionFact{"storage", "directories", true},
    SectionFact{"storage", "links", true},
    SectionFact{"passwd", "groups", true},
    SectionFact{"storage", "luks", false},
    SectionFact{"ignition", "config", false},
    SectionFact{"ignition", "proxy", false},
    SectionFact{"ignition", "security", false},
    SectionFact{"ignition", "timeouts", false},
    SectionFact{"kernelArguments", "shouldExist", true},
    SectionFact{"kernelArguments", "shouldNotExist", true},
};

bool is_overridden(const SectionFact& fact, const ReconcileOverrides& overrides) {
  if (fact.section != "storage") return false;
  return (fact.member == "disks" && overrides.disks) || (fact.member == "raid" && overrides.raid) ||
         (fact.member == "filesystems" && overrides.file_systems);
}

bool is_empty(const json::Value& value) {
  if (const json::Array* array = value.if_array()) return array->empty();
  if (const json::Object* object = value.if_object()) {
    return std::ranges::all_of(*object, [](const auto& member) { return is_empty(member.value()); });
  }
  return value.is_null();
}

/// What crypt(3) of today's systems knows, and the marks of a locked account.
bool is_password_hash(std::string_view text) {
  if (text.starts_with('!') || text.starts_with('*')) return true;
  constexpr std::array<std::string_view, 12> kSchemes = {"1", "2a", "2b", "2x", "2y",   "5",
                                                         "6", "7",  "y",  "gy", "sha1", "md5"};
  if (!text.starts_with('$')) return false;
  const std::size_t end = text.find('$', 1);
  if (end == std::string_view::npos || end + 1 >= text.size()) return false;
  const auto is_hash_character = [](char c) { return c > ' ' && c < 0x7F && c != ':'; };
  return std::ranges::find(kSchemes, text.substr(1, end - 1)) != kSchemes.end() &&
         std::ranges::all_of(text, is_hash_character);
}

void lint_password(const LintedConfig& config, const json::Value& user, const std::string& member) {
  const auto hash = json::find_string(user, {"passwordHash"});
  if (!hash || is_password_hash(*hash)) return;
  config.add(LintRuleId::kPlainPassword, ignition_field(member + ".passwordHash"),
             fmt::format("{}.passwordHash: {}", named_member(member),
                         hash->empty() ? "an empty one lets everybody in" : "the text is no hash of a password"),
             hash->empty() ? "leave it out, or write '*' to lock the account" : "");
}

void lint_core(const LintedConfig& config, const json::Value& user, const std::string& member) {
  const json::Value* keys = json::find(user, {"sshAuthorizedKeys"});
  if (!json::find(user, {"passwordHash"}) && (keys == nullptr || is_empty(*keys))) {
    config.add(LintRuleId::kCoreUser, ignition_field(member),
               fmt::format("{}: the user core has neither keys nor a password", named_member(member)));
  }
  for (const auto& entry : user.get_object()) {
    const std::string_view name = entry.key();
    if (name == "name" || name == "passwordHash" || name == "sshAuthorizedKeys" || is_empty(entry.value())) continue;
    const std::string field = fmt::format("{}.{}", member, name);
    config.add(LintRuleId::kCoreUser, ignition_field(field),
               fmt::format("{}: running nodes cannot change it", named_member(field)));
  }
}

void lint_argument(const LintedConfig& config, std::string_view argument, json::Steps field) {
  const std::string named = json::path_text(field);
  if (std::ranges::any_of(argument, [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == 0x7F; })) {
    const bool is_line_break = argument.find_first_of("\r\n") != std::string_view::npos;
    config.add(LintRuleId::kKernelArgument, std::move(field),
               fmt::format("{}: it holds a {}", named, is_line_break ? "line break" : "control character"));
  } else if (std::ranges::count(argument, '"') % 2 != 0) {
    config.add(LintRuleId::kKernelArgument, std::move(field), fmt::format("{}: a double quote is not closed", named));
  }
}

void lint_argument_list(const LintedConfig& config, const json::Value* list, const json::Steps& field) {
  if (list == nullptr || !list->is_array()) return;
  for (std::size_t i = 0; i < list->get_array().size(); ++i) {
    const json::String* text = list->get_array()[i].if_string();
    if (text == nullptr) continue;
    json::Steps item = field;
    item.push_back(fmt::format("[{}]", i));
    lint_argument(config, json::as_view(*text), std::move(item));
  }
}

}  // namespace

void lint_first_boot(const LintedConfig& config, const ReconcileOverrides& overrides) {
  if (api::MachineConfigView(config.object.json()).fips()) {
    config.add(LintRuleId::kFips, field_of(config.object, {SubjectKind::kFips, ""}),
               "spec.fips: running nodes cannot be switched to FIPS mode");
  }
  if (config.ignition == nullptr) return;
  for (const SectionFact& fact : kFirstBootSections) {
    const json::Value* found = json::find(*config.ignition, {fact.section, fact.member});
    if (found == nullptr || is_empty(*found) || is_overridden(fact, overrides)) continue;
    const std::string member = fmt::format("{}.{}", fact.section, fact.member);
    config.add(LintRuleId::kFirstBootOnly, ignition_field(member),
               fmt::format("{}: {}", named_member(member),
                           fact.refused ? "running nodes refuse every change of it" : "running nodes ignore it"));
  }
}

void lint_users(const LintedConfig& config) {
  config.each("passwd", "users", [&](const json::Value& user, const std::string& member) {
    lint_password(config, user, member);
    const std::string name = json::find_string(user, {"name"}).value_or("");
    if (name == "core") return lint_core(config, user, member);
    config.add(
        LintRuleId::kOtherUser, ignition_field(member + ".name"),
        fmt::format("{}.name: '{}' is not core, the one user that running nodes manage", named_member(member), name));
  });
}

void lint_kernel_arguments(const LintedConfig& config) {
  const api::Field field = api::kMachineConfigFields["spec.kernelArguments"];
  lint_argument_list(config, api::find_field(config.object.json(), field), json::parse_steps(field.path()));
  if (config.ignition == nullptr) return;
  for (const std::string_view list : {"shouldExist", "shouldNotExist"}) {
    lint_argument_list(config, json::find(*config.ignition, {"kernelArguments", list}),
                       ignition_field(fmt::format("kernelArguments.{}", list)));
  }
}

}  // namespace strake::machineconfig
