#include "kube/controller.h"

namespace strake::kube {

Controller::Controller(runtime::Runtime& runtime, ControllerOptions options, Reconcile reconcile)
    : runtime_(runtime),
      options_(std::move(options)),
      reconcile_(std::move(reconcile)),
      queue_(std::make_shared<WorkQueue>(runtime, options_.rate_limits)) {}

Controller::~Controller() { stop(); }

bool spec_changed(const Object& before, const Object& now) {
  const auto metadata_differs = [&](std::string_view field) {
    const json::Value* left = json::find(before.json(), {"metadata", field});
    const json::Value* right = json::find(now.json(), {"metadata", field});
    return left == nullptr || right == nullptr ? left != right : *left != *right;
  };
  if (metadata_differs("labels") || metadata_differs("deletionTimestamp") || metadata_differs("generation"))
    return true;
  if (json::find(now.json(), {"metadata", "generation"}) != nullptr) return false;
  const auto without_state = [](const Object& object) {
    json::Object rest = object.json().get_object();
    rest.erase("metadata");
    rest.erase("status");
    return rest;
  };
  return without_state(before) != without_state(now);
}

void Controller::watch(Informer& informer, IsNews is_news) {
  watch(informer, [](const Object& object) { return std::vector<ObjectKey>{object.key()}; }, std::move(is_news));
}

void Controller::watch(Informer& informer, MapToKeys map, IsNews is_news, Indifferent indifferent) {
  sources_.push_back(&informer);
  const auto add_all = [queue = queue_, map = std::move(map)](const Object& object, bool news) {
    for (const ObjectKey& key : map(object)) {
      if (news) {
        queue->add(key);
      } else {
        queue->touch(key);
      }
    }
  };
  const auto add_news = [add_all](const ObjectPtr& object) { add_all(*object, true); };
  informer.add_handlers({add_news,
                         [add_all, is_news = std::move(is_news), indifferent = std::move(indifferent)](
                             const ObjectPtr& before, const ObjectPtr& now) {
                           if (indifferent && indifferent(*before, *now)) return;
                           const bool news = is_news(*before, *now);
                           add_all(*before, news);
                           add_all(*now, news);
                         },
                         add_news});
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
  if (options_.hooks.on_reconciled) {
    options_.hooks.on_reconciled(
        {options_.name, key, runtime_.now() - started, failure, failures, queue_->stats().ready});
  }
}

}  // namespace strake::kube
