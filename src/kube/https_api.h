// HttpsApi: KubeApi against a real API server (or `strake up` in another process) over HTTPS.
#pragma once

#include <memory>

#include "kube/https_transport.h"
#include "kube/kube_api.h"

namespace strake::kube {

class HttpsApi final : public KubeApi {
 public:
  /// Only parses and checks; the first call connects.
  static Result<std::unique_ptr<HttpsApi>> create(runtime::Runtime& runtime, ClusterAccess access,
                                                  HttpsOptions options = {});

  Result<Object> get(const Resource& resource, const ObjectKey& key, const Call& call) override;
  Result<ListPage> list(const Resource& resource, const std::string& ns, const ListOptions& options,
                        const Call& call) override;
  Result<std::unique_ptr<WatchStream>> watch(const Resource& resource, const std::string& ns,
                                             const WatchOptions& options, const Call& call) override;
  Result<Object> create(const Resource& resource, const Object& object, const WriteOptions& options,
                        const Call& call) override;
  Result<Object> update(const Resource& resource, const Object& object, const WriteOptions& options,
                        const Call& call) override;
  Result<Object> patch(const Resource& resource, const ObjectKey& key, PatchType type, const json::Value& patch,
                       const WriteOptions& options, const Call& call) override;
  /// A server that answers with a mere Status leaves only the object's name and uid to return.
  Result<Object> remove(const Resource& resource, const ObjectKey& key, const DeleteOptions& options,
                        const Call& call) override;
  Status remove_collection(const Resource& resource, const std::string& ns, const ListOptions& which,
                           const DeleteOptions& options, const Call& call) override;
  Status evict(const ObjectKey& pod, const DeleteOptions& options, const Call& call) override;

  /// Any path below the server's URL, such as {"version"} or {"apis"}.
  Result<json::Value> get_raw(std::vector<std::string> path, const Call& call);
  Result<json::Value> post_raw(std::vector<std::string> path, const json::Value& body, const Call& call);

  const ClusterAccess& access() const { return transport_->access(); }

 private:
  explicit HttpsApi(std::shared_ptr<HttpsTransport> transport) : transport_(std::move(transport)) {}

  std::shared_ptr<HttpsTransport> transport_;
};

/// Server-side apply: the fields of `object` become ours (`options.field_manager`); what we no longer name is given up.
Result<Object> server_side_apply(KubeApi& api, const Resource& resource, const Object& object,
                                 const WriteOptions& options, const Call& call);

}  // namespace strake::kube
