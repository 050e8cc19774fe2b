// Clients that want to stop the API server of `strake up`, in numbers: what it grows by is counted in bytes, and an
// administrator is answered all the while. The process may have 1,024 descriptors, as many systems give it.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <charconv>
#include <filesystem>

#include "base/fd.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "kube/https_api.h"
#include "kube/kubeconfig.h"
#include "net/testing/raw_tls_client.h"
#include "support/places.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

using namespace std::chrono_literals;
using kube::core::kConfigMap;
using net::testing::RawTlsClient;

constexpr std::int64_t kMostGrowthBytes = 100'000'000;

class ApiLoad : public ::testing::Test {
 protected:
  void SetUp() override {
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);

    Command command;
    command.argv = {
        "prlimit",  "--nofile=1024:1024", strake_program().string(), "up", "--state", (folder_ / "s").string(),
        "--listen", "127.0.0.1:0"};
    command.log_file = folder_ / "log";
    auto started = ChildProcess::start(command);
    ASSERT_TRUE(started.ok()) << started.error().to_string();
    up_.emplace(*std::move(started));
    const std::filesystem::path kubeconfig = folder_ / "s/kubeconfig";
    for (int i = 0; i < 400 && !std::filesystem::exists(kubeconfig); ++i) (void)up_->wait_exit(50ms);
    const auto config = kube::load_kubeconfig(kube::kubeconfig_locations(kubeconfig));
    ASSERT_TRUE(config.ok()) << read_file(folder_ / "log", 1 << 16).value_or("");
    access_ = *kube::resolve_access(*config);
    api_ = *kube::HttpsApi::create(runtime_, access_);
    const std::string port = access_.server.substr(access_.server.rfind(':') + 1);
    std::from_chars(port.data(), port.data() + port.size(), port_);
    expect_answer("at first");
    memory_before_ = memory();
  }

  /// Resident bytes of the server.
  std::int64_t memory() const {
    const std::string status = read_file(fmt::format("/proc/{}/status", up_->pid()), 1 << 16).value_or("");
    const std::size_t at = status.find("VmRSS:");
    EXPECT_NE(at, std::string::npos) << status;
    std::int64_t kibibytes = 0;
    const std::string number(trimmed(std::string_view(status).substr(at + 6, 20)));
    std::from_chars(number.data(), number.data() + number.size(), kibibytes);
    EXPECT_GT(kibibytes, 0) << number;
    return kibibytes * 1024;
  }
  void expect_answer(std::string_view when) {
    const auto answer = api_->get(kube::core::kNamespace, {"", "default"}, runtime_.call_within(30s));
    EXPECT_TRUE(answer.ok()) << when << ": " << answer.error().to_string();
  }
  void expect_bounded(std::string_view when) {
    expect_answer(when);
    EXPECT_LT(memory() - memory_before_, kMostGrowthBytes) << when;
  }

  Fd connect_and_say(std::string_view bytes) const {
    Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    (void)::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return socket;
  }
  RawTlsClient tls(bool known, int receive_buffer = 0) const {
    net::testing::RawTlsOptions options;
    options.ca_pem = access_.ca_pem;
    if (known) options.identity = {access_.client_cert_pem, access_.client_key_pem};
    options.receive_buffer_bytes = receive_buffer;
    auto client = RawTlsClient::connect(port_, options);
    EXPECT_TRUE(client.ok()) << client.error().to_string();
    return *std::move(client);
  }

  runtime::ThreadRuntime runtime_;
  TempDir folder_;
  std::optional<ChildProcess> up_;
  kube::ClusterAccess access_;
  std::unique_ptr<kube::HttpsApi> api_;
  std::uint16_t port_ = 0;
  std::int64_t memory_before_ = 0;
};

TEST_F(ApiLoad, TenThousandHalfOpenAndTwelveHundredIdleConnections) {
  {
    std::vector<Fd> half_open;
    for (int i = 0; i < 10'000; ++i) half_open.push_back(connect_and_say(i % 2 == 0 ? "" : "\x16\x03\x01"));
    expect_bounded("10,000 half-open connections");
  }
  std::vector<RawTlsClient> idle;
  for (int i = 0; i < 1'200; ++i) idle.push_back(tls(i % 4 == 0));
  expect_bounded("1,200 idle connections with 1,024 descriptors");
  idle.clear();
  expect_bounded("afterwards");
}

TEST_F(ApiLoad, BodiesOfStrangersAndReadersThatDoNotRead) {
  {
    std::vector<RawTlsClient> strangers;
    const std::string piece(64 * 1024, 'x');
    for (int i = 0; i < 300; ++i) {
      strangers.push_back(tls(false));
      (void)strangers.back().write(
          "POST /api/v1/namespaces HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
          "Content-Length: 3145728\r\n\r\n" +
          piece);
    }
    expect_bounded("300 bodies of 3 MiB without credentials");
    for (RawTlsClient& stranger : strangers) EXPECT_TRUE(stranger.read_some().value_or("").starts_with("HTTP/1.1 401"));
  }
  // 8 MB in all, in texts that do not compress.
  SeededRandom random(1);
  for (int i = 0; i < 16; ++i) {
    std::string text;
    while (text.size() < 512 * 1024) text += fmt::format("{:016x}", random.next());
    kube::Object object(kConfigMap, {"default", fmt::format("large-{}", i)});
    object.json().get_object()["data"] = json::Object{{"text", text}};
    ASSERT_TRUE(api_->create(kConfigMap, object, {}, runtime_.call_within(30s)).ok());
  }
  memory_before_ = memory();
  {
    std::vector<RawTlsClient> readers;
    for (int i = 0; i < 40; ++i) {
      readers.push_back(tls(true, 4096));
      ASSERT_TRUE(readers.back().write("GET /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: h\r\n\r\n").ok());
    }
    // Every one of them has its answer or its refusal: the first bytes say so.
    for (RawTlsClient& reader : readers) EXPECT_TRUE(reader.read_some().value_or("").starts_with("HTTP/1.1 "));
    expect_bounded("40 readers that do not read");
  }
  expect_bounded("afterwards");
}

}  // namespace
}  // namespace strake::test
