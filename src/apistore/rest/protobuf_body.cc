#include "apistore/rest/protobuf_body.h"

#include <chrono>

#include <fmt/format.h>

#include "apistore/rest/protobuf_wire.h"
#include "apistore/schema/kubernetes_types.h"
#include "apistore/service/service_errors.h"
#include "base/time.h"
#include "codec/base64.h"
#include "codec/utf8.h"

namespace strake::apistore::rest {

namespace {

constexpr std::string_view kMagic("k8s\0", 4);
constexpr std::size_t kMaxMessageDepth = 32;  // Pods reach about ten

// What the clock of this program can hold.
constexpr std::int64_t kFirstSecond = -9'214'560'000;  // 1678-01-01
constexpr std::int64_t kLastSecond = 9'214'646'399;    // the end of 2261
constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

Error unreadable(std::string_view path, std::string_view what) {
  return bad_request("the protobuf body of the request cannot be read: {}: {}", path, what);
}

Error not_known(std::string_view what) {
  return error(Code::kUnsupported,
               "{} is not known to this server in protobuf form; send JSON (kubectl create -f does)", what)
      .with_reason("UnsupportedMediaType");
}

Result<std::string> text_of(const WireField& field, std::string_view path) {
  if (field.type != WireType::kBytes) return unreadable(path, "is not a string");
  if (!codec::is_valid_utf8(field.bytes)) return unreadable(path, "is not UTF-8");
  return std::string(field.bytes);
}

Result<std::int64_t> integer_of(const WireField& field, std::string_view path) {
  if (field.type != WireType::kVarint) return unreadable(path, "is not a number");
  return static_cast<std::int64_t>(field.number);
}

/// Calls `use` for each field of a message.
template <typename Use>
Status for_each_field(std::string_view message, std::string_view path, const Use& use) {
  WireReader reader(message);
  while (!reader.at_end()) {
    auto field = reader.next();
    if (!field.ok()) return unreadable(path, field.error().message());
    STRAKE_CHECK_OK(use(*field));
  }
  return {};
}

/// Null for the time that was never set, which Kubernetes writes as an empty message.
Result<json::Value> time_of(std::string_view message, std::string_view path, bool micros) {
  if (message.empty()) return json::Value();
  std::int64_t seconds = 0, nanos = 0;
  STRAKE_CHECK_OK(for_each_field(message, path, [&](const WireField& field) -> Status {
    if (field.id != 1 && field.id != 2) return not_known(fmt::format("field {} of the time {}", field.id, path));
    STRAKE_TRY((field.id == 1 ? seconds : nanos), integer_of(field, path));
    return {};
  }));
  if (seconds < kFirstSecond || seconds > kLastSecond || nanos < 0 || nanos >= kNanosPerSecond) {
    return unreadable(path, "is not a time between the years 1678 and 2261");
  }
  const auto whole = std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::seconds(seconds));
  const auto fraction =
      std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::nanoseconds(nanos));
  const std::chrono::system_clock::time_point time(whole + fraction);
  return json::Value(micros ? format_rfc3339_micros(time) : format_rfc3339(time));
}

Result<json::Value> quantity_of(std::string_view message, std::string_view path) {
  std::string text = "0";
  STRAKE_CHECK_OK(for_each_field(message, path, [&](const WireField& field) -> Status {
    if (field.id != 1) return not_known(fmt::format("field {} of the quantity {}", field.id, path));
    STRAKE_TRY(text, text_of(field, path));
    return {};
  }));
  return json::Value(text);
}

Result<json::Value> int_or_string_of(std::string_view message, std::string_view path) {
  std::int64_t type = 0, number = 0;
  std::string text;
  STRAKE_CHECK_OK(for_each_field(message, path, [&](const WireField& field) -> Status {
    switch (field.id) {
      case 1: {
        STRAKE_TRY(type, integer_of(field, path));
        return {};
      }
      case 2: {
        STRAKE_TRY(number, integer_of(field, path));
        return {};
      }
      case 3: {
        STRAKE_TRY(text, text_of(field, path));
        return {};
      }
      default: return not_known(fmt::format("field {} of {}", field.id, path));
    }
  }));
  if (type != 0 && type != 1) return unreadable(path, "is neither a number nor a string");
  return type == 0 ? json::Value(number) : json::Value(text);
}

class ObjectDecoder {
 public:
  /// Adds the fields of a message to `object`, which may hold some of them already: messages may come in pieces.
  Status decode(const MessageType& type, std::string_view message, const std::string& path, std::size_t depth,
                json::Object& object) {
    if (depth > kMaxMessageDepth) return unreadable(path, "is nested too deeply");
    return for_each_field(message, path, [&](const WireField& wire) -> Status {
      const MessageField* field = type.by_number(wire.id);
      if (field == nullptr) return not_known(fmt::format("field {} of {} ({})", wire.id, type.name, path));
      if (field->name.empty()) {
        if (wire.type != WireType::kBytes) return unreadable(path, fmt::format("field {} is no message", wire.id));
        return decode(*field->message, wire.bytes, path, depth + 1, object);
      }
      return add_field(*field, wire, fmt::format("{}.{}", path, field->name), depth, object);
    });
  }

