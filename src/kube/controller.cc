#include "kube/controller.h"

namespace strake::kube {

Controller::Controller(runtime::Runtime& runtime, ControllerOptions options, Reconcile reconcile)
    : runtime_(runtime),
      options_(std::move(options)),
      reconcile_(std::move(reconcile)),
      queue_(std::make_shared<WorkQueue>(runtime, options_.rate_limits)) {}

Controller::~Controller() { stop(); }

void Controller::watch(Informer& informer) {
  sources_.push_back(&informer);
  informer.on_change([queue = queue_](const ObjectKey& key) { queue->add(key); });
}

void Controller::watch(Informer& informer, MapToKeys map) {
  sources_.push_back(&informer);
  const auto add_all = [queue = queue_, map = std::move(map)](const ObjectPtr& object) {
    for (const ObjectKey& key : map(*object)) queue->add(key);
  };
  informer.add_handlers({add_all,
                         [add_all](const ObjectPtr& before, const ObjectPtr& now) {
                           add_all(before);
                           add_all(now);
                         },
                         add_all});
}

void Controller::start() {
  for (unsigned i = 0; i < options_.workers; ++i) {
    tasks_.push_back(runtime_.spawn(fmt::format("{}-{}", options_.name, i),
                                    [this](std::stop_token stop) { work(std::move(stop)); }));
  }
}

void Controller::stop() {
  queue_->shut_down();
  for (runtime::Task& task : tasks_) task.request_stop();
  tasks_.clear();
}

std::map<ObjectKey, Error> Controller::errors() const {
  std::lock_guard lock(mutex_);
  return errors_;
}

std::optional<Error> Controller::error_of(const ObjectKey& key) const {
  std::lock_guard lock(mutex_);
  const auto found = errors_.find(key);
  return found == errors_.end() ? std::nullopt : std::optional<Error>(found->second);
}

void Controller::work(std::stop_token stop) {
  // Acting on half a list would take what is not yet read for deleted.
  for (Informer* source : sources_) {
    if (!source->wait_synced({stop, {}}).ok()) return;
  }
  while (!stop.stop_requested()) {
    const Result<ObjectKey> key = queue_->get({stop, {}});
    if (!key.ok()) return;
    handle(*key, stop);
    queue_->done(*key);
  }
}

void Controller::handle(const ObjectKey& key, std::stop_token stop) {
  const auto started = runtime_.now();
  Result<Reconciled> result = reconcile_(key, runtime_.call_within(options_.reconcile_timeout, stop));
  // Being stopped is not a failure of the object.
  if (!result.ok() && stop.stop_requested()) return;

  const Error* failure = nullptr;
  std::uint32_t failures = 0;
  if (result.ok()) {
    queue_->forget(key);
    std::lock_guard lock(mutex_);
    errors_.erase(key);
  } else {
    failure = &result.error();
    queue_->add_rate_limited(key, failure->retry_after().value_or(std::chrono::milliseconds(0)));
    failures = queue_->failures(key);
    std::lock_guard lock(mutex_);
    errors_.insert_or_assign(key, result.error());
  }
  if (failure == nullptr && result->requeue_after) queue_->add_after(key, *result->requeue_after);
  if (options_.on_reconciled) options_.on_reconciled({options_.name, key, runtime_.now() - started, failure, failures});
}

}  // namespace strake::kube
