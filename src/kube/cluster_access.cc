#include "kube/cluster_access.h"

#include <algorithm>
#include <cstdlib>

#include "base/fd.h"
#include "base/text.h"
#include "net/url.h"

namespace strake::kube {

namespace {

constexpr std::size_t kMaxPemFileBytes = 4u << 20;
constexpr std::size_t kMaxNamespaceFileBytes = 4u << 10;

template <typename Entry>
Result<const Entry*> find_entry(const std::map<std::string, Entry>& entries, const std::string& name,
                                std::string_view what) {
  const auto found = entries.find(name);
  if (found != entries.end()) return &found->second;
  std::string known;
  for (const auto& [key, entry] : entries) {
    if (known.size() > 200) {
      known += ", ...";
      break;
    }
    known += (known.empty() ? "" : ", ") + key;
  }
  return error(Code::kNotFound, "{} \"{}\" is not in the kubeconfig; it has: {}", what, name,
               known.empty() ? "none" : known);
}

Result<std::string> pem_from(const std::string& inline_pem, const std::filesystem::path& file, std::string_view field) {
  std::string pem = inline_pem;
  if (pem.empty() && !file.empty()) {
    STRAKE_TRY_CONTEXT(pem, read_file(file, kMaxPemFileBytes), "{}", field);
  }
  if (!pem.empty() && pem.find("-----BEGIN ") == std::string::npos) {
    return error(Code::kInvalidArgument, "{}{}: holds no PEM block", field,
                 inline_pem.empty() ? fmt::format(" {}", file.string()) : "-data");
  }
  return pem;
}

Status check_server(const std::string& server) {
  if (server.empty()) return error(Code::kInvalidArgument, "server: is missing");
  Result<net::Url> url = net::parse_url(server);
  if (!url.ok()) return std::move(url).error().context("server");
  const bool local = url->host == "localhost" || url->host == "127.0.0.1" || url->host == "::1";
  if (url->scheme != "https" && !local) {
    return error(Code::kDenied, "server: {} is not encrypted; use https (http is accepted for this machine only)",
                 server);
  }
  if (!url->query.empty()) return error(Code::kInvalidArgument, "server: {} must have no query", url->redacted());
  return {};
}

Status use_cluster(const KubeconfigCluster& cluster, const AccessOverrides& overrides, ClusterAccess& access) {
  access.server = overrides.server.empty() ? cluster.server : overrides.server;
  STRAKE_CHECK_OK(check_server(access.server));
  if (cluster.insecure_skip_tls_verify) {
    return error(Code::kDenied,
                 "insecure-skip-tls-verify: connections without verification are refused; put the server's CA into "
                 "certificate-authority-data instead");
  }
  STRAKE_TRY(access.ca_pem, pem_from(cluster.ca_pem, cluster.ca_file, "certificate-authority"));
  access.tls_server_name = cluster.tls_server_name;
  access.proxy_url = cluster.proxy_url;
  if (!access.proxy_url.empty()) {
    if (Result<net::Url> proxy = net::parse_url(access.proxy_url); !proxy.ok())
      return std::move(proxy).error().context("proxy-url");
  }
  return {};
}

Status use_user(const KubeconfigUser& user, ClusterAccess& access) {
  if (!user.auth_provider.empty()) {
    return error(Code::kUnsupported, "auth-provider: \"{}\" is a login Kubernetes no longer has; use an exec plugin",
                 user.auth_provider);
  }
  STRAKE_TRY(access.client_cert_pem,
             pem_from(user.client_certificate_pem, user.client_certificate_file, "client-certificate"));
  STRAKE_TRY(access.client_key_pem, pem_from(user.client_key_pem, user.client_key_file, "client-key"));
  if (access.client_cert_pem.empty() != access.client_key_pem.empty()) {
    return error(Code::kInvalidArgument, "client-certificate and client-key: one is given without the other");
  }
  const bool has_token = !user.token.empty() || !user.token_file.empty();
  if (has_token && !user.username.empty()) {
    return error(Code::kInvalidArgument, "token and username: only one way to log in may be given");
  }
  if (user.username.empty() != user.password.empty()) {
    return error(Code::kInvalidArgument, "username and password: one is given without the other");
  }
  if (user.exec && (has_token || !user.username.empty())) {
    return error(Code::kInvalidArgument, "exec: cannot be combined with a token or a password");
  }
  if (user.impersonate_user.empty() && (!user.impersonate_uid.empty() || !user.impersonate_groups.empty())) {
    return error(Code::kInvalidArgument, "as: is missing although as-uid or as-groups is given");
  }
  access.bearer_token = user.token;
  access.token_file = user.token_file;
  access.username = user.username;
  access.password = user.password;
  access.exec = user.exec;
  access.impersonate_user = user.impersonate_user;
  access.impersonate_uid = user.impersonate_uid;
  access.impersonate_groups = user.impersonate_groups;
  return {};
}

}  // namespace

Result<ClusterAccess> resolve_access(const Kubeconfig& config, const AccessOverrides& overrides) {
  ClusterAccess access;
  access.context = overrides.context.empty() ? config.current_context : overrides.context;
  KubeconfigContext context;
  if (!access.context.empty()) {
    STRAKE_TRY(const KubeconfigContext* found, find_entry(config.contexts, access.context, "context"));
    context = *found;
  } else if (overrides.cluster.empty()) {
    return error(Code::kInvalidArgument, "the kubeconfig has no current-context; choose one with --context");
  }
  if (!overrides.cluster.empty()) context.cluster = overrides.cluster;
  if (!overrides.user.empty()) context.user = overrides.user;
  if (!overrides.ns.empty()) context.ns = overrides.ns;

  STRAKE_TRY_CONTEXT(const KubeconfigCluster* cluster, find_entry(config.clusters, context.cluster, "cluster"),
                     "context \"{}\"", access.context);
  STRAKE_CHECK_OK(use_cluster(*cluster, overrides, access)
                      .context("kubeconfig {}: cluster \"{}\"", cluster->file.string(), context.cluster));
  if (!context.user.empty()) {
    STRAKE_TRY_CONTEXT(const KubeconfigUser* user, find_entry(config.users, context.user, "user"), "context \"{}\"",
                       access.context);
    STRAKE_CHECK_OK(use_user(*user, access).context("kubeconfig {}: user \"{}\"", user->file.string(), context.user));
    if (!access.client_cert_pem.empty() && user->file == cluster->file && overrides.cluster.empty() &&
        overrides.user.empty()) {
      access.kubeconfig_file = user->file;
    }
  }
  if (!context.ns.empty()) access.ns = context.ns;
  return access;
}

InClusterLocations in_cluster_locations() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  InClusterLocations locations;
  locations.host = variable("KUBERNETES_SERVICE_HOST");
  locations.port = variable("KUBERNETES_SERVICE_PORT");
  return locations;
}

