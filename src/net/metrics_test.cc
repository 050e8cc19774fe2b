#include "net/metrics.h"

#include <limits>
#include <thread>

#include <gtest/gtest.h>

namespace strake::net::metrics_test {
namespace {

TEST(MetricsTest, TextIsSortedAndEscaped) {
  Registry registry;
  registry.gauge("strake_nodes", "Nodes\nin a pool, with a \\.", {{"pool", "worker"}}).set(3);
  registry.gauge("strake_nodes", "Nodes\nin a pool, with a \\.", {{"pool", "a\"b\\c\nd"}}).set(-0.5);
  registry.counter("strake_errors_total", "Errors.").add();
  registry.counter("strake_errors_total", "Errors.").add(1.5);
  registry.counter("strake_errors_total", "Errors.").add(-100);
  Histogram& latency = registry.histogram("strake_latency_seconds", "Latency.", {0.1, 1}, {{"verb", "get"}});
  for (const double seconds : {0.05, 0.1, 0.5, 7.0}) latency.observe(seconds);
  EXPECT_EQ(registry.text(), R"(# HELP strake_errors_total Errors.
# TYPE strake_errors_total counter
strake_errors_total 2.5
# HELP strake_latency_seconds Latency.
# TYPE strake_latency_seconds histogram
strake_latency_seconds_bucket{verb="get",le="0.1"} 2
strake_latency_seconds_bucket{verb="get",le="1"} 3
strake_latency_seconds_bucket{verb="get",le="+Inf"} 4
strake_latency_seconds_sum{verb="get"} 7.65
strake_latency_seconds_count{verb="get"} 4
# HELP strake_nodes Nodes\nin a pool, with a \\.
# TYPE strake_nodes gauge
strake_nodes{pool="a\"b\\c\nd"} -0.5
strake_nodes{pool="worker"} 3
)");
}

TEST(MetricsTest, SpecialNumbers) {
  Registry registry;
  registry.gauge("a", "A.").set(std::numeric_limits<double>::infinity());
  registry.gauge("b", "B.").set(std::numeric_limits<double>::quiet_NaN());
  registry.gauge("c", "C.").set(1e21);
  const std::string text = registry.text();
  EXPECT_NE(text.find("\na +Inf\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nb NaN\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nc 1e+21\n"), std::string::npos) << text;
}

TEST(MetricsTest, NothingIsLostBetweenThreads) {
  Registry registry;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&registry, t] {
      for (int i = 0; i < 1000; ++i) {
        registry.counter("strake_n_total", "N.", {{"thread", std::to_string(t % 2)}}).add();
        registry.histogram("strake_h", "H.", {1}).observe(i % 3);
        if (i % 100 == 0) {
          EXPECT_FALSE(registry.text().empty());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(registry.counter("strake_n_total", "N.", {{"thread", "0"}}).value(), 2000);
  EXPECT_EQ(registry.histogram("strake_h", "H.", {1}).snapshot().cumulative.back(), 4000U);
}

}  // namespace
}  // namespace strake::net::metrics_test
