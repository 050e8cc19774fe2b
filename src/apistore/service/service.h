// The API server without HTTP: every verb of the Kubernetes API with its semantics, on the store.
//
// HTTPS (the REST layer) and kube::KubeApi (in_process_api.h) are two doors to it. Objects go in as JSON values and
// come out as JSON text in the version the client asked for; a list without selectors parses nothing. Every call names
// its caller and is authorized here.
//
// A write reads the object, computes the new one outside any lock and commits it only if nobody changed it meanwhile,
// else begins again.
//
// Errors carry code, reason word and message as a Status wants them; `Request::details` has the rest:
//   kube::status_from_error(result.error(), request.details)
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apistore/rules/authorization.h"
#include "apistore/rules/write_rules.h"
#include "apistore/schema/registry.h"
#include "apistore/service/problem.h"
#include "apistore/service/watch.h"
#include "apistore/store/store.h"
#include "base/result.h"
#include "base/runtime.h"
#include "kube/api_error.h"
#include "kube/kube_api.h"

namespace strake::apistore {

class ServiceTasks;
class Selection;

/// One call: who asks, and what is said beside the answer.
struct Request {
  Caller caller;
  std::vector<std::string> warnings;  ///< out: for Warning headers
  kube::StatusDetails details;        ///< out: of the error returned
  std::stop_token stop = {};          ///< asked when nobody waits for the answer any more: long work ends (kCancelled)
};

/// What objects created by one user who is no administrator may take together. Of today's roles a kubelet creates its
/// own Node and no other creates anything; the quota holds for whatever the rules allow one day.
struct StorageQuota {
  std::int64_t objects = 500;
  std::int64_t bytes = 4 << 20;
  /// Beyond it nobody but an administrator makes an object larger, whoever created it.
  std::size_t object_bytes = 256u << 10;
};

struct ServiceOptions {
  StoreOptions store;
  StorageQuota quota;
  std::size_t max_object_bytes = 3u << 19;  ///< 1.5 MiB, as etcd
  runtime::Duration event_lifetime = std::chrono::hours(1);
  runtime::Duration bookmark_interval = std::chrono::seconds(50);
  runtime::Duration sweep_interval = std::chrono::minutes(1);  ///< of compaction and of expired Events
  /// Pods bound to a node wait, once deleted, for somebody to delete them with grace period 0 (a kubelet does). Off:
  /// they go at once.
  bool graceful_pod_deletion = false;
  /// How long after the start, and how often, the whole database file is read and checked. At once when something
  /// looks damaged, and soon after the start when the file is too large to be checked then.
  runtime::Duration check_interval = std::chrono::hours(6);
  /// Told everything that fails without an answer to fail. May be empty.
  ProblemHook on_problem;
};

/// An object as it now is. For a dry run: as it would be, without a new resourceVersion.
struct ObjectAnswer {
  std::string text;
  json::Value object;
};

struct ListAnswer {
  std::vector<std::string> items;  ///< texts, by namespace, then name
  std::string resource_version;
  std::string continue_token;
  std::optional<std::int64_t> remaining_items;  ///< known for lists without selectors
};

struct DeleteAnswer {
  std::string text;  ///< the object as it was, or as it now waits for its finalizers
  std::string uid;
  bool gone = false;  ///< false: it waits
};

class Service {
 public:
  /// Opens the store and makes sure of the namespaces everybody needs.
  static Result<std::unique_ptr<Service>> open(runtime::Runtime& runtime, std::shared_ptr<const Registry> registry,
                                               ServiceOptions options);
  /// Every Watch must be gone.
  ~Service();

  /// The tasks behind the API: garbage collection, namespaces, budgets, Event lifetime, compaction.
  void start();
  void stop();

  Result<ObjectAnswer> get(Request& request, const kube::Resource& resource, const kube::ObjectKey& key);
  /// As get, text only: nothing is parsed.
  /// `subresource` only decides whether the caller may: "status" shows the whole object, too.
  Result<std::string> get_text(Request& request, const kube::Resource& resource, const kube::ObjectKey& key,
                               const std::string& subresource = "");
  Result<ListAnswer> list(Request& request, const kube::Resource& resource, const std::string& ns,
                          const kube::ListOptions& options);
  Result<std::unique_ptr<Watch>> watch(Request& request, const kube::Resource& resource, const std::string& ns,
                                       const WatchQuery& query);

