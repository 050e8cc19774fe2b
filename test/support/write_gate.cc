#include "support/write_gate.h"

#include <gtest/gtest.h>

#include <mutex>

#include "base/fd.h"
#include "base/subprocess.h"
#include "net/testing/test_server.h"
#include "support/strake_command.h"
#include "support/temp_dir.h"

namespace strake::test {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view kOfOneConnection[] = {"Host", "Connection", "Content-Length", "Transfer-Encoding",
                                                 "Keep-Alive"};

net::Headers passed_on(net::Headers headers) {
  for (const std::string_view name : kOfOneConnection) headers.remove(name);
  return headers;
}

net::HttpClient client_to(const kube::ClusterAccess& access) {
  net::ClientOptions options;
  options.ca_pem = access.ca_pem;
  options.client_certificate_pem = access.client_cert_pem;
  options.client_key_pem = access.client_key_pem;
  options.bearer_token = access.bearer_token;
  options.proxy = net::ProxySettings{};
  return net::testing::TestServer::client(std::move(options));
}

net::ServerOptions gate_options() {
  net::ServerOptions options;
  options.handler_threads = 16;  // a watch takes one
  return options;
}

}  // namespace

struct WriteGate::Impl {
  explicit Impl(const kube::ClusterAccess& access)
      : upstream(access.server),
        client(client_to(access)),
        server([this](const net::ServerRequest& request, net::Responder responder) { handle(request, responder); },
               gate_options()) {}

  void handle(const net::ServerRequest& request, const net::Responder& responder) {
    const net::Request onward{request.method, upstream + request.raw_target, passed_on(request.headers), request.body};
    if (request.method == "GET" && request.raw_target.find("watch=") != std::string::npos) {
      return pass_stream(onward, responder, request.stop);
    }
    auto response = client.send(onward, {.timeout = 30s, .idle_timeout = {}, .stop = request.stop});
    if (!response.ok()) return responder.send({502, {}, response.error().to_string()});
    response->headers = passed_on(std::move(response->headers));
    if (request.method != "GET" && response->status < 300) {
      const std::scoped_lock lock(mutex);
      writes.push_back(request.method + " " + request.target.path);
      if (left > 0 && --left == 0) {
        unanswered.push_back(responder);
        return;
      }
    }
    responder.send(*std::move(response));
  }

  void pass_stream(const net::Request& onward, const net::Responder& responder, const std::stop_token& stop) const {
    std::shared_ptr<net::StreamSink> sink;
    const auto head = [&](const net::ResponseHead& answer) -> Status {
      sink = responder.stream({answer.status, passed_on(answer.headers)});
      return {};
    };
    const auto data = [&](std::string_view bytes) -> Status {
      if (!sink->write(std::string(bytes))) return error(Code::kCancelled, "the client left");
      return {};
    };
    (void)client.stream(onward, head, data, {.timeout = {}, .idle_timeout = {}, .stop = stop});
    if (sink) sink->close();
  }

  bool holds() {
    const std::scoped_lock lock(mutex);
    return !unanswered.empty();
  }

  std::string upstream;
  net::HttpClient client;
  TempDir folder;
  std::filesystem::path kubeconfig = folder / "gate.kubeconfig";
  mutable std::mutex mutex;
  std::vector<std::string> writes;
  std::uint64_t left = 0;
  std::vector<net::Responder> unanswered;
  int exit_code = -1;
  net::testing::TestServer server;  ///< last: its handlers use the rest
};

WriteGate::WriteGate(const kube::ClusterAccess& upstream) : impl_(std::make_unique<Impl>(upstream)) {
  kube::ClusterAccess here;
  here.server = impl_->server.url("");
  here.ca_pem = impl_->server.authority().pem();
  here.bearer_token = "anybody";
  const auto text = kube::write_kubeconfig(kube::kubeconfig_for("gate", here));
  EXPECT_TRUE(text.ok() && write_file_atomic(impl_->kubeconfig, *text, 0600).ok());
}
WriteGate::~WriteGate() = default;

const std::filesystem::path& WriteGate::kubeconfig() const { return impl_->kubeconfig; }
int WriteGate::exit_code() const { return impl_->exit_code; }
std::string WriteGate::said() const { return read_file(impl_->folder / "log", 1 << 20).value_or(""); }

std::vector<std::string> WriteGate::writes() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->writes;
}

bool WriteGate::run_and_kill(std::vector<std::string> arguments, std::uint64_t n) {
  arguments.insert(arguments.end(), {"--kubeconfig", impl_->kubeconfig.string()});
  {
    const std::scoped_lock lock(impl_->mutex);
    impl_->left = n;
    impl_->unanswered.clear();
  }
  std::filesystem::remove(impl_->folder / "log");
  Command command = strake_command(std::move(arguments));
  command.log_file = impl_->folder / "log";
  auto process = ChildProcess::start(command);
  EXPECT_TRUE(process.ok()) << process.error().to_string();
  std::optional<ExitStatus> ended;
  while (process.ok() && !impl_->holds() && !ended) ended = process->wait_exit(2ms);
  if (process.ok() && !ended) {
    process->kill_now();
    return true;
  }
  impl_->exit_code = ended ? ended->exit_code : -1;
  return false;
}

}  // namespace strake::test
