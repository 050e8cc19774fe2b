// bench_api: the embedded API server and kube-apiserver with etcd, side by side on this machine with one client.
//
// Both run at the same time; the one that is not measured idles. The order alternates from round to round, and the
// table shows medians. `bench_api alone` measures `strake up` alone, for a profiler to look at; `bench_api audit`
// compares it with itself, without an audit log and with one.
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#include "machine.h"
#include "report.h"
#include "server.h"
#include "support/temp_dir.h"
#include "workload.h"

namespace strake::bench {
namespace {

constexpr int kRounds = 3;

struct Side {
  std::string name;
  std::unique_ptr<Server> server;
  Workload workload;
  std::vector<std::vector<Figure>> runs{};
};

void say(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

Status measure(std::span<Side> sides) {
  for (Side& side : sides) {
    say(fmt::format("creating {} Nodes in {}\n", kNodes, side.name));
    STRAKE_CHECK_OK(side.workload.prepare().context("preparing {}", side.name));
  }
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (std::size_t turn = 0; turn < sides.size(); ++turn) {
      Side& side = sides[(round + turn) % sides.size()];
      say(fmt::format("round {} of {}: {}\n", round + 1, kRounds, side.name));
      STRAKE_TRY(std::vector<Figure> figures, side.workload.run().context("measuring {}", side.name));
      side.runs.push_back(std::move(figures));
    }
  }
  return {};
}

enum class Contest { kKubernetes, kAuditLog, kNone };

Status run_benchmark(Contest contest) {
  runtime::ThreadRuntime runtime;
  {
    const test::TempDir probe;
    STRAKE_TRY(const std::string machine, describe_machine(probe.path()));
    say(machine + "\n");
  }
  std::vector<Side> sides;
  const auto add = [&](std::string name, std::unique_ptr<Server> server) {
    Server& started = *server;
    sides.push_back({std::move(name), std::move(server), Workload(runtime, started)});
  };
  STRAKE_TRY(std::unique_ptr<Server> strake, start_strake(runtime));
  add("strake up", std::move(strake));
  if (contest == Contest::kKubernetes) {
    STRAKE_TRY(std::unique_ptr<Server> kubernetes, start_kubernetes(runtime));
    add("kube-apiserver + etcd", std::move(kubernetes));
  } else if (contest == Contest::kAuditLog) {
    STRAKE_TRY(std::unique_ptr<Server> without, start_strake(runtime, {"--audit-log", "none"}));
    add("without an audit log", std::move(without));
  }
  STRAKE_CHECK_OK(measure(sides));
  say("\n" + (sides.size() > 1 ? comparison_table({sides[0].name, sides[0].runs}, {sides[1].name, sides[1].runs})
                               : median_list(sides[0].runs)));
  return {};
}

}  // namespace
}  // namespace strake::bench

int main(int argc, char** argv) {
  using strake::bench::Contest;
  const std::string_view wish = argc > 1 ? argv[1] : "";
  const Contest contest = wish.empty() ? Contest::kKubernetes : (wish == "audit" ? Contest::kAuditLog : Contest::kNone);
  const strake::Status finished = strake::bench::run_benchmark(contest);
  if (finished.ok()) return EXIT_SUCCESS;
  std::fprintf(stderr, "bench_api: %s\n", finished.error().to_string().c_str());
  return EXIT_FAILURE;
}
