// CredentialSource: what to present to the API server now, and whom to trust. Token files and kubeconfigs with client
// certificates are read again, plugins run again before their answer expires or after the server refused it; callers
// that come meanwhile wait for the one that does it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/runtime.h"
#include "kube/exec_credential.h"

namespace strake::kube {

struct Credentials {
  std::string bearer_token;
  std::string client_cert_pem;
  std::string client_key_pem;
  std::string username;
  std::string password;
  std::string ca_pem;            ///< of the server
  std::uint64_t generation = 0;  ///< changes when anything above does

  bool same_as(const Credentials& other) const;
};

class CredentialSource {
 public:
  CredentialSource(runtime::Runtime& runtime, ClusterAccess access, ExecOptions exec);

  Result<Credentials> current(const runtime::Call& call);

  /// The server answered 401 to these. True when asking again may bring others.
  bool refused(const Credentials& credentials);

 private:
  Result<Credentials> fetch(std::stop_token stop, std::optional<runtime::TimePoint>& fresh_until);
  Status read_kubeconfig_again(Credentials& credentials) const;
  bool can_change() const;

  runtime::Runtime& runtime_;
  const ClusterAccess access_;
  const ExecOptions exec_;

  std::mutex mutex_;
  runtime::Condition fetched_;
  bool fetching_ = false;
  std::optional<Credentials> credentials_;
  std::optional<runtime::TimePoint> fresh_until_;  ///< absent: for ever
  std::uint64_t last_refused_ = 0;
};

}  // namespace strake::kube
