// New machines that join: a config server of the real program beside an API server, the real Ignition as its client,
// and the validators of every spec as its judges. The same on the embedded API server and on kube-apiserver.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "integration/signals_stage.h"
#include "kube/cluster_access.h"
#include "kube/kube_api.h"
#include "net/http.h"
#include "net/testing/test_authority.h"
#include "support/temp_dir.h"

namespace strake::test {

class JoiningStage {
 public:
  /// `kubeconfig` has a config server's rights and no more. The controllers must not touch the pools.
  JoiningStage(kube::KubeApi& admin, std::filesystem::path kubeconfig);

  // Objects, as an administrator and the controllers would write them.
  void put(const kube::Resource& resource, const kube::Object& object);
  void put_config(const std::string& name, std::string_view file_contents, std::string_view more_ignition = "");
  void put_pool(const std::string& name, const std::string& target, const std::string& reached, int updated);
  void put_token(std::string_view token);
  void put_identity(net::testing::TestAuthority& authority, const std::vector<std::string>& addresses = {"127.0.0.1"});

  void start(std::vector<std::string> more_arguments = {}, const std::string& listen = "127.0.0.1:0");
  Daemon& daemon() { return *daemon_; }
  /// "https://127.0.0.1:PORT", once it listens.
  std::string url();

  net::Response ask(const std::string& path, const std::string& version, const net::testing::TestAuthority& authority);

  struct Fetched {
    bool ok = false;
    std::string log;
    json::Value config = json::Object{};  ///< what the machine would apply
  };
  /// The real Ignition with a stub of this spec that trusts the authority.
  Fetched fetch(const std::string& spec, const std::string& pool, const net::testing::TestAuthority& authority);
  Fetched fetch_with(const std::string& stub);

  kube::KubeApi& admin() { return admin_; }
  kube::Call call() { return runtime_.call_within(std::chrono::seconds(30)); }

 private:
  kube::KubeApi& admin_;
  runtime::ThreadRuntime runtime_;
  std::filesystem::path kubeconfig_;
  TempDir folder_;
  std::unique_ptr<Daemon> daemon_;
};

/// The user of a kubeconfig.
kube::ClusterAccess access_in(const std::filesystem::path& kubeconfig);

/// What holds on every API server; each leaves its objects behind.
void expect_machines_join(JoiningStage& stage);
void expect_every_byte_valid(JoiningStage& stage);
void expect_certificates_replaced(JoiningStage& stage);
void expect_refusals_explained(JoiningStage& stage);
/// `admin` is an administrator's kubeconfig. No controller may own joining meanwhile.
void expect_old_stub_converted(JoiningStage& stage, const std::filesystem::path& admin);
void expect_authority_rotated(JoiningStage& stage, const std::filesystem::path& admin);
void expect_outside_stubs_waited_for(JoiningStage& stage, const std::filesystem::path& admin);
void expect_only_who_may_is_served(JoiningStage& stage, const std::filesystem::path& admin);

}  // namespace strake::test
