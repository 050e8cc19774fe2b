#include <algorithm>
#include <array>
#include <filesystem>

#include "machineconfig/lint/lint_config.h"

namespace strake::machineconfig {

namespace {

struct PathFact {
  std::string_view path;    ///< it, or everything below when it ends in '/'
  std::string_view why;     ///< behind "it "
  std::string_view repair;  ///< "": that of the rule
};

/// The first that fits counts.
constexpr std::array kWritablePlaces = {"/usr/local/", "/etc/", "/var/", "/opt/",  "/home/",
                                        "/root/",      "/srv/", "/mnt/", "/media/"};

constexpr std::array kReadOnlyPlaces = {
    PathFact{"/usr/", "is part of the OS image, which is mounted read-only", ""},
    PathFact{"/bin/", "leads into /usr, which is mounted read-only", ""},
    PathFact{"/sbin/", "leads into /usr, which is mounted read-only", ""},
    PathFact{"/lib/", "leads into /usr, which is mounted read-only", ""},
    PathFact{"/lib64/", "leads into /usr, which is mounted read-only", ""},
    PathFact{"/boot/", "belongs to the boot loader, and is mounted read-only",
             "kernel arguments go into spec.kernelArguments, other boot settings into the OS image"},
    PathFact{"/sysroot/", "holds the OS images themselves, and is mounted read-only", ""},
    PathFact{"/ostree/", "leads into /sysroot, which holds the OS images and is mounted read-only", ""},
    PathFact{"/proc/", "is made by the kernel", "set kernel variables with a file in /etc/sysctl.d"},
    PathFact{"/sys/", "is made by the kernel", "use a unit, or a file in /etc/tmpfiles.d"},
    PathFact{"/dev/", "is made anew at every boot", "use a rule in /etc/udev/rules.d"},
};

constexpr std::string_view kForcingFile = "/run/machine-config-daemon-force";

constexpr std::string_view kUseKubeletConfig = "use a KubeletConfig";
constexpr std::string_view kUseRuntimeConfig = "use a ContainerRuntimeConfig";
constexpr std::string_view kUseMirrorSet = "use an ImageDigestMirrorSet, an ImageTagMirrorSet or the Image config";
constexpr std::string_view kUseKeys = "use sshAuthorizedKeys of the user core in passwd.users";

constexpr std::array kPlatformPlaces = {
    PathFact{"/etc/machine-config-daemon/", "is the state of the daemon that applies configs",
             "leave it to the daemon"},
    PathFact{"/etc/mcs-machine-config-content.json", "is written by the config server at installation",
             "leave it to the config server"},
    PathFact{"/etc/mco/internal-registry-pull-secret.json", "is written by the platform's daemon",
             "leave it to the daemon"},
    PathFact{"/etc/kubernetes/kubelet-ca.crt", "is written by the platform's daemon", "leave it to the daemon"},
    PathFact{"/etc/kubernetes/kubeconfig", "is written by the platform", "leave it to the platform"},
    PathFact{"/var/lib/kubelet/kubeconfig", "is written by the kubelet", "leave it to the kubelet"},
    PathFact{"/var/lib/kubelet/config.json", "is the pull secret, which the platform writes",
             "change the secret pull-secret in the namespace openshift-config"},
    PathFact{"/etc/docker/certs.d/", "is written by the platform's daemon, which removes what it does not know",
             "use additionalTrustedCA of the Image config"},
    PathFact{"/etc/kubernetes/kubelet.conf", "is made of KubeletConfigs", kUseKubeletConfig},
    PathFact{"/etc/node-sizing-enabled.env", "is made of KubeletConfigs", kUseKubeletConfig},
    PathFact{"/etc/systemd/system/kubelet.service.d/20-logging.conf", "is made of KubeletConfigs", kUseKubeletConfig},
    PathFact{"/etc/containers/storage.conf", "is made of ContainerRuntimeConfigs", kUseRuntimeConfig},
    PathFact{"/etc/containers/registries.conf", "is made of mirror sets and the Image config", kUseMirrorSet},
    PathFact{"/etc/containers/policy.json", "is made of the Image config and of image policies",
             "use the Image config or a ClusterImagePolicy"},
    PathFact{"/home/core/.ssh/authorized_keys", "is written by the platform's daemon", kUseKeys},
    PathFact{"/home/core/.ssh/authorized_keys.d/ignition", "is written by the platform's daemon", kUseKeys},
    PathFact{"/etc/pivot/kernel-args", "is an old way of setting kernel arguments", "use spec.kernelArguments"},
    PathFact{"/etc/passwd", "is changed by the OS whenever it adds a user", "use passwd.users, or sysusers.d"},
    PathFact{"/etc/group", "is changed by the OS whenever it adds a group", "use sysusers.d"},
    PathFact{"/etc/shadow", "is changed by the OS whenever a password changes", "use passwd.users"},
    PathFact{"/etc/gshadow", "is changed by the OS whenever it adds a group", "use sysusers.d"},
    PathFact{"/etc/machine-id", "must be another one on every machine", "leave it to systemd"},
};
constexpr std::string_view kRuntimeDropins = "/etc/crio/crio.conf.d/01-ctrcfg-";

std::string clean_path(std::string_view path) {
  std::string text = std::filesystem::path(path).lexically_normal().string();
  while (text.starts_with("//")) text.erase(0, 1);
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

bool is_at(std::string_view path, std::string_view place) {
  if (!place.ends_with('/')) return path == place;
  return path.starts_with(place) || path == place.substr(0, place.size() - 1);
}

/// nullptr when nothing is known about it.
const PathFact* fact_about(std::string_view path, std::span<const PathFact> facts) {
  const auto found = std::ranges::find_if(facts, [&](const PathFact& fact) { return is_at(path, fact.path); });
  return found == facts.end() ? nullptr : &*found;
}

class PathLinter {
 public:
  explicit PathLinter(const LintedConfig& config) : config_(config) {}

  void lint(std::string_view written, const std::string& member) {
    const std::string path = clean_path(written);
    if (!path.starts_with('/') || path == "/") return;  // refused, which is said elsewhere
    const auto add = [&](LintRuleId rule, std::string_view why, std::string_view repair) {
      config_.add(rule, ignition_field(member), fmt::format("{}: {} {}", named_member(member), written, why),
                  std::string(repair));
    };
    if (path == kForcingFile) return add(LintRuleId::kRefusedByNodes, "forces an update", "remove it");
    if (const PathFact* fact = fact_about(path, kPlatformPlaces)) {
      return add(LintRuleId::kPlatformPath, fact->why, fact->repair);
    }
    if (path.starts_with(kRuntimeDropins)) {
      return add(LintRuleId::kPlatformPath, "is made of ContainerRuntimeConfigs", kUseRuntimeConfig);
    }
    if (is_at(path, "/run/") || is_at(path, "/tmp/")) {
      return add(LintRuleId::kVolatilePath, "is gone after a boot", "");
    }
    if (std::ranges::any_of(kWritablePlaces, [&](std::string_view place) { return is_at(path, place); })) return;
    const PathFact* fact = fact_about(path, kReadOnlyPlaces);
    add(LintRuleId::kReadOnlyPath,
        fact != nullptr ? fact->why : "lies in the root of the image, which takes no new entries",
        fact != nullptr ? fact->repair : "");
  }

 private:
  const LintedConfig& config_;
};

}  // namespace

std::string named_member(std::string_view member) {
  return fmt::format("{}: {}", json::path_text(ignition_field("")), member);
}

void lint_paths(const LintedConfig& config) {
  PathLinter linter(config);
  for (const std::string_view list : {"files", "directories", "links"}) {
    config.each("storage", list, [&](const json::Value& item, const std::string& member) {
      if (const auto path = json::find_string(item, {"path"})) linter.lint(*path, member + ".path");
    });
  }
  config.each("systemd", "units", [&](const json::Value& unit, const std::string& member) {
    const json::Value* dropins = json::find(unit, {"dropins"});
    if (dropins == nullptr || !dropins->is_array()) return;
    for (std::size_t i = 0; i < dropins->get_array().size(); ++i) {
      const auto name = json::find_string(dropins->get_array()[i], {"name"});
      linter.lint(
          fmt::format("/etc/systemd/system/{}.d/{}", json::find_string(unit, {"name"}).value_or(""), name.value_or("")),
          fmt::format("{}.dropins[{}].name", member, i));
    }
  });
}

}  // namespace strake::machineconfig
