#include "bootimage/check.h"

#include <optional>

#include "api/kinds.h"
#include "api/machine_set.h"
#include "api/node_annotations.h"
#include "base/text.h"
#include "bootimage/platform.h"
#include "stream/os_version.h"

namespace strake::bootimage {

namespace {

constexpr std::string_view kArchLabelsAnnotation = "capacity.cluster-autoscaler.kubernetes.io/labels";
constexpr std::string_view kArchLabelPrefix = "kubernetes.io/arch=";

constexpr std::string_view kOsIdLabel = "machine.openshift.io/os-id";

bool is_control_plane_set(const kube::Object& set) { return api::MachineSetView(set.json()).is_control_plane(); }

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
  for (const std::string& os : api::MachineSetView(set.json()).machine_labels(kOsIdLabel)) {
    if (os == "Windows") return Skip{CheckReason::kWindows, "its machines run Windows"};
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
    const std::string_view entry = trimmed(take_until(rest, ','));
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
                  view.wished_authority(), view.present_authority())};
}

Skip unsupported_platform(std::string_view provider_kind) {
  std::string known;
  for (const Platform* platform : platforms()) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", platform->provider_kind);
  }
  return {CheckReason::kUnsupportedPlatform,
          fmt::format("providerSpec.value is {}; boot images are managed here for {}; update this one by hand",
                      provider_kind.empty() ? "without a kind" : fmt::format("of kind {}", provider_kind), known)};
}

/// Everything that keeps a set of whatever platform from being compared, in order.
std::optional<Skip> first_skip(const kube::Object& set, const CheckPolicy& policy, std::string& arch) {
  const bool control_plane = is_control_plane_set(set);
  if (auto skip = skip_unless_enrolled(set, control_plane ? policy.control_plane_sets : policy.machine_sets,
                                       control_plane ? "controlplanemachinesets" : "machinesets")) {
    return skip;
  }
  if (auto skip = skip_if_owned(set)) return skip;
  if (auto skip = skip_other_os(set, policy)) return skip;
  if (auto skip = find_architecture(set, policy, arch)) return skip;
  return skip_other_authority(set);
}

/// The platform's part: fills in what it finds, and `patch` with the change it would make.
std::optional<Skip> compare_images(const kube::Object& set, const stream::Stream& stream, const CheckPolicy& policy,
                                   BootImageCheck& check) {
  const api::MachineSetView view(set.json());
  const json::Value* provider_spec = view.provider_spec();
  const std::string kind = view.provider_kind();
  const Platform* platform = find_platform(kind);
  if (platform == nullptr) return unsupported_platform(kind);

  PresentImage present;
  std::optional<Skip> unreadable = platform->read_present(*provider_spec, present);
  check.current_image = present.reference;
  check.region = present.region;
  if (unreadable) return unreadable;

  WantedImage wanted;
  if (auto skip = platform->find_wanted(stream, check.arch, present, wanted)) return skip;
  check.desired_image = wanted.reference;
  check.desired_release = wanted.release;
  if (auto skip = platform->refuse_to_replace(present, policy)) return skip;
  if (present.reference == wanted.reference) {
    check.state = BootImageState::kCurrent;
    check.code = CheckReason::kMatchesStream;
    check.reason = "boots the image of the current release";
    return std::nullopt;
  }
  check.state = BootImageState::kBehind;
  check.code = CheckReason::kDiffersFromStream;
  check.reason = fmt::format("the current release publishes another image{}{}",
                             wanted.release.empty() ? "" : fmt::format(", {}", wanted.release),
                             stream::os_version_note(wanted.release));
  if (!policy.image_owners.contains(present.reference)) check.reason += platform->unknown_owner_note;
  check.patch = view.provider_spec_patch(platform->change(*provider_spec, wanted));
  return std::nullopt;
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
    case CheckReason::kUnsupportedPlatform: return "UnsupportedPlatform";
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
  std::optional<Skip> skip = first_skip(machine_set, policy, check.arch);
  if (!skip) skip = compare_images(machine_set, stream, policy, check);
  if (skip) {
    check.state = BootImageState::kSkipped;
    check.code = skip->code;
    check.reason = std::move(skip->reason);
  }
  return check;
}

}  // namespace strake::bootimage
