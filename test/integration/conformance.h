// The conformance suite: what our code may rely on, whichever API server is behind kube::KubeApi.
//
// Every test runs on each backend with the same assertions: the embedded server in this process, the embedded server
// through HTTPS, and a real etcd, kube-apiserver and kube-controller-manager. Where the backends are meant to differ, a
// test says so with `on_kubernetes()`, and docs/api-differences.md has the reason.
//
// A test has a namespace of its own; names of cluster-scoped objects begin with it (`own()`).
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "base/runtime.h"
#include "kube/https_transport.h"
#include "kube/kube_api.h"

namespace strake::conformance {

inline const kube::WriteOptions kStatus{.subresource = "status"};

enum class Backend { kInProcess, kEmbeddedHttps, kKubernetes };
std::string backend_name(const testing::TestParamInfo<Backend>& backend);

/// A running API server as its administrator sees it; one of each for the whole program.
class Server {
 public:
  virtual ~Server() = default;
  virtual kube::KubeApi& api() = 0;
  /// The same server below KubeApi, for what only HTTP shows; null in process.
  virtual std::shared_ptr<kube::HttpsTransport> wire() = 0;
  /// As somebody with a certificate of his own; not in process.
  virtual Result<kube::ClusterAccess> client(const std::string& user, const std::vector<std::string>& groups) = 0;
  /// For a program that is to ask this server; not in process.
  virtual Result<std::filesystem::path> kubeconfig() = 0;
  /// Forgets the past, as compaction does sooner or later.
  virtual Status compact() = 0;
};

/// Started by the first call; stopped when the program ends.
Result<Server*> shared_server(Backend backend);

json::Value parsed(std::string_view text);
/// The words of an answer, for failure messages and for looking into them.
template <typename T>
std::string outcome(const Result<T>& result) {
  if (result.ok()) return "success";
  return fmt::format("{} {}: {}", to_string(result.error().code()), result.error().reason(),
                     result.error().to_string());
}

/// A refusal is told by code and reason word; `words` must be in its message.
template <typename T>
void expect_refused(const Result<T>& result, Code code, std::string_view reason, std::vector<std::string> words = {},
                    std::source_location where = std::source_location::current()) {
  const testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()), outcome(result));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(to_string(result.error().code()), to_string(code));
  EXPECT_EQ(result.error().reason(), reason);
  for (const std::string& word : words) {
    EXPECT_NE(result.error().to_string().find(word), std::string::npos) << "without: " << word;
  }
}

/// The value, or a failed test and an empty one.
template <typename T>
T expect_ok(Result<T> result, std::source_location where = std::source_location::current()) {
  const testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()), outcome(result));
  EXPECT_TRUE(result.ok());
  if constexpr (!std::is_void_v<T>) return result.ok() ? *std::move(result) : T{};
}

std::vector<std::string> names(const std::vector<kube::Object>& objects);

class ConformanceTest : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override;

  bool on_kubernetes() const { return GetParam() == Backend::kKubernetes; }
  Server& server() { return *server_; }
  kube::KubeApi& api() { return server_->api(); }
  runtime::Runtime& runtime();
  kube::Call call() { return runtime().call_within(std::chrono::seconds(30)); }

  const std::string& ns() const { return ns_; }
  /// A name for a cluster-scoped object of this test.
  std::string own(std::string_view name) const { return fmt::format("{}-{}", ns_, name); }
  kube::ObjectKey key(const kube::Resource& resource, const std::string& name) const;

  /// An object of this test's namespace, with the members of `more` put over it.
  kube::Object make(const kube::Resource& resource, const std::string& name, std::string_view more = "{}") const;
  kube::Object create(const kube::Resource& resource, const std::string& name, std::string_view more = "{}",
                      std::source_location where = std::source_location::current());
  Result<kube::Object> try_create(const kube::Resource& resource, const kube::Object& object,
                                  const kube::WriteOptions& options = {});
  Result<kube::Object> try_update(const kube::Resource& resource, const kube::Object& object,
                                  const kube::WriteOptions& options = {});
  Result<kube::Object> try_get(const kube::Resource& resource, const std::string& name);
  kube::Object get(const kube::Resource& resource, const std::string& name,
                   std::source_location where = std::source_location::current());
  Result<kube::Object> try_patch(const kube::Resource& resource, const std::string& name, kube::PatchType type,
                                 std::string_view patch, const kube::WriteOptions& options = {});
  Result<kube::Object> try_remove(const kube::Resource& resource, const std::string& name,
                                  const kube::DeleteOptions& options = {});
  bool exists(const kube::Resource& resource, const std::string& name);
  std::vector<std::string> list_names(const kube::Resource& resource, const kube::ListOptions& options,
                                      std::source_location where = std::source_location::current());

  /// Some things are done by controllers behind the API: whether `holds` becomes true within a generous time.
  bool eventually(const std::function<bool()>& holds);
  /// kube-apiserver admits pods only when the namespace has its service account.
  void wait_until_pods_are_admitted();
  /// A pod without a node: no kubelet is needed to delete it.
  kube::Object create_pod(const std::string& name, std::string_view more = "{}");

 private:
  Server* server_ = nullptr;
  std::string ns_;
};

inline const auto kAllBackends = testing::Values(Backend::kInProcess, Backend::kEmbeddedHttps, Backend::kKubernetes);

}  // namespace strake::conformance
