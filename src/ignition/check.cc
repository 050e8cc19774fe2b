#include <algorithm>
#include <span>
#include <unordered_set>

#include "ignition/checks.h"
#include "ignition/config.h"
#include "ignition/schema.h"

namespace strake::ignition {

namespace {

enum class Numbers { kAsWritten, kByValue };  ///< whether 420.0 is an integer

/// Copies the members of the spec version, with their types checked. Names match as in Go, without regard to case.
class Reader {
 public:
  Reader(SpecVersion version, Numbers numbers) : version_(version), numbers_(numbers) {}

  Report types;   ///< wrong types: then nothing else was judged
  Report unused;  ///< members the spec does not know

  json::Object object(const json::Value& value, const StructSchema& schema, const Path& path, bool named_exactly) {
    json::Object taken;
    if (value.is_null()) {
      if (named_exactly) unused.warn(path, "null is read as an empty object");
      return taken;
    }
    if (!value.is_object()) {
      wrong_type(path, "an object", value);
      return taken;
    }
    taken.reserve(value.get_object().size() + 1);  // a merge gives files one more member
    for (const auto& entry : value.get_object()) {
      const std::string_view name = entry.key();
      const json::Value& item = entry.value();
      const Member* member = schema.find_any_case(name);
      if (member != nullptr && member->since_minor > version_.minor) member = nullptr;
      const bool exact = member != nullptr && member->name == name;
      if (!exact && named_exactly) unused.warn_key(path.member(name), fmt::format("unused key {}", name));
      if (member == nullptr) continue;
      if (taken.contains(member->name)) {
        types.error(path.member(name), fmt::format("names the member {} a second time", member->name));
        continue;
      }
      take(taken, *member, item, path.member(member->name), named_exactly && exact);
    }
    return taken;
  }

 private:
  void wrong_type(const Path& path, std::string_view wanted, const json::Value& found) {
    types.error(path, fmt::format("expected {}, found {}", wanted, json::type_name(found)));
  }

  void take(json::Object& taken, const Member& member, const json::Value& item, const Path& path, bool named_exactly) {
    if (item.is_null()) {
      // Absent, but somebody who writes null where an object belongs is told.
      if (member.type == MemberType::kObject) static_cast<void>(object(item, *member.element, path, named_exactly));
      return;
    }
    switch (member.type) {
      case MemberType::kString:
        if (!item.is_string()) return wrong_type(path, "a string", item);
        taken.emplace(member.name, item);
        return;
      case MemberType::kInteger: {
        const auto number =
            item.is_double() && numbers_ == Numbers::kAsWritten ? std::nullopt : json::find_int(item, {});
        if (!number) return wrong_type(path, "an integer", item);
        taken.emplace(member.name, *number);
        return;
      }
      case MemberType::kBool:
        if (!item.is_bool()) return wrong_type(path, "a boolean", item);
        taken.emplace(member.name, item);
        return;
      case MemberType::kObject: taken.emplace(member.name, object(item, *member.element, path, named_exactly)); return;
      case MemberType::kStringList:
      case MemberType::kObjectList: taken.emplace(member.name, list(item, member, path, named_exactly)); return;
    }
  }

  json::Array list(const json::Value& value, const Member& member, const Path& path, bool named_exactly) {
    json::Array items;
    if (!value.is_array()) {
      wrong_type(path, "a list", value);
      return items;
    }
    items.reserve(value.get_array().size());
    for (std::size_t i = 0; i < value.get_array().size(); ++i) {
      const json::Value& item = value.get_array()[i];
      const Path item_path = path.item(i);
      if (member.type == MemberType::kObjectList) {
        items.emplace_back(object(item, *member.element, item_path, named_exactly));
      } else if (item.is_string()) {
        items.push_back(item);
      } else if (item.is_null()) {
        items.emplace_back("");
      } else {
        wrong_type(item_path, "a string", item);
      }
    }
    return items;
  }

