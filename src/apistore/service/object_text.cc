#include "apistore/service/object_text.h"

#include "apistore/store/store_health.h"

namespace strake::apistore {

namespace {

constexpr std::string_view kTextStart = R"({"apiVersion":")";

void append_member(std::string& text, std::string_view name, const json::Value& value) {
  text += json::write(json::Value(boost::json::string_view(name.data(), name.size())));
  text += ':';
  text += json::write(value);
}

}  // namespace

RevisionedText encode_object(const json::Value& object, std::string_view api_version) {
  RevisionedText text;
  text.before = fmt::format("{}{}\",\"kind\":{},\"metadata\":{{", kTextStart, api_version,
                            json::write(json::Value(json::find_string(object, {"kind"}).value_or(""))));
  if (const json::Value* metadata = json::find(object, {"metadata"}); metadata != nullptr && metadata->is_object()) {
    for (const auto& [key, value] : metadata->get_object()) {
      if (key == "resourceVersion") continue;
      append_member(text.before, {key.data(), key.size()}, value);
      text.before += ',';
    }
  }
  text.before += R"("resourceVersion":")";
  text.after = "\"}";
  for (const auto& [key, value] : object.get_object()) {
    if (key == "apiVersion" || key == "kind" || key == "metadata") continue;
    text.after += ',';
    append_member(text.after, {key.data(), key.size()}, value);
  }
  text.after += '}';
  return text;
}

Result<std::string> in_api_version(std::string text, std::string_view api_version) {
  const std::size_t end = text.find('"', kTextStart.size());
  if (!std::string_view(text).starts_with(kTextStart) || end == std::string::npos) {
    return error(Code::kCorrupt, "a stored object does not begin with its apiVersion")
        .with_reason(std::string(kStorageDamaged));
  }
  if (std::string_view(text).substr(kTextStart.size(), end - kTextStart.size()) == api_version) return text;
  return text.replace(kTextStart.size(), end - kTextStart.size(), api_version);
}

Result<json::Value> parse_stored(std::string_view text, const StoreKey& key) {
  auto parsed = json::parse(text);
  if (parsed.ok()) return parsed;
  return Error(Code::kCorrupt, parsed.error().message())
      .with_reason(std::string(kStorageDamaged))
      .context("reading the stored " + key.to_string());
}

}  // namespace strake::apistore
