// The nodes a rollout decides on: as the informer's cache shows them, and, where this process has written since, as its
// own writes left them.
//
// A cache lags behind. What others write may arrive late without harm: a node that is reported back later than it came
// back only delays the next. What we wrote ourselves must count at once, or the next decision lets one node too many
// go. So the answer to each of our writes stands in for the node until the cache shows that version or a newer one. A
// write whose answer was lost is in doubt: the node is read anew before anything else is decided.
//
// Owned by the controller's one worker.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/node.h"
#include "kube/informer.h"
#include "kube/kube_api.h"

namespace strake::rollout {

class NodeLedger {
 public:
  using NodePtr = std::shared_ptr<const api::NodeView>;

  /// Brings the ledger up to what the cache holds now and returns all nodes, by name.
  std::vector<NodePtr> update(const std::vector<kube::ObjectPtr>& cached);

  /// The answer to a write of ours.
  void wrote(const kube::Object& answer);
  /// The answer did not come: the write may have happened.
  void doubt(const std::string& node) { doubted_.insert(node); }
  /// Reads the nodes in doubt; an error leaves them in doubt.
  Status resolve_doubts(kube::KubeApi& api, const kube::Call& call);

  std::size_t unseen_writes() const { return written_.size(); }

 private:
  struct Known {
    std::string version;
    NodePtr view;
  };

  std::map<std::string, Known> cached_;
  std::map<std::string, Known> written_;  ///< not yet in the cache
  std::set<std::string> doubted_;
};

}  // namespace strake::rollout
