#include "osbackend/testing/fake_ostree_host.h"

#include <algorithm>

#include "codec/json.h"
#include "osbackend/kernel_command_line.h"

namespace strake::osbackend::testing {

namespace {

using strake::testing::exits;

constexpr std::string_view kStateRoot = "strake";

/// The value of "--name=value"; nullopt: another word.
std::optional<std::string> option(const std::string& word, std::string_view name) {
  const std::string start = fmt::format("{}=", name);
  if (!word.starts_with(start)) return std::nullopt;
  return word.substr(start.size());
}

ProcessOutput unknown_option(const std::string& word) { return exits(1, "", "error: Unknown option " + word + "\n"); }

/// The kernel packages an image has: what `override remove` may name.
const std::set<std::string> kImagePackages{"kernel", "kernel-core", "kernel-modules", "kernel-modules-core",
                                           "kernel-modules-extra"};

template <typename Container>
json::Array array_of(const Container& items) {
  json::Array array;
  for (const std::string& item : items) array.emplace_back(item);
  return array;
}

}  // namespace

std::string FakeDeployment::checksum() const {
  std::string hex = image.empty() ? std::string(64, 'c') : image.substr(image.find("sha256:") + 7);
  if (!layered.empty() || !removed.empty()) hex.front() = 'e';
  return hex;
}

std::string FakeDeployment::id() const { return fmt::format("{}-{}.{}", kStateRoot, checksum(), serial); }

FakeOstreeHost::FakeOstreeHost(MemoryTree& root, std::string image, std::vector<std::string> arguments) : root_(root) {
  FakeDeployment first;
  first.image = std::move(image);
  first.arguments = std::move(arguments);
  deployments.push_back(std::move(first));
  (void)root_.write("/run/ostree-booted", "", 0644, {});
  show_kernel_files();
}

void FakeOstreeHost::show_kernel_files() {
  (void)root_.write("/proc/sys/kernel/random/boot_id", fmt::format("boot-{}\n", boots_), 0444, {});
  (void)root_.write("/proc/cmdline", fmt::format("{}\n", fmt::join(deployments[booted].arguments, " ")), 0444, {});
}

void FakeOstreeHost::boot() {
  // The old one stays as the way back; what was there before it goes.
  if (booted > 0) deployments.resize(booted + 1);
  booted = 0;
  ++boots_;
  show_kernel_files();
}

FakeDeployment FakeOstreeHost::next_deployment() const { return deployments.front(); }

void FakeOstreeHost::stage(FakeDeployment deployment) {
  deployment.serial = ++serials_;
  if (booted > 0) {
    deployments.front() = std::move(deployment);
  } else {
    deployments.insert(deployments.begin(), std::move(deployment));
    booted = 1;
  }
}

void FakeOstreeHost::install_rpm_ostree(strake::testing::ScriptedPrograms& programs) {
  programs.install("rpm-ostree", [this](const Command& command) { return rpm_ostree(command); });
}

void FakeOstreeHost::install_bootc(strake::testing::ScriptedPrograms& programs) {
  programs.install("bootc", [this](const Command& command) { return bootc(command); });
  programs.install("ostree", [this](const Command& command) { return ostree(command); });
}

void FakeOstreeHost::install_restart(strake::testing::ScriptedPrograms& programs) {
  programs.install("systemd-run", [this](const Command& command) -> Result<ProcessOutput> {
    ++restarts;
    last_restart = fmt::format("{}", fmt::join(command.argv, " "));
    return exits(0);
  });
}

Result<ProcessOutput> FakeOstreeHost::rpm_ostree(const Command& command) {
  const Words words(command.argv.begin() + 1, command.argv.end());
  if (words == Words{"--version"}) return exits(0, "rpm-ostree:\n Version: '2026.2'\n Features:\n  - container\n");
  if (words == Words{"status", "--json"}) return rpm_ostree_status();
  if (words.empty()) return exits(1, "", "error: No command specified\n");
  if (words.size() > 1 && busy > 0) {
    --busy;
    return exits(1, "", "error: Transaction in progress: rebase\n");
  }
  if (words.front() == "kargs") return kargs(words);
  if (words.front() == "cleanup") return cleanup(words);
  if (words.front() == "rebase") return rebase(words);
  if (words.front() == "override") return override_packages(words);
  if (words.front() == "update") return update(words);
  return exits(1, "", "error: Unknown command '" + words.front() + "'\n");
}

Result<ProcessOutput> FakeOstreeHost::rpm_ostree_status() const {
  json::Array list;
  for (std::size_t i = 0; i < deployments.size(); ++i) {
    const FakeDeployment& from = deployments[i];
    json::Object entry;
    entry["id"] = from.id();
    entry["osname"] = kStateRoot;
    entry["checksum"] = from.checksum();
    entry["serial"] = from.serial;
    entry["booted"] = i == booted;
    entry["staged"] = i < booted;
    entry["pinned"] = false;
    entry["unlocked"] = "none";
    entry["version"] = "9.6.20260715-0";
    if (!from.image.empty()) {
      entry["container-image-reference"] = "ostree-unverified-registry:" + from.image;
      entry["container-image-reference-digest"] = from.image.substr(from.image.find('@') + 1);
    }
    entry["requested-packages"] = array_of(from.layered);
    entry["packages"] = array_of(from.layered);
    entry["requested-base-removals"] = array_of(from.removed);
    entry["cliwrap"] = false;
    list.emplace_back(std::move(entry));
  }
  json::Object document;
  document["deployments"] = std::move(list);
  document["transaction"] = nullptr;
  document["cached-update"] = nullptr;
  return exits(0, json::write(document));
}

Result<ProcessOutput> FakeOstreeHost::kargs(const Words& words) {
  std::size_t index = 0;
  FakeDeployment next = next_deployment();
  bool changes = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    auto& arguments = next.arguments;
    if (const auto number = option(words[i], "--deploy-index")) {
      index = static_cast<std::size_t>(std::stoul(*number));
      if (index >= deployments.size()) return exits(1, "", "error: Out of range deployment index\n");
    } else if (const auto added = option(words[i], "--append")) {
      arguments.push_back(*added);
      changes = true;
    } else if (const auto removed = option(words[i], "--delete-if-present")) {
      const auto last = std::find(arguments.rbegin(), arguments.rend(), *removed);
      if (last != arguments.rend()) arguments.erase(std::next(last).base());
      changes = true;
    } else {
      return unknown_option(words[i]);
    }
  }
  if (!changes) return exits(0, fmt::format("{}\n", fmt::join(deployments[index].arguments, " ")));
  stage(std::move(next));
  return exits(0, "Kernel arguments updated.\nRun \"systemctl reboot\" to start a reboot\n");
}

