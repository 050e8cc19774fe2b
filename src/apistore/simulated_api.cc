#include "apistore/simulated_api.h"

namespace strake::apistore {

namespace {

Error fenced() { return error(Code::kCancelled, "the process is gone"); }

class SimulatedStream final : public kube::WatchStream {
 public:
  SimulatedStream(std::shared_ptr<SimulatedApi::Shared> shared, std::unique_ptr<kube::WatchStream> inner)
      : shared_(std::move(shared)), inner_(std::move(inner)) {}

  Result<std::optional<kube::WatchEvent>> next(const kube::Call& call) override {
    const FaultPlan& plan = shared_->plan;
    if (shared_->fence->down()) return fenced();
    if (!inner_) return error(Code::kUnavailable, "the watch stream is broken");
    if (repeat_ && shared_->draw(plan.watch_repeat, &FaultCounts::watch_repeats)) return std::optional(*repeat_);
    if (shared_->draw(plan.watch_expired, &FaultCounts::watch_expiries)) {
      inner_.reset();
      return error(Code::kExpired, "too old resource version (simulated)").with_reason("Expired");
    }
    if (shared_->draw(plan.watch_drop, &FaultCounts::watch_drops)) {
      inner_.reset();
      // Both ends are seen in the wild: the server closes in good order, or the connection breaks.
      if (shared_->random.chance(0.5)) return std::optional<kube::WatchEvent>();
      return error(Code::kUnavailable, "the watch stream broke (simulated)");
    }
    Result<std::optional<kube::WatchEvent>> event = inner_->next(call);
    if (event.ok() && *event && shared_->draw(plan.watch_lag, &FaultCounts::watch_lags)) {
      STRAKE_CHECK_OK(shared_->simulation.sleep(shared_->any_delay(), call.stop));
    }
    if (shared_->fence->down()) return fenced();
    repeat_.reset();
    if (event.ok() && *event && (*event)->type != kube::WatchType::kBookmark) repeat_ = **event;
    return event;
  }

