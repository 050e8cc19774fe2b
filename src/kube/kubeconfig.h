// Kubeconfig files: read, merged the way kubectl merges them, and written.
//
// Reading stays apart from using: a Kubeconfig may hold clusters with settings this program refuses; only what is
// chosen is judged (cluster_access.h). Paths inside a file are made relative to that file while it is read, because
// later nobody knows which file they came from.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace strake::kube {

/// A program that prints credentials (client.authentication.k8s.io).
struct ExecConfig {
  std::string api_version;
  std::string command;  ///< absolute, or a bare name for PATH
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  ///< in addition to ours
  std::string install_hint;
  std::string interactive_mode;  ///< "Never", "IfAvailable" or "Always"
  bool provide_cluster_info = false;
};

struct KubeconfigCluster {
  std::filesystem::path file;  ///< where it was read, for messages
  std::string server;
  std::string ca_pem;  ///< from certificate-authority-data
  std::filesystem::path ca_file;
  std::string tls_server_name;
  std::string proxy_url;
  bool insecure_skip_tls_verify = false;
};

struct KubeconfigUser {
  std::filesystem::path file;
  std::string client_certificate_pem;
  std::filesystem::path client_certificate_file;
  std::string client_key_pem;
  std::filesystem::path client_key_file;
  std::string token;
  std::filesystem::path token_file;
  std::string username;
  std::string password;
  std::string impersonate_user;
  std::string impersonate_uid;
  std::vector<std::string> impersonate_groups;
  std::string auth_provider;  ///< the name of a kind of login Kubernetes itself has dropped
  std::optional<ExecConfig> exec;
};

struct KubeconfigContext {
  std::filesystem::path file;
  std::string cluster;
  std::string user;
  std::string ns;
};

struct Kubeconfig {
  std::string current_context;
  std::map<std::string, KubeconfigCluster> clusters;
  std::map<std::string, KubeconfigUser> users;
  std::map<std::string, KubeconfigContext> contexts;

  bool empty() const { return current_context.empty() && clusters.empty() && users.empty() && contexts.empty(); }
};

/// `file` is named in errors; relative paths inside the text start from its folder.
Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::filesystem::path& file);

/// Adds what `earlier` does not have: the first file that names something wins.
void merge_kubeconfig(Kubeconfig& earlier, Kubeconfig later);

/// Where to look. An explicit file must exist and is the only one; of the KUBECONFIG list missing files are passed
/// over.
struct KubeconfigLocations {
  std::filesystem::path explicit_file;
  std::string kubeconfig_variable;  ///< KUBECONFIG: paths separated by colons
  std::filesystem::path home;       ///< for ~/.kube/config
};
KubeconfigLocations kubeconfig_locations(std::filesystem::path explicit_file = {});

/// An empty Kubeconfig when no file exists.
Result<Kubeconfig> load_kubeconfig(const KubeconfigLocations& locations);

/// YAML that kubectl reads; credentials are written in line. The result is a secret: mode 0600.
Result<std::string> write_kubeconfig(const Kubeconfig& config);

}  // namespace strake::kube
