// Credential plugins: a program named in the kubeconfig that prints a token or a client certificate
// (client.authentication.k8s.io/v1 and v1beta1). Run by argument list, without a terminal.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/subprocess.h"
#include "kube/cluster_access.h"

namespace strake::kube {

struct ExecCredential {
  std::string token;
  std::string client_cert_pem;
  std::string client_key_pem;
  std::optional<std::chrono::system_clock::time_point> expires;
};

/// How a plugin is started; tests bring their own.
using RunCommand = std::function<Result<ProcessOutput>(const Command& command, std::stop_token stop)>;

struct ExecOptions {
  std::chrono::milliseconds timeout{60'000};
  std::vector<std::string> environment;  ///< "NAME=value": what the plugin inherits
  RunCommand run;                        ///< empty: strake::run
};
/// With the environment of this process.
ExecOptions exec_options_from_process();

/// `access` says which plugin, and which cluster it is told about when it asks to know.
Result<ExecCredential> run_exec_plugin(const ClusterAccess& access, const ExecOptions& options, std::stop_token stop);

/// The answer of a plugin; `api_version` is what it was asked in.
Result<ExecCredential> parse_exec_credential(std::string_view text, std::string_view api_version);

}  // namespace strake::kube