 private:
  std::shared_ptr<SimulatedApi::Shared> shared_;
  std::unique_ptr<kube::WatchStream> inner_;
  std::optional<kube::WatchEvent> repeat_;
};

}  // namespace

FaultPlan FaultPlan::rough() {
  FaultPlan plan;
  plan.conflict = 0.05;
  plan.lost_request = 0.03;
  plan.lost_answer = 0.03;
  plan.slow = 0.05;
  plan.watch_drop = 0.03;
  plan.watch_repeat = 0.03;
  plan.watch_expired = 0.01;
  plan.watch_lag = 0.05;
  plan.page_expired = 0.05;
  return plan;
}

bool Fence::admit() {
  if (down_) return false;
  if (!calls_left_) return true;
  if (*calls_left_ == 0) {
    down_ = true;
    return false;
  }
  --*calls_left_;
  return true;
}

runtime::Duration SimulatedApi::Shared::any_delay() {
  return std::chrono::duration_cast<runtime::Duration>(plan.max_delay * random.unit());
}

bool SimulatedApi::Shared::draw(double probability, std::uint64_t FaultCounts::* counter) {
  if (!random.chance(probability)) return false;
  ++((*counts).*counter);
  return true;
}

SimulatedApi::SimulatedApi(sim::Simulation& simulation, kube::KubeApi& inner, const FaultPlan& plan, std::uint64_t seed,
                           std::shared_ptr<FaultCounts> counts, std::shared_ptr<Fence> fence)
    : inner_(inner),
      counts_(std::move(counts)),
      fence_(std::move(fence)),
      shared_(std::make_shared<Shared>(Shared{simulation, plan, SeededRandom(seed), counts_, fence_})) {}

Status SimulatedApi::before(const kube::Call& call) {
  ++counts_->calls;
  if (!fence_->admit()) {
    ++counts_->fenced_calls;
    return fenced();
  }
  if (shared_->draw(shared_->plan.slow, &FaultCounts::slow_calls)) {
    STRAKE_CHECK_OK(shared_->simulation.sleep(shared_->any_delay(), call.stop));
    if (fence_->down()) return fenced();
    if (call.deadline && shared_->simulation.now() >= *call.deadline) {
      return runtime::wake_error(runtime::Wake::kTimeout, "an answer of the API");
    }
  }
  if (shared_->draw(shared_->plan.lost_request, &FaultCounts::lost_requests)) {
    return error(Code::kUnavailable, "the connection broke before the request was read (simulated)");
  }
  return {};
}

Status SimulatedApi::draw_conflict(const kube::Resource& resource, const std::string& name) {
  if (!shared_->draw(shared_->plan.conflict, &FaultCounts::conflicts)) return {};
  return error(Code::kConflict, "Operation cannot be fulfilled on {} \"{}\": the object has been modified (simulated)",
               resource.qualified_name(), name)
      .with_reason("Conflict");
}

template <typename T>
T SimulatedApi::after(T answer) {
  if (fence_->down()) return fenced();
  if (shared_->draw(shared_->plan.lost_answer, &FaultCounts::lost_answers)) {
    return error(Code::kUnavailable, "the connection broke before the answer came (simulated)");
  }
  return answer;
}

Result<kube::Object> SimulatedApi::get(const kube::Resource& resource, const kube::ObjectKey& key,
                                       const kube::Call& call) {
  STRAKE_CHECK_OK(before(call));
  return after(inner_.get(resource, key, call));
}

Result<kube::ListPage> SimulatedApi::list(const kube::Resource& resource, const std::string& ns,
                                          const kube::ListOptions& options, const kube::Call& call) {
  STRAKE_CHECK_OK(before(call));
  if (!options.continue_token.empty() && shared_->draw(shared_->plan.page_expired, &FaultCounts::page_expiries)) {
    return error(Code::kExpired, "the continue token is too old (simulated)").with_reason("Expired");
  }
  return after(inner_.list(resource, ns, options, call));
}

Result<std::unique_ptr<kube::WatchStream>> SimulatedApi::watch(const kube::Resource& resource, const std::string& ns,
                                                               const kube::WatchOptions& options,
                                                               const kube::Call& call) {
  STRAKE_CHECK_OK(before(call));
  auto stream = inner_.watch(resource, ns, options, call);
  if (!stream.ok()) return stream;
  auto simulated = std::make_unique<SimulatedStream>(shared_, *std::move(stream));
  return after(Result<std::unique_ptr<kube::WatchStream>>(std::unique_ptr<kube::WatchStream>(std::move(simulated))));
}

Result<kube::Object> SimulatedApi::create(const kube::Resource& resource, const kube::Object& object,
                                          const kube::WriteOptions& options, const kube::Call& call) {
  STRAKE_CHECK_OK(before(call));
  return after(inner_.create(resource, object, options, call));
}

Result<kube::Object> SimulatedApi::update(const kube::Resource& resource, const kube::Object& object,
                                          const kube::WriteOptions& options, const kube::Call& call) {
  STRAKE_CHECK_OK(before(call));
  STRAKE_CHECK_OK(draw_conflict(resource, object.name()));
  return after(inner_.update(resource, object, options, call));
}

Result<kube::Object> SimulatedApi::patch(const kube::Resource& resource, const kube::ObjectKey& key,
                                         kube::PatchType type, const json::Value& patch,
                                         const kube::WriteOptions& options, const kube::Call& call) {
  STRAKE_CHECK_OK(before(call));
  STRAKE_CHECK_OK(draw_conflict(resource, key.name));
  return after(inner_.patch(resource, key, type, patch, options, call));
}

Result<kube::Object> SimulatedApi::remove(const kube::Resource& resource, const kube::ObjectKey& key,
                                          const kube::DeleteOptions& options, const kube::Call& call) {
  STRAKE_CHECK_OK(before(call));
  return after(inner_.remove(resource, key, options, call));
}

Status SimulatedApi::remove_collection(const kube::Resource& resource, const std::string& ns,
                                       const kube::ListOptions& which, const kube::DeleteOptions& options,
                                       const kube::Call& call) {
  STRAKE_CHECK_OK(before(call));
  return after(inner_.remove_collection(resource, ns, which, options, call));
}

Status SimulatedApi::evict(const kube::ObjectKey& pod, const kube::DeleteOptions& options, const kube::Call& call) {
  STRAKE_CHECK_OK(before(call));
  return after(inner_.evict(pod, options, call));
}

}  // namespace strake::apistore
