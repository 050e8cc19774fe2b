#include "apistore/rest/pod_summary.h"

#include <algorithm>
#include <set>

#include "base/time.h"

namespace strake::apistore::rest {

namespace {

using PodPath = std::initializer_list<std::string_view>;

const json::Array& list_at(const json::Value& object, PodPath path) {
  static const json::Array kNothing;
  const json::Value* found = json::find(object, path);
  return found != nullptr && found->is_array() ? found->get_array() : kNothing;
}

std::string word_at(const json::Value& object, PodPath path) { return json::find_string(object, path).value_or(""); }

bool condition_is_true(const json::Value& pod, std::string_view type) {
  const json::Array& conditions = list_at(pod, {"status", "conditions"});
  return std::any_of(conditions.begin(), conditions.end(), [&](const json::Value& condition) {
    return json::find_string(condition, {"type"}) == type && json::find_string(condition, {"status"}) == "True";
  });
}

/// Why a container ended: its own word, else the signal, else the exit code.
std::string end_of(const json::Value& terminated) {
  if (std::string reason = word_at(terminated, {"reason"}); !reason.empty()) return reason;
  if (const std::int64_t signal = json::find_int(terminated, {"signal"}).value_or(0); signal != 0) {
    return fmt::format("Signal:{}", signal);
  }
  return fmt::format("ExitCode:{}", json::find_int(terminated, {"exitCode"}).value_or(0));
}

/// Init containers that run beside the others for the life of the pod.
std::set<std::string> sidecars(const json::Value& pod) {
  std::set<std::string> names;
  for (const json::Value& container : list_at(pod, {"spec", "initContainers"})) {
    if (word_at(container, {"restartPolicy"}) == "Always") names.insert(word_at(container, {"name"}));
  }
  return names;
}

struct RestartCount {
  std::int64_t restarts = 0;
  std::optional<std::chrono::system_clock::time_point> last;

  void add(const json::Value& container) {
    restarts += json::find_int(container, {"restartCount"}).value_or(0);
    const auto finished = parse_rfc3339(word_at(container, {"lastState", "terminated", "finishedAt"}));
    if (finished.ok() && (!last || *last < *finished)) last = *finished;
  }
};

/// The status word while init containers run, or nullopt when they are through.
std::optional<std::string> init_status(const json::Value& pod, const std::set<std::string>& beside, PodSummary& summary,
                                       RestartCount& all, RestartCount& of_sidecars) {
  const std::size_t total = list_at(pod, {"spec", "initContainers"}).size();
  std::size_t position = 0;
  for (const json::Value& container : list_at(pod, {"status", "initContainerStatuses"})) {
    const bool is_sidecar = beside.contains(word_at(container, {"name"}));
    all.add(container);
    if (is_sidecar) of_sidecars.add(container);
    const json::Value* terminated = json::find(container, {"state", "terminated"});
    if (terminated != nullptr && json::find_int(*terminated, {"exitCode"}).value_or(0) == 0) {
      ++position;
      continue;
    }
    if (is_sidecar && json::find_bool(container, {"started"}).value_or(false)) {
      if (json::find_bool(container, {"ready"}).value_or(false)) ++summary.ready;
      ++position;
      continue;
    }
    if (terminated != nullptr) return "Init:" + end_of(*terminated);
    if (const std::string waiting = word_at(container, {"state", "waiting", "reason"});
        !waiting.empty() && waiting != "PodInitializing") {
      return "Init:" + waiting;
    }
    return fmt::format("Init:{}/{}", position, total);
  }
  return std::nullopt;
}

}  // namespace

PodSummary summarize_pod(const json::Value& pod) {
  PodSummary summary;
  const std::set<std::string> beside = sidecars(pod);
  summary.total = static_cast<std::int64_t>(list_at(pod, {"spec", "containers"}).size() + beside.size());

  const std::string phase = word_at(pod, {"status", "phase"});
  const std::string pod_reason = word_at(pod, {"status", "reason"});
  summary.status = pod_reason.empty() ? phase : pod_reason;
  for (const json::Value& condition : list_at(pod, {"status", "conditions"})) {
    if (word_at(condition, {"type"}) == "PodScheduled" && word_at(condition, {"reason"}) == "SchedulingGated") {
      summary.status = "SchedulingGated";
    }
  }

  RestartCount init_restarts;
  RestartCount restarts;
  const auto initializing = init_status(pod, beside, summary, init_restarts, restarts);
  if (initializing) summary.status = *initializing;
  if (initializing && !condition_is_true(pod, "Initialized")) {
    restarts = init_restarts;
  } else {
    bool one_runs = false;
    const json::Array& containers = list_at(pod, {"status", "containerStatuses"});
    // The first container has the last word.
    for (auto container = containers.rbegin(); container != containers.rend(); ++container) {
      restarts.add(*container);
      const json::Value* terminated = json::find(*container, {"state", "terminated"});
      if (const std::string waiting = word_at(*container, {"state", "waiting", "reason"}); !waiting.empty()) {
        summary.status = waiting;
      } else if (terminated != nullptr) {
        summary.status = end_of(*terminated);
      } else if (json::find_bool(*container, {"ready"}).value_or(false) &&
                 json::find(*container, {"state", "running"}) != nullptr) {
        one_runs = true;
        ++summary.ready;
      }
    }
    if (summary.status == "Completed" && one_runs) {
      summary.status = condition_is_true(pod, "Ready") ? "Running" : "NotReady";
    }
  }

  if (json::find(pod, {"metadata", "deletionTimestamp"}) != nullptr) {
    if (pod_reason == "NodeLost") {
      summary.status = "Unknown";
    } else if (phase != "Succeeded" && phase != "Failed") {
      summary.status = "Terminating";
    }
  }
  summary.restarts = restarts.restarts;
  summary.last_restart = restarts.last;
  return summary;
}

std::string readiness_gates(const json::Value& pod) {
  const json::Array& gates = list_at(pod, {"spec", "readinessGates"});
  if (gates.empty()) return "<none>";
  const auto open = std::count_if(gates.begin(), gates.end(), [&](const json::Value& gate) {
    return condition_is_true(pod, word_at(gate, {"conditionType"}));
  });
  return fmt::format("{}/{}", open, gates.size());
}

}  // namespace strake::apistore::rest
