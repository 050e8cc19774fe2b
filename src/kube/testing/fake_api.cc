#include "kube/testing/fake_api.h"

#include <charconv>

#include "codec/json_patch.h"
#include "kube/selector.h"

namespace strake::kube::testing {

namespace {

std::uint64_t parse_version(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool selected(const Object& object, const std::string& ns, const Selector& labels, const FieldSelector& fields) {
  if (!ns.empty() && object.ns() != ns) return false;
  return labels.matches(object.labels()) && fields.matches([&](std::string_view field) {
    if (field == "metadata.name") return object.name();
    if (field == "metadata.namespace") return object.ns();
    if (field == "spec.nodeName") return object.text({"spec", "nodeName"});
    return std::string();
  });
}

Error not_found(const Resource& resource, const ObjectKey& key) {
  return error(Code::kNotFound, "{} \"{}\" not found", resource.qualified_name(), key.name).with_reason("NotFound");
}

}  // namespace

void FakeServer::expire_history() {
  {
    std::lock_guard lock(mutex_);
    compacted_ = ++version_;
    history_.clear();
  }
  changed_.notify_all();
}

void FakeServer::end_streams() {
  {
    std::lock_guard lock(mutex_);
    ++stream_epoch_;
  }
  changed_.notify_all();
}

void FakeServer::send_bookmarks() {
  {
    std::lock_guard lock(mutex_);
    ++bookmark_epoch_;
  }
  changed_.notify_all();
}

std::uint64_t FakeServer::version() const {
  std::lock_guard lock(mutex_);
  return version_;
}

/// Gives the object its new version and makes the change known. The mutex is held.
Object FakeServer::stamp(Object object, WatchType type, const Resource& resource) {
  ++version_;
  json::ensure(object.json(), {"metadata", "resourceVersion"}) = std::to_string(version_);
  history_.push_back({version_, resource.qualified_name(), type, object});
  changed_.notify_all();
  return object;
}

class FakeWatch final : public WatchStream {
 public:
  FakeWatch(FakeClient& client, std::string resource, std::string ns, Selector labels, FieldSelector fields,
            const WatchOptions& options)
      : client_(client),
        server_(client.server_),
        resource_(std::move(resource)),
        ns_(std::move(ns)),
        labels_(std::move(labels)),
        fields_(std::move(fields)),
        position_(parse_version(options.resource_version)),
        bookmarks_(options.bookmarks),
        epoch_(server_.stream_epoch_),
        bookmark_epoch_(server_.bookmark_epoch_) {
    if (options.timeout) ends_at_ = server_.runtime_.now() + *options.timeout;
  }

  Result<std::optional<WatchEvent>> next(const Call& call) override {
    server_.runtime_.yield("watch");
    std::unique_lock lock(server_.mutex_);
    while (true) {
      if (repeat_) {
        std::optional<WatchEvent> event = std::move(repeat_);
        repeat_.reset();
        return event;
      }
      Call until = call;
      const bool ends_first = ends_at_ && (!call.deadline || *ends_at_ < *call.deadline);
      if (ends_first) until.deadline = ends_at_;
      const runtime::Wake wake = server_.changed_.wait(lock, until, [&] { return has_news(); });
      if (wake == runtime::Wake::kTimeout && ends_first) return std::optional<WatchEvent>();
      if (wake != runtime::Wake::kReady) return wake_error(wake, "the next event");
      if (client_.link_ != Link::kUp) return error(Code::kUnavailable, "the connection was lost");
      if (position_ < server_.compacted_)
        return error(Code::kExpired, "too old resource version").with_reason("Expired");
      if (epoch_ != server_.stream_epoch_) return std::optional<WatchEvent>();
      const FakeServer::Change* change = next_change();
      if (change == nullptr) {
        bookmark_epoch_ = server_.bookmark_epoch_;
        position_ = server_.version_;
        Object mark(json::Object{{"metadata", json::Object{{"resourceVersion", std::to_string(position_)}}}});
        return std::optional<WatchEvent>(WatchEvent{WatchType::kBookmark, std::move(mark)});
      }
      Random& random = server_.runtime_.random();
      if (random.chance(client_.faults_.end_stream)) return std::optional<WatchEvent>();
      position_ = change->version;
      if (random.chance(client_.faults_.drop_event)) continue;
      WatchEvent event{change->type, change->object};
      if (random.chance(client_.faults_.duplicate_event)) repeat_ = event;
      return std::optional<WatchEvent>(std::move(event));
    }
  }

