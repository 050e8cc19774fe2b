// The client's side of credentials: a machine that joins, and certificates that are renewed in their kubeconfig.
//
//   FOLDER/kubeconfig   what the agent works with, mode 0600
//   FOLDER/join.key     the key, while the machine joins: kept so that a join that was killed can be repeated
//
// Keys are made here and never leave the machine; what is sent is a request to be certified (PKCS#10).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/runtime.h"
#include "kube/cluster_access.h"
#include "kube/https_api.h"
#include "net/x509.h"

namespace strake::controlplane {

/// Where an agent keeps what it joined with, below the folder that stands for its machine's root.
std::filesystem::path agent_folder(const std::filesystem::path& root);
std::filesystem::path agent_kubeconfig(const std::filesystem::path& root);

/// {"strake", "v1", "access", WHAT}
std::vector<std::string> access_path(std::string_view what);

struct JoinOptions {
  std::string server;
  std::string token;
  std::string ca_pem;     ///< whom to trust, or
  std::string ca_sha256;  ///< the fingerprint of the authority
  std::filesystem::path root;
};
struct Joined {
  std::string node;
  std::filesystem::path kubeconfig;
  std::string expires;
};
/// Verdict::kBlocked when this machine has joined already, or when the node's name is taken.
Result<Joined> join_machine(runtime::Runtime& runtime, const JoinOptions& options, const runtime::Call& call);

/// What an API server says about its authorities; nullopt where it issues no certificates (Kubernetes).
struct Authorities {
  std::string trusted_pem;
  std::vector<net::Certificate> trusted;  ///< the first one signs
};
Result<std::optional<Authorities>> read_authorities(kube::HttpsApi& api, const runtime::Call& call);

enum class RenewalReason { kNone, kSoonOver, kNewAuthorities, kNewSigner };
/// Pure. Less than a third of its life is left; or the server trusts others than the holder; or another one signs.
RenewalReason renewal_due(const net::Certificate& certificate, std::string_view trusted_pem,
                          const std::optional<Authorities>& authorities, runtime::WallTime now);

struct Renewal {
  bool renewed = false;
  std::string user;
  std::chrono::sys_seconds expires;
};
/// Renews the client certificate of a kubeconfig when it is time, and writes it there with the list of authorities.
/// nullopt when it holds none (a token, say).
Result<std::optional<Renewal>> renew_kubeconfig(runtime::Runtime& runtime, const std::filesystem::path& file,
                                                const runtime::Call& call);

}  // namespace strake::controlplane
