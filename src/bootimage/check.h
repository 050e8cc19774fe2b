// Do machine sets boot new machines from the image of the current release? Pure: objects and stream in, verdicts out.
//
// What is true of every machine set is here; what differs between platforms is in platform.h. A set that cannot or must
// not be managed is skipped with a reason that says what to do; nothing is passed over in silence. A set that is behind
// carries the JSON merge patch that brings it up: it holds the reference to the image and nothing else, so every other
// field, known to us or not, stays as it is.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "api/machine_configuration.h"
#include "codec/json.h"
#include "kube/object.h"
#include "kube/selector.h"
#include "stream/metadata.h"

namespace strake::bootimage {

enum class BootImageState { kCurrent, kBehind, kSkipped };
std::string_view to_string(BootImageState state);

/// Why a set is in its state: the word programs branch on, where BootImageCheck::reason is for people.
enum class CheckReason {
  kMatchesStream,
  kDiffersFromStream,
  kNotEnrolled,
  kOwned,
  kOtherStream,
  kWindows,
  kArchitectureUnknown,
  kOtherAuthority,
  kUnsupportedPlatform,
  kImageNotById,
  kRegionUnknown,
  kNotPublished,
  kForeignImage,
};
std::string_view to_string(CheckReason reason);

/// Which sets of one kind are managed: MachineConfiguration `cluster`, managedBootImages.machineManagers[].selection.
struct Enrolment {
  api::SelectionMode mode = api::SelectionMode::kAll;
  kube::Selector selector = {};  ///< kPartial: matched against the labels of the set itself, not of its machines
};

struct CheckPolicy {
  Enrolment machine_sets;                                   ///< on AWS the default is all
  Enrolment control_plane_sets{api::SelectionMode::kNone};  ///< control planes are opted in by hand
  std::string cluster_arch = "x86_64";                      ///< RPM name, for sets that do not say theirs
  bool multi_arch_cluster = false;   ///< then a set that does not say its architecture cannot be judged
  std::string os_stream = "rhel-9";  ///< the OS stream whose metadata is compared against
  /// Owner by image reference, where a cloud client could ask. An image that somebody else owns is custom and never
  /// replaced; for images that are not here ownership is unknown, and the reason text says so.
  std::map<std::string, std::string> image_owners;
};

/// Enrolment as the cluster's operator.openshift.io/v1 MachineConfiguration asks: its effective status, else its spec,
/// else the defaults above.
Result<CheckPolicy> policy_of_machine_configuration(const kube::Object& machine_configuration,
                                                    CheckPolicy defaults = {});

struct BootImageCheck {
  kube::ObjectKey key;
  std::string kind;  ///< MachineSet or ControlPlaneMachineSet
  BootImageState state = BootImageState::kSkipped;
  CheckReason code = CheckReason::kUnsupportedPlatform;
  std::string reason;
  std::string region;
  std::string arch;           ///< RPM name
  std::string current_image;  ///< as the platform refers to images
  std::string desired_image;
  std::string desired_release;  ///< the version of the OS in it
  json::Value patch;            ///< null unless behind
};

/// `machine_set` is a machine.openshift.io MachineSet or ControlPlaneMachineSet.
BootImageCheck check_machine_set(const kube::Object& machine_set, const stream::Stream& stream,
                                 const CheckPolicy& policy);

}  // namespace strake::bootimage
