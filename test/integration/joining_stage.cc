#include "integration/joining_stage.h"

#include <gtest/gtest.h>

#include "api/kinds.h"
#include "base/fd.h"
#include "codec/base64.h"
#include "codec/data_url.h"
#include "integration/ignition_judge.h"
#include "net/http_client.h"
#include "support/servers.h"
#include "support/strake_command.h"
#include "support/write_gate.h"

namespace strake::test {

using namespace std::chrono_literals;

namespace {

const std::string kMcoNamespace(api::kMachineConfigNamespace);
constexpr const char* kIgnition = "/usr/lib/dracut/modules.d/30ignition/ignition";
constexpr const char* kServedVersions[] = {"2.2.0", "3.1.0", "3.2.0", "3.3.0", "3.4.0", "3.5.0"};

json::Value from_text(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? *std::move(value) : json::Value(json::Object{});
}

/// What the machine would find in a file; "absent" when the config does not have it.
std::string file_in(const json::Value& config, std::string_view path) {
  const json::Value* files = json::find(config, {"storage", "files"});
  for (const json::Value& file : files == nullptr ? json::Array{} : files->as_array()) {
    if (json::find_string(file, {"path"}) != path) continue;
    const auto data = codec::parse_data_url(json::find_string(file, {"contents", "source"}).value_or(""));
    return data.ok() ? data->data : data.error().to_string();
  }
  return "absent";
}

}  // namespace

JoiningStage::JoiningStage(kube::KubeApi& admin, std::filesystem::path kubeconfig)
    : admin_(admin), kubeconfig_(std::move(kubeconfig)) {
  for (const std::string_view name : {api::kMachineConfigNamespace, api::kMachineApiNamespace}) {
    const kube::Object ns(kube::core::kNamespace, {"", std::string(name)});
    const auto made = admin_.create(kube::core::kNamespace, ns, {}, runtime_.call_within(30s));
    EXPECT_TRUE(made.ok() || made.error().code() == Code::kExists) << made.error().to_string();
  }
}

kube::ClusterAccess access_in(const std::filesystem::path& kubeconfig) {
  const auto config = kube::load_kubeconfig(kube::kubeconfig_locations(kubeconfig));
  EXPECT_TRUE(config.ok());
  const auto access = kube::resolve_access(*config);
  EXPECT_TRUE(access.ok());
  return *access;
}

void JoiningStage::put(const kube::Resource& resource, const kube::Object& object) {
  const kube::Call call = runtime_.call_within(30s);
  auto made = admin_.create(resource, object, {}, call);
  if (!made.ok() && made.error().code() == Code::kExists) {
    made = admin_.patch(resource, object.key(), kube::PatchType::kMerge, object.json(), {}, call);
  }
  ASSERT_TRUE(made.ok()) << made.error().to_string();
  const json::Value* status = json::find(object.json(), {"status"});
  if (status == nullptr) return;
  kube::WriteOptions of_status;
  of_status.subresource = "status";
  const auto told =
      admin_.patch(resource, object.key(), kube::PatchType::kMerge, json::Object{{"status", *status}}, of_status, call);
  ASSERT_TRUE(told.ok()) << told.error().to_string();
}

void JoiningStage::put_config(const std::string& name, std::string_view file_contents, std::string_view more_ignition) {
  kube::Object config(api::kMachineConfig, {"", name});
  config.json().as_object()["spec"] = from_text(fmt::format(
      R"({{"osImageURL":"quay.io/os@sha256:{}","kernelArguments":["nosmt"],"config":{{"ignition":{{"version":"3.2.0"}}{},)"
      R"("storage":{{"files":[{{"path":"/etc/joined","mode":420,"overwrite":true,"contents":{{"source":"{}"}}}}]}}}}}})",
      std::string(64, '1'), more_ignition, codec::encode_data_url(file_contents)));
  put(api::kMachineConfig, config);
}

void JoiningStage::put_pool(const std::string& name, const std::string& target, const std::string& reached,
                            int updated) {
  kube::Object pool(api::kMachineConfigPool, {"", name});
  json::ensure(pool.json(), {"spec", "machineConfigSelector", "matchLabels", "joining"}) = name;
  json::ensure(pool.json(), {"spec", "nodeSelector", "matchLabels", "joining"}) = name;
  json::ensure(pool.json(), {"spec", "configuration", "name"}) = target;
  json::ensure(pool.json(), {"status", "configuration", "name"}) = reached;
  for (const char* count : {"machineCount", "updatedMachineCount", "readyMachineCount"}) {
    json::ensure(pool.json(), {"status", count}) = updated;
  }
  put(api::kMachineConfigPool, pool);
}

void JoiningStage::put_token(std::string_view token) {
  kube::Object secret(kube::core::kSecret, {kMcoNamespace, "node-bootstrapper-token"});
  json::ensure(secret.json(), {"data", "token"}) = codec::encode_base64(token);
  put(kube::core::kSecret, secret);
}

void JoiningStage::put_identity(net::testing::TestAuthority& authority, const std::vector<std::string>& addresses) {
  net::LeafRequest request;
  request.common_name = "system:machine-config-server";
  request.ip_addresses = addresses;
  request.server_auth = true;
  const net::testing::TestIdentity identity = authority.issue(request);
  kube::Object secret(kube::core::kSecret, {kMcoNamespace, "machine-config-server-tls"});
  json::ensure(secret.json(), {"data", "tls.crt"}) = codec::encode_base64(identity.certificate_pem);
  json::ensure(secret.json(), {"data", "tls.key"}) = codec::encode_base64(identity.key_pem);
  put(kube::core::kSecret, secret);
}

void JoiningStage::start(std::vector<std::string> more_arguments, const std::string& listen) {
  std::vector<std::string> arguments{
      "config-server", "--kubeconfig",    kubeconfig_.string(),          "--listen", listen, "--metrics-listen",
      "127.0.0.1:0",   "--apiserver-url", "https://api-int.example:6443"};
  arguments.insert(arguments.end(), more_arguments.begin(), more_arguments.end());
  std::filesystem::remove(folder_ / "log");
  daemon_ = std::make_unique<Daemon>(std::move(arguments), folder_ / "log");
}

std::string JoiningStage::url() {
  EXPECT_TRUE(daemon_->says({"serving configs to new machines"})) << daemon_->log();
  const std::string log = daemon_->log();
  const std::size_t begin = log.find("url=https://") + 4;
  return log.substr(begin, log.find("/config/", begin) - begin);
}

net::Response JoiningStage::ask(const std::string& path, const std::string& version,
                                const net::testing::TestAuthority& authority) {
  net::ClientOptions options;
  options.ca_pem = authority.pem();
  options.proxy = net::ProxySettings{};
  const auto client = net::HttpClient::create(options);
  net::Request request{"GET", url() + path, {}, {}};
  request.headers.add("Accept", fmt::format("application/vnd.coreos.ignition+json;version={}, */*;q=0.1", version));
  auto response = client->send(request, {.timeout = 30s, .idle_timeout = {}, .stop = {}});
  return response.ok() ? *std::move(response) : net::Response{0, {}, response.error().to_string()};
}

JoiningStage::Fetched JoiningStage::fetch(const std::string& spec, const std::string& pool,
                                          const net::testing::TestAuthority& authority) {
  return fetch_with(fmt::format(
      R"({{"ignition":{{"version":"{}","config":{{"merge":[{{"source":"{}/config/{}"}}]}},"security":{{"tls":)"
      R"({{"certificateAuthorities":[{{"source":"data:text/plain;charset=utf-8;base64,{}"}}]}}}}}}}})",
      spec, url(), pool, codec::encode_base64(authority.pem())));
}

JoiningStage::Fetched JoiningStage::fetch_with(const std::string& stub) {
  const TempDir machine;
  EXPECT_TRUE(write_file_atomic(machine / "stub.ign", stub, 0600).ok());
  std::filesystem::create_directory(machine / "root");
  Command command;
  command.argv = {kIgnition,
                  "--platform=file",
                  "--stage=fetch",
                  "--root=" + (machine / "root").string(),
                  "--config-cache=" + (machine / "out.json").string(),
                  "--log-to-stdout"};
  command.env = {"IGNITION_CONFIG_FILE=" + (machine / "stub.ign").string(), "PATH=/usr/bin:/bin"};
  command.log_file = machine / "log";
  Fetched fetched;
  const auto look = [&] { fetched.log = read_file(machine / "log", 16 << 20).value_or(""); };
  auto started = ChildProcess::start(command);
  if (!started.ok()) {
    fetched.log = started.error().to_string() + ": the package `ignition` has the program; `./dev test` installs it";
    return fetched;
  }
  // It asks for ever where it cannot trust the server, as a machine should; here its first complaint is enough.
  fetched.ok = comes_true([&] {
                 look();
                 return !started->alive() || fetched.log.find("x509") != std::string::npos;
               }) &&
               fetched.log.find("Ignition finished successfully") != std::string::npos;
  started->stop(1s);
  if (const auto text = read_file(machine / "out.json", 64 << 20); fetched.ok && text.ok())
    fetched.config = from_text(*text);
  return fetched;
}

void expect_machines_join(JoiningStage& stage) {
  net::testing::TestAuthority authority;
  stage.start();
  // Before there is anything, nothing is served and the log says what is missing.
  stage.put_config("rendered-joiner-1", "one\n");
  stage.put_pool("joiner", "rendered-joiner-1", "rendered-joiner-1", 0);
  EXPECT_TRUE(stage.daemon().says({"pool=joiner", "node-bootstrapper-token"})) << stage.daemon().log();
  stage.put_identity(authority);
  EXPECT_EQ(stage.ask("/config/joiner", "3.2.0", authority).status, 500);
  stage.put_token("BOOTSTRAP-TOKEN");
  ASSERT_TRUE(stage.daemon().says({"new machines of a pool get this config", "pool=joiner", "rendered-joiner-1"}))
      << stage.daemon().log();
  for (const char* spec : {"3.1.0", "3.3.0"}) {
    const auto fetched = stage.fetch(spec, "joiner", authority);
    ASSERT_TRUE(fetched.ok) << fetched.log;
    EXPECT_EQ(file_in(fetched.config, "/etc/joined"), "one\n");
    EXPECT_NE(file_in(fetched.config, "/etc/kubernetes/kubeconfig").find("BOOTSTRAP-TOKEN"), std::string::npos);
    EXPECT_NE(file_in(fetched.config, "/etc/kubernetes/kubeconfig").find("https://api-int.example:6443"),
              std::string::npos);
    const json::Value annotations =
        from_text(file_in(fetched.config, "/etc/machine-config-daemon/node-annotations.json"));
    EXPECT_EQ(json::find_string(annotations, {"machineconfiguration.openshift.io/currentConfig"}), "rendered-joiner-1");
  }
  // Half-way through a rollout machines get the new config once one runs it.
  stage.put_config("rendered-joiner-2", "two\n");
  stage.put_pool("joiner", "rendered-joiner-2", "rendered-joiner-1", 0);
  EXPECT_EQ(file_in(stage.fetch("3.1.0", "joiner", authority).config, "/etc/joined"), "one\n");
  stage.put_pool("joiner", "rendered-joiner-2", "rendered-joiner-1", 1);
  ASSERT_TRUE(stage.daemon().says({"get this config", "pool=joiner", "rendered-joiner-2"})) << stage.daemon().log();
  EXPECT_EQ(file_in(stage.fetch("3.1.0", "joiner", authority).config, "/etc/joined"), "two\n");
  EXPECT_TRUE(
      stage.daemon().metric(R"(strake_config_server_requests_total{pool="joiner",reason="served",result="200"})"));
  const std::string log = stage.daemon().log();
  for (const char* secret : {"BOOTSTRAP-TOKEN", "one\\n", "PRIVATE KEY"})
    EXPECT_EQ(log.find(secret), std::string::npos);
  EXPECT_EQ(stage.daemon().stop(), 0);
}

void expect_every_byte_valid(JoiningStage& stage) {
  net::testing::TestAuthority authority;
  stage.put_identity(authority);
  stage.put_token("BOOTSTRAP-TOKEN");
  stage.put_config("rendered-joiner-3", "three: \"quoted\" & <text>\n\xc3\xa9\n");
  stage.put_pool("joiner", "rendered-joiner-3", "rendered-joiner-3", 1);
  stage.start();
  ASSERT_TRUE(stage.daemon().says({"get this config", "pool=joiner", "rendered-joiner-3"})) << stage.daemon().log();
  const auto judges = judge_programs();
  ASSERT_TRUE(judges.ok()) << judges.error().to_string();
  for (const std::string version : kServedVersions) {
    const net::Response response = stage.ask("/config/joiner", version, authority);
    ASSERT_EQ(response.status, 200) << version;
    const json::Value config = from_text(response.body);
    EXPECT_EQ(json::find_string(config, {"ignition", "version"}), version);
    EXPECT_EQ(file_in(config, "/etc/joined"), "three: \"quoted\" & <text>\n\xc3\xa9\n");
    const bool old = version.starts_with("2.");
    EXPECT_TRUE(program_accepts(*judges / (old ? "ignition2-validate" : "ignition-validate"), response.body))
        << version;
  }
  EXPECT_EQ(stage.daemon().stop(), 0);
}

void expect_certificates_replaced(JoiningStage& stage) {
  net::testing::TestAuthority old_authority("old"), new_authority("new");
  stage.put_identity(old_authority);
  stage.put_token("BOOTSTRAP-TOKEN");
  stage.put_config("rendered-joiner-4", "four\n");
  stage.put_pool("joiner", "rendered-joiner-4", "rendered-joiner-4", 1);
  stage.start();
  ASSERT_TRUE(stage.daemon().says({"get this config", "pool=joiner", "rendered-joiner-4"})) << stage.daemon().log();
  EXPECT_TRUE(stage.fetch("3.1.0", "joiner", old_authority).ok);
  stage.put_identity(new_authority);
  EXPECT_TRUE(comes_true([&] { return stage.ask("/config/joiner", "3.2.0", new_authority).status == 200; }))
      << stage.daemon().log();
  EXPECT_TRUE(stage.fetch("3.1.0", "joiner", new_authority).ok);
  const auto refused = stage.fetch("3.1.0", "joiner", old_authority);
  EXPECT_FALSE(refused.ok);
  EXPECT_NE(refused.log.find("x509"), std::string::npos) << refused.log;

  // A certificate that cannot be used is said, and what was in use stays in use.
  kube::Object broken(kube::core::kSecret, {kMcoNamespace, "machine-config-server-tls"});
  json::ensure(broken.json(), {"data", "tls.crt"}) = codec::encode_base64("no certificate");
  stage.put(kube::core::kSecret, broken);
  EXPECT_TRUE(stage.daemon().says({"WARNING", "certificate cannot be used"})) << stage.daemon().log();
  EXPECT_EQ(stage.ask("/config/joiner", "3.2.0", new_authority).status, 200);
  EXPECT_EQ(stage.daemon().stop(), 0);
}

void expect_refusals_explained(JoiningStage& stage) {
  net::testing::TestAuthority authority;
  stage.put_identity(authority);
  stage.put_token("BOOTSTRAP-TOKEN");
  stage.put_config("rendered-joiner-5", "five\n", R"(,"passwd":{"users":[{"name":"core","shouldExist":false}]})");
  stage.put_pool("joiner", "rendered-joiner-5", "rendered-joiner-5", 1);
  stage.put_pool("bare", "rendered-bare-gone", "rendered-bare-gone", 1);
  stage.start();
  ASSERT_TRUE(stage.daemon().says({"get this config", "pool=joiner"})) << stage.daemon().log();
  struct Case {
    const char* path;
    const char* version;
    int status;
    const char* reason;
  };
  const Case cases[] = {
      {"/config/joiner", "2.4.0", 500, "not-convertible"}, {"/config/joiner", "4.0.0", 400, "unsupported-version"},
      {"/config/joiner", "3.0.0", 500, "not-convertible"}, {"/config/bare", "3.2.0", 500, "not-rendered"},
      {"/config/nobody", "3.2.0", 500, "no-pool"},         {"/config/joiner", "3.2.0", 200, "served"},
  };
  for (const Case& c : cases) {
    const net::Response response = stage.ask(c.path, c.version, authority);
    EXPECT_EQ(response.status, c.status) << c.path << " " << c.version;
    EXPECT_EQ(response.body.empty(), c.status != 200);
    EXPECT_TRUE(stage.daemon().says({"reason=" + std::string(c.reason)})) << c.reason << "\n" << stage.daemon().log();
    EXPECT_NE(stage.daemon().get("/metrics").find(fmt::format("reason=\"{}\",result=\"{}\"", c.reason, c.status)),
              std::string::npos);
  }
  // Whoever asks for what is not there writes no line each time.
  for (int i = 0; i < 40; ++i) EXPECT_EQ(stage.ask(fmt::format("/config/guess-{}", i), "3.2.0", authority).status, 500);
  const std::string log = stage.daemon().log();
  int guesses = 0;
  for (std::size_t at = log.find("guess-"); at != std::string::npos; at = log.find("guess-", at + 1)) ++guesses;
  EXPECT_LE(guesses, 3) << log;
  EXPECT_TRUE(stage.daemon().says({"pool=bare", "rendered-bare-gone", "is not there"})) << stage.daemon().log();
  EXPECT_TRUE(stage.daemon().metric("strake_config_server_pools_unserved 1"));
  EXPECT_EQ(stage.daemon().stop(), 0);
}

namespace {

void put_old_world(JoiningStage& stage, const std::string& url, const net::testing::TestAuthority& authority) {
  const std::string ns(api::kMachineApiNamespace);
  kube::Object secret(kube::core::kSecret, {ns, "worker-user-data"});
  const std::string old_stub = fmt::format(
      R"({{"ignition":{{"config":{{"append":[{{"source":"{}/config/joiner","verification":{{}}}}]}},"security":{{"tls":)"
      R"({{"certificateAuthorities":[{{"source":"data:text/plain;charset=utf-8;base64,{}","verification":{{}}}}]}}}},)"
      R"("timeouts":{{}},"version":"2.2.0"}},"networkd":{{}},"passwd":{{}},"storage":{{}},"systemd":{{}}}})",
      url, codec::encode_base64(authority.pem()));
  json::ensure(secret.json(), {"data", "userData"}) = codec::encode_base64(old_stub);
  json::ensure(secret.json(), {"data", "disableTemplating"}) = "dHJ1ZQo=";
  stage.put(kube::core::kSecret, secret);
  for (const char* name : {"joining-a", "joining-b"}) {
    kube::Object set(api::kMachineSet, {ns, name});
    set.json().as_object()["spec"] = from_text(
        R"({"replicas":0,"selector":{"matchLabels":{"set":"x"}},"template":{"metadata":{"labels":{"set":"x"}},"spec":{"providerSpec":)"
        R"({"value":{"kind":"AWSMachineProviderConfig","apiVersion":"machine.openshift.io/v1beta1","ami":{"id":"ami-1"},)"
        R"("userDataSecret":{"name":"worker-user-data"},"unknownMember":[9007199254740993,null]}}}}})");
    stage.put(api::kMachineSet, set);
  }
}

std::string stub_secret_of(kube::KubeApi& api, const std::string& set, const kube::Call& call) {
  const auto found = api.get(api::kMachineSet, {std::string(api::kMachineApiNamespace), set}, call);
  EXPECT_TRUE(found.ok());
  return found.ok() ? found->text({"spec", "template", "spec", "providerSpec", "value", "userDataSecret", "name"}) : "";
}

/// Killed after each of its writes and run again, it ends as if nobody had killed it.
void expect_conversion_survives_kills(JoiningStage& stage, const std::filesystem::path& admin) {
  const std::string ns(api::kMachineApiNamespace);
  const auto original = [&] {
    const auto secret = stage.admin().get(kube::core::kSecret, {ns, "worker-user-data"}, stage.call());
    return secret.ok() ? secret->resource_version() : "";
  };
  const auto stubs = [&] {
    std::vector<std::string> names;
    const auto secrets = stage.admin().list(kube::core::kSecret, ns, {}, stage.call());
    for (const kube::Object& secret : secrets.ok() ? secrets->items : std::vector<kube::Object>{}) {
      if (secret.name().starts_with("worker-user-data")) names.push_back(secret.name());
    }
    return names;
  };
  ASSERT_TRUE(stage.admin().remove(kube::core::kSecret, {ns, "worker-user-data-spec3"}, {}, stage.call()).ok());
  const std::string untouched = original();
  WriteGate gate(access_in(admin));
  const std::string secrets = "/api/v1/namespaces/" + ns + "/secrets";
  const std::string sets = "/apis/machine.openshift.io/v1beta1/namespaces/" + ns + "/machinesets/joining-";
  const auto run_and_kill = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"stub", "convert", "worker-user-data"});
    return gate.run_and_kill(std::move(more), 1);
  };
  int kills = 0;
  while (kills < 10 && run_and_kill({"--machineset", "all"})) {
    ++kills;
    EXPECT_EQ(original(), untouched);
    EXPECT_EQ(stubs(), (std::vector<std::string>{"worker-user-data", "worker-user-data-spec3"}));
  }
  EXPECT_EQ(gate.exit_code(), 0) << gate.said();
  while (kills < 10 && run_and_kill({"--undo"})) ++kills;
  EXPECT_EQ(gate.exit_code(), 0) << gate.said();
  EXPECT_EQ(gate.writes(), (std::vector<std::string>{"POST " + secrets, "PATCH " + sets + "a", "PATCH " + sets + "b",
                                                     "PATCH " + sets + "a", "PATCH " + sets + "b"}));
  EXPECT_EQ(original(), untouched);
  for (const char* set : {"joining-a", "joining-b"}) {
    EXPECT_EQ(stub_secret_of(stage.admin(), set, stage.call()), "worker-user-data");
  }
}

}  // namespace

