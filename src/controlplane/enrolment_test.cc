#include "controlplane/enrolment.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "apistore/rest/api_server.h"
#include "base/fd.h"
#include "controlplane/renewal.h"
#include "kube/kubeconfig.h"
#include "support/temp_dir.h"

namespace strake::controlplane::enrolment_test {

using namespace std::chrono_literals;

class EnrolmentClientTest : public testing::Test {
 protected:
  void SetUp() override {
    auto registry = apistore::Registry::standard();
    ASSERT_TRUE(registry.ok()) << registry.error().to_string();
    auto service =
        apistore::Service::open(runtime_, std::make_shared<const apistore::Registry>(*std::move(registry)), {});
    ASSERT_TRUE(service.ok()) << service.error().to_string();
    service_ = *std::move(service);
    apistore::rest::ApiServerOptions options;
    options.port = 0;
    options.state_directory = dir_ / "state";
    auto server = apistore::rest::ApiServer::start(*service_, std::move(options));
    ASSERT_TRUE(server.ok()) << server.error().to_string();
    server_ = *std::move(server);
    std::filesystem::create_directories(root());
  }

  kube::Call soon() { return runtime_.call_within(60s); }
  std::filesystem::path root() const { return dir_ / "machine"; }
  json::Value ask(std::string_view what, const json::Object& body) {
    const auto answer =
        (*kube::HttpsApi::create(runtime_, server_->admin_access()))->post_raw(access_path(what), body, soon());
    EXPECT_TRUE(answer.ok()) << answer.error().to_string();
    return answer.ok() ? *answer : json::Value();
  }
  JoinOptions options_for(const std::string& node) {
    const json::Value token = ask("tokens", {{"role", "agent"}, {"node", node}, {"join", true}});
    JoinOptions options;
    options.server = server_->url();
    options.token = json::find_string(token, {"token"}).value_or("");
    options.ca_sha256 = json::find_string(token, {"certificateAuthoritySha256"}).value_or("");
    options.root = root();
    return options;
  }
  std::string kubeconfig() const { return *read_file(agent_kubeconfig(root()), 1 << 20); }

