#include "release/release_order.h"

#include "api/node_annotations.h"
#include "codec/semver.h"

namespace strake::release {

namespace {

/// The last entry of the history is the first that was installed.
std::string first_version_of(const kube::Object& cluster_version) {
  const json::Value* history = json::find(cluster_version.json(), {"status", "history"});
  if (history == nullptr || !history->is_array() || history->get_array().empty()) return {};
  return json::find_string(history->get_array().back(), {"version"}).value_or("");
}

/// nullopt: one of them is no semantic version.
std::optional<bool> is_before(const std::string& version, const std::string& other) {
  const auto left = codec::SemVer::parse(version), right = codec::SemVer::parse(other);
  if (!left.ok() || !right.ok()) return std::nullopt;
  return *left < *right;
}

}  // namespace

ReleaseHistory release_history(const kube::Object* controller_config, const kube::Object* cluster_version) {
  ReleaseHistory history;
  if (controller_config != nullptr) {
    history.present = controller_config->annotation(api::config_annotation::kReleaseImageVersion).value_or("");
    history.installed = controller_config->annotation(api::config_annotation::kInstalledVersion).value_or("");
  }
  if (history.installed.empty() && cluster_version != nullptr) history.installed = first_version_of(*cluster_version);
  if (history.installed.empty()) history.installed = history.present;
  return history;
}

Status check_release_order(const ReleaseHistory& history, const std::string& version, bool allow_downgrade) {
  const auto refuse = [](std::string text) {
    return Error(Code::kDenied, std::move(text)).with_verdict(Verdict::kBlocked);
  };
  if (!history.installed.empty() && is_before(version, history.installed).value_or(false)) {
    return refuse(fmt::format(
        "release {} is older than {}, which the cluster was installed with: what machines started with cannot be gone "
        "back behind; install them anew instead",
        version, history.installed));
  }
  if (allow_downgrade || history.present.empty() || version == history.present) return {};
  const std::optional<bool> older = is_before(version, history.present);
  if (!older) {
    return refuse(
        fmt::format("whether release {} is older than the present one, {}, cannot be told; --allow-downgrade takes it "
                    "nevertheless",
                    version, history.present));
  }
  if (!*older) return {};
  return refuse(fmt::format("release {} is older than the present one, {}; --allow-downgrade goes back to it", version,
                            history.present));
}

}  // namespace strake::release
