#include "apistore/schema/kubernetes_types.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <span>
#include <utility>

#include "api/embedded_file.h"
#include "base/time.h"
#include "codec/base64.h"

namespace strake::apistore {

/// kubernetes_types.txt, compiled in.
std::span<const api::EmbeddedFile> kubernetes_type_files();

namespace {

constexpr std::array kValueTypes = {
    std::pair("string", FieldType::kString),       std::pair("bytes", FieldType::kBytes),
    std::pair("int32", FieldType::kInt32),         std::pair("int64", FieldType::kInt64),
    std::pair("bool", FieldType::kBoolean),        std::pair("Time", FieldType::kTime),
    std::pair("MicroTime", FieldType::kMicroTime), std::pair("FieldsV1", FieldType::kFieldsV1),
    std::pair("Quantity", FieldType::kQuantity),   std::pair("IntOrString", FieldType::kIntOrString)};

/// Cuts `text` at the first separator; what is behind it stays in `text`.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view piece = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return piece;
}

std::string_view skip_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

/// Reads the text twice over: first which types there are, then their fields, which may name types that come later.
class TypesReader {
 public:
  using Types = std::vector<std::unique_ptr<MessageType>>;

  Result<Types> read(std::string_view text) {
    std::vector<std::pair<std::size_t, std::string_view>> lines;
    for (std::size_t number = 1; !text.empty(); ++number) {
      const std::string_view line = take_until(text, '\n');
      if (!line.empty() && line.front() != '#') lines.emplace_back(number, line);
    }
    for (const auto& [number, line] : lines) {
      if (line.front() == ' ') continue;
      auto type = std::make_unique<MessageType>();
      type->name = std::string(line.substr(0, line.find(':')));
      if (!by_name_.emplace(type->name, type.get()).second) {
        return error(Code::kInvalidArgument, "line {}: {} is there twice", number, type->name);
      }
      types_.push_back(std::move(type));
    }
    MessageType* type = nullptr;
    for (auto [number, line] : lines) {
      if (line.front() != ' ') type = by_name_.find(take_until(line, ':'))->second;
      if (type == nullptr) return error(Code::kInvalidArgument, "line {}: fields without a type", number);
      STRAKE_CHECK_OK(read_fields(*type, line).context("line {}", number));
    }
    return std::move(types_);
  }

 private:
  Status read_fields(MessageType& type, std::string_view line) {
    while (!(line = skip_blanks(line)).empty()) {
      std::string_view item = take_until(line, ',');
      MessageField field;
      const std::string_view number = take_until(item, ' ');
      const auto [end, failure] = std::from_chars(number.data(), number.data() + number.size(), field.number);
      if (failure != std::errc() || end != number.data() + number.size() || field.number == 0) {
        return error(Code::kInvalidArgument, "{}: '{}' is not a field number", type.name, number);
      }
      std::string_view name = take_until(item, ' ');
      if (name.ends_with('!')) field.presence = FieldPresence::kWhenSet;
      if (name.ends_with('=')) field.presence = FieldPresence::kAlways;
      if (field.presence != FieldPresence::kWhenNotZero) name.remove_suffix(1);
      if (name != "^") field.name = std::string(name);
      const std::string_view type_text = take_until(item, ' ');
      STRAKE_CHECK_OK(set_type(field, type_text).context("{} field {}", type.name, number));
      STRAKE_CHECK_OK(set_merge_rule(field, item).context("{} field {}", type.name, number));
      type.fields.push_back(std::move(field));
    }
    return {};
  }

  Status set_type(MessageField& field, std::string_view text) const {
    if (text.starts_with("[]")) field.shape = FieldShape::kList;
    if (text.starts_with("{}")) field.shape = FieldShape::kMap;
    if (field.shape != FieldShape::kSingle) text.remove_prefix(2);
    for (const auto& [name, type] : kValueTypes) {
      if (text != name) continue;
      field.type = type;
      return {};
    }
    const auto found = by_name_.find(text);
    if (found == by_name_.end()) return error(Code::kInvalidArgument, "there is no type '{}'", text);
    field.type = FieldType::kMessage;
    field.message = found->second;
    return {};
  }

