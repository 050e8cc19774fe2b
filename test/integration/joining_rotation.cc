// The config server's authority is made and replaced by a process that is killed after each of its writes, while
// machines ask with the old one, the new one and what their stubs trust at that moment.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "api/kinds.h"
#include "base/fd.h"
#include "codec/base64.h"
#include "integration/joining_stage.h"
#include "stub/stub.h"
#include "support/strake_command.h"
#include "support/write_gate.h"

namespace strake::test {

namespace {

const std::string kIdentityNamespace(api::kMachineConfigNamespace);
const std::string kStubNamespace(api::kMachineApiNamespace);
constexpr const char* kManagedStub = "joiner-user-data-managed";
constexpr const char* kForeignStub = "rotated-user-data";

/// What a write was for; writes to stubs one after the other are one.
std::vector<std::string> kinds_of_writes(const std::vector<std::string>& writes) {
  const std::string identity = "/api/v1/namespaces/" + kIdentityNamespace;
  const std::pair<std::string, const char*> meanings[] = {
      {"POST /api/v1/namespaces/" + kStubNamespace + "/secrets", "stub"},
      {"POST " + identity + "/configmaps", "bundle"},
      {"PUT " + identity + "/configmaps/machine-config-server-ca", "bundle"},
      {"PUT " + identity + "/secrets/machine-config-server-ca-next", "record"},
      {"PUT " + identity + "/secrets/machine-config-server-ca", "promote"},
      {"PUT " + identity + "/secrets/machine-config-server-tls", "serving"},
      {"DELETE " + identity + "/secrets/machine-config-server-ca-next", "remove"},
      {"POST " + identity + "/secrets", "make"},
  };
  std::vector<std::string> kinds;
  for (const std::string& write : writes) {
    const auto* const found = std::ranges::find(meanings, write, &std::pair<std::string, const char*>::first);
    const bool stub = write.starts_with("PUT /api/v1/namespaces/" + kStubNamespace + "/secrets/");
    std::string kind = found != std::end(meanings) ? found->second : stub ? "stub" : write;
    if (kind != "stub" || kinds.empty() || kinds.back() != kind) kinds.push_back(std::move(kind));
  }
  return kinds;
}

class RotationScene {
 public:
  RotationScene(JoiningStage& stage, const std::filesystem::path& admin) : stage_(stage), gate_(access_in(admin)) {
    for (const kube::ObjectKey& key : leftovers()) {
      static_cast<void>(stage.admin().remove(kube::core::kSecret, key, {}, stage.call()));
    }
    static_cast<void>(stage.admin().remove(kube::core::kConfigMap, {kIdentityNamespace, "machine-config-server-ca"}, {},
                                           stage.call()));
    stage.put_token("BOOTSTRAP-TOKEN");
    stage.put_config("rendered-joiner-9", "nine\n");
    stage.put_pool("joiner", "rendered-joiner-9", "rendered-joiner-9", 1);
    stage.start();
    kube::Object config(api::kStrakeConfig, {"", "cluster"});
    json::ensure(config.json(), {"spec", "configServer"}) = json::Object{{"url", "https://127.0.0.1:22623"}};
    stage.put(api::kStrakeConfig, config);
  }

  WriteGate& gate() { return gate_; }
  std::string secret(const std::string& ns, const std::string& name, std::string_view key) {
    const auto found = stage_.admin().get(kube::core::kSecret, {ns, name}, stage_.call());
    return found.ok() ? codec::decode_base64(found->text({"data", key})).value_or("") : "";
  }
  std::string authority() { return secret(kIdentityNamespace, "machine-config-server-ca", "tls.crt"); }
  std::string next_authority() { return secret(kIdentityNamespace, "machine-config-server-ca-next", "tls.crt"); }
  std::string trusted_by(const std::string& stub) {
    const auto read = stub::read_stub(secret(kStubNamespace, stub, "userData"));
    EXPECT_TRUE(read.ok()) << stub;
    return read.ok() ? net::to_pem(read->trusted()) : "";
  }
  std::string stub_trusting(const std::string& ca_pem) {
    return fmt::format(
        R"({{"ignition":{{"version":"3.1.0","config":{{"merge":[{{"source":"{}/config/joiner"}}]}},"security":{{"tls":)"
        R"({{"certificateAuthorities":[{{"source":"data:text/plain;charset=utf-8;base64,{}"}}]}}}}}}}})",
        stage_.url(), codec::encode_base64(ca_pem));
  }
  void put_foreign_stub(const std::string& ca_pem) {
    kube::Object stub(kube::core::kSecret, {kStubNamespace, kForeignStub});
    json::ensure(stub.json(), {"data", "userData"}) = codec::encode_base64(stub_trusting(ca_pem));
    stage_.put(kube::core::kSecret, stub);
  }