 private:
  const FakeServer::Change* next_change() const {
    for (const FakeServer::Change& change : server_.history_) {
      if (change.version <= position_ || change.resource != resource_) continue;
      if (selected(change.object, ns_, labels_, fields_)) return &change;
    }
    return nullptr;
  }
  bool has_news() const {
    return client_.link_ != Link::kUp || position_ < server_.compacted_ || epoch_ != server_.stream_epoch_ ||
           next_change() != nullptr || (bookmarks_ && bookmark_epoch_ != server_.bookmark_epoch_);
  }

  FakeClient& client_;
  FakeServer& server_;
  std::string resource_;
  std::string ns_;
  Selector labels_;
  FieldSelector fields_;
  std::uint64_t position_;
  bool bookmarks_;
  std::uint64_t epoch_;
  std::uint64_t bookmark_epoch_;
  std::optional<runtime::TimePoint> ends_at_;
  std::optional<WatchEvent> repeat_;
};

void FakeClient::set_link(Link link) {
  {
    std::lock_guard lock(server_.mutex_);
    link_ = link;
  }
  server_.changed_.notify_all();
}

void FakeClient::set_faults(LinkFaults faults) {
  std::lock_guard lock(server_.mutex_);
  faults_ = faults;
}

void FakeClient::refuse_with(Error answer) {
  std::lock_guard lock(server_.mutex_);
  link_ = Link::kRefused;
  refusal_ = std::move(answer);
}

CallCounts FakeClient::counts() const {
  std::lock_guard lock(server_.mutex_);
  return counts_;
}

template <typename T>
Result<T> FakeClient::through_link(std::string_view where, const Call& call, const std::function<Result<T>()>& act) {
  server_.runtime_.yield(where);
  std::unique_lock lock(server_.mutex_);
  ++counts_.attempts;
  if (link_ == Link::kRefused) return refusal_;
  if (link_ == Link::kSilent || link_ == Link::kAnswersLost) {
    if (link_ == Link::kAnswersLost) (void)act();
    return wake_error(server_.changed_.wait(lock, call, [] { return false; }), "an answer");
  }
  Random& random = server_.runtime_.random();
  if (random.chance(faults_.fail_call)) {
    if (random.chance(0.5)) (void)act();
    return error(Code::kUnavailable, "the connection was lost");
  }
  Result<T> answer = act();
  lock.unlock();
  server_.runtime_.yield("answer");
  return answer;
}

Result<Object> FakeClient::get(const Resource& resource, const ObjectKey& key, const Call& call) {
  return through_link<Object>("get", call, [&]() -> Result<Object> {
    ++counts_.get;
    const auto found = server_.objects_.find({resource.qualified_name(), key});
    if (found == server_.objects_.end()) return not_found(resource, key);
    return found->second;
  });
}

Result<ListPage> FakeClient::list(const Resource& resource, const std::string& ns, const ListOptions& options,
                                  const Call& call) {
  STRAKE_TRY(const Selector labels, Selector::parse(options.label_selector));
  STRAKE_TRY(const FieldSelector fields, FieldSelector::parse(options.field_selector));
  return through_link<ListPage>("list", call, [&]() -> Result<ListPage> {
    ++counts_.list;
    // The token is "VERSION/NAMESPACE/NAME" of the page's last object. Pages are not one snapshot, as the real store's
    // are.
    ObjectKey after;
    if (!options.continue_token.empty()) {
      const std::size_t first = options.continue_token.find('/');
      const std::size_t second = options.continue_token.find('/', first + 1);
      if (parse_version(options.continue_token) < server_.compacted_) {
        return error(Code::kExpired, "the continue token is too old").with_reason("Expired");
      }
      after = {options.continue_token.substr(first + 1, second - first - 1), options.continue_token.substr(second + 1)};
    }
    ListPage page;
    page.resource_version = options.continue_token.empty() ? std::to_string(server_.version_)
                                                           : std::to_string(parse_version(options.continue_token));
    for (const auto& [store_key, object] : server_.objects_) {
      if (store_key.first != resource.qualified_name() || !selected(object, ns, labels, fields)) continue;
      if (!options.continue_token.empty() && store_key.second <= after) continue;
      if (options.limit != 0 && page.items.size() == options.limit) {
        const ObjectKey last = page.items.back().key();
        page.continue_token = fmt::format("{}/{}/{}", page.resource_version, last.ns, last.name);
        break;
      }
      page.items.push_back(object);
    }
    return page;
  });
}

Result<std::unique_ptr<WatchStream>> FakeClient::watch(const Resource& resource, const std::string& ns,
                                                       const WatchOptions& options, const Call& call) {
  STRAKE_TRY(Selector labels, Selector::parse(options.label_selector));
  STRAKE_TRY(FieldSelector fields, FieldSelector::parse(options.field_selector));
  return through_link<std::unique_ptr<WatchStream>>("open watch", call, [&]() -> Result<std::unique_ptr<WatchStream>> {
    ++counts_.watch;
    return std::unique_ptr<WatchStream>(
        std::make_unique<FakeWatch>(*this, resource.qualified_name(), ns, labels, fields, options));
  });
}

Result<Object> FakeClient::create(const Resource& resource, const Object& object, const WriteOptions&,
                                  const Call& call) {
  return through_link<Object>("create", call, [&]() -> Result<Object> {
    ++counts_.create;
    const FakeServer::StoreKey key{resource.qualified_name(), object.key()};
    if (server_.objects_.contains(key)) {
      return error(Code::kExists, "{} \"{}\" already exists", key.first, object.name()).with_reason("AlreadyExists");
    }
    Object stored = object;
    json::ensure(stored.json(), {"metadata", "uid"}) = fmt::format("uid-{}", server_.next_uid_++);
    stored = server_.stamp(std::move(stored), WatchType::kAdded, resource);
    server_.objects_[key] = stored;
    return stored;
  });
}

Result<Object> FakeClient::update(const Resource& resource, const Object& object, const WriteOptions&,
                                  const Call& call) {
  return through_link<Object>("update", call, [&]() -> Result<Object> {
    ++counts_.update;
    const auto found = server_.objects_.find({resource.qualified_name(), object.key()});
    if (found == server_.objects_.end()) return not_found(resource, object.key());
    if (!object.resource_version().empty() && object.resource_version() != found->second.resource_version()) {
      return error(Code::kConflict, "the object has been modified").with_reason("Conflict");
    }
    found->second = server_.stamp(object, WatchType::kModified, resource);
    return found->second;
  });
}

Result<Object> FakeClient::patch(const Resource& resource, const ObjectKey& key, PatchType type,
                                 const json::Value& patch, const WriteOptions&, const Call& call) {
  return through_link<Object>("patch", call, [&]() -> Result<Object> {
    ++counts_.patch;
    const auto found = server_.objects_.find({resource.qualified_name(), key});
    if (found == server_.objects_.end()) return not_found(resource, key);
    if (type != PatchType::kMerge) return error(Code::kUnsupported, "only merge patches");
    const auto wanted = json::find_string(patch, {"metadata", "resourceVersion"});
    if (wanted && *wanted != found->second.resource_version()) {
      return error(Code::kConflict, "the object has been modified").with_reason("Conflict");
    }
    Object changed(json::apply_merge_patch(found->second.json(), patch));
    found->second = server_.stamp(std::move(changed), WatchType::kModified, resource);
    return found->second;
  });
}

Result<Object> FakeClient::remove(const Resource& resource, const ObjectKey& key, const DeleteOptions& options,
                                  const Call& call) {
  return through_link<Object>("remove", call, [&]() -> Result<Object> {
    ++counts_.remove;
    const auto found = server_.objects_.find({resource.qualified_name(), key});
    if (found == server_.objects_.end()) return not_found(resource, key);
    if (!options.uid.empty() && options.uid != found->second.uid()) return error(Code::kConflict, "another uid");
    Object removed = server_.stamp(found->second, WatchType::kDeleted, resource);
    server_.objects_.erase(found);
    return removed;
  });
}

Status FakeClient::remove_collection(const Resource& resource, const std::string& ns, const ListOptions& which,
                                     const DeleteOptions& options, const Call& call) {
  STRAKE_TRY(const ListPage page, list(resource, ns, which, call));
  for (const Object& object : page.items) {
    const Result<Object> removed = remove(resource, object.key(), options, call);
    if (!removed.ok()) return removed.error();
  }
  return {};
}

Status FakeClient::evict(const ObjectKey& pod, const DeleteOptions& options, const Call& call) {
  const Result<Object> removed = remove(core::kPod, pod, options, call);
  return removed.ok() ? Status() : Status(removed.error());
}

}  // namespace strake::kube::testing