  runtime::ThreadRuntime runtime_;
  test::TempDir dir_;
  std::unique_ptr<apistore::Service> service_;
  std::unique_ptr<apistore::rest::ApiServer> server_;
};

TEST_F(EnrolmentClientTest, AMachineJoinsOnceAndItsKubeconfigIsItsOwn) {
  const JoinOptions options = options_for("w1");
  const auto joined = join_machine(runtime_, options, soon());
  ASSERT_TRUE(joined.ok()) << joined.error().to_string();
  EXPECT_EQ(joined->node, "w1");
  struct stat info{};
  ASSERT_EQ(::stat(joined->kubeconfig.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
  EXPECT_FALSE(std::filesystem::exists(agent_folder(root()) / "join.key"));
  const auto access = kube::resolve_access(*kube::parse_kubeconfig(kubeconfig(), joined->kubeconfig));
  ASSERT_TRUE(access.ok()) << access.error().to_string();
  const auto node = (*kube::HttpsApi::create(runtime_, *access))->get(kube::core::kNode, {"", "w1"}, soon());
  EXPECT_TRUE(node.ok()) << node.error().to_string();

  const auto again = join_machine(runtime_, options, soon());
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().verdict(), Verdict::kBlocked);
}

TEST_F(EnrolmentClientTest, AJoinThatWasKilledIsRepeatedWithTheSameKey) {
  const JoinOptions options = options_for("w1");
  ASSERT_TRUE(join_machine(runtime_, options, soon()).ok());
  // As if the machine had lost power before the answer was written down.
  const auto access = kube::resolve_access(*kube::parse_kubeconfig(kubeconfig(), "k"));
  ASSERT_TRUE(write_file_atomic(agent_folder(root()) / "join.key", access->client_key_pem, 0600).ok());
  std::filesystem::remove(agent_kubeconfig(root()));
  const auto repeated = join_machine(runtime_, options, soon());
  EXPECT_TRUE(repeated.ok()) << repeated.error().to_string();
}

TEST_F(EnrolmentClientTest, ATakenNameIsBlockedAndAWrongAuthorityRefused) {
  JoinOptions options = options_for("w1");
  ASSERT_TRUE(join_machine(runtime_, options, soon()).ok());
  JoinOptions other = options;
  other.root = dir_ / "other";
  const auto used = join_machine(runtime_, other, soon());
  ASSERT_FALSE(used.ok());
  EXPECT_EQ(used.error().code(), Code::kUnauthenticated) << used.error().to_string();
  options = options_for("w2");
  options.root = dir_ / "third";
  options.ca_sha256 = std::string(64, '0');
  const auto refused = join_machine(runtime_, options, soon());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().to_string().find("does not prove to be the server"), std::string::npos)
      << refused.error().to_string();
}

TEST_F(EnrolmentClientTest, ARotationRenewsACertificateInItsFile) {
  ASSERT_TRUE(join_machine(runtime_, options_for("w1"), soon()).ok());
  const std::filesystem::path file = agent_kubeconfig(root());
  const std::string before = kubeconfig();
  auto looked = renew_kubeconfig(runtime_, file, soon());
  ASSERT_TRUE(looked.ok() && looked->has_value()) << looked.error().to_string();
  EXPECT_FALSE((*looked)->renewed);
  EXPECT_EQ((*looked)->user, "strake:agent:w1");
  EXPECT_EQ(kubeconfig(), before);
  for (const char* from : {"settled", "announced"}) {
    (void)ask("authority", {{"from", from}});
    looked = renew_kubeconfig(runtime_, file, soon());
    ASSERT_TRUE(looked.ok() && looked->has_value()) << from << ": " << looked.error().to_string();
    EXPECT_TRUE((*looked)->renewed) << from;
    EXPECT_FALSE((*renew_kubeconfig(runtime_, file, soon()))->renewed) << "once is enough";
  }
  (void)ask("authority", {{"from", "signing"}});
  looked = renew_kubeconfig(runtime_, file, soon());
  ASSERT_TRUE(looked.ok() && looked->has_value()) << looked.error().to_string();
  EXPECT_TRUE((*looked)->renewed) << "the shorter list";
}

TEST_F(EnrolmentClientTest, AFailingRenewalIsToldEachTime) {
  ASSERT_TRUE(join_machine(runtime_, options_for("w1"), soon()).ok());
  (void)ask("revocations", {{"node", "w1"}});
  std::stop_source stop;
  RenewalOptions options;
  options.kubeconfig = agent_kubeconfig(root());
  options.first_retry = 1ms;
  std::vector<std::string> told;
  options.on_failure = [&](const Error& error, unsigned in_a_row, runtime::Duration) {
    told.push_back(error.to_string());
    EXPECT_EQ(in_a_row, told.size());
    if (told.size() == 3) stop.request_stop();
  };
  keep_renewed(runtime_, options, stop.get_token());
  ASSERT_EQ(told.size(), 3u);
  EXPECT_NE(told.front().find("revoked"), std::string::npos) << told.front();
}

TEST(RenewalDue, WhenAThirdOfItsLifeIsLeftOrTheAuthoritiesChanged) {
  const std::chrono::sys_seconds begin{std::chrono::seconds(1'800'000'000)};
  const net::PrivateKey key = *net::PrivateKey::generate(), other_key = *net::PrivateKey::generate();
  const auto authority = [&](const net::PrivateKey& of) {
    return *net::make_ca(of, {.common_name = "ca", .validity = {begin, begin + 1000h}, .serial = "12345678"});
  };
  const net::Certificate ca = authority(key), other = authority(other_key);
  net::LeafRequest request;
  request.common_name = "strake:agent:w1";
  request.client_auth = true;
  request.validity = {begin, begin + 30h};
  request.serial = "87654321";
  const net::Certificate leaf = *net::issue(ca, key, *net::PrivateKey::generate(), request);
  const Authorities same{ca.to_pem(), {ca}}, longer{ca.to_pem() + other.to_pem(), {ca, other}},
      handed_over{other.to_pem() + ca.to_pem(), {other, ca}};
  EXPECT_EQ(renewal_due(leaf, ca.to_pem(), same, begin + 19h), RenewalReason::kNone);
  EXPECT_EQ(renewal_due(leaf, ca.to_pem(), same, begin + 21h), RenewalReason::kSoonOver);
  EXPECT_EQ(renewal_due(leaf, ca.to_pem(), std::nullopt, begin + 19h), RenewalReason::kNone);
  EXPECT_EQ(renewal_due(leaf, ca.to_pem(), longer, begin + 1h), RenewalReason::kNewAuthorities);
  EXPECT_EQ(renewal_due(leaf, handed_over.trusted_pem, handed_over, begin + 1h), RenewalReason::kNewSigner);
}

}  // namespace strake::controlplane::enrolment_test