  /// curl with each of these lists of authorities: whether it got the config.
  std::vector<bool> fetched_with(const std::vector<std::string>& lists) {
    Command command;
    command.argv = {"curl", "-q"};
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const std::filesystem::path file = folder_ / fmt::format("ca{}.pem", i);
      EXPECT_TRUE(write_file_atomic(file, lists[i], 0600).ok());
      if (i > 0) command.argv.emplace_back("--next");
      command.argv.insert(command.argv.end(),
                          {"-s", "-m", "30", "--noproxy", "*", "--capath", "/nonexistent", "--cacert", file.string(),
                           "-o", "/dev/null", "-w", "%{http_code}\n", stage_.url() + "/config/joiner"});
    }
    const auto output = run(command);
    EXPECT_TRUE(output.ok()) << output.error().to_string();
    std::vector<bool> got;
    const std::string text = output.ok() ? output->stdout_bytes : "";
    for (std::size_t at = 0; at + 4 <= text.size(); at += 4) got.push_back(text.substr(at, 3) == "200");
    EXPECT_EQ(got.size(), lists.size()) << text;
    got.resize(lists.size());
    return got;
  }

  /// Runs it until it ends by itself, killed after each write until then, and looks after each kill.
  void kill_at_every_step(const std::vector<std::string>& arguments, const std::function<void()>& look) {
    for (int kills = 0; gate_.run_and_kill(arguments, 1); ++kills) {
      look();
      ASSERT_LT(kills, 60) << fmt::format("{}", fmt::join(gate_.writes(), "\n"));
    }
  }

  void end() {
    EXPECT_EQ(stage_.daemon().stop(), 0);
    const json::Value unset = json::Object{{"spec", json::Object{{"configServer", nullptr}}}};
    EXPECT_TRUE(stage_.admin()
                    .patch(api::kStrakeConfig, {"", "cluster"}, kube::PatchType::kMerge, unset, {}, stage_.call())
                    .ok());
  }

 private:
  std::vector<kube::ObjectKey> leftovers() {
    std::vector<kube::ObjectKey> keys;
    for (const char* name :
         {"machine-config-server-tls", "machine-config-server-ca", "machine-config-server-ca-next"}) {
      keys.push_back({kIdentityNamespace, name});
    }
    const auto stubs = stage_.admin().list(kube::core::kSecret, kStubNamespace, {}, stage_.call());
    EXPECT_TRUE(stubs.ok());
    if (stubs.ok()) {
      for (const kube::Object& stub : stubs->items) keys.push_back(stub.key());
    }
    return keys;
  }

