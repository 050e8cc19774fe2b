#include "base/simulation.h"

#include <sched.h>

#include <algorithm>
#include <semaphore>
#include <thread>

namespace strake::sim {

using runtime::Call;
using runtime::Duration;
using runtime::TimePoint;
using runtime::Wake;

struct Simulation::TaskState {
  std::uint64_t id = 0;
  std::string name;
  std::string where = "start";
  bool can_run = true;
  bool done = false;
  std::optional<TimePoint> wake_at;
  std::stop_source stop;
  std::vector<TaskState*> joiners;  ///< tasks that wait for the end of this one
  std::binary_semaphore baton{0};
  std::binary_semaphore scheduler_baton{0};
  std::thread thread;
};

namespace {

thread_local Simulation::TaskState* current_sim_task = nullptr;

void mix_into(std::uint64_t& hash, std::string_view bytes) {
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
}

}  // namespace

std::string_view to_string(RunEnd end) {
  switch (end) {
    case RunEnd::kAllDone: return "all tasks done";
    case RunEnd::kIdle: return "no task can run";
    case RunEnd::kTimeLimit: return "virtual time limit";
    case RunEnd::kStepLimit: return "step limit";
    case RunEnd::kConditionMet: return "condition met";
  }
  return "unknown";
}

class Simulation::SimTask final : public runtime::Task::Impl {
 public:
  SimTask(Simulation& simulation, std::shared_ptr<TaskState> state)
      : simulation_(simulation), state_(std::move(state)) {}
  ~SimTask() override { join(); }

  void request_stop() override { state_->stop.request_stop(); }
  bool done() const override { return state_->done; }

  void join() override {
    if (current_sim_task == nullptr) {
      simulation_.run_until_done(*state_);
    } else {
      while (!state_->done) {
        current_sim_task->can_run = false;
        current_sim_task->where = "join";
        state_->joiners.push_back(current_sim_task);
        simulation_.switch_to_scheduler();
      }
    }
    if (state_->thread.joinable()) state_->thread.join();
  }

 private:
  Simulation& simulation_;
  std::shared_ptr<TaskState> state_;
};

class Simulation::SimCondition final : public ConditionImpl {
 public:
  explicit SimCondition(Simulation& simulation) : simulation_(simulation) {}

  Wake wait(std::unique_lock<std::mutex>& lock, const Call& call, const std::function<bool()>& ready) override {
    STRAKE_INVARIANT(current_sim_task != nullptr);  // only a task may wait; the driver runs the simulation instead
    TaskState& self = *current_sim_task;
    while (true) {
      if (ready()) return Wake::kReady;
      if (call.stop.stop_requested()) return Wake::kCancelled;
      if (call.deadline && *call.deadline <= simulation_.now_) return Wake::kTimeout;
      self.can_run = false;
      self.wake_at = call.deadline;
      self.where = "wait";
      waiters_.push_back(&self);
      {
        // The stopper holds the baton (or is the driver between steps), so marking the task is safe.
        std::stop_callback on_stop(call.stop, [&self] { self.can_run = true; });
        lock.unlock();
        simulation_.switch_to_scheduler();
        lock.lock();
      }
      std::erase(waiters_, &self);
    }
  }

  void notify_all() override {
    for (TaskState* waiter : waiters_) waiter->can_run = true;
  }

