#include "kube/kubeconfig.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "support/temp_dir.h"

namespace strake::kube::kubeconfig_test {

constexpr std::string_view kFull = R"(apiVersion: v1
kind: Config
preferences: {}
current-context: dev
clusters:
- name: c1
  cluster:
    server: https://one.test:6443
    certificate-authority-data: Q0E=
    tls-server-name: inner
    proxy-url: http://proxy:3128
    extension-of-somebody: kept out of the way
- name: c2
  cluster:
    server: https://two.test
    certificate-authority: pki/ca.crt
    insecure-skip-tls-verify: true
users:
- name: certs
  user:
    client-certificate: /abs/cert.pem
    client-key-data: S0VZ
- name: plugin
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: bin/login
      args: [get, --cluster=x]
      env:
      - name: PROFILE
        value: dev
      installHint: install login
      interactiveMode: IfAvailable
      provideClusterInfo: true
- name: boss
  user: {token: abc, as: root, as-uid: "0", as-groups: [a, b]}
contexts:
- name: dev
  context: {cluster: c1, user: plugin, namespace: apps}
)";

TEST(Kubeconfig, ReadsWhatKubectlReads) {
  const Result<Kubeconfig> config = parse_kubeconfig(kFull, "/home/u/.kube/config");
  ASSERT_TRUE(config.ok()) << config.error().to_string();
  EXPECT_EQ(config->current_context, "dev");
  const KubeconfigCluster& c1 = config->clusters.at("c1");
  EXPECT_EQ(c1.server, "https://one.test:6443");
  EXPECT_EQ(c1.ca_pem, "CA");
  EXPECT_EQ(c1.tls_server_name, "inner");
  EXPECT_EQ(c1.proxy_url, "http://proxy:3128");
  EXPECT_FALSE(c1.insecure_skip_tls_verify);
  EXPECT_EQ(config->clusters.at("c2").ca_file, "/home/u/.kube/pki/ca.crt");
  EXPECT_TRUE(config->clusters.at("c2").insecure_skip_tls_verify);
  EXPECT_EQ(config->users.at("certs").client_certificate_file, "/abs/cert.pem");
  EXPECT_EQ(config->users.at("certs").client_key_pem, "KEY");
  const ExecConfig& exec = *config->users.at("plugin").exec;
  EXPECT_EQ(exec.command, "/home/u/.kube/bin/login");
  EXPECT_EQ(exec.args, (std::vector<std::string>{"get", "--cluster=x"}));
  EXPECT_EQ(exec.env, (std::vector<std::pair<std::string, std::string>>{{"PROFILE", "dev"}}));
  EXPECT_TRUE(exec.provide_cluster_info);
  EXPECT_EQ(config->users.at("boss").impersonate_groups, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(config->contexts.at("dev").ns, "apps");
}

TEST(Kubeconfig, WrittenConfigReadsBackTheSame) {
  const Result<Kubeconfig> config = parse_kubeconfig(kFull, "/home/u/.kube/config");
  ASSERT_TRUE(config.ok());
  const Result<std::string> text = write_kubeconfig(*config);
  ASSERT_TRUE(text.ok());
  const Result<Kubeconfig> again = parse_kubeconfig(*text, "/elsewhere/config");
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(*write_kubeconfig(*again), *text);
  EXPECT_EQ(again->clusters.at("c1").ca_pem, "CA");
  EXPECT_EQ(again->clusters.at("c2").ca_file, "/home/u/.kube/pki/ca.crt");
  EXPECT_EQ(again->users.at("plugin").exec->command, "/home/u/.kube/bin/login");
}

TEST(Kubeconfig, ErrorsNameFileAndField) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"[]", "kubeconfig /k: must be a mapping, found array"},
      {"clusters: {}", "kubeconfig /k: clusters: must be a list, found object"},
      {"clusters: [x]", "kubeconfig /k: clusters[0]: must be a mapping, found string"},
      {"clusters: [{name: a, cluster: {server: 1}}]", "clusters[0].cluster.server: must be a string, found integer"},
      {"users: [{name: 12}]", "users[0].name: must be a string, found integer (put it in quotes)"},
      {"users: [{user: {}}]", "users[0].name: must not be empty"},
      {"users: [{name: a, user: {client-key-data: '*'}}]", "users[0].user.client-key-data: is not base64"},
      {"users: [{name: a, user: {exec: {}}}]", "users[0].user.exec.command: must name a program"},
      {"users: [{name: a, user: {exec: {command: x, env: [{value: z}]}}}]", "users[0].user.exec.env[0].name: must be"},
      {"users: [{name: a, user: {exec: {command: x, args: [1]}}}]", "users[0].user.exec.args: must hold strings"},
      {"users: [{name: a}, {name: a}]", "users[1].name: \"a\" is used twice"},
      {"clusters: [{name: a, cluster: {insecure-skip-tls-verify: maybe}}]", "must be true or false, found string"},
      {"current-context: [", "kubeconfig /k: "},
      {"a: 1\n---\nb: 2\n", "kubeconfig /k: must hold one YAML document"},
  };
  for (const Case& c : cases) {
    const Result<Kubeconfig> config = parse_kubeconfig(c.text, "/k");
    ASSERT_FALSE(config.ok()) << c.text;
    EXPECT_NE(config.error().to_string().find(c.message), std::string::npos) << config.error().to_string();
  }
}