  /// `ns` is the namespace of the request; "" takes the object's own.
  Result<ObjectAnswer> create(Request& request, const kube::Resource& resource, const std::string& ns,
                              json::Value object, const kube::WriteOptions& options);
  Result<ObjectAnswer> update(Request& request, const kube::Resource& resource, const kube::ObjectKey& key,
                              json::Value object, const kube::WriteOptions& options);
  Result<ObjectAnswer> patch(Request& request, const kube::Resource& resource, const kube::ObjectKey& key,
                             kube::PatchType type, const json::Value& patch, const kube::WriteOptions& options);
  Result<DeleteAnswer> remove(Request& request, const kube::Resource& resource, const kube::ObjectKey& key,
                              const kube::DeleteOptions& options);
  /// The objects as they were.
  Result<ListAnswer> remove_collection(Request& request, const kube::Resource& resource, const std::string& ns,
                                       const kube::ListOptions& which, const kube::DeleteOptions& options);
  /// kExhausted with reason TooManyRequests while a PodDisruptionBudget forbids it.
  Status evict(Request& request, const kube::ObjectKey& pod, const kube::DeleteOptions& options);

  /// Whether a caller may, without doing it.
  Status may(const Caller& caller, const Access& access) const;
  /// The MachineConfigs that the Node of an agent names as current or desired; none for other callers.
  std::vector<std::string> named_configs(const Caller& caller) const;

  /// Of a task that works for the service: told to the hook of the options. Damage of the store is noted as such.
  void report(const std::string& part, const Error& error);
  /// Whether an error met while answering means that the store is damaged: notes it. Others are the caller's only.
  void note_failure(const Error& error) { store_->health().note(error); }

  const Registry& registry() const { return *registry_; }
  Store& store() { return *store_; }
  runtime::Runtime& runtime() { return runtime_; }
  const ServiceOptions& options() const { return options_; }

 private:
  struct Target {
    const Kind* kind;
    const KindVersion* version;
  };
  /// A change that is ready: it is committed if the object still has the revision it was computed from.
  struct Mutation {
    StoreKey key;
    Revision expected = 0;
    std::string uid;
    RevisionedText text;
    bool removes = false;
    std::string counted_user;      ///< not empty: what it creates or adds counts against this user's quota
    std::int64_t added_bytes = 0;  ///< to what there was
    std::optional<std::pair<StoreKey, Revision>> also_unchanged;
  };
  using Change = std::function<Result<json::Value>(const json::Value& current)>;

  Service(runtime::Runtime& runtime, std::shared_ptr<const Registry> registry, ServiceOptions options);

  Result<Target> target(const kube::Resource& resource) const;
  Status allow(const Request& request, std::string_view verb, const Target& target, const std::string& ns,
               const std::string& name, const std::string& subresource, const json::Value* before = nullptr,
               const json::Value* after = nullptr) const;
  Evidence evidence_for(const Caller& caller, const Access& access, const json::Value* before,
                        const json::Value* after) const;
  Result<Row> existing(Request& request, const Target& target, const StoreKey& key);
  WriteRequest write_request(Request& request, const Target& target, const kube::WriteOptions& options);
  Status check_size(Request& request, const Target& target, const Mutation& mutation, const std::string& name) const;
  Status count_against_quota(Request& request, const Target& target, Mutation& mutation, const std::string& name,
                             std::size_t size_before) const;
  Status check_quota(Txn& txn, const Mutation& mutation) const;
  static Status apply(Txn& txn, const Mutation& mutation, Row& written);
  /// nullopt: the object changed meanwhile.
  Result<std::optional<Row>> commit(const Mutation& mutation);
  Result<ObjectAnswer> answer(const Target& target, json::Value object, Row written) const;

  Result<std::pair<StoreKey, Revision>> open_namespace(Request& request, const Target& target, const std::string& ns,
                                                       const std::string& name);
  Result<ObjectAnswer> modify(Request& request, const Target& target, const kube::ObjectKey& key, std::string_view verb,
                              const kube::WriteOptions& options, UpdateSource source, const Change& change);
  /// What a deletion does to an object: nullopt when it is being deleted already and nothing changes.
  Result<std::optional<Mutation>> plan_removal(Request& request, const Target& target, const Row& row,
                                               const json::Value& object, const kube::DeleteOptions& options);
  Status ensure_namespaces();

  runtime::Runtime& runtime_;
  const std::shared_ptr<const Registry> registry_;
  const ServiceOptions options_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<ServiceTasks> tasks_;
};

}  // namespace strake::apistore
