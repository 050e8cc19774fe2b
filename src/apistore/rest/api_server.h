// ApiServer: the embedded API server on its port, with certificates of its own.
//
//   STATE/pki               authority, server and administrator (pki/authority.h, pki/kept_identity.h)
//   STATE/pki/issued.json   certificates that were issued to others (pki/issued.h)
//   STATE/pki/revoked.json  certificates that do not count any more (pki/revocations.h)
//   STATE/tokens.json       bearer tokens, hashed (pki/tokens.h)
//   STATE/audit.log         who asked for what (guard/audit_log.h), unless it is put elsewhere or not kept
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "apistore/guard/user_guard.h"
#include "apistore/rest/watch_hub.h"
#include "apistore/service/service.h"
#include "base/result.h"
#include "base/runtime.h"
#include "kube/cluster_access.h"
#include "pki/tokens.h"

namespace strake::apistore::rest {

struct ApiServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 7443;  ///< 0: any free one
  std::filesystem::path state_directory;
  std::vector<std::string> names;  ///< further host names and addresses clients use
  std::string program_version = "0";
  unsigned handler_threads = 8;
  WatchHubOptions watches;
  std::function<std::string()> more_metrics;  ///< of the program around it: added to /metrics
  runtime::Duration certificate_check = std::chrono::hours(1);
  runtime::Duration credential_check = std::chrono::seconds(1);  ///< how soon a revoked one ends what it holds open
  UserLimits user_limits;
  std::filesystem::path audit_log;  ///< empty: none
};

/// The reason of the error when the audit log cannot be written.
inline constexpr std::string_view kNoAuditLog = "NoAuditLog";

class ApiServer {
 public:
  /// Serves from the moment it returns. The service must outlive it.
  static Result<std::unique_ptr<ApiServer>> start(Service& service, ApiServerOptions options);
  /// Stops at once.
  ~ApiServer();

  std::uint16_t port() const;
  /// For clients on this machine, or at the address it listens on.
  std::string url() const;

  kube::ClusterAccess admin_access() const;
  /// The administrator's, mode 0600, written again whenever its certificate or the authorities change; returns the
  /// path.
  Result<std::filesystem::path> write_kubeconfig(const std::filesystem::path& path) const;

  Result<kube::ClusterAccess> issue_client(const std::string& user, const std::vector<std::string>& groups,
                                           std::chrono::hours lifetime);
  pki::TokenFile& tokens();

  /// Ends watches, lets running requests finish within `grace`.
  void stop(std::chrono::milliseconds grace = std::chrono::seconds(2));

 private:
  struct Certificates;
  struct Impl;
  explicit ApiServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace strake::apistore::rest