void expect_old_stub_converted(JoiningStage& stage, const std::filesystem::path& admin) {
  net::testing::TestAuthority authority;
  stage.put_identity(authority);
  stage.put_token("BOOTSTRAP-TOKEN");
  stage.put_config("rendered-joiner-8", "eight\n");
  stage.put_pool("joiner", "rendered-joiner-8", "rendered-joiner-8", 1);
  stage.start();
  put_old_world(stage, stage.url(), authority);
  const auto strake = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--kubeconfig", admin.string()});
    return run_strake(std::move(arguments));
  };
  const auto read = [&](const std::string& set) { return stub_secret_of(stage.admin(), set, stage.call()); };

  const ProcessOutput listed = strake({"stub", "list"});
  EXPECT_EQ(listed.exit.exit_code, 0) << listed.stderr_bytes;
  EXPECT_NE(listed.stdout_bytes.find("MachineSet/joining-a, MachineSet/joining-b"), std::string::npos)
      << listed.stdout_bytes;
  const ProcessOutput old = strake({"stub", "check", "worker-user-data", "--ask"});
  EXPECT_EQ(old.exit.exit_code, 2);
  EXPECT_NE(old.stdout_bytes.find("[old-spec]"), std::string::npos) << old.stdout_bytes;
  EXPECT_EQ(old.stdout_bytes.find("[untrusted]"), std::string::npos) << old.stdout_bytes;

  // What is wrong is said before anything is done.
  EXPECT_EQ(strake({"stub", "convert", "worker-user-data", "--machineset", "nobody"}).exit.exit_code, 3);
  EXPECT_EQ(strake({"stub", "convert", "worker-user-data"}).exit.exit_code, 1);
  EXPECT_EQ(strake({"stub", "convert", "worker-user-data", "--machineset", "all", "--dry-run"}).exit.exit_code, 0);
  EXPECT_EQ(strake({"stub", "show", "worker-user-data-spec3"}).exit.exit_code, 3) << "a dry run makes nothing";

  for (int again = 0; again < 2; ++again) {  // as after a kill
    const ProcessOutput converted = strake({"stub", "convert", "worker-user-data", "--machineset", "joining-a"});
    EXPECT_EQ(converted.exit.exit_code, 0) << converted.stderr_bytes;
  }
  EXPECT_EQ(read("joining-a"), "worker-user-data-spec3");
  EXPECT_EQ(read("joining-b"), "worker-user-data") << "it was not chosen";
  const ProcessOutput checked = strake({"stub", "check", "worker-user-data-spec3", "--ask"});
  EXPECT_EQ(checked.exit.exit_code, 0) << checked.stdout_bytes << checked.stderr_bytes;

  // The real Ignition takes the copy.
  const auto copy = stage.admin().get(kube::core::kSecret,
                                      {std::string(api::kMachineApiNamespace), "worker-user-data-spec3"}, stage.call());
  ASSERT_TRUE(copy.ok()) << copy.error().to_string();
  const auto fetched = stage.fetch_with(*codec::decode_base64(copy->text({"data", "userData"})));
  ASSERT_TRUE(fetched.ok) << fetched.log;
  EXPECT_EQ(file_in(fetched.config, "/etc/joined"), "eight\n");

  // A copy somebody edited is not written over.
  kube::Object edited(kube::core::kSecret, {std::string(api::kMachineApiNamespace), "worker-user-data-spec3"});
  json::ensure(edited.json(), {"data", "more"}) = "bW9yZQ==";
  stage.put(kube::core::kSecret, edited);
  const ProcessOutput blocked = strake({"stub", "convert", "worker-user-data", "--machineset", "joining-b"});
  EXPECT_EQ(blocked.exit.exit_code, 3) << blocked.stderr_bytes;
  EXPECT_EQ(read("joining-b"), "worker-user-data");

  EXPECT_EQ(strake({"stub", "convert", "worker-user-data", "--undo"}).exit.exit_code, 0);
  EXPECT_EQ(read("joining-a"), "worker-user-data");
  expect_conversion_survives_kills(stage, admin);

  // The certificate, from the stubs' side.
  EXPECT_EQ(strake({"certs", "check"}).exit.exit_code, 0) << strake({"certs", "check"}).stdout_bytes;
  net::testing::TestAuthority stranger("stranger");
  stage.put_identity(stranger, {"192.0.2.1"});
  const ProcessOutput broken = strake({"certs", "check", "-o", "json"});
  EXPECT_EQ(broken.exit.exit_code, 2);
  const json::Value document = from_text(broken.stdout_bytes);
  EXPECT_EQ(json::find_string(document, {"kind"}), "CertificateCheck");
  std::string rules;
  for (const json::Value& one : json::find(document, {"stubs"})->as_array()) {
    for (const json::Value& finding : json::find(one, {"findings"})->as_array()) {
      rules += " " + json::find_string(finding, {"rule"}).value_or("");
    }
  }
  EXPECT_NE(rules.find("unknown-host"), std::string::npos) << rules;
  EXPECT_NE(rules.find("untrusted"), std::string::npos) << rules;
  EXPECT_EQ(stage.daemon().stop(), 0);
}

}  // namespace strake::test
