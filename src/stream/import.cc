#include "stream/import.h"

#include <algorithm>

#include "base/text.h"
#include "codec/document_node.h"
#include "codec/yaml.h"
#include "stream/legacy.h"

namespace strake::stream {

namespace {

Result<json::Value> parse_stream_json(std::string_view text) {
  json::ParseLimits limits;
  limits.max_bytes = kMaxStreamBytes;
  return json::parse(text, limits);
}

/// JSON, or the YAML that `kubectl get -o yaml` prints.
Result<json::Value> parse_json_or_yaml(std::string_view text) {
  if (text.size() > kMaxStreamBytes) {
    return error(Code::kExhausted, "{} bytes: more than the {} that boot image metadata may have", text.size(),
                 kMaxStreamBytes);
  }
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return error(Code::kInvalidArgument, "the document is empty");
  if (text[start] == '{' || text[start] == '[') return parse_stream_json(text);
  return yaml::parse(text);
}

bool every_member_has(const json::Value& document, std::string_view member) {
  if (!document.is_object() || document.get_object().empty()) return false;
  return std::all_of(document.get_object().begin(), document.get_object().end(),
                     [&](const auto& entry) { return json::find(entry.value(), {member}) != nullptr; });
}

/// Creates the extension where it is absent. Architectures the stream does not have are left out: there is no image of
/// that stream the marketplace could hold.
Status merge_marketplace(json::Value& stream, const json::Value& marketplace) {
  if (!every_member_has(marketplace, "azure")) {
    return error(Code::kInvalidArgument, "expected architectures, each with a member azure");
  }
  json::Value* architectures = json::find(stream, {"architectures"});
  if (architectures == nullptr || !architectures->is_object()) return {};  // the reader of streams says it better
  for (const auto& [arch, entry] : marketplace.get_object()) {
    if (json::Value* target = architectures->get_object().if_contains(arch)) {
      json::ensure(*target, {"rhel-coreos-extensions", "marketplace"}) = entry;
    }
  }
  return {};
}

class StreamImporter {
 public:
  explicit StreamImporter(const ImportOptions& options) : options_(options) {}

  Result<StreamSet> read(json::Value document) {
    if (!options_.marketplace.empty()) {
      STRAKE_TRY_CONTEXT(marketplace_, parse_stream_json(options_.marketplace), "marketplace data");
    }
    if (json::find_string(document, {"kind"}) == "ConfigMap") return read_config_map(document);
    if (json::find(document, {"architectures"}) != nullptr) return only(std::move(document));
    if (is_build_record(document)) {
      STRAKE_TRY(json::Value stream, stream_of_build_record(document, options_.base_url));
      return only(std::move(stream));
    }
    if (every_member_has(document, "architectures")) return read_by_name(document);
    if (every_member_has(document, "azure")) return only(marketplace_alone(document));
    return error(Code::kInvalidArgument,
                 "this is no boot image metadata: expected a stream, streams by name, ConfigMap coreos-bootimages, "
                 "rhcos.json, meta.json or marketplace data");
  }

  Result<StreamSet> read_texts(std::string_view default_stream, std::string_view by_name) {
    StreamSet set;
    if (!by_name.empty()) {
      STRAKE_TRY_CONTEXT(const json::Value document, parse_stream_json(by_name), "data.streams");
      STRAKE_TRY_CONTEXT(set, read_by_name(document), "data.streams");
    }
    if (!default_stream.empty()) {
      STRAKE_TRY_CONTEXT(json::Value document, parse_stream_json(default_stream), "data.stream");
      STRAKE_TRY_CONTEXT(set.default_stream, read_stream_document(std::move(document)), "data.stream");
    }
    return set;
  }

 private:
  Result<StreamSet> read_config_map(const json::Value& config_map) {
    const std::string stream = json::find_string(config_map, {"data", "stream"}).value_or("");
    const std::string streams = json::find_string(config_map, {"data", "streams"}).value_or("");
    if (stream.empty() && streams.empty()) {
      return error(Code::kInvalidArgument, "ConfigMap '{}' has neither data.stream nor data.streams",
                   json::find_string(config_map, {"metadata", "name"}).value_or(""));
    }
    return read_texts(stream, streams);
  }

  Result<StreamSet> read_by_name(const json::Value& document) {
    StreamSet set;
    STRAKE_CHECK_OK(
        json::DocumentNode(document).for_each([&](const std::string& name, const json::DocumentNode& node) -> Status {
          STRAKE_TRY_CONTEXT(Stream stream, read_stream_document(node.value()), "stream '{}'", name);
          set.by_name.emplace(name, std::move(stream));
          return {};
        }));
    return set;
  }

  Result<StreamSet> only(json::Value document) {
    StreamSet set;
    STRAKE_TRY(set.default_stream, read_stream_document(std::move(document)));
    return set;
  }

  Result<Stream> read_stream_document(json::Value document) {
    if (!marketplace_.is_null()) {
      STRAKE_CHECK_OK(merge_marketplace(document, marketplace_).context("marketplace data"));
    }
    return stream_of_document(std::move(document));
  }

  static json::Value marketplace_alone(const json::Value& document) {
    json::Value stream = json::Object{{"stream", "marketplace"}, {"architectures", json::Object{}}};
    for (const auto& [arch, entry] : document.get_object()) {
      json::ensure(stream, {"architectures", arch, "rhel-coreos-extensions", "marketplace"}) = entry;
    }
    return stream;
  }

  const ImportOptions& options_;
  json::Value marketplace_;
};

}  // namespace

Result<const Stream*> StreamSet::find(std::string_view name) const {
  if (name.empty() && default_stream) return &*default_stream;
  if (const auto found = by_name.find(std::string(name)); found != by_name.end()) return &found->second;
  if (name.empty() && by_name.size() == 1) return &by_name.begin()->second;
  if (name.empty()) {
    return error(Code::kNotFound,
                 "there are several streams and none is the default: choose with --stream (there are: {})",
                 names_in(by_name));
  }
  // Where nothing is keyed by name the label is all there is to compare with.
  if (by_name.empty() && default_stream) {
    if (default_stream->name == name) return &*default_stream;
    return error(Code::kNotFound, "there is no stream '{}', only one that calls itself '{}'", name,
                 default_stream->name);
  }
  return error(Code::kNotFound, "there is no stream '{}' (there are: {})", name, names_in(by_name));
}

Result<StreamSet> read_streams(std::string_view text, const ImportOptions& options) {
  STRAKE_TRY_CONTEXT(json::Value document, parse_json_or_yaml(text), "parsing boot image metadata");
  return StreamImporter(options).read(std::move(document));
}

Result<StreamSet> streams_of_texts(std::string_view default_stream, std::string_view by_name) {
  return StreamImporter(ImportOptions{}).read_texts(default_stream, by_name);
}

Result<StreamSet> streams_of_config_map(const json::Value& config_map) {
  const auto text_at = [&](std::initializer_list<std::string_view> path) {
    return json::find_string(config_map, path).value_or("");
  };
  const std::string key = fmt::format("{}/{}", text_at({"metadata", "namespace"}), text_at({"metadata", "name"}));
  const std::string stream = text_at({"data", "stream"});
  if (stream.empty()) {
    return error(Code::kInvalidArgument,
                 "ConfigMap {} has no data.stream; apply the release again, which publishes its boot image metadata",
                 key);
  }
  return streams_of_texts(stream, text_at({"data", "streams"})).context("ConfigMap {}", key);
}

}  // namespace strake::stream