  SpecVersion version_;
  Numbers numbers_;
};

/// Two items of a list, or of lists that share their keys, must not be the same thing.
void check_duplicates(const json::Object& object, const StructSchema& schema, const Path& path, Report& report) {
  std::map<std::string_view, std::unordered_set<std::string>> keys_of_groups;
  for (const Member& member : schema.members) {
    if (member.type != MemberType::kStringList && member.type != MemberType::kObjectList) continue;
    if (member.list_merge == ListMerge::kConcatenate) continue;
    const json::Value* list = object.if_contains(member.name);
    if (list == nullptr) continue;
    auto& keys = keys_of_groups[member.key_group.empty() ? member.name : member.key_group];
    const Path list_path = path.member(member.name);
    for (std::size_t i = 0; i < list->get_array().size(); ++i) {
      std::string key = item_key(list->get_array()[i], member.element);
      const auto [known, is_new] = keys.insert(std::move(key));
      if (!is_new) report.error(list_path.item(i), "duplicate entry defined", *known);
    }
  }
}

void check_object(const json::Object& object, const StructSchema& schema, const Path& path, SpecVersion version,
                  Report& report) {
  if (schema.check_whole != nullptr) {
    const std::size_t before = report.findings.size();
    schema.check_whole(CheckedObject(object, path, version, report));
    const auto added = std::span(report.findings).subspan(before);
    if (std::ranges::find(added, Severity::kError, &Finding::severity) != added.end()) return;
  }
  if (schema.check != nullptr) schema.check(CheckedObject(object, path, version, report));
  check_duplicates(object, schema, path, report);
  for (const auto& [name, item] : object) {
    const Member* member = schema.find(name);
    if (member->type == MemberType::kObject) {
      check_object(item.get_object(), *member->element, path.member(member->name), version, report);
    } else if (member->type == MemberType::kObjectList) {
      const Path list_path = path.member(member->name);
      for (std::size_t i = 0; i < item.get_array().size(); ++i) {
        check_object(item.get_array()[i].get_object(), *member->element, list_path.item(i), version, report);
      }
    }
  }
}

/// The version decides how everything else is read, so it is looked for before anything else.
std::optional<SpecVersion> find_version(const json::Value& config, Checked& checked) {
  Report& report = checked.report;
  const Path root;
  const Path ignition_path = root.member("ignition");
  const Path version_path = ignition_path.member("version");
  const auto member_of = [](const json::Value& value, const StructSchema& schema, std::string_view wanted) {
    const json::Value* found = nullptr;
    for (const auto& [name, item] : value.get_object()) {
      const Member* member = schema.find_any_case(name);
      if (member != nullptr && member->name == wanted) found = &item;
    }
    return found;
  };
  std::string_view text;
  if (config.is_object()) {
    const json::Value* ignition = member_of(config, config_schema(), "ignition");
    if (ignition != nullptr && !ignition->is_null()) {
      if (!ignition->is_object()) {
        report.error(ignition_path, fmt::format("expected an object, found {}", json::type_name(*ignition)));
        return std::nullopt;
      }
      const json::Value* version = member_of(*ignition, *config_schema().find("ignition")->element, "version");
      if (version != nullptr && !version->is_null()) {
        if (!version->is_string()) {
          report.error(version_path, fmt::format("expected a string, found {}", json::type_name(*version)));
          return std::nullopt;
        }
        text = json::as_view(version->get_string());
      }
    }
  } else if (!config.is_null()) {
    report.error(root, fmt::format("expected an object, found {}", json::type_name(config)));
    return std::nullopt;
  }
  const auto version = parse_spec_version(text);
  if (version.ok()) return *version;
  checked.version_problem = version.error().code();
  report.error(version_path, version.error().message(), text);
  return std::nullopt;
}

Checked check_value(const json::Value& config, Numbers numbers) {
  Checked checked;
  const auto version = find_version(config, checked);
  if (!version) return checked;
  checked.version = *version;
  Reader reader(*version, numbers);
  const Path root;
  const StructSchema& schema = config_schema(*version);
  json::Object taken = reader.object(config, schema, root, true);
  if (reader.types.is_fatal()) {
    checked.report = std::move(reader.types);
    return checked;
  }
  check_object(taken, schema, root, *version, checked.report);
  auto& findings = checked.report.findings;
  findings.insert(findings.end(), std::make_move_iterator(reader.unused.findings.begin()),
                  std::make_move_iterator(reader.unused.findings.end()));
  if (!checked.report.is_fatal()) checked.config = std::move(taken);
  return checked;
}

}  // namespace

Checked check(const json::Value& config) { return check_value(config, Numbers::kByValue); }

Checked check_text(std::string_view text) {
  Checked checked;
  const Path root;
  if (text.empty()) {
    checked.report.error(root, "not a config (empty)");
    return checked;
  }
  const auto config = json::parse(text);
  if (!config.ok()) {
    checked.report.error(root, config.error().to_string());
    return checked;
  }
  checked = check_value(*config, Numbers::kAsWritten);
  checked.report.locate(text);
  // In the order of the text, which is how a person mends it.
  std::ranges::stable_sort(checked.report.findings, {}, [](const Finding& finding) {
    return std::pair(finding.position->line, finding.position->column);
  });
  return checked;
}

}  // namespace strake::ignition
