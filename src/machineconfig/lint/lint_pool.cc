#include "machineconfig/lint/lint_pool.h"

#include <algorithm>
#include <array>

#include "api/machine_config.h"
#include "api/node_annotations.h"
#include "base/suggest.h"
#include "base/text.h"
#include "machineconfig/diff/spec_changes.h"
#include "machineconfig/lint/lint_config.h"

namespace strake::machineconfig {

namespace {

constexpr std::array<std::string_view, 3> kBuiltInRoles = {"master", "worker", "arbiter"};

std::string role_of(const kube::Object& config) { return config.label(api::label::kRole).value_or(""); }

/// "worker2" beside "worker" is meant.
bool differs_in_number(std::string_view role, std::string_view other) {
  const auto without_number = [](std::string_view text) {
    while (!text.empty() && (is_digit(text.back()) || text.back() == '-')) text.remove_suffix(1);
    return text;
  };
  return without_number(role) == without_number(other);
}

/// The role that was probably meant; "" when there is none.
std::string_view meant_role(std::string_view role, const std::map<std::string, std::size_t>& uses,
                            const std::set<std::string, std::less<>>& pools) {
  constexpr std::size_t kShortest = 5;  // short words are near each other by chance
  const std::string_view built_in = nearest_word(role, kBuiltInRoles);
  if (!built_in.empty() && !differs_in_number(role, built_in)) return built_in;
  const std::size_t own_uses = uses.contains(std::string(role)) ? uses.at(std::string(role)) : 0;
  const auto is_near = [&](std::string_view other) {
    return other != role && role.size() >= kShortest && edit_distance(role, other) == 1 &&
           !differs_in_number(role, other);
  };
  for (const std::string& pool : pools) {
    if (is_near(pool)) return pool;
  }
  for (const auto& [other, count] : uses) {
    if (count > own_uses && is_near(other)) return other;
  }
  return "";
}

const json::Value* value_at(const json::Value& root, const json::Steps& steps) {
  const json::Value* here = &root;
  for (const std::string& step : steps) {
    if (step.starts_with('[')) {
      const json::Array* items = here->if_array();
      const std::size_t index = std::strtoul(step.c_str() + 1, nullptr, 10);
      if (items == nullptr || index >= items->size()) return nullptr;
      here = &(*items)[index];
    } else {
      here = json::find(*here, {step});
      if (here == nullptr) return nullptr;
    }
  }
  return here;
}

/// Kernel arguments of which only one value can hold; others may be given many times (console, hugepages).
constexpr std::array<std::string_view, 24> kSingleArguments = {"amd_iommu",
                                                               "audit",
                                                               "cgroup_no_v1",
                                                               "clocksource",
                                                               "default_hugepagesz",
                                                               "enforcing",
                                                               "fips",
                                                               "idle",
                                                               "init",
                                                               "intel_idle.max_cstate",
                                                               "intel_iommu",
                                                               "iommu",
                                                               "isolcpus",
                                                               "mitigations",
                                                               "nohz_full",
                                                               "numa_balancing",
                                                               "panic",
                                                               "pti",
                                                               "rcu_nocbs",
                                                               "selinux",
                                                               "skew_tick",
                                                               "systemd.cpu_affinity",
                                                               "transparent_hugepage",
                                                               "systemd.unified_cgroup_hierarchy"};

class ConflictFinder {
 public:
  ConflictFinder(const Provenance& provenance, const ConfigsByName& configs, const std::string& pool)
      : provenance_(provenance), configs_(configs), pool_(pool) {}

  std::vector<LintFinding> find() {
    for (const auto& [subject, contributions] : provenance_.subjects()) {
      if (subject.kind == SubjectKind::kKernelArgument) {
        note_argument(subject, contributions);
        continue;
      }
      if (contributions.size() < 2) continue;
      if (subject.kind == SubjectKind::kFile) compare(subject, contributions, {"contents.source", "mode"});
      if (subject.kind == SubjectKind::kUnit) compare(subject, contributions, {"contents", "enabled", "mask"});
      if (subject.kind == SubjectKind::kDropin) compare(subject, contributions, {"contents"});
    }
    compare_arguments();
    return std::move(findings_);
  }

 private:
  /// nullptr for what is no MachineConfig of a person.
  const kube::Object* config(const std::string& source) const {
    const auto found = configs_.find(source);
    return found == configs_.end() || is_generated(*found->second) ? nullptr : found->second;
  }

