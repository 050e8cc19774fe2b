// The control plane of `strake up`: embedded API server, controllers, and sandboxed machines, in one process.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/runtime.h"
#include "controlplane/first_config.h"
#include "controlplane/signals.h"
#include "kube/kube_api.h"
#include "net/endpoint.h"

namespace strake::controlplane {

struct ControlPlaneOptions {
  std::filesystem::path state;
  net::Endpoint listen{"127.0.0.1", 7443};
  /// Of the config server; absent: there is none, and sandboxed machines join without a first config.
  std::optional<net::Endpoint> config_listen{};
  std::vector<std::string> server_names;  ///< further ones, for the server's certificate
  std::filesystem::path kubeconfig_copy;  ///< empty: only STATE/kubeconfig
  std::size_t nodes = 0;
  runtime::Duration boot_time = std::chrono::seconds(2);  ///< of a sandboxed node
  std::filesystem::path audit_log;                        ///< of the API server; empty: none is kept
  std::string version;                                    ///< of this program
};

class ControlPlane {
 public:
  /// Verdict::kBlocked when another process holds the state folder. The signals must outlive it.
  static Result<std::unique_ptr<ControlPlane>> start(runtime::Runtime& runtime, const ControlPlaneOptions& options,
                                                     Signals& signals);
  ~ControlPlane();

  void stop();
  kube::KubeApi& admin_api();
  std::string url() const;
  /// "https://HOST:PORT" of the config server, as stubs name it; "" without one.
  std::string config_url() const;
  /// By this process, in the order in which they got it.
  std::vector<FirstFetch> first_fetches() const;
  std::filesystem::path kubeconfig() const;

 private:
  struct Impl;
  explicit ControlPlane(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace strake::controlplane