  static Status set_merge_rule(MessageField& field, std::string_view text) {
    if (text.empty()) return {};
    const std::string_view word = take_until(text, ' ');
    if (word == "by" && !text.empty() && field.shape == FieldShape::kList && field.message != nullptr) {
      field.merge_rule = json::MergeRule::kMergeByKey;
      field.merge_key = std::string(text);
    } else if (word == "as" && text == "set" && field.shape == FieldShape::kList) {
      field.merge_rule = json::MergeRule::kMergeValues;
    } else if (word == "as" && text == "whole" && field.shape == FieldShape::kSingle) {
      field.merge_rule = json::MergeRule::kReplaceObject;
    } else {
      return error(Code::kInvalidArgument, "'{} {}' is no rule for its merging", word, text);
    }
    return {};
  }

  Types types_;
  std::map<std::string, MessageType*, std::less<>> by_name_;
};

/// Lists that are replaced hide what is in them: a patch never looks inside.
void collect_merge_fields(const MessageType& type, const std::string& prefix, json::MergeSchema& schema) {
  for (const MessageField& field : type.fields) {
    const std::string path = field.name.empty() ? prefix : prefix + (prefix.empty() ? "" : ".") + field.name;
    if (field.merge_rule) schema.fields.push_back({path, *field.merge_rule, field.merge_key});
    if (field.message == nullptr) continue;
    if (field.merge_rule == json::MergeRule::kMergeByKey) collect_merge_fields(*field.message, path + "[]", schema);
    if (field.shape == FieldShape::kSingle && !field.merge_rule) collect_merge_fields(*field.message, path, schema);
  }
}

/// The name of a field's type in Go, as its decoder shows it.
std::string go_type(const MessageField& field, FieldShape shape) {
  if (shape == FieldShape::kList) return "[]" + go_type(field, FieldShape::kSingle);
  if (shape == FieldShape::kMap) return "map[string]" + go_type(field, FieldShape::kSingle);
  switch (field.type) {
    case FieldType::kString: return "string";
    case FieldType::kBytes: return "[]uint8";
    case FieldType::kInt32: return "int32";
    case FieldType::kInt64: return "int64";
    case FieldType::kBoolean: return "bool";
    case FieldType::kTime: return "v1.Time";
    case FieldType::kMicroTime: return "v1.MicroTime";
    case FieldType::kFieldsV1: return "v1.FieldsV1";
    case FieldType::kQuantity: return "resource.Quantity";
    case FieldType::kIntOrString: return "intstr.IntOrString";
    case FieldType::kMessage: return "v1." + field.message->name;
  }
  return "unknown";
}

std::string_view go_kind(const json::Value& value) {
  if (value.is_bool()) return "bool";
  return value.is_number() ? "number" : json::type_name(value);
}

/// Where the walk below is. Text is made of it only when there is something to say.
struct PathStep {
  enum class Kind { kMember, kEntry, kItem };
  const PathStep* parent;  ///< null: a member of the object itself
  Kind kind;
  std::string_view name;  ///< of a member of an object or an entry of a map
  std::size_t index = 0;  ///< of an item of a list

  /// "spec.containers[0].env"
  std::string to_string() const {
    const std::string before = parent == nullptr ? "" : parent->to_string();
    if (kind == Kind::kItem) return fmt::format("{}[{}]", before, index);
    return fmt::format("{}{}{}", before, before.empty() ? "" : ".", name);
  }
  /// As Go's decoder shows it, with fields alone: "spec.containers.env"
  std::string to_go_string() const {
    const std::string before = parent == nullptr ? "" : parent->to_go_string();
    return kind == Kind::kMember ? fmt::format("{}.{}", before, name) : before;
  }
};

/// Walks an object and its type side by side.
class Shaper {
 public:
  explicit Shaper(const MessageType& root) : root_(root) {}