  bool are_rivals(const std::string& a, const std::string& b) const {
    const kube::Object *one = config(a), *other = config(b);
    return one != nullptr && other != nullptr && role_of(*one) == role_of(*other);
  }

  bool say_the_same(const Subject& subject, std::string_view member, const std::string& a, const std::string& b) const {
    const kube::Object &one = *config(a), &other = *config(b);
    if (subject.kind == SubjectKind::kFile && member == "contents.source") {
      const json::Value *file = value_at(one.json(), field_of(one, subject)),
                        *over = value_at(other.json(), field_of(other, subject));
      if (file == nullptr || over == nullptr) return true;
      const auto contents = decode_file(*file), contents_over = decode_file(*over);
      if (contents.ok() && contents_over.ok()) return contents->contents == contents_over->contents;
    }
    const json::Value *value = value_at(one.json(), field_of(one, subject, member)),
                      *over = value_at(other.json(), field_of(other, subject, member));
    return value == nullptr || over == nullptr || *value == *over;
  }

  void compare(const Subject& subject, const Provenance::Contributions& contributions,
               std::initializer_list<std::string_view> members) {
    for (const std::string_view member : members) {
      const Contribution* winner = winner_of(contributions, member);
      if (winner == nullptr) continue;
      for (const Contribution& loser : contributions) {
        if (&loser == winner || std::ranges::find(loser.members, member) == loser.members.end()) continue;
        if (!are_rivals(loser.source, winner->source) || say_the_same(subject, member, loser.source, winner->source)) {
          continue;
        }
        add(loser.source, field_of(*config(loser.source), subject, member),
            fmt::format("{}: {} sets another {} and wins", subject.to_string(), winner->source, member));
      }
    }
  }

  /// The last of one name on the command line wins.
  void note_argument(const Subject& subject, const Provenance::Contributions& contributions) {
    const std::string_view name = std::string_view(subject.name).substr(0, subject.name.find('='));
    if (std::ranges::find(kSingleArguments, name) == kSingleArguments.end()) return;
    for (const Contribution& contribution : contributions) {
      arguments_[std::string(name)].emplace_back(contribution.source, subject);
    }
  }

  void compare_arguments() {
    for (const auto& [name, uses] : arguments_) {
      for (const auto& [source, subject] : uses) {
        // Of one role the name that sorts last comes last.
        const auto over = std::ranges::find_if(uses, [&](const auto& other) {
          return other.second != subject && other.first > source && are_rivals(source, other.first);
        });
        if (over == uses.end()) continue;
        add(source, field_of(*config(source), subject),
            fmt::format("{}: {} sets {} and wins, as it comes later", subject.to_string(), over->first,
                        over->second.name));
      }
    }
  }

  void add(const std::string& source, json::Steps field, std::string message) {
    findings_.push_back({.rule = LintRuleId::kConflict,
                         .config = source,
                         .pool = pool_,
                         .field = std::move(field),
                         .message = std::move(message)});
  }

