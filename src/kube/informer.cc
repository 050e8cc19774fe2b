#include "kube/informer.h"

namespace strake::kube {

namespace {

/// A stream that lived this long was a success, whatever ended it: the next failure starts with the shortest delay.
constexpr std::chrono::seconds kShortestGoodStream{1};

/// Should a version not be a number, equality is all that is left.
bool not_newer(std::string_view version, std::string_view than) {
  return version == than || is_older_version(version, than);
}

}  // namespace

Informer::Informer(runtime::Runtime& runtime, KubeApi& api, Resource resource, InformerOptions options)
    : runtime_(runtime),
      api_(api),
      resource_(std::move(resource)),
      options_(std::move(options)),
      synced_changed_(runtime) {}

Informer::~Informer() { stop(); }

void Informer::add_index(std::string name, IndexFunction function) {
  std::lock_guard lock(mutex_);
  indexes_[std::move(name)].function = std::move(function);
}

void Informer::add_handlers(Handlers handlers) { handlers_.push_back(std::move(handlers)); }

void Informer::on_change(std::function<void(const ObjectKey&)> handler) {
  add_handlers({[handler](const ObjectPtr& added) { handler(added->key()); },
                [handler](const ObjectPtr&, const ObjectPtr& now) { handler(now->key()); },
                [handler](const ObjectPtr& last) { handler(last->key()); }});
}

void Informer::start() {
  task_ = runtime_.spawn("inform " + resource_.plural, [this](std::stop_token stop) { run(std::move(stop)); });
}

void Informer::stop() { task_.stop_and_join(); }

bool Informer::synced() const {
  std::lock_guard lock(mutex_);
  return synced_;
}

Status Informer::wait_synced(const Call& call) {
  std::unique_lock lock(mutex_);
  const runtime::Wake wake = synced_changed_.wait(lock, call, [this] { return synced_; });
  if (wake == runtime::Wake::kReady) return {};
  Error error = wake_error(wake, fmt::format("the first list of {}", resource_.qualified_name()));
  if (last_error_ && wake == runtime::Wake::kTimeout) {
    return strake::error(Code::kTimeout, "{}; the last attempt: {}", error.message(), last_error_->to_string())
        .with_verdict(last_error_->verdict());
  }
  return error;
}

ObjectPtr Informer::get(const ObjectKey& key) const {
  std::lock_guard lock(mutex_);
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second;
}

std::vector<ObjectPtr> Informer::list() const {
  std::lock_guard lock(mutex_);
  std::vector<ObjectPtr> all;
  all.reserve(objects_.size());
  for (const auto& [key, object] : objects_) all.push_back(object);
  return all;
}

std::vector<ObjectPtr> Informer::by_index(std::string_view name, std::string_view value) const {
  std::lock_guard lock(mutex_);
  std::vector<ObjectPtr> found;
  const auto index = indexes_.find(name);
  STRAKE_INVARIANT(index != indexes_.end());  // an index nobody added is a mistake of the program
  const auto keys = index->second.keys.find(value);
  if (keys == index->second.keys.end()) return found;
  for (const ObjectKey& key : keys->second) found.push_back(objects_.at(key));
  return found;
}

std::size_t Informer::size() const {
  std::lock_guard lock(mutex_);
  return objects_.size();
}

std::optional<Error> Informer::last_error() const {
  std::lock_guard lock(mutex_);
  return last_error_;
}

void Informer::set_error(std::optional<Error> error) {
  std::lock_guard lock(mutex_);
  last_error_ = std::move(error);
}

void Informer::made_contact() {
  set_error(std::nullopt);
  if (options_.hooks.on_informer_contact) options_.hooks.on_informer_contact(resource_);
}

void Informer::run(std::stop_token stop) {
  bool list_first = true;
  std::optional<runtime::TimePoint> resync_at;
  while (!stop.stop_requested()) {
    Result<WatchEnd> end = WatchEnd::kResume;
    if (list_first) {
      std::vector<ObjectPtr> objects;
      Result<std::string> version = list_all(stop, objects);
      if (version.ok()) {
        version_ = *std::move(version);
        list_first = false;
        made_contact();
        replace_all(std::move(objects));
        if (options_.resync) resync_at = runtime_.now() + *options_.resync;
      } else {
        end = std::move(version).error();
      }
    } else {
      end = watch(stop, resync_at);
      if (end.ok()) list_first = *end == WatchEnd::kListAgain;
      if (!end.ok() && end.error().code() == Code::kExpired) list_first = true;
    }
    if (end.ok() || stop.stop_requested()) continue;
    ++failures_;
    const auto delay = options_.backoff.delay(failures_, runtime_.random().unit(), end.error());
    const bool first_expiry = end.error().code() == Code::kExpired && failures_ == 1;
    if (!first_expiry && options_.hooks.on_informer_failure) {
      options_.hooks.on_informer_failure({resource_, end.error(), failures_, delay});
    }
    set_error(std::move(end).error());
    if (!first_expiry && !runtime_.sleep(delay, stop).ok()) return;
  }
}

Result<std::string> Informer::list_all(std::stop_token stop, std::vector<ObjectPtr>& objects) {
  ListOptions options;
  options.label_selector = options_.label_selector;
  options.field_selector = options_.field_selector;
  options.limit = options_.page_size;
  while (true) {
    Result<ListPage> page =
        api_.list(resource_, options_.ns, options, runtime_.call_within(options_.list_timeout, stop));
    if (!page.ok()) {
      if (page.error().code() != Code::kExpired || options.continue_token.empty()) return std::move(page).error();
      // The snapshot behind the pages is gone: a collection this large is then read in one answer.
      objects.clear();
      options.continue_token.clear();
      options.limit = 0;
      continue;
    }
    for (Object& object : page->items) objects.push_back(kept(std::move(object)));
    if (page->continue_token.empty()) return std::move(page->resource_version);
    options.continue_token = std::move(page->continue_token);
  }
}

Result<Informer::WatchEnd> Informer::watch(std::stop_token stop, std::optional<runtime::TimePoint> resync_at) {
  WatchOptions options;
  options.label_selector = options_.label_selector;
  options.field_selector = options_.field_selector;
  options.resource_version = version_;
  // Spread over time, so that the streams of a whole cluster do not end together.
  const auto spread = runtime_.random().below(static_cast<std::uint64_t>(options_.watch_timeout.count()) + 1);
  options.timeout = options_.watch_timeout + std::chrono::seconds(spread);

  const auto opened_at = runtime_.now();
  STRAKE_TRY(const std::unique_ptr<WatchStream> stream,
             api_.watch(resource_, options_.ns, options, runtime_.call_within(options_.list_timeout, stop)));
  // A server that says nothing for much longer than it agreed to is not there any more.
  const auto give_up_at = opened_at + 2 * *options.timeout + options_.list_timeout;
  const std::string version_before = version_;
  while (true) {
    const bool resync_first = resync_at && *resync_at < give_up_at;
    Result<std::optional<WatchEvent>> event = stream->next({stop, resync_first ? *resync_at : give_up_at});
    // A stream that only repeats what is known is no progress: a server that does nothing else must not be asked again
    // without pause.
    const bool good = runtime_.now() - opened_at >= kShortestGoodStream || version_ != version_before;
    if (good) failures_ = 0;
    if (!event.ok()) {
      if (stop.stop_requested()) return WatchEnd::kStopped;
      if (event.error().code() == Code::kTimeout && runtime_.now() >= (resync_first ? *resync_at : give_up_at)) {
        return resync_first ? WatchEnd::kListAgain : WatchEnd::kResume;
      }
      return std::move(event).error();
    }
    if (!*event) {
      if (!good) {
        return error(Code::kUnavailable, "the server ended the stream at once");
      }
      return WatchEnd::kResume;
    }
    made_contact();
    apply(**std::move(event));
  }
}

ObjectPtr Informer::kept(Object object) const {
  return std::make_shared<const Object>(options_.reduce ? options_.reduce(object) : std::move(object));
}

void Informer::apply(WatchEvent event) {
  std::string version = event.object.resource_version();
  if (not_newer(version, version_)) return;
  version_ = version;
  if (event.type == WatchType::kBookmark) return;

  const ObjectPtr object = kept(std::move(event.object));
  const ObjectKey key = object->key();
  std::optional<Notice> notice;
  {
    std::lock_guard lock(mutex_);
    // Later pages of a list may already hold what the first events after its version tell.
    const auto known = objects_.find(key);
    if (known != objects_.end() && not_newer(version, known->second->resource_version())) return;
    notice = store_locked(key, event.type == WatchType::kDeleted ? nullptr : object);
    // The event carries the state at its end, which is newer than ours.
    if (notice && event.type == WatchType::kDeleted) notice->before = object;
  }
  if (notice) notify(*notice);
}

/// Puts or, with nullptr, removes; nothing when nothing changes.
std::optional<Informer::Notice> Informer::store_locked(const ObjectKey& key, ObjectPtr object) {
  const auto known = objects_.find(key);
  Notice notice{known == objects_.end() ? nullptr : known->second, object};
  if (notice.before == nullptr && object == nullptr) return std::nullopt;
  if (notice.before && object && notice.before->resource_version() == object->resource_version()) return std::nullopt;
  for (auto& [name, index] : indexes_) {
    if (notice.before) {
      for (const std::string& value : index.function(*notice.before)) {
        const auto entry = index.keys.find(value);
        if (entry == index.keys.end()) continue;
        entry->second.erase(key);
        if (entry->second.empty()) index.keys.erase(entry);
      }
    }
    if (object) {
      for (const std::string& value : index.function(*object)) index.keys[value].insert(key);
    }
  }
  if (object) {
    objects_[key] = std::move(object);
  } else {
    objects_.erase(key);
  }
  return notice;
}

void Informer::replace_all(std::vector<ObjectPtr> objects) {
  std::vector<Notice> notices;
  {
    std::lock_guard lock(mutex_);
    std::set<ObjectKey> listed;
    for (const ObjectPtr& object : objects) listed.insert(object->key());
    std::vector<ObjectKey> gone;
    for (const auto& [key, object] : objects_) {
      if (!listed.contains(key)) gone.push_back(key);
    }
    for (const ObjectKey& key : gone) notices.push_back(*store_locked(key, nullptr));
    for (ObjectPtr& object : objects) {
      const ObjectKey key = object->key();
      if (auto notice = store_locked(key, std::move(object))) notices.push_back(*std::move(notice));
    }
  }
  for (const Notice& notice : notices) notify(notice);
  {
    std::lock_guard lock(mutex_);
    synced_ = true;
  }
  synced_changed_.notify_all();
}

void Informer::notify(const Notice& notice) {
  // Another uid under the same name: the deletion between the two was missed, but it happened.
  if (notice.before && notice.now && notice.before->uid() != notice.now->uid()) {
    notify({notice.before, nullptr});
    notify({nullptr, notice.now});
    return;
  }
  for (const Handlers& handlers : handlers_) {
    if (!notice.before) {
      if (handlers.on_add) handlers.on_add(notice.now);
    } else if (!notice.now) {
      if (handlers.on_delete) handlers.on_delete(notice.before);
    } else if (handlers.on_update) {
      handlers.on_update(notice.before, notice.now);
    }
  }
}

}  // namespace strake::kube
