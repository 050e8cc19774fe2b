// Removes what nobody owns any more, and empties namespaces that are being deleted.
//
// A dependent goes when every owner it names is gone (judged by uid). An owner in another namespace does not count as
// one; a cluster-scoped dependent that names a namespaced owner is left alone, as is one whose owner's kind is unknown:
// better kept than lost.
//   finalizer foregroundDeletion   dependents go first, the owner when no dependent with blockOwnerDeletion is left
//   finalizer orphan               the owner is taken out of its dependents, then goes
// A namespace goes when it is empty.
//
// State is rebuilt from the store at every start and then follows its changes; every step is repeatable.
#pragma once

#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "apistore/service/service.h"

namespace strake::apistore {

class GarbageCollector {
 public:
  explicit GarbageCollector(Service& service) : service_(service) {}

  /// Runs until stopped, or until something fails that a fresh start may mend.
  Status run(std::stop_token stop);

 private:
  struct Owner {
    std::string uid;
    bool blocks = false;
  };

  Status load();
  Status handle(const StoreEvent& event);
  /// Takes note of an object that exists; looks at what it asks for.
  Status examine(const StoreKey& key, std::string_view uid, std::string_view text);
  void note_owners(const StoreKey& key, std::vector<Owner> owners);
  std::vector<Owner> forget(const StoreKey& key);

  Status collect(const StoreKey& dependent);
  Status finish_foreground(const StoreKey& owner, const std::string& uid);
  Status orphan_dependents(const StoreKey& owner, const std::string& uid);
  Status drop_finalizer(const StoreKey& owner, const std::string& uid, std::string_view finalizer);
  Status drop_owners(const StoreKey& dependent, const std::set<std::string>& gone_uids);
  Status remove(const StoreKey& key, const std::string& uid, const std::string& propagation);
  Status empty_namespace(const std::string& ns);
  Status finish_namespace(const std::string& ns);

  enum class OwnerState { kAlive, kForeground, kGone, kUnknown };
  Result<OwnerState> owner_state(const StoreKey& dependent, const json::Value& reference) const;

  Service& service_;
  std::map<StoreKey, std::vector<Owner>> owners_;         ///< of each dependent
  std::map<std::string, std::set<StoreKey>> dependents_;  ///< by the uid of the owner
  std::map<std::string, StoreKey> foreground_;            ///< owners that wait for their dependents, by uid
  std::set<std::string> terminating_;                     ///< namespaces that are not empty yet
};

}  // namespace strake::apistore