  /// `at` is null for the object itself.
  Status shape_message(const MessageType& type, json::Object& object, const PathStep* at) {
    std::vector<std::string> dropped;
    for (auto& member : object) {
      const std::string_view name(member.key().data(), member.key().size());
      if (at == nullptr && is_outer(name)) continue;
      const PathStep step{at, PathStep::Kind::kMember, name};
      const MessageField* field = type.by_name(name);
      if (field == nullptr) {
        unknown_.push_back(step.to_string());
        dropped.emplace_back(name);
        continue;
      }
      STRAKE_CHECK_OK(shape_field(*field, member.value(), step));
      // A null of what is never absent is as good as nothing, too: its zero value comes below.
      const bool may_go = field->presence != FieldPresence::kAlways || field->shape == FieldShape::kSingle;
      const bool same_as_none = field->presence == FieldPresence::kWhenNotZero ? is_zero_value(member.value())
                                                                               : member.value().is_null() && may_go;
      if (same_as_none) dropped.emplace_back(name);
    }
    for (const std::string& name : dropped) object.erase(name);
    add_missing(type, object, at == nullptr);
    return {};
  }

  std::vector<std::string> take_unknown() { return std::move(unknown_); }

 private:
  static bool is_outer(std::string_view name) { return name == "apiVersion" || name == "kind" || name == "metadata"; }

  Status shape_field(const MessageField& field, json::Value& value, const PathStep& at) {
    if (value.is_null()) return {};
    switch (field.shape) {
      case FieldShape::kSingle: return shape_value(field, value, at);
      case FieldShape::kList: {
        if (!value.is_array()) return wrong_type(field, FieldShape::kList, value, at);
        std::size_t index = 0;
        for (json::Value& item : value.get_array()) {
          STRAKE_CHECK_OK(shape_value(field, item, {&at, PathStep::Kind::kItem, {}, index++}));
        }
        return {};
      }
      case FieldShape::kMap: {
        if (!value.is_object()) return wrong_type(field, FieldShape::kMap, value, at);
        for (auto& entry : value.get_object()) {
          const std::string_view key(entry.key().data(), entry.key().size());
          STRAKE_CHECK_OK(shape_value(field, entry.value(), {&at, PathStep::Kind::kEntry, key}));
        }
        return {};
      }
    }
    return {};
  }

  Status shape_value(const MessageField& field, json::Value& value, const PathStep& at) {
    if (value.is_null()) {  // an item of a list or an entry of a map, which cannot be absent
      value = zero_value(field);
      return {};
    }
    bool fits = true;
    switch (field.type) {
      case FieldType::kMessage:
        if (value.is_object()) return shape_message(*field.message, value.get_object(), &at);
        fits = false;
        break;
      case FieldType::kBytes:
        if (value.is_string()) return check_base64(json::as_view(value.get_string()));
        fits = false;
        break;
      case FieldType::kTime:
      case FieldType::kMicroTime:
        if (value.is_string()) return check_time(json::as_view(value.get_string()), field.type);
        fits = false;
        break;
      case FieldType::kString: fits = value.is_string(); break;
      case FieldType::kInt32:
      case FieldType::kInt64: fits = value.is_int64(); break;
      case FieldType::kBoolean: fits = value.is_bool(); break;
      case FieldType::kQuantity:
      case FieldType::kIntOrString: fits = value.is_string() || value.is_number(); break;
      case FieldType::kFieldsV1: break;
    }
    return fits ? Status() : wrong_type(field, FieldShape::kSingle, value, at);
  }

  static json::Value zero_value(const MessageField& field) {
    switch (field.type) {
      case FieldType::kString: return "";
      case FieldType::kInt32:
      case FieldType::kInt64:
      case FieldType::kIntOrString: return 0;
      case FieldType::kBoolean: return false;
      case FieldType::kQuantity: return "0";
      case FieldType::kMessage: {
        json::Object object;
        add_missing(*field.message, object, false);
        return object;
      }
      case FieldType::kBytes:
      case FieldType::kTime:
      case FieldType::kMicroTime:
      case FieldType::kFieldsV1: break;
    }
    return nullptr;
  }

