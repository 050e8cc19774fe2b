#include "cmd/cli/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "cmd/version.h"

namespace strake::cmd {

namespace {

std::string flag_names(std::string_view name) {
  const std::size_t comma = name.find(',');
  if (comma == std::string_view::npos) return "--" + std::string(name);
  return fmt::format("-{},--{}", name.substr(0, comma), name.substr(comma + 1));
}

std::string long_name(std::string_view name) {
  const std::size_t comma = name.find(',');
  return std::string(comma == std::string_view::npos ? name : name.substr(comma + 1));
}

/// The first words that several verbs share, as `strake --help` lists them.
struct VerbGroup {
  std::string_view name;
  std::string_view summary;
};
constexpr VerbGroup kVerbGroups[] = {
    {"release",
     "A release: what is in it, whether it is genuine, its boot images; mirror it, publish it to a cluster."},
    {"config", "MachineConfigs as files: check them before they reach a cluster."},
    {"mode", "How far Strake may act in a cluster: observe, assist or own."},
    {"bootimage", "The images new machines boot from."},
    {"stream", "Boot image metadata: which image for which platform, architecture, region."},
    {"os", "Inside an OS image: what it is, its files, what differs between two."},
    {"ignition", "Ignition configs: validate, show, convert, merge."},
};

std::string summary_of_group(std::string_view name) {
  const auto* group = std::ranges::find(kVerbGroups, name, &VerbGroup::name);
  return group == std::end(kVerbGroups) ? "" : std::string(group->summary);
}

struct Bound {
  const CommandSpec* spec = nullptr;
  CLI::App* app = nullptr;
  Invocation invocation;
};

/// The app of "release apply", made below the app of "release".
CLI::App* app_for(CLI::App& root, std::string_view path) {
  CLI::App* app = &root;
  while (!path.empty()) {
    const std::size_t space = path.find(' ');
    const std::string word(path.substr(0, space));
    path.remove_prefix(space == std::string_view::npos ? path.size() : space + 1);
    CLI::App* next = nullptr;
    for (CLI::App* known : app->get_subcommands([](const CLI::App*) { return true; })) {
      if (known->get_name() == word) next = known;
    }
    if (next == nullptr) next = app->add_subcommand(word, summary_of_group(word));
    if (!path.empty()) next->require_subcommand(1);
    app = next;
  }
  return app;
}

void bind(Bound& bound, CLI::App& root) {
  const CommandSpec& spec = *bound.spec;
  bound.app = app_for(root, spec.path);
  bound.app->description(std::string(spec.summary));
  bound.app->footer("\n" + std::string(spec.details));
  for (const ArgumentSpec& argument : spec.arguments) {
    if (argument.many) {
      auto& targets = bound.invocation.lists[std::string(argument.name)];
      bound.app->add_option(std::string(argument.name), targets, std::string(argument.help))
          ->required(argument.required);
      continue;
    }
    std::string& target = bound.invocation.values[std::string(argument.name)];
    bound.app->add_option(std::string(argument.name), target, std::string(argument.help))->required(argument.required);
  }
  for (const OptionSpec& option : spec.options) {
    const std::string name = long_name(option.name);
    if (option.value_name.empty()) {
      bound.app->add_flag(flag_names(option.name), bound.invocation.switches[name], std::string(option.help));
      continue;
    }
    std::string& target = bound.invocation.values[name];
    target = option.default_value;
    auto* added = bound.app->add_option(flag_names(option.name), target, std::string(option.help));
    added->type_name(std::string(option.value_name));
    if (!option.default_value.empty()) added->capture_default_str();
  }
}

}  // namespace

int run_command_line(std::span<const CommandSpec* const> commands, int argc, char** argv, std::stop_token stop) {
  CLI::App root(
      "Strake manages the operating system of image-based clusters: the images machines boot from, the image each node "
      "runs,\n"
      "and the configuration layered on it, from one verified release to the next.");
  root.name("strake");
  root.set_version_flag("--version", std::string("strake ") + std::string(kVersion));
  root.require_subcommand(1);
  root.footer(
      "\nStart here:  strake up --nodes 6 --once    a small cluster on this machine, two releases through it\n"
      "Every verb explains itself: strake VERB --help");
  std::vector<std::unique_ptr<Bound>> bound;
  for (const CommandSpec* spec : commands) {
    bound.push_back(std::make_unique<Bound>());
    bound.back()->spec = spec;
    bind(*bound.back(), root);
  }
  try {
    root.parse(argc, argv);
  } catch (const CLI::ParseError& failure) {
    const int code = root.exit(failure);
    return code == 0 ? kExitOk : kExitError;
  }
  for (const auto& candidate : bound) {
    if (!candidate->app->parsed()) continue;
    candidate->invocation.stop = stop;
    const Result<int> outcome = candidate->spec->run(candidate->invocation);
    if (outcome.ok()) return *outcome;
    std::fprintf(stderr, "strake: %s\n", outcome.error().to_string().c_str());
    return outcome.error().reason() == "Blocked" ? kExitBlocked : kExitError;
  }
  return kExitError;
}

}  // namespace strake::cmd