Result<ClusterAccess> in_cluster_access(const InClusterLocations& locations) {
  if (locations.host.empty() || locations.port.empty()) {
    return error(Code::kNotFound, "not inside a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
  }
  ClusterAccess access;
  access.context = "in-cluster";
  const bool ipv6 = locations.host.find(':') != std::string::npos;
  access.server = fmt::format("https://{}{}{}:{}", ipv6 ? "[" : "", locations.host, ipv6 ? "]" : "", locations.port);
  STRAKE_CHECK_OK(check_server(access.server).context("the pod's environment"));
  access.token_file = locations.folder / "token";
  STRAKE_TRY_CONTEXT(access.ca_pem, pem_from("", locations.folder / "ca.crt", "ca.crt"), "the pod's service account");
  if (Result<std::string> ns = read_file(locations.folder / "namespace", kMaxNamespaceFileBytes); ns.ok()) {
    access.ns = trimmed(*ns);
  } else if (ns.error().code() != Code::kNotFound) {
    return std::move(ns).error().context("the pod's service account");
  }
  if (access.ns.empty()) access.ns = "default";
  return access;
}

Result<ClusterAccess> find_access(const KubeconfigLocations& kubeconfig, const InClusterLocations& in_cluster,
                                  const AccessOverrides& overrides) {
  STRAKE_TRY(const Kubeconfig config, load_kubeconfig(kubeconfig));
  if (!config.empty() || !kubeconfig.explicit_file.empty()) return resolve_access(config, overrides);
  Result<ClusterAccess> access = in_cluster_access(in_cluster);
  if (access.ok()) {
    if (!overrides.ns.empty()) access->ns = overrides.ns;
    return access;
  }
  if (access.error().code() != Code::kNotFound) return access;
  return error(Code::kNotFound,
               "no cluster is configured: give --kubeconfig, set KUBECONFIG, or create {} (and this is not a pod)",
               (kubeconfig.home / ".kube" / "config").string());
}

Kubeconfig kubeconfig_for(const std::string& name, const ClusterAccess& access) {
  Kubeconfig config;
  config.current_context = name;
  KubeconfigCluster& cluster = config.clusters[name];
  cluster.server = access.server;
  cluster.ca_pem = access.ca_pem;
  cluster.tls_server_name = access.tls_server_name;
  cluster.proxy_url = access.proxy_url;
  KubeconfigUser& user = config.users[name];
  user.client_certificate_pem = access.client_cert_pem;
  user.client_key_pem = access.client_key_pem;
  user.token = access.bearer_token;
  user.token_file = access.token_file;
  user.username = access.username;
  user.password = access.password;
  user.exec = access.exec;
  user.impersonate_user = access.impersonate_user;
  user.impersonate_uid = access.impersonate_uid;
  user.impersonate_groups = access.impersonate_groups;
  config.contexts[name] = {{}, name, name, access.ns == "default" ? "" : access.ns};
  return config;
}

}  // namespace strake::kube