Result<ProcessOutput> FakeOstreeHost::cleanup(const Words& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "-p") {
      deployments.erase(deployments.begin(), deployments.begin() + static_cast<std::ptrdiff_t>(booted));
      booted = 0;
    } else if (words[i] == "-r") {
      deployments.resize(booted + 1);
    } else {
      return unknown_option(words[i]);
    }
  }
  if (words.size() == 1) return exits(1, "", "error: At least one cleanup option must be specified\n");
  return exits(0);
}

Result<ProcessOutput> FakeOstreeHost::rebase(const Words& words) {
  if (words.size() != 3 || words[1] != "--experimental") return exits(1, "", "error: rebase takes one reference\n");
  if (failing_fetches > 0) {
    --failing_fetches;
    return exits(1, "", "error: pinging container registry: no such host\n");
  }
  std::string image = words[2];
  const std::string transport = "ostree-unverified-registry:";
  if (!image.starts_with(transport)) return exits(1, "", "error: Invalid refspec " + image + "\n");
  image.erase(0, transport.size());
  if (!images.contains(image)) return exits(1, "", "error: reading manifest: manifest unknown\n");
  FakeDeployment next = next_deployment();
  for (const std::string& package : next.layered) {
    if (!packages.contains(package)) return exits(1, "", "error: Packages not found: " + package + "\n");
  }
  next.image = image;
  stage(std::move(next));
  return exits(0);
}

Result<ProcessOutput> FakeOstreeHost::layer(const Words& install, const Words& uninstall, FakeDeployment& next) {
  for (const std::string& package : install) {
    if (next.layered.contains(package)) return exits(1, "", "error: Package '" + package + "' is already requested\n");
    if (!packages.contains(package)) return exits(1, "", "error: Packages not found: " + package + "\n");
    next.layered.insert(package);
  }
  for (const std::string& package : uninstall) {
    if (next.layered.erase(package) == 0)
      return exits(1, "", "error: Package '" + package + "' is not currently requested\n");
  }
  return exits(0);
}

Result<ProcessOutput> FakeOstreeHost::override_packages(const Words& words) {
  if (words.size() < 3) return exits(1, "", "error: Unknown override command\n");
  const bool removes = words[1] == "remove";
  if (!removes && words[1] != "reset") return exits(1, "", "error: Unknown override command\n");
  FakeDeployment next = next_deployment();
  Words install, uninstall;
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (const auto name = option(words[i], "--install")) {
      install.push_back(*name);
    } else if (const auto gone = option(words[i], "--uninstall")) {
      uninstall.push_back(*gone);
    } else if (words[i].starts_with("-")) {
      return unknown_option(words[i]);
    } else if (removes && (!kImagePackages.contains(words[i]) || !next.removed.insert(words[i]).second)) {
      return exits(1, "", "error: Package '" + words[i] + "' is not in the base\n");
    } else if (!removes && next.removed.erase(words[i]) == 0) {
      return exits(1, "", "error: No override for package '" + words[i] + "'\n");
    }
  }
  STRAKE_TRY(const ProcessOutput layered, layer(install, uninstall, next));
  if (!layered.exit.success()) return layered;
  stage(std::move(next));
  return exits(0);
}

