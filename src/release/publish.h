// Publishing a release to a cluster: the objects from which configs are rendered, nodes updated and boot images
// compared.
//
// What is published: ControllerConfig, the release's own base configs and what is known of its OS images (ConfigMap
// strake-release), OSImageStream, the coreos-bootimages ConfigMap, and the master and worker pools where there are
// none. Rendering waits while ControllerConfig's generation is ahead of the one observed in its status. The plan
// changes ControllerConfig's spec first; the template controller observes it when the base configs of the same release
// image are there and made into MachineConfigs. So nobody renders half a release.
//
// ControllerConfig also keeps who signed the release (annotation and condition; "unsigned" where the user wished so)
// and the version the cluster began with, below which no release is taken.
#pragma once

#include <chrono>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kube/kube_api.h"
#include "kube/object.h"
#include "release/proven_release.h"

namespace strake::release {

/// Who publishes, and when: the time goes into conditions that change.
struct Publisher {
  std::string version;  ///< Strake's; renders accept only what their own version published
  std::chrono::system_clock::time_point now;
  bool allow_downgrade = false;  ///< to a release older than the present one
};

struct PublicationTarget {
  kube::Resource resource;
  kube::ObjectKey key;
};

/// Every object a publication may write: what an observer has to read.
std::vector<PublicationTarget> publication_targets();

/// The targets that exist, as read.
class ObservedObjects {
 public:
  void put(const kube::Resource& resource, kube::Object object);
  /// nullptr when it does not exist.
  const kube::Object* find(const kube::Resource& resource, const kube::ObjectKey& key) const;

 private:
  std::map<std::pair<std::string, kube::ObjectKey>, kube::Object> objects_;
};

struct PublicationStep {
  enum class Action { kCreate, kPatch, kPatchStatus };
  Action action = Action::kPatch;
  kube::Resource resource;
  kube::ObjectKey key;
  json::Value body;  ///< the whole object to create, or a JSON merge patch of our own fields
  /// Only while the object is as it was observed.
  bool if_unchanged = false;

  /// "create machineconfigpools.machineconfiguration.openshift.io worker".
  std::string to_string() const;
};

/// What has to be written so that the cluster is on this release; empty when it is. kDenied ("blocked"): it is older
/// than the cluster may go (release_order.h).
Result<std::vector<PublicationStep>> plan_publication(const ProvenRelease& release, const ObservedObjects& observed,
                                                      const Publisher& publisher);

/// Observes, plans and runs the plan; starts over, a few times, when somebody else writes in between (then kConflict).
/// Returns the steps that were run. Safe to repeat: a second call finds nothing to do.
Result<std::vector<PublicationStep>> publish(kube::KubeApi& api, const ProvenRelease& release,
                                             const Publisher& publisher, const kube::Call& call);

}  // namespace strake::release
