#include "bootimage/aws_check.h"

#include <algorithm>
#include <optional>

#include "api/kinds.h"
#include "api/machine_set.h"
#include "api/node_annotations.h"

namespace strake::bootimage {

namespace {

constexpr std::string_view kArchLabelsAnnotation = "capacity.cluster-autoscaler.kubernetes.io/labels";
constexpr std::string_view kArchLabelPrefix = "kubernetes.io/arch=";

constexpr std::string_view kOsIdLabel = "machine.openshift.io/os-id";
constexpr std::string_view kControlPlaneTemplate = "machines_v1beta1_machine_openshift_io";
constexpr std::string_view kAwsProviderKind = "AWSMachineProviderConfig";

/// The account that publishes the AMIs named in stream metadata.
constexpr std::string_view kStreamImageOwner = "531415883065";
constexpr std::string_view kMarketplaceOwner = "679593333241";

/// Why a set is not judged. Rules return it instead of setting fields, so that their order is the order of the calls
/// below.
struct Skip {
  CheckReason code;
  std::string reason;
};

bool is_control_plane_set(const kube::Object& set) {
  // Items of a typed list may come without `kind`; the template's shape tells the two kinds apart just as well.
  return json::find(set.json(), {"spec", "template", kControlPlaneTemplate}) != nullptr;
}

const json::Value* machine_template(const kube::Object& set) {
  return is_control_plane_set(set) ? json::find(set.json(), {"spec", "template", kControlPlaneTemplate})
                                   : json::find(set.json(), {"spec", "template"});
}

std::string_view trim_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::optional<Skip> skip_unless_enrolled(const kube::Object& set, const Enrolment& enrolment,
                                         std::string_view resource) {
  switch (enrolment.mode) {
    case api::SelectionMode::kAll: return std::nullopt;
    case api::SelectionMode::kNone:
      return Skip{CheckReason::kNotEnrolled,
                  fmt::format("boot images of {} are not managed here; set managedBootImages mode All for {} in "
                              "MachineConfiguration cluster to change that",
                              resource, resource)};
    case api::SelectionMode::kPartial: break;
  }
  if (enrolment.selector.matches(set.labels())) return std::nullopt;
  return Skip{CheckReason::kNotEnrolled,
              fmt::format("its labels do not match the selector for {} in MachineConfiguration cluster", resource)};
}

std::optional<Skip> skip_if_owned(const kube::Object& set) {
  const std::vector<kube::OwnerReference> owners = set.owners();
  if (owners.empty()) return std::nullopt;
  return Skip{CheckReason::kOwned, fmt::format("owned by {} {}, which would undo a change; update its boot image there",
                                               owners.front().kind, owners.front().name)};
}

std::optional<Skip> skip_other_os(const kube::Object& set, const CheckPolicy& policy) {
  const std::string stream = set.label(api::label::kOsStream).value_or(policy.os_stream);
  if (stream != policy.os_stream) {
    return Skip{CheckReason::kOtherStream,
                fmt::format("follows OS stream {}; this check compares with {}", stream, policy.os_stream)};
  }
  const json::Value* machine = machine_template(set);
  if (machine == nullptr) return std::nullopt;
  const auto windows = [&](std::initializer_list<std::string_view> path) {
    return json::find_string(*machine, path).value_or("") == "Windows";
  };
  if (windows({"metadata", "labels", kOsIdLabel}) || windows({"spec", "metadata", "labels", kOsIdLabel})) {
    return Skip{CheckReason::kWindows, "its machines run Windows"};
  }
  return std::nullopt;
}

/// Fills in `arch`, or says why it cannot be known.
std::optional<Skip> find_architecture(const kube::Object& set, const CheckPolicy& policy, std::string& arch) {
  // Control planes are of the cluster's own architecture; the autoscaler annotation belongs to machine sets.
  if (is_control_plane_set(set)) {
    arch = policy.cluster_arch;
    return std::nullopt;
  }
  const std::optional<std::string> annotation = set.annotation(kArchLabelsAnnotation);
  if (!annotation) {
    if (policy.multi_arch_cluster) {
      return Skip{
          CheckReason::kArchitectureUnknown,
          fmt::format(
              "the cluster has several architectures and this set does not say its own; annotate it with {}={}<arch>",
              kArchLabelsAnnotation, kArchLabelPrefix)};
    }
    arch = policy.cluster_arch;
    return std::nullopt;
  }
  std::string_view rest = *annotation;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view entry = trim_blanks(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    if (!entry.starts_with(kArchLabelPrefix)) continue;
    const std::string_view value = entry.substr(kArchLabelPrefix.size());
    if (value != "amd64" && value != "arm64" && value != "s390x" && value != "ppc64le") {
      return Skip{CheckReason::kArchitectureUnknown,
                  fmt::format("annotation {} names architecture '{}'; use amd64, arm64, s390x or ppc64le",
                              kArchLabelsAnnotation, value)};
    }
    arch = stream::rpm_architecture(value);
    return std::nullopt;
  }
  return Skip{CheckReason::kArchitectureUnknown,
              fmt::format("annotation {} has no {}<arch> entry; add one", kArchLabelsAnnotation, kArchLabelPrefix)};
}

std::optional<Skip> skip_other_authority(const kube::Object& set) {
  const api::MachineSetView view(set.json());
  if (view.owned_by_machine_api()) return std::nullopt;
  return Skip{
      CheckReason::kOtherAuthority,
      fmt::format("ruled by another API (authoritativeAPI: spec '{}', status '{}'); only sets ruled by MachineAPI are "
                  "changed here",
                  set.text({"spec", "authoritativeAPI"}), set.text({"status", "authoritativeAPI"}))};
}

/// Reads current image and region out of the provider spec, or says why there is nothing to compare.
std::optional<Skip> read_provider_spec(const json::Value* provider_spec, BootImageCheck& check) {
  const std::string kind = provider_spec == nullptr ? "" : json::find_string(*provider_spec, {"kind"}).value_or("");
  if (kind != kAwsProviderKind) {
    return Skip{CheckReason::kNotAws,
                fmt::format("providerSpec.value is {}, not {}", kind.empty() ? "without a kind" : "of kind " + kind,
                            kAwsProviderKind)};
  }
  check.region = json::find_string(*provider_spec, {"placement", "region"}).value_or("");
  check.current_id = json::find_string(*provider_spec, {"ami", "id"}).value_or("");
  if (check.current_id.empty()) {
    const std::string_view how = json::find(*provider_spec, {"ami", "arn"}) != nullptr       ? "by ARN (ami.arn)"
                                 : json::find(*provider_spec, {"ami", "filters"}) != nullptr ? "by search (ami.filters)"
                                                                                             : "nowhere";
    return Skip{CheckReason::kImageNotById,
                fmt::format("its image is given {}, not by ami.id; set ami.id by hand once to have it managed", how)};
  }
  if (check.region.empty()) {
    return Skip{CheckReason::kRegionUnknown, "providerSpec.value has no placement.region; set it"};
  }
  return std::nullopt;
}

std::optional<Skip> skip_foreign_image(const BootImageCheck& check, const CheckPolicy& policy) {
  const auto owner = policy.ami_owners.find(check.current_id);
  if (owner == policy.ami_owners.end() || owner->second == kStreamImageOwner) return std::nullopt;
  if (owner->second == kMarketplaceOwner) {
    return Skip{
        CheckReason::kForeignImage,
        fmt::format("{} is a marketplace image, which follows its product and not the stream; update it by hand",
                    check.current_id)};
  }
  return Skip{CheckReason::kForeignImage,
              fmt::format("{} belongs to account {}: a custom image is not replaced; update it by hand",
                          check.current_id, owner->second)};
}

json::Value ami_patch(bool control_plane, std::string_view ami) {
  json::Value patch = json::Object{};
  json::Value& value = control_plane
                           ? json::ensure(patch, {"spec", "template", kControlPlaneTemplate, "spec", "providerSpec",
                                                  "value", "ami", "id"})
                           : json::ensure(patch, {"spec", "template", "spec", "providerSpec", "value", "ami", "id"});
  value = ami;
  return patch;
}

/// Everything that keeps a set from being compared, in order.
std::optional<Skip> first_skip(const kube::Object& set, const stream::Stream& stream, const CheckPolicy& policy,
                               BootImageCheck& check) {
  const bool control_plane = is_control_plane_set(set);
  if (auto skip = skip_unless_enrolled(set, control_plane ? policy.control_plane_sets : policy.machine_sets,
                                       control_plane ? "controlplanemachinesets" : "machinesets")) {
    return skip;
  }
  if (auto skip = skip_if_owned(set)) return skip;
  if (auto skip = skip_other_os(set, policy)) return skip;
  if (auto skip = find_architecture(set, policy, check.arch)) return skip;
  if (auto skip = skip_other_authority(set)) return skip;
  const json::Value* machine = machine_template(set);
  const json::Value* provider_spec =
      machine == nullptr ? nullptr : json::find(*machine, {"spec", "providerSpec", "value"});
  if (auto skip = read_provider_spec(provider_spec, check)) return skip;

  const Result<stream::CloudImage> desired = stream.aws_image(check.arch, check.region);
  if (!desired.ok()) {
    return Skip{CheckReason::kNotPublished, fmt::format("{}; copy a published image to {} and set ami.id by hand",
                                                        desired.error().message(), check.region)};
  }
  check.desired_id = desired->image;
  return skip_foreign_image(check, policy);
}

Result<Enrolment> enrolment_of(const api::MachineManager& manager) {
  Enrolment enrolment{manager.mode};
  if (manager.mode != api::SelectionMode::kPartial) return enrolment;
  STRAKE_TRY_CONTEXT(enrolment.selector,
                     kube::Selector::from_json(&manager.selector, kube::AbsentSelector::kMatchesNothing),
                     "selection.partial.machineResourceSelector for {}", manager.resource);
  return enrolment;
}

}  // namespace

std::string_view to_string(BootImageState state) {
  switch (state) {
    case BootImageState::kCurrent: return "current";
    case BootImageState::kBehind: return "behind";
    case BootImageState::kSkipped: return "skipped";
  }
  return "";
}

std::string_view to_string(CheckReason reason) {
  switch (reason) {
    case CheckReason::kMatchesStream: return "MatchesStream";
    case CheckReason::kDiffersFromStream: return "DiffersFromStream";
    case CheckReason::kNotEnrolled: return "NotEnrolled";
    case CheckReason::kOwned: return "Owned";
    case CheckReason::kOtherStream: return "OtherStream";
    case CheckReason::kWindows: return "Windows";
    case CheckReason::kArchitectureUnknown: return "ArchitectureUnknown";
    case CheckReason::kOtherAuthority: return "OtherAuthority";
    case CheckReason::kNotAws: return "NotAws";
    case CheckReason::kImageNotById: return "ImageNotById";
    case CheckReason::kRegionUnknown: return "RegionUnknown";
    case CheckReason::kNotPublished: return "NotPublished";
    case CheckReason::kForeignImage: return "ForeignImage";
  }
  return "";
}

Result<CheckPolicy> policy_of_machine_configuration(const kube::Object& machine_configuration, CheckPolicy defaults) {
  const api::MachineConfigurationView view(machine_configuration.json());
  STRAKE_TRY(auto managers, view.effective_managers());
  if (!managers) {
    STRAKE_TRY(managers, view.wished_managers());
  }
  if (!managers) return defaults;
  if (managers->empty()) {
    // A list that is there and empty is the old way to opt everything out.
    defaults.machine_sets = {api::SelectionMode::kNone};
    defaults.control_plane_sets = {api::SelectionMode::kNone};
  }
  for (const api::MachineManager& manager : *managers) {
    if (manager.api_group != api::kMachineSet.group) continue;
    const bool machine_sets = manager.resource == api::kMachineSet.plural;
    if (!machine_sets && manager.resource != api::kControlPlaneMachineSet.plural) continue;
    STRAKE_TRY_CONTEXT((machine_sets ? defaults.machine_sets : defaults.control_plane_sets), enrolment_of(manager),
                       "MachineConfiguration {}", machine_configuration.name());
  }
  return defaults;
}

BootImageCheck check_machine_set(const kube::Object& machine_set, const stream::Stream& stream,
                                 const CheckPolicy& policy) {
  const bool control_plane = is_control_plane_set(machine_set);
  BootImageCheck check;
  check.key = machine_set.key();
  check.kind = control_plane ? "ControlPlaneMachineSet" : "MachineSet";
  if (auto skip = first_skip(machine_set, stream, policy, check)) {
    check.state = BootImageState::kSkipped;
    check.code = skip->code;
    check.reason = std::move(skip->reason);
    return check;
  }
  if (check.current_id == check.desired_id) {
    check.state = BootImageState::kCurrent;
    check.code = CheckReason::kMatchesStream;
    check.reason = "boots the image of the current release";
    return check;
  }
  check.state = BootImageState::kBehind;
  check.code = CheckReason::kDiffersFromStream;
  check.reason = policy.ami_owners.contains(check.current_id)
                     ? "the current release publishes another image"
                     : "the current release publishes another image (who owns the present one was not checked)";
  check.patch = ami_patch(control_plane, check.desired_id);
  return check;
}

std::size_t BootImageReport::count(BootImageState state) const {
  return static_cast<std::size_t>(
      std::count_if(items.begin(), items.end(), [&](const BootImageCheck& item) { return item.state == state; }));
}

int BootImageReport::exit_code() const {
  if (count(BootImageState::kBehind) > 0) return 2;
  const bool absent = std::any_of(items.begin(), items.end(),
                                  [](const BootImageCheck& item) { return item.code == CheckReason::kNotPublished; });
  return absent ? 3 : 0;
}

BootImageReport check_all(std::span<const kube::Object> machine_sets, std::span<const kube::Object> control_plane_sets,
                          const stream::Stream& stream, const CheckPolicy& policy) {
  BootImageReport report;
  for (const std::span<const kube::Object> sets : {control_plane_sets, machine_sets}) {
    const auto first = static_cast<std::ptrdiff_t>(report.items.size());
    for (const kube::Object& set : sets) report.items.push_back(check_machine_set(set, stream, policy));
    std::sort(report.items.begin() + first, report.items.end(),
              [](const BootImageCheck& a, const BootImageCheck& b) { return a.key < b.key; });
  }
  return report;
}

}  // namespace strake::bootimage
