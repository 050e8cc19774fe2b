// bench_api: the embedded API server and kube-apiserver with etcd, side by side on this machine with one client.
//
// Both run at the same time; the one that is not measured idles. The order alternates from round to round, and the
// table shows medians. With any argument `strake up` is measured alone, for a profiler to look at.
#include <cstdio>
#include <cstdlib>
#include <span>

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

Status run_benchmark(bool with_kubernetes) {
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
  if (with_kubernetes) {
    STRAKE_TRY(std::unique_ptr<Server> kubernetes, start_kubernetes(runtime));
    add("kube-apiserver + etcd", std::move(kubernetes));
  }
  STRAKE_CHECK_OK(measure(sides));
  say("\n" + (with_kubernetes ? comparison_table(sides[0].runs, sides[1].runs) : median_list(sides[0].runs)));
  return {};
}

}  // namespace
}  // namespace strake::bench

int main(int argc, char**) {
  const bool alone = argc > 1;
  const strake::Status finished = strake::bench::run_benchmark(!alone);
  if (finished.ok()) return EXIT_SUCCESS;
  std::fprintf(stderr, "bench_api: %s\n", finished.error().to_string().c_str());
  return EXIT_FAILURE;
}
