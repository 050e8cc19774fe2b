#include "osbackend/rpm_ostree/rpm_ostree_status.h"

#include <algorithm>

#include "api/os_packages.h"
#include "codec/json.h"
#include "osbackend/json_texts.h"

namespace strake::osbackend {

namespace {

constexpr std::size_t kMaxStatusBytes = 8u << 20;
constexpr std::size_t kMaxDeployments = 1000;

std::optional<ImageReference> image_of(const json::Value& deployment) {
  const auto digest = json::find_string(deployment, {"container-image-reference-digest"});
  if (const auto origin = json::find_string(deployment, {"container-image-reference"})) {
    const auto image = ImageReference::of_origin(*origin, digest.value_or(""));
    return image.ok() ? std::optional(*image) : std::nullopt;
  }
  // [url, description], where the url of an older host is pivot://NAME@DIGEST.
  const auto custom = texts_of(deployment, "custom-origin");
  if (!custom.ok() || custom->empty()) return std::nullopt;
  const auto image = ImageReference::of_origin(custom->front());
  return image.ok() ? std::optional(*image) : std::nullopt;
}

Result<RpmOstreeDeployment> deployment_of(const json::Value& value) {
  RpmOstreeDeployment deployment;
  const auto id = json::find_string(value, {"id"});
  if (!id || id->empty()) return error(Code::kCorrupt, "id: missing");
  deployment.id = *id;
  deployment.booted = json::find_bool(value, {"booted"}).value_or(false);
  deployment.staged = json::find_bool(value, {"staged"}).value_or(false);
  deployment.pinned = json::find_bool(value, {"pinned"}).value_or(false);
  deployment.version = json::find_string(value, {"version"}).value_or("");
  deployment.image = image_of(value);
  STRAKE_TRY(deployment.requested_packages, texts_of(value, "requested-packages"));
  return deployment;
}

}  // namespace

bool RpmOstreeDeployment::has_package(std::string_view name) const {
  return std::ranges::find(requested_packages, name) != requested_packages.end();
}

KernelType RpmOstreeDeployment::kernel_type() const {
  if (has_package(api::realtime_kernel_packages().front())) return KernelType::kRealtime;
  if (has_package(api::large_page_kernel_packages().front())) return KernelType::k64kPages;
  return KernelType::kDefault;
}

std::vector<std::string> RpmOstreeDeployment::extensions() const {
  std::vector<std::string> names;
  const auto has_all = [&](std::span<const std::string_view> packages) {
    return !packages.empty() && std::ranges::all_of(packages, [&](std::string_view name) { return has_package(name); });
  };
  for (const api::Extension& extension : api::known_extensions()) {
    if (has_all(extension.packages) || has_all(extension.older_packages)) names.emplace_back(extension.name);
  }
  return names;
}

Result<RpmOstreeStatus> parse_rpm_ostree_status(std::string_view text) {
  STRAKE_TRY_CONTEXT(const json::Value value, json::parse(text, {.max_bytes = kMaxStatusBytes}), "rpm-ostree status");
  const json::Value* list = json::find(value, {"deployments"});
  if (list == nullptr || !list->is_array() || list->get_array().size() > kMaxDeployments)
    return error(Code::kCorrupt, "rpm-ostree status: deployments: not a list of deployments");
  RpmOstreeStatus status;
  std::optional<std::size_t> booted;
  for (const json::Value& item : list->get_array()) {
    const std::size_t index = status.deployments.size();
    STRAKE_TRY_CONTEXT(RpmOstreeDeployment deployment, deployment_of(item), "rpm-ostree status: deployments[{}]",
                       index);
    if (deployment.booted && !booted) booted = index;
    status.deployments.push_back(std::move(deployment));
  }
  if (!booted) {
    return error(Code::kUnsupported,
                 "rpm-ostree shows no deployment as booted: this machine was not started from one of its own");
  }
  status.booted = *booted;
  if (*booted > 0) status.pending = 0;
  if (*booted + 1 < status.deployments.size()) status.rollback = *booted + 1;
  return status;
}

}  // namespace strake::osbackend
