#include <algorithm>
#include <unordered_map>

#include "ignition/checks.h"
#include "ignition/unit_text.h"

namespace strake::ignition {

namespace {

constexpr std::string_view kUnitExtensions[] = {".service", ".socket", ".device", ".mount",    ".automount", ".swap",
                                                ".target",  ".path",   ".timer",  ".snapshot", ".slice",     ".scope"};

/// "getty@.service" for "getty@tty1.service"; empty when the name is not that of an instance.
std::string template_of(std::string_view name) {
  constexpr std::string_view kService = ".service";
  const std::size_t at = name.find('@', 1);
  if (at == std::string_view::npos || !name.ends_with(kService) || name.size() <= at + 1 + kService.size() ||
      name.find('\n') != std::string_view::npos) {
    return {};
  }
  return fmt::format("{}@.service", name.substr(0, at));
}

}  // namespace

std::string_view file_extension(std::string_view name) {
  const std::size_t dot = name.find_last_of("./");
  return dot == std::string_view::npos || name[dot] == '/' ? std::string_view() : name.substr(dot);
}

bool is_unit_name(std::string_view name) {
  return std::ranges::find(kUnitExtensions, file_extension(name)) != std::end(kUnitExtensions);
}

bool is_dropin_name(std::string_view name) { return file_extension(name) == ".conf"; }

void check_systemd(const CheckedObject& systemd) {
  std::unordered_map<std::string_view, std::size_t> units;
  const std::size_t count = systemd.list("units").size();
  for (std::size_t i = 0; i < count; ++i) units[systemd.item("units", i, systemd.path()).text_or_empty("name")] = i;
  // A template is read once, however many instances it has.
  std::unordered_map<std::size_t, bool> lacks_install;
  const auto template_lacks_install = [&](std::size_t index) {
    const auto [known, is_new] = lacks_install.try_emplace(index, false);
    if (!is_new) return known->second;
    const std::string_view contents = systemd.item("units", index, systemd.path()).text_or_empty("contents");
    const auto text = parse_unit_text(contents);  // when it fails, the template's own check says so
    known->second = !contents.empty() && text.ok() && !text->has_install_option;
    return known->second;
  };
  const Path list_path = systemd.path().member("units");
  for (std::size_t i = 0; i < count; ++i) {
    const Path path = list_path.item(i);
    const CheckedObject unit = systemd.item("units", i, path);
    if (unit.boolean("enabled") != true) continue;
    const std::string_view name = unit.text_or_empty("name");
    const std::string template_name = template_of(name);
    const auto found = template_name.empty() ? units.end() : units.find(template_name);
    if (found != units.end() && template_lacks_install(found->second)) {
      unit.warn("contents",
                fmt::format("template unit \"{}\" for \"{}\" doesn't have Install section", template_name, name));
    }
  }
}

void check_unit(const CheckedObject& unit) {
  const std::string_view name = unit.text_or_empty("name");
  if (!is_unit_name(name)) unit.error("name", "invalid systemd unit extension", name);
  const auto contents = unit.text("contents");
  if (!contents) return;
  const auto text = parse_unit_text(*contents);
  if (!text.ok()) {
    unit.error("contents", text.error().message());
  } else if (unit.boolean("enabled") == true && !contents->empty() && !text->has_install_option) {
    unit.warn("contents",
              fmt::format("unit \"{}\" is enabled, but has no install section so enable does nothing", name));
  }
}

void check_dropin(const CheckedObject& dropin) {
  if (const auto contents = dropin.text("contents")) {
    const auto text = parse_unit_text(*contents);
    if (!text.ok()) dropin.error("contents", text.error().message());
  }
  const std::string_view name = dropin.text_or_empty("name");
  if (!is_dropin_name(name)) dropin.error("name", "invalid systemd drop-in extension", name);
}

}  // namespace strake::ignition
