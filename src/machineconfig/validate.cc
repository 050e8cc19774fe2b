#include "machineconfig/validate.h"

#include <algorithm>
#include <array>

#include "api/machine_config.h"
#include "api/node_annotations.h"
#include "api/os_packages.h"
#include "ignition/config.h"
#include "machineconfig/agent_files.h"
#include "machineconfig/template/template_plan.h"

namespace strake::machineconfig {

namespace {

using ignition::Severity;

/// Stricter than Ignition: no setuid, setgid or sticky files through a MachineConfig.
constexpr std::int64_t kMaxPermissions = 0777;

constexpr std::array<std::string_view, 3> kKernelTypes{kDefaultKernelType, "realtime", "64k-pages"};

constexpr std::string_view kSpec = "spec.";

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, word) != words.end();
}

/// The member of a field's path below spec.
std::string_view spec_member(api::Field field) { return field.path().substr(kSpec.size()); }

/// Reads the spec of one MachineConfig; notes what is wrong with it and goes on.
class FragmentReader {
 public:
  explicit FragmentReader(const kube::Object& config) : config_(config) {}

  Fragment read() {
    const auto& fields = api::kMachineConfigFields;
    Fragment fragment;
    fragment.name = config_.name();
    fragment.generated = !config_.annotation(api::config_annotation::kGeneratedByController).value_or("").empty();
    if (const json::Value* spec = member(config_.json(), "spec"); spec != nullptr) {
      if (spec->is_object()) {
        spec_ = spec;
      } else {
        wrong_type("spec", "an object", *spec);
      }
    }
    read_text(fields["spec.kernelType"], fragment.kernel_type);
    check_kernel_type(fragment.kernel_type);
    read_text(fields["spec.osImageURL"], fragment.os_image);
    read_text(fields["spec.baseOSExtensionsContainerImage"], fragment.extensions_image);
    read_ignition(fragment);
    read_texts(fields["spec.kernelArguments"], fragment.kernel_arguments);
    read_texts(fields["spec.extensions"], fragment.extensions);
    if (fragment.ignition) check_extensions(fragment.extensions);
    if (const json::Value* fips = find(fields["spec.fips"]); fips != nullptr) {
      if (fips->is_bool()) {
        fragment.fips = fips->get_bool();
      } else {
        wrong_type(fields["spec.fips"].path(), "a boolean", *fips);
      }
    }
    return fragment;
  }

  std::vector<Problem> problems;

 private:
  /// null is as good as absent.
  static const json::Value* member(const json::Value& object, std::string_view name) {
    const json::Value* value = json::find(object, {name});
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  const json::Value* find(api::Field field) const {
    return spec_ == nullptr ? nullptr : member(*spec_, spec_member(field));
  }

  void problem(std::string_view field, std::string message) {
    problems.push_back({Severity::kError, std::string(field), std::move(message)});
  }

  void wrong_type(std::string_view field, std::string_view wanted, const json::Value& found) {
    problem(field, fmt::format("expected {}, found {}", wanted, json::type_name(found)));
  }

  void read_text(api::Field field, std::string& text) {
    const json::Value* value = find(field);
    if (value == nullptr) return;
    if (!value->is_string()) return wrong_type(field.path(), "a string", *value);
    text = json::as_view(value->get_string());
  }

  void read_texts(api::Field field, std::vector<std::string>& texts) {
    const json::Value* list = find(field);
    if (list == nullptr) return;
    if (!list->is_array()) return wrong_type(field.path(), "a list", *list);
    for (std::size_t i = 0; i < list->get_array().size(); ++i) {
      const json::Value& item = list->get_array()[i];
      if (item.is_string()) {
        texts.emplace_back(json::as_view(item.get_string()));
      } else if (item.is_null()) {
        texts.emplace_back();
      } else {
        wrong_type(fmt::format("{}[{}]", field.path(), i), "a string", item);
      }
    }
  }

  void check_kernel_type(const std::string& type) {
    if (type.empty() || is_one_of(type, kKernelTypes)) return;
    problem("spec.kernelType", fmt::format("kernelType={} is invalid; use {}", type, fmt::join(kKernelTypes, ", ")));
  }

  void read_ignition(Fragment& fragment) {
    const json::Value* raw = find(api::kMachineConfigFields["spec.config"]);
    if (raw == nullptr) return;
    auto parsed = ignition::parse(*raw);
    if (!parsed.ok()) return problem("spec.config", parsed.error().to_string());
    check_modes(*parsed);
    for (const AgentFileClaim& claim : agent_files_named(*parsed)) {
      // What installs the agent is a base config, and no other.
      if (claim.is_unit_itself && is_template_config(config_)) continue;
      problem("spec.config", claim.to_string());
    }
    fragment.ignition = *std::move(parsed);
  }

  void check_modes(const json::Value& parsed) {
    const json::Value* files = json::find(parsed, {"storage", "files"});
    if (files == nullptr) return;
    for (std::size_t i = 0; i < files->get_array().size(); ++i) {
      const json::Object& file = files->get_array()[i].get_object();
      const json::Value* mode = file.if_contains("mode");
      if (mode == nullptr || mode->get_int64() <= kMaxPermissions) continue;
      problem("spec.config", fmt::format("storage.files[{}].mode: invalid mode {:#o} of {}: it cannot exceed 0777", i,
                                         mode->get_int64(), json::as_view(file.at("path").get_string())));
    }
  }

  void check_extensions(const std::vector<std::string>& extensions) {
    std::vector<std::string_view> unknown;
    for (const std::string& extension : extensions) {
      if (!is_known_extension(extension)) unknown.push_back(extension);
    }
    if (unknown.empty()) return;
    std::vector<std::string_view> known;
    for (const api::Extension& extension : api::known_extensions()) known.push_back(extension.name);
    problem("spec.extensions", fmt::format("invalid extensions found: [{}]; there are {}", fmt::join(unknown, " "),
                                           fmt::join(known, ", ")));
  }

  const kube::Object& config_;
  const json::Value* spec_ = nullptr;
};

class Linter {
 public:
  Linter(const kube::Object& config, const Fragment& fragment) : config_(config), fragment_(fragment) {}