 private:
  Status add_field(const MessageField& field, const WireField& wire, const std::string& path, std::size_t depth,
                   json::Object& object) {
    switch (field.shape) {
      case FieldShape::kSingle: {
        json::Value* before = object.if_contains(field.name);
        STRAKE_TRY(json::Value value, value_of(field, wire, path, depth, before));
        const bool same_as_none = field.presence == FieldPresence::kWhenNotZero && is_zero_value(value);
        if (value.is_null() || same_as_none) {
          object.erase(field.name);
        } else {
          object[field.name] = std::move(value);
        }
        return {};
      }
      case FieldShape::kList: {
        STRAKE_TRY(json::Value value, value_of(field, wire, path, depth, nullptr));
        json::Value& list = object[field.name];
        if (list.is_null()) list.emplace_array();
        list.get_array().push_back(std::move(value));
        return {};
      }
      case FieldShape::kMap: return add_entry(field, wire, path, depth, object);
    }
    return {};
  }

  /// A map is a list of messages with a key (1) and a value (2).
  Status add_entry(const MessageField& field, const WireField& wire, const std::string& path, std::size_t depth,
                   json::Object& object) {
    if (wire.type != WireType::kBytes) return unreadable(path, "is not a map");
    std::string key;
    std::optional<json::Value> value;
    STRAKE_CHECK_OK(for_each_field(wire.bytes, path, [&](const WireField& part) -> Status {
      if (part.id == 1) {
        STRAKE_TRY(key, text_of(part, path));
      } else if (part.id == 2) {
        STRAKE_TRY(value, value_of(field, part, path, depth, nullptr));
      } else {
        return not_known(fmt::format("field {} of an entry of {}", part.id, path));
      }
      return {};
    }));
    if (!value) {
      const WireField empty{2, WireType::kBytes, 0, {}};
      STRAKE_TRY(value, value_of(field, empty, path, depth, nullptr));
    }
    json::Value& map = object[field.name];
    if (map.is_null()) map.emplace_object();
    map.get_object()[key] = *std::move(value);
    return {};
  }

  Result<json::Value> value_of(const MessageField& field, const WireField& wire, const std::string& path,
                               std::size_t depth, json::Value* before) {
    switch (field.type) {
      case FieldType::kString: {
        STRAKE_TRY(const std::string text, text_of(wire, path));
        return json::Value(text);
      }
      case FieldType::kInt32:
      case FieldType::kInt64: {
        STRAKE_TRY(const std::int64_t number, integer_of(wire, path));
        return json::Value(number);
      }
      case FieldType::kBoolean: {
        STRAKE_TRY(const std::int64_t number, integer_of(wire, path));
        return json::Value(number != 0);
      }
      case FieldType::kBytes:
      case FieldType::kTime:
      case FieldType::kMicroTime:
      case FieldType::kFieldsV1:
      case FieldType::kQuantity:
      case FieldType::kIntOrString:
      case FieldType::kMessage: break;
    }
    if (wire.type != WireType::kBytes) return unreadable(path, "is not a message");
    switch (field.type) {
      case FieldType::kBytes: return json::Value(codec::encode_base64(wire.bytes));
      case FieldType::kTime: return time_of(wire.bytes, path, false);
      case FieldType::kMicroTime: return time_of(wire.bytes, path, true);
      case FieldType::kQuantity: return quantity_of(wire.bytes, path);
      case FieldType::kIntOrString: return int_or_string_of(wire.bytes, path);
      case FieldType::kMessage: {
        json::Object object;
        if (before != nullptr && before->is_object()) object = std::move(before->get_object());
        STRAKE_CHECK_OK(decode(*field.message, wire.bytes, path, depth + 1, object));
        return json::Value(std::move(object));
      }
      case FieldType::kFieldsV1:  // managed fields are not kept
      case FieldType::kString:
      case FieldType::kInt32:
      case FieldType::kInt64:
      case FieldType::kBoolean: break;
    }
    return json::Value();
  }
};

/// runtime.Unknown
struct Envelope {
  std::string api_version;
  std::string kind;
  std::string_view object;
};

Result<Envelope> open_envelope(std::string_view body) {
  constexpr std::string_view kPath = "envelope";
  if (!body.starts_with(kMagic)) return unreadable(kPath, "does not begin with \"k8s\\0\"");
  Envelope envelope;
  STRAKE_CHECK_OK(for_each_field(body.substr(kMagic.size()), kPath, [&](const WireField& field) -> Status {
    if (field.id < 1 || field.id > 4 || field.type != WireType::kBytes) {
      return unreadable(kPath, fmt::format("has an unexpected field {}", field.id));
    }
    if (field.id == 2) envelope.object = field.bytes;
    if (field.id > 2 && !field.bytes.empty()) return not_known("a body with an encoding of its own");
    if (field.id != 1) return {};
    return for_each_field(field.bytes, kPath, [&](const WireField& part) -> Status {
      if (part.id != 1 && part.id != 2) return unreadable(kPath, fmt::format("has an unexpected field 1.{}", part.id));
      STRAKE_TRY((part.id == 1 ? envelope.api_version : envelope.kind), text_of(part, kPath));
      return {};
    });
  }));
  return envelope;
}

}  // namespace

Result<json::Value> decode_protobuf_body(std::string_view body) {
  STRAKE_TRY(const Envelope envelope, open_envelope(body));
  const MessageType* type = KubernetesTypes::standard().find(envelope.kind);
  if (type == nullptr) return not_known(fmt::format("kind \"{}\" of {}", envelope.kind, envelope.api_version));
  json::Object object;
  object["apiVersion"] = envelope.api_version;
  object["kind"] = envelope.kind;
  STRAKE_CHECK_OK(ObjectDecoder().decode(*type, envelope.object, envelope.kind, 1, object));
  return json::Value(std::move(object));
}

}  // namespace strake::apistore::rest