 private:
  Simulation& simulation_;
  std::vector<TaskState*> waiters_;
};

Simulation::Simulation(std::uint64_t seed) : schedule_random_(seed), task_random_(seed ^ 0x5deece66dULL) {
  pin_to_one_cpu();
}

/// Only one task runs at a time, so a second processor helps nobody: passing the baton across processors costs many
/// times as much. Tasks inherit the driver's processor. Where this is not allowed the simulation is merely slower.
void Simulation::pin_to_one_cpu() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  const int here = sched_getcpu();
  if (here < 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus_before_.push_back(cpu);
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(here, &one);
  (void)sched_setaffinity(0, sizeof one, &one);
}

void Simulation::unpin() {
  if (cpus_before_.empty()) return;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  for (const int cpu : cpus_before_) CPU_SET(cpu, &allowed);
  (void)sched_setaffinity(0, sizeof allowed, &allowed);
}

Simulation::~Simulation() {
  for (const auto& task : tasks_) task->stop.request_stop();
  RunLimits limits;
  limits.virtual_time = std::chrono::hours(24 * 365);
  const RunEnd end = run(limits);
  STRAKE_INVARIANT(end == RunEnd::kAllDone);  // a task ignores its stop token
  for (const auto& task : tasks_) {
    if (task->thread.joinable()) task->thread.join();
  }
  unpin();
}

runtime::WallTime Simulation::wall_now() {
  // A fixed day: timestamps in traces and objects depend on virtual time only.
  constexpr std::chrono::sys_days kEpoch = std::chrono::year(2026) / 1 / 1;
  return kEpoch + std::chrono::duration_cast<std::chrono::system_clock::duration>(now_.time_since_epoch());
}

runtime::Task Simulation::spawn(std::string name, std::function<void(std::stop_token)> body) {
  auto state = std::make_shared<TaskState>();
  state->id = next_task_id_++;
  state->name = std::move(name);
  state->thread = std::thread([state, body = std::move(body)] {
    state->baton.acquire();
    current_sim_task = state.get();
    body(state->stop.get_token());
    state->done = true;
    for (TaskState* joiner : state->joiners) joiner->can_run = true;
    state->scheduler_baton.release();
  });
  tasks_.push_back(state);
  return runtime::Task(std::make_unique<SimTask>(*this, state));
}

void Simulation::yield(std::string_view where) {
  if (current_sim_task == nullptr) return;  // the driver prepares the world between runs
  current_sim_task->where = where;
  switch_to_scheduler();
}

void Simulation::switch_to_scheduler() {
  TaskState& self = *current_sim_task;
  self.scheduler_baton.release();
  self.baton.acquire();
}

void Simulation::record(const TaskState& task) {
  mix_into(trace_hash_, task.name);
  mix_into(trace_hash_, task.where);
  const auto time = now_.time_since_epoch().count();
  mix_into(trace_hash_, std::string_view(reinterpret_cast<const char*>(&time), sizeof time));
  if (keep_trace_) trace_.push_back(fmt::format("{:>12} us  {}: {}", time / 1000, task.name, task.where));
}

bool Simulation::step() {
  std::vector<TaskState*> runnable;
  for (const auto& task : tasks_) {
    if (!task->done && task->can_run) runnable.push_back(task.get());
  }
  if (runnable.empty()) {
    std::optional<TimePoint> earliest;
    for (const auto& task : tasks_) {
      if (!task->done && task->wake_at && (!earliest || *task->wake_at < *earliest)) earliest = task->wake_at;
    }
    if (!earliest) return false;
    now_ = std::max(now_, *earliest);
    for (const auto& task : tasks_) {
      if (task->done || !task->wake_at || *task->wake_at > now_) continue;
      task->can_run = true;
      runnable.push_back(task.get());
    }
  }
  TaskState& chosen = *runnable[schedule_random_.below(runnable.size())];
  record(chosen);
  ++steps_;
  chosen.wake_at.reset();
  chosen.baton.release();
  chosen.scheduler_baton.acquire();
  return true;
}

RunEnd Simulation::run(const RunLimits& limits, const std::function<bool()>& until) {
  STRAKE_INVARIANT(current_sim_task == nullptr);
  const TimePoint end = now_ + limits.virtual_time;
  const std::uint64_t last_step = steps_ + limits.steps;
  while (true) {
    if (until && until()) return RunEnd::kConditionMet;
    std::erase_if(tasks_, [](const auto& task) { return task->done && !task->thread.joinable(); });
    if (std::all_of(tasks_.begin(), tasks_.end(), [](const auto& task) { return task->done; })) return RunEnd::kAllDone;
    if (now_ > end) return RunEnd::kTimeLimit;
    if (steps_ >= last_step) return RunEnd::kStepLimit;
    if (!step()) return RunEnd::kIdle;
  }
}

void Simulation::run_until_done(const TaskState& task) {
  while (!task.done) STRAKE_INVARIANT(step());  // nothing can run: the joined task waits for ever
}

std::unique_ptr<runtime::Runtime::ConditionImpl> Simulation::make_condition() {
  return std::make_unique<SimCondition>(*this);
}

}  // namespace strake::sim