  std::vector<Problem> run() {
    warn_about_unknown_fields();
    warn_about_ignition();
    warn_about_empty_units();
    if (!fragment_.ignition) {
      for (const std::string& extension : fragment_.extensions) {
        if (is_known_extension(extension)) continue;
        warn("spec.extensions", fmt::format("unknown extension '{}'; no node can install it", extension));
      }
    }
    if (json::find(config_.json(), {"metadata", "labels"}) == nullptr) {
      warn("metadata.labels", fmt::format("no labels, so no pool takes it; set {}", api::label::kRole));
    }
    return std::move(warnings_);
  }

 private:
  void warn(std::string field, std::string message) {
    warnings_.push_back({Severity::kWarning, std::move(field), std::move(message)});
  }

  void warn_about_unknown_fields() {
    const json::Value* spec = api::spec_of(config_);
    if (spec == nullptr || !spec->is_object()) return;
    const auto known = api::kMachineConfigFields.paths();
    for (const auto& entry : spec->get_object()) {
      const std::string path = std::string(kSpec) + std::string(entry.key());
      if (std::ranges::find(known, path) == known.end()) warn(path, "unknown field; nothing reads it");
    }
  }

  void warn_about_ignition() {
    const json::Value* raw = api::MachineConfigView(config_.json()).config();
    if (raw == nullptr || raw->is_null()) return;
    for (const ignition::Finding& finding : ignition::check(*raw).report.findings) {
      if (finding.severity != Severity::kWarning) continue;
      warn(fmt::format("spec.config: {}", finding.path()), finding.message);
    }
  }

  void warn_about_empty_units() {
    if (!fragment_.ignition) return;
    const json::Value* units = json::find(*fragment_.ignition, {"systemd", "units"});
    if (units == nullptr) return;
    for (std::size_t i = 0; i < units->get_array().size(); ++i) {
      const json::Object& unit = units->get_array()[i].get_object();
      if (unit.size() > 1) continue;
      warn(fmt::format("spec.config: systemd.units[{}]", i),
           fmt::format("unit {} has no contents, drop-ins, enabled or mask: it does nothing",
                       json::as_view(unit.at("name").get_string())));
    }
  }

  const kube::Object& config_;
  const Fragment& fragment_;
  std::vector<Problem> warnings_;
};

/// A config that does not parse tells its first error; a linter wants all of them.
void tell_all_ignition_errors(const kube::Object& config, std::vector<Problem>& problems) {
  const json::Value* raw = api::MachineConfigView(config.json()).config();
  if (raw == nullptr || raw->is_null()) return;
  const ignition::Report report = ignition::check(*raw).report;
  if (!report.is_fatal()) return;
  const std::string_view field = api::kMachineConfigFields["spec.config"].path();
  std::erase_if(problems, [&](const Problem& problem) { return problem.field == field; });
  for (const ignition::Finding& finding : report.findings) {
    if (finding.severity != Severity::kError) continue;
    const std::string path = finding.path();
    problems.push_back(
        {Severity::kError, path.empty() ? std::string(field) : fmt::format("{}: {}", field, path),
         finding.found.empty() ? finding.message : fmt::format("{}: '{}'", finding.message, finding.found)});
  }
}

}  // namespace

std::string Problem::to_string() const { return fmt::format("{}: {}", field, message); }

json::Steps Problem::steps() const {
  json::Steps steps;
  const auto append = [&](std::string_view path) {
    for (std::string& step : json::parse_steps(path)) steps.push_back(std::move(step));
  };
  const std::size_t colon = field.find(": ");
  append(std::string_view(field).substr(0, colon));
  if (colon != std::string::npos) {
    append(std::string_view(field).substr(colon + 2));
  } else if (field == api::kMachineConfigFields["spec.config"].path()) {
    // "storage.files[2] (/etc/a).contents: ..."; a word that is no member is found at the config itself.
    std::string start = message.substr(0, message.find(": "));
    const std::size_t shown_path = start.find(" (/"), behind = start.find(").");
    if (shown_path != std::string::npos && behind != std::string::npos)
      start.erase(shown_path, behind + 1 - shown_path);
    append(std::string_view(start).substr(0, start.find(' ')));
  }
  return steps;
}

bool is_known_extension(std::string_view name) { return api::find_extension(name) != nullptr; }

Result<Fragment> read_fragment(const kube::Object& config) {
  FragmentReader reader(config);
  Fragment fragment = reader.read();
  if (reader.problems.empty()) return fragment;
  return error(Code::kInvalidArgument, "MachineConfig {}: {}", config.name(), reader.problems.front().to_string());
}

std::optional<Problem> find_refusal(const kube::Object& config) {
  FragmentReader reader(config);
  (void)reader.read();
  if (reader.problems.empty()) return std::nullopt;
  return std::move(reader.problems.front());
}

std::vector<Problem> find_problems(const kube::Object& config) {
  FragmentReader reader(config);
  const Fragment fragment = reader.read();
  std::vector<Problem> problems = std::move(reader.problems);
  tell_all_ignition_errors(config, problems);
  for (Problem& warning : Linter(config, fragment).run()) problems.push_back(std::move(warning));
  return problems;
}

}  // namespace strake::machineconfig
