// What a pod as a whole is doing: one status word, its ready containers, its restarts.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "codec/json.h"

namespace strake::apistore::rest {

struct PodSummary {
  std::int64_t ready = 0;
  std::int64_t total = 0;  ///< containers that are meant to keep running
  std::int64_t restarts = 0;
  std::optional<std::chrono::system_clock::time_point> last_restart;
  std::string status;  ///< the phase, or what hinders it: "CrashLoopBackOff", "Init:1/2", "Terminating"
};

PodSummary summarize_pod(const json::Value& pod);

/// "1/2" for the conditions in spec.readinessGates that are true, "<none>" without gates.
std::string readiness_gates(const json::Value& pod);

}  // namespace strake::apistore::rest
