#include "kube/cluster_access.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "support/temp_dir.h"

namespace strake::kube::cluster_access_test {

constexpr const char* kPem = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";

/// A config with one context, cluster and user, whose cluster and user a test then spoils.
Kubeconfig good() {
  Kubeconfig config;
  config.current_context = "ctx";
  config.contexts["ctx"] = {"/k", "c", "u", ""};
  config.clusters["c"].server = "https://api.test:6443";
  config.clusters["c"].file = "/k";
  config.users["u"].token = "t";
  config.users["u"].file = "/k";
  return config;
}

TEST(ResolveAccess, TakesTheCurrentContext) {
  Kubeconfig config = good();
  config.clusters["c"].ca_pem = kPem;
  config.clusters["c"].tls_server_name = "inner";
  config.contexts["ctx"].ns = "apps";
  const Result<ClusterAccess> access = resolve_access(config);
  ASSERT_TRUE(access.ok()) << access.error().to_string();
  EXPECT_EQ(access->server, "https://api.test:6443");
  EXPECT_EQ(access->ca_pem, kPem);
  EXPECT_EQ(access->tls_server_name, "inner");
  EXPECT_EQ(access->bearer_token, "t");
  EXPECT_EQ(access->ns, "apps");
  EXPECT_EQ(access->context, "ctx");
}

TEST(ResolveAccess, OverridesWin) {
  Kubeconfig config = good();
  config.clusters["other"].server = "https://other.test";
  config.users["admin"].token = "root";
  const Result<ClusterAccess> access = resolve_access(config, {"", "other", "admin", "ns", ""});
  ASSERT_TRUE(access.ok());
  EXPECT_EQ(access->server, "https://other.test");
  EXPECT_EQ(access->bearer_token, "root");
  EXPECT_EQ(access->ns, "ns");
}

TEST(ResolveAccess, ReadsFiles) {
  test::TempDir folder;
  ASSERT_TRUE(write_file_atomic(folder / "pem", kPem, 0600).ok());
  Kubeconfig config = good();
  config.clusters["c"].ca_file = folder / "pem";
  config.users["u"].client_certificate_file = folder / "pem";
  config.users["u"].client_key_pem = "-----BEGIN PRIVATE KEY-----\n";
  const Result<ClusterAccess> access = resolve_access(config);
  ASSERT_TRUE(access.ok()) << access.error().to_string();
  EXPECT_EQ(access->ca_pem, kPem);
  EXPECT_EQ(access->client_cert_pem, kPem);
}

TEST(ResolveAccess, RefusesWithFileAndField) {
  struct Case {
    const char* name;
    std::function<void(Kubeconfig&)> spoil;
    Code code;
    const char* message;
  };
  const Case cases[] = {
      {"no context", [](Kubeconfig& c) { c.current_context = ""; }, Code::kInvalidArgument,
       "choose one with --context"},
      {"unknown context", [](Kubeconfig& c) { c.current_context = "x"; }, Code::kNotFound,
       "context \"x\" is not in the kubeconfig; it has: ctx"},
      {"unknown cluster", [](Kubeconfig& c) { c.contexts["ctx"].cluster = "x"; }, Code::kNotFound,
       "context \"ctx\": cluster \"x\" is not in the kubeconfig; it has: c"},
      {"unknown user", [](Kubeconfig& c) { c.contexts["ctx"].user = "x"; }, Code::kNotFound, "user \"x\""},
      {"no server", [](Kubeconfig& c) { c.clusters["c"].server = ""; }, Code::kInvalidArgument,
       "kubeconfig /k: cluster \"c\": server: is missing"},
      {"plain http", [](Kubeconfig& c) { c.clusters["c"].server = "http://api.test"; }, Code::kDenied,
       "is not encrypted"},
      {"not a URL", [](Kubeconfig& c) { c.clusters["c"].server = "api.test"; }, Code::kInvalidArgument, "server"},
      {"insecure", [](Kubeconfig& c) { c.clusters["c"].insecure_skip_tls_verify = true; }, Code::kDenied,
       "kubeconfig /k: cluster \"c\": insecure-skip-tls-verify: connections without verification are refused"},
      {"no CA file", [](Kubeconfig& c) { c.clusters["c"].ca_file = "/nonexistent/ca"; }, Code::kNotFound,
       "certificate-authority"},
      {"CA is no PEM", [](Kubeconfig& c) { c.clusters["c"].ca_pem = "x"; }, Code::kInvalidArgument,
       "certificate-authority-data: holds no PEM block"},
      {"certificate without key", [](Kubeconfig& c) { c.users["u"].client_certificate_pem = kPem; },
       Code::kInvalidArgument, "kubeconfig /k: user \"u\": client-certificate and client-key"},
      {"token and password", [](Kubeconfig& c) { c.users["u"].username = c.users["u"].password = "p"; },
       Code::kInvalidArgument, "only one way to log in"},
      {"exec and token", [](Kubeconfig& c) { c.users["u"].exec.emplace().command = "x"; }, Code::kInvalidArgument,
       "exec: cannot be combined"},
      {"auth provider", [](Kubeconfig& c) { c.users["u"].auth_provider = "gcp"; }, Code::kUnsupported,
       "use an exec plugin"},
      {"groups without user", [](Kubeconfig& c) { c.users["u"].impersonate_groups = {"g"}; }, Code::kInvalidArgument,
       "as: is missing"},
      {"bad proxy", [](Kubeconfig& c) { c.clusters["c"].proxy_url = "socks9:x"; }, Code::kUnsupported, "proxy-url"},
  };
  for (const Case& c : cases) {
    Kubeconfig config = good();
    c.spoil(config);
    const Result<ClusterAccess> access = resolve_access(config);
    ASSERT_FALSE(access.ok()) << c.name;
    EXPECT_EQ(access.error().code(), c.code) << c.name << ": " << access.error().to_string();
    EXPECT_NE(access.error().to_string().find(c.message), std::string::npos)
        << c.name << ": " << access.error().to_string();
  }
}

TEST(ResolveAccess, PlainHttpIsForThisMachineOnly) {
  for (const char* server : {"http://localhost:8001", "http://127.0.0.1:8001", "http://[::1]:8001"}) {
    Kubeconfig config = good();
    config.clusters["c"].server = server;
    EXPECT_TRUE(resolve_access(config).ok()) << server;
  }
}

TEST(InClusterAccess, ReadsTheServiceAccount) {
  test::TempDir folder;
  ASSERT_TRUE(write_file_atomic(folder / "ca.crt", kPem, 0600).ok());
  ASSERT_TRUE(write_file_atomic(folder / "token", "tok\n", 0600).ok());
  ASSERT_TRUE(write_file_atomic(folder / "namespace", "strake\n", 0600).ok());
  const Result<ClusterAccess> access = in_cluster_access({"10.0.0.1", "443", folder.path()});
  ASSERT_TRUE(access.ok()) << access.error().to_string();
  EXPECT_EQ(access->server, "https://10.0.0.1:443");
  EXPECT_EQ(access->token_file, folder / "token");
  EXPECT_EQ(access->ns, "strake");
  EXPECT_EQ(in_cluster_access({"fd00::1", "443", folder.path()})->server, "https://[fd00::1]:443");
  EXPECT_EQ(in_cluster_access({"", "", folder.path()}).error().code(), Code::kNotFound);
}

TEST(FindAccess, SaysHowToProvideOne) {
  test::TempDir folder;
  KubeconfigLocations locations;
  locations.home = folder.path();
  const Result<ClusterAccess> none = find_access(locations, {});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code(), Code::kNotFound);
  EXPECT_NE(none.error().message().find("set KUBECONFIG"), std::string::npos);
  ASSERT_TRUE(write_file_atomic(folder / "ca.crt", kPem, 0600).ok());
  EXPECT_EQ(find_access(locations, {"10.0.0.1", "443", folder.path()})->context, "in-cluster");
}

TEST(KubeconfigFor, RoundTrips) {
  const Result<ClusterAccess> access = resolve_access(good());
  ASSERT_TRUE(access.ok());
  const Result<std::string> text = write_kubeconfig(kubeconfig_for("strake", *access));
  ASSERT_TRUE(text.ok());
  const Result<Kubeconfig> again = parse_kubeconfig(*text, "/k");
  ASSERT_TRUE(again.ok());
  const Result<ClusterAccess> resolved = resolve_access(*again);
  ASSERT_TRUE(resolved.ok()) << resolved.error().to_string();
  EXPECT_EQ(resolved->server, access->server);
  EXPECT_EQ(resolved->bearer_token, "t");
  EXPECT_EQ(resolved->context, "strake");
}

}  // namespace strake::kube::cluster_access_test