  const Provenance& provenance_;
  const ConfigsByName& configs_;
  const std::string& pool_;
  std::map<std::string, std::vector<std::pair<std::string, Subject>>> arguments_;  ///< by name
  std::vector<LintFinding> findings_;
};

/// Folders whose scripts are run from where they lie.
constexpr std::array<std::string_view, 11> kProgramFolders = {"/usr/local/bin/",
                                                              "/usr/local/sbin/",
                                                              "/usr/local/libexec/",
                                                              "/var/usrlocal/bin/",
                                                              "/opt/bin/",
                                                              "/etc/init.d/",
                                                              "/etc/cron.hourly/",
                                                              "/etc/cron.daily/",
                                                              "/etc/cron.weekly/",
                                                              "/etc/cron.monthly/",
                                                              "/etc/NetworkManager/dispatcher.d/"};

constexpr std::array<std::string_view, 7> kExecOptions = {
    "ExecCondition", "ExecStartPre", "ExecStart", "ExecStartPost", "ExecReload", "ExecStop", "ExecStopPost"};

/// The program an Exec line runs; "" for what is no plain path.
std::string program_of(std::string_view line) {
  line = line.substr(std::min(line.size(), line.find_first_not_of("@-:+!|")));
  if (line.starts_with('"') || line.starts_with('\'')) {
    const std::size_t end = line.find(line.front(), 1);
    return end == std::string_view::npos ? "" : std::string(line.substr(1, end - 1));
  }
  return std::string(line.substr(0, line.find_first_of(" \t")));
}

/// Paths that units run, with the unit.
std::map<std::string, std::string> programs_run(const json::Value& ignition) {
  std::map<std::string, std::string> programs;
  for (const ignition::UnitEntry& unit : ignition::units_of(ignition)) {
    std::vector<std::string_view> texts;
    if (unit.contents) texts.push_back(*unit.contents);
    for (const ignition::DropinEntry& dropin : unit.dropins) texts.push_back(dropin.contents);
    for (const std::string_view text : texts) {
      for (const std::string_view option : kExecOptions) {
        for (const std::string& line : unit_options(text, option)) programs.emplace(program_of(line), unit.name);
      }
    }
  }
  return programs;
}

}  // namespace

bool is_generated(const kube::Object& config) {
  return !config.annotation(api::config_annotation::kGeneratedByController).value_or("").empty();
}

const Contribution* winner_of(const Provenance::Contributions& contributions, std::string_view member) {
  const auto found = std::ranges::find_if(contributions, [&](const Contribution& contribution) {
    return std::ranges::find(contribution.in_effect, member) != contribution.in_effect.end();
  });
  return found == contributions.end() ? nullptr : &*found;
}

std::vector<LintFinding> lint_roles(const ConfigSet& set, const ConfigsByName& configs,
                                    const std::set<std::string>& taken) {
  std::map<std::string, std::size_t> uses;
  for (const auto& [name, config] : configs) ++uses[role_of(*config)];
  std::set<std::string, std::less<>> pools;
  for (const kube::ObjectPtr& pool : set.pools) pools.insert(pool->name());
  std::vector<LintFinding> findings;
  for (const auto& [name, config] : configs) {
    const std::string role = role_of(*config);
    const bool is_known = role.empty() || pools.contains(role) ||
                          std::ranges::find(kBuiltInRoles, role) != kBuiltInRoles.end() ||
                          (!set.pools.empty() && taken.contains(name));
    if (is_known || is_generated(*config)) continue;
    const std::string_view meant = meant_role(role, uses, pools);
    if (meant.empty()) continue;
    findings.push_back({.rule = LintRuleId::kRoleTypo,
                        .config = name,
                        .field = {"metadata", "labels", std::string(api::label::kRole)},
                        .message = fmt::format("its role is '{}', which looks like '{}'", role, meant)});
  }
  return findings;
}

std::vector<LintFinding> lint_conflicts(const Provenance& provenance, const ConfigsByName& configs,
                                        const std::string& pool) {
  return ConflictFinder(provenance, configs, pool).find();
}

std::vector<LintFinding> lint_programs(const json::Value& ignition, const Provenance& provenance,
                                       const ConfigsByName& configs, const std::string& pool) {
  const json::Value* files = json::find(ignition, {"storage", "files"});
  if (files == nullptr || !files->is_array()) return {};
  const std::map<std::string, std::string> programs = programs_run(ignition);
  std::vector<LintFinding> findings;
  for (const json::Value& file : files->get_array()) {
    const std::string path = json::find_string(file, {"path"}).value_or("");
    if ((json::find_int(file, {"mode"}).value_or(0644) & 0111) != 0) continue;
    const auto run = programs.find(path);
    const bool is_in_folder =
        std::ranges::any_of(kProgramFolders, [&](std::string_view folder) { return path.starts_with(folder); });
    if (run == programs.end() && !is_in_folder) continue;
    if (run == programs.end()) {
      const auto decoded = decode_file(file);
      if (!decoded.ok() || !decoded->contents.starts_with("#!")) continue;  // not every file there is a program
    }
    const Subject subject{SubjectKind::kFile, path};
    const Provenance::Contributions* contributions = provenance.find(subject);
    if (contributions == nullptr) continue;
    const Contribution* source = winner_of(*contributions, "mode");
    if (source == nullptr) source = winner_of(*contributions, "contents.source");
    const auto config = source == nullptr ? configs.end() : configs.find(source->source);
    if (config == configs.end() || is_generated(*config->second)) continue;
    findings.push_back({.rule = LintRuleId::kScriptMode,
                        .config = config->first,
                        .pool = pool,
                        .field = field_of(*config->second, subject, "mode"),
                        .message = fmt::format("file {}: it is not executable, and {}", path,
                                               run != programs.end() ? fmt::format("unit {} runs it", run->second)
                                                                     : "scripts of its folder are run")});
  }
  return findings;
}

}  // namespace strake::machineconfig
