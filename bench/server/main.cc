// bench_server: a config of 330 KB over TLS from `strake config-server` and, the same bytes, from a file by nginx.
//
// Four clients at once, each on a connection it keeps, and each with a new connection a request. Both servers run all
// the time; the order alternates from round to round, and the table shows medians.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "machine.h"
#include "net/testing/raw_tls_client.h"
#include "report.h"
#include "server/contestant.h"
#include "support/temp_dir.h"

namespace strake::bench {
namespace {

using namespace std::chrono_literals;

constexpr int kRounds = 3;
constexpr int kClients = 4;
constexpr auto kPhase = 4s;
constexpr std::size_t kServedBytes = 330'000;

void say(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

std::string request_text(bool keep) {
  return fmt::format(
      "GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/vnd.coreos.ignition+json;version=3.2.0, */*;q=0.1\r\n"
      "{}\r\n",
      kConfigPath, keep ? "" : "Connection: close\r\n");
}

Result<std::string> read_answer(net::testing::RawTlsClient& client) {
  STRAKE_TRY(std::string bytes, client.read_until("\r\n\r\n"));
  const std::size_t head_end = bytes.find("\r\n\r\n") + 4;
  std::string head = bytes.substr(0, head_end);
  if (!head.starts_with("HTTP/1.1 200")) return error(Code::kUnavailable, "the answer is {}", head);
  std::ranges::transform(head, head.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::size_t field = head.find("content-length: ");
  if (field == std::string::npos) return error(Code::kUnavailable, "no length in {}", head);
  const std::size_t length = std::stoul(head.substr(field + 16));
  std::string body = bytes.substr(head_end);
  body.reserve(length);
  while (body.size() < length) {
    STRAKE_TRY(const std::string more, client.read_some());
    if (more.empty()) return error(Code::kUnavailable, "the answer ends after {} of {} bytes", body.size(), length);
    body += more;
  }
  return body;
}

struct Side {
  std::string name;
  std::unique_ptr<Contestant> server;
  std::vector<std::vector<Figure>> runs{};
};

class Bench {
 public:
  Status run();

 private:
  net::testing::RawTlsOptions trust() { return {.ca_pem = authority_.pem(), .identity = {}}; }
  Result<std::string> ask_once(const Contestant& server);
  Status client_loop(const Contestant& server, bool keep, const std::string& expected, std::atomic<std::int64_t>& asked,
                     runtime::TimePoint end);
  Status measure(const Side& side, bool keep, const std::string& expected, std::vector<Figure>& figures);

  runtime::ThreadRuntime runtime_;
  net::testing::TestAuthority authority_;
};

Result<std::string> Bench::ask_once(const Contestant& server) {
  STRAKE_TRY(auto client, net::testing::RawTlsClient::connect(server.port(), trust()));
  STRAKE_CHECK_OK(client.write(request_text(false)));
  return read_answer(client);
}

Status Bench::client_loop(const Contestant& server, bool keep, const std::string& expected,
                          std::atomic<std::int64_t>& asked, runtime::TimePoint end) {
  std::optional<net::testing::RawTlsClient> client;
  const std::string request = request_text(keep);
  while (runtime_.now() < end) {
    if (!client || !keep) {
      STRAKE_TRY(auto connected, net::testing::RawTlsClient::connect(server.port(), trust()));
      client.emplace(std::move(connected));
    }
    STRAKE_CHECK_OK(client->write(request));
    STRAKE_TRY(const std::string body, read_answer(*client));
    if (body != expected) return error(Code::kInternal, "wrong bytes were served");
    ++asked;
  }
  return {};
}

Status Bench::measure(const Side& side, bool keep, const std::string& expected, std::vector<Figure>& figures) {
  STRAKE_TRY(const double cpu_before, cpu_seconds(side.server->processes()));
  const runtime::TimePoint begin = runtime_.now();
  std::atomic<std::int64_t> asked = 0;
  std::vector<Status> ends(kClients);
  {
    std::vector<runtime::Task> clients;
    for (Status& end : ends) {
      clients.push_back(runtime_.spawn(
          "client", [&](std::stop_token) { end = client_loop(*side.server, keep, expected, asked, begin + kPhase); }));
    }
    for (runtime::Task& client : clients) client.join();
  }
  for (const Status& end : ends) STRAKE_CHECK_OK(end);
  const double seconds = std::chrono::duration<double>(runtime_.now() - begin).count();
  STRAKE_TRY(const double cpu_after, cpu_seconds(side.server->processes()));
  const std::string how = keep ? "kept connections" : "a connection a request";
  figures.push_back({how + ", requests/s", static_cast<double>(asked) / seconds});
  figures.push_back(
      {how + ", server CPU us a request", (cpu_after - cpu_before) * 1e6 / std::max<double>(1.0, double(asked))});
  return {};
}

Status Bench::run() {
  const test::TempDir folder;
  STRAKE_TRY(const std::string machine, describe_machine(folder.path()));
  say(machine + "\n");
  const net::testing::TestIdentity identity = authority_.server();
  const auto stage = [&](const char* name) {
    std::filesystem::create_directory(folder / name);
    return Stage{folder / name, identity};
  };
  std::vector<Side> sides;
  STRAKE_TRY(auto strake, start_config_server(runtime_, stage("strake"), kServedBytes));
  STRAKE_TRY(const std::string body, ask_once(*strake));
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  STRAKE_TRY(auto nginx, start_nginx(runtime_, stage("nginx"), body));
  sides.push_back({"strake config-server", std::move(strake)});
  sides.push_back({"nginx, from a file", std::move(nginx)});
  say(fmt::format("{} bytes a config, {} clients\n", body.size(), kClients));
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t turn = 0; turn < sides.size(); ++turn) {
      Side& side = sides[(static_cast<std::size_t>(round) + turn) % sides.size()];
      say(fmt::format("round {} of {}: {}\n", round + 1, kRounds, side.name));
      std::vector<Figure> figures;
      STRAKE_CHECK_OK(measure(side, true, body, figures).context("measuring {}", side.name));
      STRAKE_CHECK_OK(measure(side, false, body, figures).context("measuring {}", side.name));
      STRAKE_TRY(const double memory, resident_mebibytes(side.server->processes()));
      figures.push_back({"resident memory, MiB", memory});
      side.runs.push_back(std::move(figures));
    }
  }
  say("\n" + comparison_table({sides[0].name, sides[0].runs}, {sides[1].name, sides[1].runs}));
  return {};
}

}  // namespace
}  // namespace strake::bench

int main() {
  const strake::Status finished = strake::bench::Bench().run();
  if (finished.ok()) return EXIT_SUCCESS;
  std::fprintf(stderr, "bench_server: %s\n", finished.error().to_string().c_str());
  return EXIT_FAILURE;
}
