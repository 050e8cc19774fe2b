#include "api/os_image_stream.h"

namespace strake::api {

std::vector<OsStream> OsImageStreamView::streams() const {
  std::vector<OsStream> streams;
  for (const json::Value& item : items_at(object_, kOsImageStreamFields["status.availableStreams"])) {
    streams.push_back({item_text_at(item, kOsImageStreamFields["status.availableStreams[].name"]),
                       item_text_at(item, kOsImageStreamFields["status.availableStreams[].osImage"]),
                       item_text_at(item, kOsImageStreamFields["status.availableStreams[].osExtensionsImage"])});
  }
  return streams;
}

Result<OsStream> OsImageStreamView::resolve(std::string_view pool_choice, std::string_view inherited_choice) const {
  std::string wanted(!pool_choice.empty() ? pool_choice : inherited_choice);
  if (wanted.empty()) wanted = default_stream();
  if (wanted.empty()) return error(Code::kNotFound, "OSImageStream cluster has no default stream yet");
  std::string known;
  for (OsStream& stream : streams()) {
    if (stream.name == wanted) return std::move(stream);
    known += (known.empty() ? "" : ", ") + stream.name;
  }
  return error(Code::kNotFound, "there is no OS stream '{}'; OSImageStream cluster offers: {}", wanted,
               known.empty() ? "none" : known);
}

void OsImageStreamEdit::ensure_spec() {
  json::Value& spec = json::ensure(object_, {"spec"});
  if (!spec.is_object()) spec = json::Object{};
}

void OsImageStreamEdit::set_status(std::string_view default_stream, std::span<const OsStream> streams) {
  set_text(object_, kOsImageStreamFields["status.defaultStream"], default_stream);
  json::Array list;
  list.reserve(streams.size());
  for (const OsStream& stream : streams) {
    list.push_back(json::Object{
        {"name", stream.name}, {"osImage", stream.os_image}, {"osExtensionsImage", stream.extensions_image}});
  }
  set_field(object_, kOsImageStreamFields["status.availableStreams"], std::move(list));
}

}  // namespace strake::api
