// kube::KubeApi on the embedded API server, without a network. Every call is a place where the runtime may switch
// tasks.
#pragma once

#include <memory>
#include <string>

#include "apistore/service/service.h"
#include "kube/kube_api.h"

namespace strake::apistore {

class InProcessApi final : public kube::KubeApi {
 public:
  /// Acts as `caller`; the service must outlive this and its watch streams.
  InProcessApi(Service& service, Caller caller) : service_(service), caller_(std::move(caller)) {}

  Result<kube::Object> get(const kube::Resource& resource, const kube::ObjectKey& key, const kube::Call& call) override;
  Result<kube::ListPage> list(const kube::Resource& resource, const std::string& ns, const kube::ListOptions& options,
                              const kube::Call& call) override;
  Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Resource& resource, const std::string& ns,
                                                   const kube::WatchOptions& options, const kube::Call& call) override;
  Result<kube::Object> create(const kube::Resource& resource, const kube::Object& object,
                              const kube::WriteOptions& options, const kube::Call& call) override;
  Result<kube::Object> update(const kube::Resource& resource, const kube::Object& object,
                              const kube::WriteOptions& options, const kube::Call& call) override;
  Result<kube::Object> patch(const kube::Resource& resource, const kube::ObjectKey& key, kube::PatchType type,
                             const json::Value& patch, const kube::WriteOptions& options,
                             const kube::Call& call) override;
  Result<kube::Object> remove(const kube::Resource& resource, const kube::ObjectKey& key,
                              const kube::DeleteOptions& options, const kube::Call& call) override;
  Status remove_collection(const kube::Resource& resource, const std::string& ns, const kube::ListOptions& which,
                           const kube::DeleteOptions& options, const kube::Call& call) override;
  Status evict(const kube::ObjectKey& pod, const kube::DeleteOptions& options, const kube::Call& call) override;

 private:
  /// The switching point, and the end of a call that is already over.
  Status enter(std::string_view verb, const kube::Resource& resource, const kube::Call& call);
  Request request() const { return {caller_, {}, {}}; }

  Service& service_;
  const Caller caller_;
};

}  // namespace strake::apistore