  JoiningStage& stage_;
  WriteGate gate_;
  TempDir folder_;
};

ProcessOutput rotate_with(const std::filesystem::path& admin, std::vector<std::string> more,
                          std::vector<std::string> through = {}) {
  std::vector<std::string> arguments{"certs", "rotate", "--kubeconfig", admin.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  Command command = strake_command(std::move(arguments));
  command.argv.insert(command.argv.begin(), through.begin(), through.end());
  auto output = run(command);
  EXPECT_TRUE(output.ok()) << output.error().to_string();
  return output.ok() ? *std::move(output) : ProcessOutput{};
}

/// Where the platform rotates itself nothing is done, and who looks learns why.
void expect_left_to_the_operator(JoiningStage& stage, RotationScene& scene, const std::filesystem::path& admin) {
  const json::Value by_itself = json::Object{{"spec", json::Object{{"modes", json::Object{{"joining", nullptr}}}}}};
  EXPECT_TRUE(stage.admin()
                  .patch(api::kStrakeConfig, {"", "cluster"}, kube::PatchType::kMerge, by_itself, {}, stage.call())
                  .ok());
  kube::Object lease(kube::core::kLease, {kIdentityNamespace, "machine-config-controller"});
  json::ensure(lease.json(), {"spec", "holderIdentity"}) = "machine-config-controller-0";
  kube::Object its_operator(api::kClusterOperator, {"", "machine-config"});
  json::ensure(its_operator.json(), {"spec"}) = json::Object{};
  const std::pair<const kube::Resource&, kube::Object> signs[] = {{api::kClusterOperator, its_operator},
                                                                  {kube::core::kLease, lease}};
  const std::string authority = scene.authority();
  for (const auto& [resource, sign] : signs) {
    stage.put(resource, sign);
    const ProcessOutput left = rotate_with(admin, {"--again"});
    EXPECT_EQ(left.exit.exit_code, 3) << left.stdout_bytes << left.stderr_bytes;
    EXPECT_NE(left.stderr_bytes.find("a Machine Config Operator runs here"), std::string::npos) << left.stderr_bytes;
    EXPECT_TRUE(stage.admin().remove(resource, sign.key(), {}, stage.call()).ok());
  }
  EXPECT_EQ(scene.authority(), authority);
  EXPECT_EQ(scene.next_authority(), "");
}

}  // namespace

void expect_authority_rotated(JoiningStage& stage, const std::filesystem::path& admin) {
  RotationScene scene(stage, admin);
  // From nothing, killed after each write: one authority, one certificate, one stub a pool, and nothing to replace.
  std::set<std::string> authorities;
  scene.kill_at_every_step({"certs", "rotate"}, [&] { authorities.insert(scene.authority()); });
  ASSERT_EQ(scene.gate().exit_code(), 0) << scene.gate().said();
  EXPECT_EQ(authorities.size(), 1U);
  EXPECT_EQ(kinds_of_writes(scene.gate().writes()), (std::vector<std::string>{"make", "bundle", "make", "stub"}));
  const std::string old_ca = scene.authority();
  ASSERT_TRUE(stage.daemon().says({"get this config", "pool=joiner", "rendered-joiner-9"})) << stage.daemon().log();
  scene.put_foreign_stub(old_ca);
  EXPECT_TRUE(comes_true([&] { return scene.fetched_with({old_ca}) == std::vector{true}; }));

  const std::size_t before = scene.gate().writes().size();
  const auto done_so_far = [&] {
    const std::vector<std::string> writes = scene.gate().writes();
    return kinds_of_writes({writes.begin() + static_cast<std::ptrdiff_t>(before), writes.end()});
  };
  std::set<std::string> next_authorities;
  const auto look = [&] {
    const auto kinds = done_so_far();
    const auto servings = std::ranges::count(kinds, "serving");
    const std::string at = fmt::format("{}", fmt::join(kinds, " "));
    // Without a second try: what the stubs say must do at every moment, and the old one until it is taken out.
    const auto stubs = scene.fetched_with({scene.trusted_by(kManagedStub), scene.trusted_by(kForeignStub), old_ca});
    EXPECT_TRUE(stubs[0]) << "the stub Strake keeps, after " << at;
    EXPECT_TRUE(stubs[1]) << "the stub of somebody else, after " << at;
    EXPECT_TRUE(stubs[2] || servings == 2) << "the old authority, after " << at;
    if (const std::string next = scene.next_authority(); !next.empty()) next_authorities.insert(next);
    ASSERT_EQ(next_authorities.size(), 1U) << "two successors, after " << at;
    const std::string& new_ca = *next_authorities.begin();
    if (servings == 0) {
      EXPECT_FALSE(scene.fetched_with({new_ca})[0]) << "not served yet, after " << at;
    } else if (kinds.back() == "serving") {
      const bool old_counts = servings == 1;
      EXPECT_TRUE(comes_true([&] { return scene.fetched_with({new_ca, old_ca}) == std::vector{true, old_counts}; }))
          << "after " << at;
    } else {
      EXPECT_TRUE(scene.fetched_with({new_ca})[0]) << "the new authority, after " << at;
    }
  };
  const std::string where = stage.url().substr(std::string_view("https://").size());
  ASSERT_TRUE(scene.gate().run_and_kill({"certs", "rotate", "--again", "--retire-after", "1h"}, 1));
  look();
  scene.kill_at_every_step({"certs", "rotate", "--connect", where}, look);
  EXPECT_EQ(scene.gate().exit_code(), 2) << scene.gate().said();
  EXPECT_NE(scene.gate().said().find("keep-old"), std::string::npos) << scene.gate().said();
  EXPECT_EQ(done_so_far(), (std::vector<std::string>{"make", "bundle", "stub", "record", "serving", "record"}));
  const std::string new_ca = scene.next_authority();
  for (const std::string& trusted : {old_ca, new_ca, old_ca + new_ca}) {
    const auto fetched = stage.fetch_with(scene.stub_trusting(trusted));
    EXPECT_TRUE(fetched.ok) << fetched.log;
  }

  const json::Value now =
      json::Object{{"metadata", json::Object{{"annotations", json::Object{{"strake.dev/retire-after-seconds", "0"}}}}}};
  ASSERT_TRUE(stage.admin()
                  .patch(kube::core::kSecret, {kIdentityNamespace, "machine-config-server-ca-next"},
                         kube::PatchType::kMerge, now, {}, stage.call())
                  .ok());
  scene.kill_at_every_step({"certs", "rotate"}, look);
  EXPECT_EQ(scene.gate().exit_code(), 0) << scene.gate().said();
  EXPECT_EQ(done_so_far(), (std::vector<std::string>{"make", "bundle", "stub", "record", "serving", "record", "bundle",
                                                     "stub", "serving", "promote", "remove"}));
  EXPECT_EQ(scene.authority(), new_ca);
  EXPECT_EQ(scene.next_authority(), "");
  for (const char* stub : {kManagedStub, kForeignStub}) EXPECT_EQ(scene.trusted_by(stub), new_ca) << stub;
  EXPECT_TRUE(stage.fetch_with(scene.stub_trusting(new_ca)).ok);
  EXPECT_FALSE(stage.fetch_with(scene.stub_trusting(old_ca)).ok) << "the old one is gone";
  expect_left_to_the_operator(stage, scene, admin);
  scene.end();
}

void expect_outside_stubs_waited_for(JoiningStage& stage, const std::filesystem::path& admin) {
  RotationScene scene(stage, admin);
  const TempDir folder;
  const auto rotate = [&](std::vector<std::string> more, std::vector<std::string> through = {}) {
    return rotate_with(admin, std::move(more), std::move(through));
  };
  // The authority of the installer: its key is not in the cluster, and nobody knows where its stubs are.
  net::testing::TestAuthority installer("root-ca");
  stage.put_identity(installer);
  scene.put_foreign_stub(installer.pem());
  ASSERT_TRUE(stage.daemon().says({"get this config", "pool=joiner", "rendered-joiner-9"})) << stage.daemon().log();
  const std::string serving = scene.secret(kIdentityNamespace, "machine-config-server-tls", "tls.crt");
  const auto served_as_before = [&] {
    return scene.secret(kIdentityNamespace, "machine-config-server-tls", "tls.crt") == serving &&
           scene.fetched_with({installer.pem()})[0];
  };

  // Nobody can trust what is not made yet; and a folder that cannot be is told before anything is done.
  const ProcessOutput early = rotate({"--outside-stubs-done"});
  EXPECT_EQ(early.exit.exit_code, 3);
  EXPECT_NE(early.stderr_bytes.find("no rotation is under way"), std::string::npos) << early.stderr_bytes;
  EXPECT_TRUE(write_file_atomic(folder / "file", "", 0600).ok());
  EXPECT_EQ(rotate({"--export", folder / "file"}).exit.exit_code, 1);
  EXPECT_EQ(rotate({"--export", folder / "stubs", "--outside-stubs-done"}).exit.exit_code, 1);
  EXPECT_EQ(scene.next_authority(), "");

  // A disk that is full in the middle of a stub: said, nothing half-written, and nothing goes on.
  const std::filesystem::path stubs = folder / "stubs";
  const ProcessOutput full =
      rotate({"--export", stubs}, {"/bin/sh", "-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "sh"});
  EXPECT_EQ(full.exit.exit_code, 1);
  EXPECT_NE(full.stderr_bytes.find("exporting the stubs"), std::string::npos) << full.stderr_bytes;
  EXPECT_TRUE(std::filesystem::is_empty(stubs));
  EXPECT_TRUE(served_as_before());

  for (int again = 0; again < 2; ++again) {
    const ProcessOutput stopped = rotate({"--export", stubs});
    EXPECT_EQ(stopped.exit.exit_code, 3) << stopped.stdout_bytes << stopped.stderr_bytes;
    EXPECT_NE(stopped.stdout_bytes.find("--outside-stubs-done"), std::string::npos) << stopped.stdout_bytes;
    EXPECT_TRUE(served_as_before());
  }
  const std::string new_ca = scene.next_authority();
  const auto exported = stub::read_stub(read_file(stubs / "joiner.ign", 1 << 20).value_or(""));
  ASSERT_TRUE(exported.ok());
  const std::string outside = net::to_pem(exported->trusted());
  EXPECT_NE(outside.find(new_ca), std::string::npos);
  EXPECT_TRUE(scene.fetched_with({outside})[0]) << "before the server changes";
  EXPECT_TRUE(write_file_atomic(stubs / "joiner.ign", "{}", 0600).ok());
  const ProcessOutput taken = rotate({"--export", stubs});
  EXPECT_EQ(taken.exit.exit_code, 3);
  EXPECT_NE(taken.stderr_bytes.find("joiner.ign is there and says something else"), std::string::npos);

  const std::string where = stage.url().substr(std::string_view("https://").size());
  const ProcessOutput done = rotate({"--outside-stubs-done", "--connect", where});
  EXPECT_EQ(done.exit.exit_code, 2) << done.stdout_bytes << done.stderr_bytes;
  EXPECT_NE(done.stdout_bytes.find("keep-old"), std::string::npos) << done.stdout_bytes;
  EXPECT_EQ(scene.fetched_with({new_ca, outside, scene.trusted_by(kForeignStub), installer.pem()}),
            (std::vector{true, true, true, false}));
  scene.end();
}

}  // namespace strake::test