  static void add_missing(const MessageType& type, json::Object& object, bool is_root) {
    for (const MessageField& field : type.fields) {
      if (field.name.empty()) {
        add_missing(*field.message, object, is_root);
        continue;
      }
      // A list that is missing stays so: whether there must be one is for the schema to say.
      const bool wanted = field.presence == FieldPresence::kAlways && field.shape == FieldShape::kSingle &&
                          !(is_root && is_outer(field.name));
      if (wanted && !object.contains(field.name)) object[field.name] = zero_value(field);
    }
  }

  /// Go reads a MicroTime with exactly six digits behind the second.
  static Status check_time(std::string_view text, FieldType type) {
    constexpr std::size_t kFraction = std::string_view("2006-01-02T15:04:05").size();
    constexpr std::size_t kMicroDigits = 6;
    const bool micro = type == FieldType::kMicroTime;
    const bool precise = text.size() > kFraction + kMicroDigits + 1 && text[kFraction] == '.' &&
                         text.find_first_not_of("0123456789", kFraction + 1) == kFraction + 1 + kMicroDigits;
    if ((!micro || precise) && parse_rfc3339(text).ok()) return {};
    return error(Code::kInvalidArgument, "parsing time \"{}\" as \"2006-01-02T15:04:05{}Z07:00\": it has another form",
                 text, micro ? ".000000" : "");
  }

  static Status check_base64(std::string_view text) {
    if (codec::decode_base64(text, codec::kBase64Lenient).ok()) return {};
    constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return error(Code::kInvalidArgument, "illegal base64 data at input byte {}",
                 std::min(text.find_first_not_of(kAlphabet), text.size()));
  }

  Error wrong_type(const MessageField& field, FieldShape shape, const json::Value& value, const PathStep& at) const {
    return error(Code::kInvalidArgument, "json: cannot unmarshal {} into Go struct field {}{} of type {}",
                 go_kind(value), root_.name, at.to_go_string(), go_type(field, shape));
  }

  const MessageType& root_;
  std::vector<std::string> unknown_;
};

}  // namespace

const MessageField* MessageType::by_number(std::uint64_t number) const {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const MessageField& field) { return field.number == number; });
  return found == fields.end() ? nullptr : &*found;
}

const MessageField* MessageType::by_name(std::string_view wanted) const {
  for (const MessageField& field : fields) {
    if (field.name == wanted) return &field;
    if (!field.name.empty()) continue;
    if (const MessageField* inner = field.message->by_name(wanted)) return inner;
  }
  return nullptr;
}

Result<KubernetesTypes> KubernetesTypes::parse(std::string_view text) {
  KubernetesTypes types;
  STRAKE_TRY(types.types_, TypesReader().read(text));
  return types;
}

const KubernetesTypes& KubernetesTypes::standard() {
  static const KubernetesTypes types = [] {
    auto parsed = parse(kubernetes_type_files().front().contents);
    STRAKE_INVARIANT(parsed.ok());
    return *std::move(parsed);
  }();
  return types;
}

const MessageType* KubernetesTypes::find(std::string_view name) const {
  const auto found = std::find_if(types_.begin(), types_.end(), [&](const auto& type) { return type->name == name; });
  return found == types_.end() ? nullptr : found->get();
}

json::MergeSchema merge_schema_of(const MessageType& type) {
  json::MergeSchema schema;
  collect_merge_fields(type, "", schema);
  return schema;
}

bool is_zero_value(const json::Value& value) {
  switch (value.kind()) {
    case boost::json::kind::null: return true;
    case boost::json::kind::bool_: return !value.get_bool();
    case boost::json::kind::int64: return value.get_int64() == 0;
    case boost::json::kind::uint64: return value.get_uint64() == 0;
    case boost::json::kind::double_: return false;
    case boost::json::kind::string: return value.get_string().empty();
    case boost::json::kind::array: return value.get_array().empty();
    case boost::json::kind::object: return value.get_object().empty();
  }
  return false;
}

Result<std::vector<std::string>> shape_as(const MessageType& type, json::Value& object) {
  if (!object.is_object()) return error(Code::kInvalidArgument, "{} is no object", json::type_name(object));
  Shaper shaper(type);
  STRAKE_CHECK_OK(shaper.shape_message(type, object.get_object(), nullptr));
  return shaper.take_unknown();
}

}  // namespace strake::apistore
