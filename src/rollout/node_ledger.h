// The nodes a rollout decides on: as the informer's cache shows them, and, where this process has written since, as its
// own writes left them.
//
// A cache lags behind. What others write may arrive late without harm: a node that is reported back later than it came
// back only delays the next. What we wrote ourselves must count at once, or the next decision lets one node too many
// go. So the answer to each of our writes stands in for the node until the cache shows that version or a newer one. A
// write whose answer was lost is in doubt: the node is read anew before anything else is decided.
//
// Most nodes do not change from one decision to the next: their views stay as they are, and only those whose object is
// another one than before are read.
//
// Owned by the controller's one worker.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/node.h"
#include "kube/informer.h"
#include "kube/kube_api.h"

namespace strake::rollout {

class NodeLedger {
 public:
  /// Brings the ledger up to what the cache holds now, in the order of the names, and returns all nodes in that order.
  std::vector<api::NodePtr> update(const std::vector<kube::ObjectPtr>& cached);

  /// The answer to a write of ours.
  void wrote(const kube::Object& answer);
  /// The answer did not come: the write may have happened.
  void doubt(const std::string& node) { doubted_.insert(node); }
  /// Reads the nodes in doubt; an error leaves them in doubt.
  Status resolve_doubts(kube::KubeApi& api, const kube::Call& call);

  std::size_t unseen_writes() const { return written_.size(); }
  /// Objects that were read into views so far, which is the dear part.
  std::uint64_t views_read() const { return views_read_; }

 private:
  struct Seen {
    kube::ObjectPtr object;
    api::NodePtr view;
  };
  struct Written {
    std::string version;
    api::NodePtr view;
  };
  api::NodePtr read(const kube::Object& node);
  /// The view that counts: ours, until the cache shows our write or something newer.
  api::NodePtr current_view(const Seen& seen);

  std::vector<Seen> cached_;                ///< by name
  std::map<std::string, Written> written_;  ///< not yet in the cache
  std::set<std::string> doubted_;
  std::uint64_t views_read_ = 0;
};

}  // namespace strake::rollout
