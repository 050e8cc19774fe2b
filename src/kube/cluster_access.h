// ClusterAccess: everything needed to talk to one API server, taken from a kubeconfig or from a pod's service account.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/kubeconfig.h"

namespace strake::kube {

struct ClusterAccess {
  std::string server;  ///< "https://host:6443", maybe with a path; http only to this machine itself
  std::string ca_pem;  ///< empty: the roots of this machine
  /// For a first contact: the fingerprint of the one authority to trust (net::ClientOptions::ca_sha256).
  std::string ca_sha256;
  std::string tls_server_name;
  std::string proxy_url;

  std::string client_cert_pem;
  std::string client_key_pem;
  std::string bearer_token;
  std::filesystem::path token_file;  ///< read again now and then, because such tokens expire; wins over bearer_token
  std::string username;
  std::string password;
  std::optional<ExecConfig> exec;
  /// The one file both server and client certificate come from: read again now and then, because they are renewed
  /// there. Empty: they come from several places, or from none.
  std::filesystem::path kubeconfig_file;

  std::string impersonate_user;
  std::string impersonate_uid;
  std::vector<std::string> impersonate_groups;

  std::string ns = "default";
  std::string context;  ///< its name, for messages
};

/// What the command line says; empty values take the kubeconfig's.
struct AccessOverrides {
  std::string context;
  std::string cluster;
  std::string user;
  std::string ns;
  std::string server;
};

/// Chooses a context and reads the files it names. Refuses, naming file and field: unknown names, connections without
/// TLS verification, several ways to log in at once.
Result<ClusterAccess> resolve_access(const Kubeconfig& config, const AccessOverrides& overrides = {});

struct InClusterLocations {
  std::string host;  ///< KUBERNETES_SERVICE_HOST
  std::string port;  ///< KUBERNETES_SERVICE_PORT
  std::filesystem::path folder = "/var/run/secrets/kubernetes.io/serviceaccount";
};
InClusterLocations in_cluster_locations();

/// kNotFound when this is not a pod.
Result<ClusterAccess> in_cluster_access(const InClusterLocations& locations);

/// The kubeconfig if there is one, else the pod's service account, else an error that says how to provide either.
Result<ClusterAccess> find_access(const KubeconfigLocations& kubeconfig, const InClusterLocations& in_cluster,
                                  const AccessOverrides& overrides = {});

/// A kubeconfig with one context of that name.
Kubeconfig kubeconfig_for(const std::string& name, const ClusterAccess& access);

}  // namespace strake::kube