struct Files {
  std::filesystem::path write(const std::string& name, std::string_view text) {
    const auto path = folder / name;
    std::filesystem::create_directories(path.parent_path());
    EXPECT_TRUE(write_file_atomic(path, text, 0600).ok());
    return path;
  }
  test::TempDir folder;
};

TEST(LoadKubeconfig, FirstFileOfTheListWins) {
  Files files;
  const auto first = files.write("one", "current-context: x\nclusters: [{name: a, cluster: {server: https://one}}]\n");
  const auto second = files.write("sub/two",
                                  "current-context: other\nclusters:\n- {name: a, cluster: {server: https://two}}\n"
                                  "- {name: b, cluster: {server: https://two, certificate-authority: ca}}\n");
  KubeconfigLocations locations;
  locations.kubeconfig_variable = first.string() + "::/nonexistent/file:" + second.string();
  locations.home = "/nonexistent";
  const Result<Kubeconfig> config = load_kubeconfig(locations);
  ASSERT_TRUE(config.ok()) << config.error().to_string();
  EXPECT_EQ(config->current_context, "x");
  EXPECT_EQ(config->clusters.at("a").server, "https://one");
  EXPECT_EQ(config->clusters.at("b").ca_file, files.folder / "sub/ca");
  EXPECT_EQ(config->clusters.at("b").file, second);
}

TEST(LoadKubeconfig, FallsBackToHomeAndInsistsOnAnExplicitFile) {
  Files files;
  files.write(".kube/config", "current-context: home\n");
  KubeconfigLocations locations;
  locations.home = files.folder.path();
  EXPECT_EQ(load_kubeconfig(locations)->current_context, "home");
  locations.kubeconfig_variable = "/nonexistent/file";
  EXPECT_TRUE(load_kubeconfig(locations)->empty());
  locations.explicit_file = files.folder / "absent";
  const Result<Kubeconfig> absent = load_kubeconfig(locations);
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code(), Code::kNotFound);
  locations.explicit_file = files.write("explicit", "current-context: explicit\n");
  EXPECT_EQ(load_kubeconfig(locations)->current_context, "explicit");
}

TEST(LoadKubeconfig, ABrokenFileInTheListIsAnError) {
  Files files;
  KubeconfigLocations locations;
  locations.kubeconfig_variable = files.write("broken", "clusters: 1\n").string();
  const Result<Kubeconfig> config = load_kubeconfig(locations);
  ASSERT_FALSE(config.ok());
  EXPECT_NE(config.error().to_string().find("broken"), std::string::npos);
}

}  // namespace strake::kube::kubeconfig_test