Result<ProcessOutput> FakeOstreeHost::update(const Words& words) {
  FakeDeployment next = next_deployment();
  Words install, uninstall;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (const auto name = option(words[i], "--install")) {
      install.push_back(*name);
    } else if (const auto gone = option(words[i], "--uninstall")) {
      uninstall.push_back(*gone);
    } else {
      return unknown_option(words[i]);
    }
  }
  STRAKE_TRY(const ProcessOutput layered, layer(install, uninstall, next));
  if (!layered.exit.success()) return layered;
  stage(std::move(next));
  return exits(0);
}

Result<ProcessOutput> FakeOstreeHost::bootc(const Command& command) {
  const Words words(command.argv.begin() + 1, command.argv.end());
  if (words == Words{"status", "--json", "--format-version=1"}) return bootc_status();
  if (!words.empty() && words.front() == "switch") return switch_image(words);
  if (words.size() >= 2 && words[0] == "loader-entries" && words[1] == "set-options-for-source" && knows_sources)
    return set_source(words);
  return exits(2, "", "error: unrecognized subcommand\n");
}

Result<ProcessOutput> FakeOstreeHost::bootc_status() const {
  const auto entry = [&](const FakeDeployment& from) {
    const std::string digest = from.image.substr(from.image.find('@') + 1);
    json::Object value;
    if (from.image.empty()) {
      value["image"] = nullptr;
    } else {
      json::Object name;
      name["image"] = from.image;
      name["transport"] = "registry";
      json::Object image;
      image["image"] = std::move(name);
      image["version"] = "9.6.20260715-0";
      image["timestamp"] = nullptr;
      image["imageDigest"] = digest;
      image["architecture"] = "amd64";
      value["image"] = std::move(image);
    }
    value["cachedUpdate"] = nullptr;
    value["incompatible"] = incompatible;
    value["pinned"] = false;
    value["store"] = "ostreeContainer";
    json::Object ostree;
    ostree["stateroot"] = kStateRoot;
    ostree["checksum"] = from.checksum();
    ostree["deploySerial"] = from.serial;
    value["ostree"] = std::move(ostree);
    value["composefs"] = nullptr;
    return value;
  };
  json::Object status;
  status["staged"] = booted > 0 ? json::Value(entry(deployments.front())) : json::Value(nullptr);
  status["booted"] = entry(deployments[booted]);
  status["rollback"] =
      booted + 1 < deployments.size() ? json::Value(entry(deployments[booted + 1])) : json::Value(nullptr);
  status["rollbackQueued"] = false;
  status["type"] = not_started_from_image ? json::Value(nullptr) : json::Value("bootcHost");
  json::Object document;
  document["apiVersion"] = "org.containers.bootc/v1";
  document["kind"] = "BootcHost";
  document["status"] = std::move(status);
  return exits(0, json::write(document));
}

Result<ProcessOutput> FakeOstreeHost::switch_image(const Words& words) {
  std::string image;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--quiet" || words[i] == "--transport=registry") continue;
    if (words[i].starts_with("-")) return exits(2, "", "error: unexpected argument '" + words[i] + "'\n");
    image = words[i];
  }
  if (failing_fetches > 0) {
    --failing_fetches;
    return exits(1, "", "error: Switching: pinging container registry: no such host\n");
  }
  if (incompatible) return exits(1, "", "error: Deployment contains local rpm-ostree modifications\n");
  if (!images.contains(image)) return exits(1, "", "error: Switching: manifest unknown\n");
  FakeDeployment next = deployments[booted];
  next.image = image;
  stage(std::move(next));
  return exits(0);
}

Result<ProcessOutput> FakeOstreeHost::set_source(const Words& words) {
  std::string source, options;
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (words[i] == "--help") return exits(0, "Usage: bootc loader-entries set-options-for-source\n");
    if (const auto name = option(words[i], "--source")) {
      source = *name;
    } else if (const auto text = option(words[i], "--options")) {
      options = *text;
    } else {
      return exits(2, "", "error: unexpected argument '" + words[i] + "'\n");
    }
  }
  if (source.empty()) return exits(2, "", "error: --source is missing\n");
  FakeDeployment next = next_deployment();
  next.arguments = divide_arguments(next.arguments, split_command_line(next.sources[source])).machine;
  for (const std::string& argument : split_command_line(options)) next.arguments.push_back(argument);
  next.sources[source] = options;
  if (options.empty()) next.sources.erase(source);
  stage(std::move(next));
  return exits(0);
}

Result<ProcessOutput> FakeOstreeHost::ostree(const Command& command) {
  if (command.argv != Words{"ostree", "admin", "undeploy", "0"}) return exits(1, "", "error: Unknown command\n");
  if (booted == 0) return exits(1, "", "error: Cannot undeploy currently booted deployment 0\n");
  deployments.erase(deployments.begin());
  --booted;
  return exits(0);
}

}  // namespace strake::osbackend::testing
