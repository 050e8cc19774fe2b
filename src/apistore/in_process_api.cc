#include "apistore/in_process_api.h"

namespace strake::apistore {

namespace {

Result<kube::Object> parsed_object(Service& service, std::string_view text) {
  auto value = json::parse(text);
  if (value.ok()) return kube::Object(*std::move(value));
  const Error damaged = error(Code::kCorrupt, "a stored object cannot be read: {}", value.error().message())
                            .with_reason(std::string(kStorageDamaged));
  service.note_failure(damaged);
  return damaged;
}

/// An answer on its way to the caller: that the store is damaged is not for the caller alone.
template <typename T>
Result<T> noted_by(Service& service, Result<T> answer) {
  if (!answer.ok()) service.note_failure(answer.error());
  return answer;
}

class InProcessStream final : public kube::WatchStream {
 public:
  InProcessStream(Service& service, std::unique_ptr<Watch> watch) : service_(service), watch_(std::move(watch)) {}

  Result<std::optional<kube::WatchEvent>> next(const kube::Call& call) override {
    service_.runtime().yield("watch next");
    STRAKE_TRY(const std::optional<ServiceEvent> event, watch_->next(call));
    if (!event) return std::optional<kube::WatchEvent>();
    STRAKE_TRY(kube::Object object, parsed_object(service_, *event->text));
    return std::optional<kube::WatchEvent>(kube::WatchEvent{event->type, std::move(object)});
  }

 private:
  Service& service_;
  std::unique_ptr<Watch> watch_;
};

}  // namespace

Status InProcessApi::enter(std::string_view verb, const kube::Resource& resource, const kube::Call& call) {
  service_.runtime().yield(fmt::format("{} {}", verb, resource.plural));
  if (call.stop.stop_requested()) return runtime::wake_error(runtime::Wake::kCancelled, "an answer of the API");
  if (call.deadline && service_.runtime().now() >= *call.deadline) {
    return runtime::wake_error(runtime::Wake::kTimeout, "an answer of the API");
  }
  return {};
}

Result<kube::Object> InProcessApi::get(const kube::Resource& resource, const kube::ObjectKey& key,
                                       const kube::Call& call) {
  STRAKE_CHECK_OK(enter("get", resource, call));
  Request one = request();
  STRAKE_TRY(ObjectAnswer answer, noted_by(service_, service_.get(one, resource, key)));
  return kube::Object(std::move(answer.object));
}

Result<kube::ListPage> InProcessApi::list(const kube::Resource& resource, const std::string& ns,
                                          const kube::ListOptions& options, const kube::Call& call) {
  STRAKE_CHECK_OK(enter("list", resource, call));
  Request one = request();
  STRAKE_TRY(ListAnswer answer, noted_by(service_, service_.list(one, resource, ns, options)));
  kube::ListPage page;
  page.items.reserve(answer.items.size());
  for (const std::string& text : answer.items) {
    STRAKE_TRY(kube::Object object, parsed_object(service_, text));
    page.items.push_back(std::move(object));
  }
  page.resource_version = std::move(answer.resource_version);
  page.continue_token = std::move(answer.continue_token);
  return page;
}

Result<std::unique_ptr<kube::WatchStream>> InProcessApi::watch(const kube::Resource& resource, const std::string& ns,
                                                               const kube::WatchOptions& options,
                                                               const kube::Call& call) {
  STRAKE_CHECK_OK(enter("watch", resource, call));
  Request one = request();
  WatchQuery query;
  query.label_selector = options.label_selector;
  query.field_selector = options.field_selector;
  query.resource_version = options.resource_version;
  query.bookmarks = options.bookmarks;
  query.timeout = options.timeout;
  STRAKE_TRY(auto watch, service_.watch(one, resource, ns, query));
  return std::unique_ptr<kube::WatchStream>(std::make_unique<InProcessStream>(service_, std::move(watch)));
}

Result<kube::Object> InProcessApi::create(const kube::Resource& resource, const kube::Object& object,
                                          const kube::WriteOptions& options, const kube::Call& call) {
  STRAKE_CHECK_OK(enter("create", resource, call));
  Request one = request();
  STRAKE_TRY(ObjectAnswer answer, noted_by(service_, service_.create(one, resource, "", object.json(), options)));
  return kube::Object(std::move(answer.object));
}

Result<kube::Object> InProcessApi::update(const kube::Resource& resource, const kube::Object& object,
                                          const kube::WriteOptions& options, const kube::Call& call) {
  STRAKE_CHECK_OK(enter("update", resource, call));
  Request one = request();
  STRAKE_TRY(ObjectAnswer answer,
             noted_by(service_, service_.update(one, resource, object.key(), object.json(), options)));
  return kube::Object(std::move(answer.object));
}

Result<kube::Object> InProcessApi::patch(const kube::Resource& resource, const kube::ObjectKey& key,
                                         kube::PatchType type, const json::Value& patch,
                                         const kube::WriteOptions& options, const kube::Call& call) {
  STRAKE_CHECK_OK(enter("patch", resource, call));
  Request one = request();
  STRAKE_TRY(ObjectAnswer answer, noted_by(service_, service_.patch(one, resource, key, type, patch, options)));
  return kube::Object(std::move(answer.object));
}

Result<kube::Object> InProcessApi::remove(const kube::Resource& resource, const kube::ObjectKey& key,
                                          const kube::DeleteOptions& options, const kube::Call& call) {
  STRAKE_CHECK_OK(enter("delete", resource, call));
  Request one = request();
  STRAKE_TRY(const DeleteAnswer answer, noted_by(service_, service_.remove(one, resource, key, options)));
  return parsed_object(service_, answer.text);
}

Status InProcessApi::remove_collection(const kube::Resource& resource, const std::string& ns,
                                       const kube::ListOptions& which, const kube::DeleteOptions& options,
                                       const kube::Call& call) {
  STRAKE_CHECK_OK(enter("deletecollection", resource, call));
  Request one = request();
  STRAKE_TRY(const ListAnswer removed,
             noted_by(service_, service_.remove_collection(one, resource, ns, which, options)));
  static_cast<void>(removed);
  return {};
}

Status InProcessApi::evict(const kube::ObjectKey& pod, const kube::DeleteOptions& options, const kube::Call& call) {
  STRAKE_CHECK_OK(enter("evict", kube::core::kPod, call));
  Request one = request();
  Status evicted = service_.evict(one, pod, options);
  if (evicted.ok()) return evicted;
  // Which budget forbids it is said beside the message: as over HTTPS, it becomes part of it.
  return kube::error_from_status(0, kube::status_from_error(evicted.error(), one.details).body);
}

}  // namespace strake::apistore
