// A KubeApi that counts what goes through it, and refuses what a test tells it to.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "kube/kube_api.h"

namespace strake::simulation {

class CountingApi final : public kube::KubeApi {
 public:
  explicit CountingApi(kube::KubeApi& inner) : inner_(inner) {}

  /// Asked before every write ("patch", "nodes"): an error is the answer, and nothing reaches the server.
  std::function<std::optional<Error>(std::string_view verb, const kube::Resource& resource)> refuse;

  /// Calls of a verb on a kind so far: count("list", kNode).
  std::uint64_t count(const std::string& verb, const kube::Resource& resource) const {
    const auto found = counts_.find({verb, resource.plural});
    return found == counts_.end() ? 0 : found->second;
  }
  /// Creates, updates, patches and deletions of anything, Events and refused ones included.
  std::uint64_t writes() const { return writes_; }

  Result<kube::Object> get(const kube::Resource& resource, const kube::ObjectKey& key,
                           const kube::Call& call) override {
    note("get", resource);
    return inner_.get(resource, key, call);
  }
  Result<kube::ListPage> list(const kube::Resource& resource, const std::string& ns, const kube::ListOptions& options,
                              const kube::Call& call) override {
    note("list", resource);
    return inner_.list(resource, ns, options, call);
  }
  Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Resource& resource, const std::string& ns,
                                                   const kube::WatchOptions& options, const kube::Call& call) override {
    note("watch", resource);
    return inner_.watch(resource, ns, options, call);
  }
  Result<kube::Object> create(const kube::Resource& resource, const kube::Object& object,
                              const kube::WriteOptions& options, const kube::Call& call) override {
    if (auto refused = note_write("create", resource)) return *std::move(refused);
    return inner_.create(resource, object, options, call);
  }
  Result<kube::Object> update(const kube::Resource& resource, const kube::Object& object,
                              const kube::WriteOptions& options, const kube::Call& call) override {
    if (auto refused = note_write("update", resource)) return *std::move(refused);
    return inner_.update(resource, object, options, call);
  }
  Result<kube::Object> patch(const kube::Resource& resource, const kube::ObjectKey& key, kube::PatchType type,
                             const json::Value& patch, const kube::WriteOptions& options,
                             const kube::Call& call) override {
    if (auto refused = note_write("patch", resource)) return *std::move(refused);
    return inner_.patch(resource, key, type, patch, options, call);
  }
  Result<kube::Object> remove(const kube::Resource& resource, const kube::ObjectKey& key,
                              const kube::DeleteOptions& options, const kube::Call& call) override {
    if (auto refused = note_write("delete", resource)) return *std::move(refused);
    return inner_.remove(resource, key, options, call);
  }
  Status remove_collection(const kube::Resource& resource, const std::string& ns, const kube::ListOptions& which,
                           const kube::DeleteOptions& options, const kube::Call& call) override {
    if (auto refused = note_write("delete", resource)) return *std::move(refused);
    return inner_.remove_collection(resource, ns, which, options, call);
  }
  Status evict(const kube::ObjectKey& pod, const kube::DeleteOptions& options, const kube::Call& call) override {
    if (auto refused = note_write("evict", kube::core::kPod)) return *std::move(refused);
    return inner_.evict(pod, options, call);
  }

 private:
  void note(const std::string& verb, const kube::Resource& resource) { ++counts_[{verb, resource.plural}]; }
  std::optional<Error> note_write(const std::string& verb, const kube::Resource& resource) {
    note(verb, resource);
    ++writes_;
    return refuse ? refuse(verb, resource) : std::nullopt;
  }

  kube::KubeApi& inner_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> counts_;
  std::uint64_t writes_ = 0;
};

}  // namespace strake::simulation
