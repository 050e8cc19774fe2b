// What is measured: the same calls, made by the same client, against one server after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/runtime.h"
#include "report.h"
#include "server.h"

namespace strake::bench {

inline constexpr int kNodes = 10'000;
inline constexpr int kWatchers = 100;

class Workload {
 public:
  Workload(runtime::Runtime& runtime, Server& server) : runtime_(runtime), server_(server) {}

  /// A namespace, and the Nodes that are listed and patched.
  Status prepare();
  /// Every figure once, in a fixed order.
  Result<std::vector<Figure>> run();

 private:
  /// Calls `one(number)` from so many tasks at once for a while, or until `limit` calls are made.
  struct Load {
    int writers = 1;
    runtime::Duration duration{};
    std::int64_t limit = INT64_MAX;
  };
  struct Done {
    double calls_a_second = 0;
    double server_microseconds_a_call = 0;
    double client_microseconds_a_call = 0;
  };
  Result<Done> make_calls(const Load& load, const std::function<Status(std::int64_t number)>& one);

  Status measure_writes(int writers);
  Status measure_list(const std::string& name, std::uint32_t page_size, bool compressed);
  Status measure_watch();

  runtime::Runtime& runtime_;
  Server& server_;
  std::int64_t phases_ = 0;  ///< part of names, so that none is used twice
  std::vector<Figure> figures_;
};

}  // namespace strake::bench
