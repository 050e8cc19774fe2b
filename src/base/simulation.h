// Simulation: a Runtime in which one task runs at a time, on virtual time, in an order that one seed decides.
//
// A task is an OS thread that runs only while it holds the baton. At every wait, sleep and yield it hands the baton
// back and the seeded scheduler picks among the tasks that can run, in the order of their birth. When none can, time
// jumps to the earliest deadline. The same seed and the same code therefore give the same trace, whatever the machine
// does meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/runtime.h"

namespace strake::sim {

struct RunLimits {
  runtime::Duration virtual_time = std::chrono::hours(24);
  std::uint64_t steps = 5'000'000;
};

enum class RunEnd {
  kAllDone,      ///< every task returned
  kIdle,         ///< tasks remain, none can ever run again: a deadlock unless the test expects it
  kTimeLimit,    ///< virtual time ran out
  kStepLimit,    ///< a livelock, most likely
  kConditionMet  ///< `until` became true
};
std::string_view to_string(RunEnd end);

class Simulation final : public runtime::Runtime {
 public:
  explicit Simulation(std::uint64_t seed);
  /// Stops and joins whatever still runs.
  ~Simulation() override;

  /// Runs tasks until `until` holds (checked between steps) or a limit is reached. Called from outside any task.
  RunEnd run(const RunLimits& limits = {}, const std::function<bool()>& until = nullptr);

  /// Hash over every scheduling decision, label and time so far: equal for equal runs.
  std::uint64_t trace_hash() const { return trace_hash_; }
  std::uint64_t steps() const { return steps_; }
  /// With tracing on, one line a step: for finding out why a seed failed.
  void keep_trace(bool keep) { keep_trace_ = keep; }
  const std::vector<std::string>& trace() const { return trace_; }

  runtime::TimePoint now() override { return now_; }
  runtime::WallTime wall_now() override;
  Random& random() override { return task_random_; }
  runtime::Task spawn(std::string name, std::function<void(std::stop_token)> body) override;
  void yield(std::string_view where) override;

  struct TaskState;  // private to simulation.cc

 private:
  class SimTask;
  class SimCondition;
  std::unique_ptr<ConditionImpl> make_condition() override;

  void pin_to_one_cpu();
  void unpin();
  bool step();
  void record(const TaskState& task);
  void run_until_done(const TaskState& task);
  void switch_to_scheduler();

  SeededRandom schedule_random_;
  SeededRandom
      task_random_;  ///< apart from the scheduler's, so that drawing an identifier does not change who runs next
  runtime::TimePoint now_{};
  std::uint64_t steps_ = 0;
  std::uint64_t trace_hash_ = 0xcbf29ce484222325ULL;
  bool keep_trace_ = false;
  std::vector<std::string> trace_;
  std::vector<std::shared_ptr<TaskState>> tasks_;
  std::uint64_t next_task_id_ = 0;
  std::vector<int> cpus_before_;  ///< where the driver was allowed to run
};

}  // namespace strake::sim
