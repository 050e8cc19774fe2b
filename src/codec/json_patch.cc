#include "codec/json_patch.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace strake::json {
namespace {

bool same_integer_and_double(std::int64_t integer, double number) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  return number >= -kTwoTo63 && number < kTwoTo63 && number == std::trunc(number) &&
         static_cast<std::int64_t>(number) == integer;
}

bool same_unsigned_and_double(std::uint64_t integer, double number) {
  constexpr double kTwoTo64 = 18446744073709551616.0;
  return number >= 0 && number < kTwoTo64 && number == std::trunc(number) &&
         static_cast<std::uint64_t>(number) == integer;
}

/// Exact: converting a large integer to double first would make neighbours equal.
bool same_number(const Value& left, const Value& right) {
  if (right.is_double() && !left.is_double()) return same_number(right, left);
  if (const double* number = left.if_double()) {
    if (const double* other = right.if_double()) return *number == *other;
    if (const std::int64_t* other = right.if_int64()) return same_integer_and_double(*other, *number);
    return same_unsigned_and_double(right.get_uint64(), *number);
  }
  return left == right;  // Boost compares signed with unsigned by value
}

/// One parsed JSON pointer (RFC 6901).
using PointerTokens = std::vector<std::string>;

Result<PointerTokens> parse_json_pointer(std::string_view text) {
  PointerTokens tokens;
  if (text.empty()) return tokens;
  if (text.front() != '/') {
    return error(Code::kInvalidArgument, "the pointer \"{}\" must be empty or start with '/'", text);
  }
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '/') {
      tokens.emplace_back();
    } else if (c != '~') {
      tokens.back() += c;
    } else if (at + 1 < text.size() && (text[at + 1] == '0' || text[at + 1] == '1')) {
      tokens.back() += text[++at] == '0' ? '~' : '/';
    } else {
      return error(Code::kInvalidArgument, "the pointer \"{}\" has a '~' that is neither ~0 nor ~1", text);
    }
  }
  return tokens;
}

/// An array index below `limit`: digits without leading zeros.
Result<std::size_t> parse_array_index(std::string_view token, std::size_t limit) {
  std::size_t index = 0;
  const auto [end, failure] = std::from_chars(token.data(), token.data() + token.size(), index);
  const bool is_number = !token.empty() && end == token.data() + token.size() && token[0] >= '0' && token[0] <= '9';
  if (!is_number || (token.size() > 1 && token[0] == '0')) {
    return error(Code::kInvalidArgument, "\"{}\" is not an array index", token);
  }
  if (failure != std::errc() || index >= limit) {
    return error(Code::kInvalidArgument, "array index {} is out of range: the largest possible here is {}", token,
                 limit == 0 ? "none, the array is empty" : std::to_string(limit - 1));
  }
  return index;
}

Result<Value*> child_of(Value& parent, std::string_view token) {
  if (Object* object = parent.if_object()) {
    if (Value* child = object->if_contains(token)) return child;
    return error(Code::kInvalidArgument, "there is no member \"{}\"", token);
  }
  if (Array* array = parent.if_array()) {
    STRAKE_TRY(const std::size_t index, parse_array_index(token, array->size()));
    return &(*array)[index];
  }
  return error(Code::kInvalidArgument, "\"{}\" cannot be looked up in a value of type {}", token, type_name(parent));
}

Result<Value*> resolve_pointer(Value& root, const PointerTokens& tokens, std::size_t count) {
  Value* here = &root;
  for (std::size_t i = 0; i < count; ++i) {
    STRAKE_TRY(here, child_of(*here, tokens[i]));
  }
  return here;
}

std::size_t nesting_of(const Value& value) {
  std::size_t deepest = 0;
  if (const Object* object = value.if_object()) {
    for (const auto& member : *object) {
      if (member.value().is_structured()) deepest = std::max(deepest, nesting_of(member.value()));
    }
    return deepest + 1;
  }
  if (const Array* array = value.if_array()) {
    for (const Value& element : *array) {
      if (element.is_structured()) deepest = std::max(deepest, nesting_of(element));
    }
    return deepest + 1;
  }
  return 0;
}

std::size_t nodes_in(const Value& value) {
  std::size_t count = 1;
  if (const Object* object = value.if_object()) {
    for (const auto& member : *object) count += nodes_in(member.value());
  } else if (const Array* array = value.if_array()) {
    for (const Value& element : *array) count += element.is_structured() ? nodes_in(element) : 1;
  }
  return count;
}

/// Looking at a value costs as much as shifting so many.
constexpr std::size_t kWalkedNode = 4;

/// Roughly the bytes the value takes as text; exactness does not matter for a limit.
std::size_t text_size_of(const Value& value) {
  if (const String* text = value.if_string()) return text->size() + 2;
  std::size_t size = 2;
  if (const Object* object = value.if_object()) {
    for (const auto& member : *object) size += member.key().size() + 4 + text_size_of(member.value());
  } else if (const Array* array = value.if_array()) {
    for (const Value& element : *array) size += 1 + text_size_of(element);
  } else {
    size = 4;
  }
  return size;
}

class JsonPatcher {
 public:
  explicit JsonPatcher(Value document) : document_(std::move(document)) {}

  Value take() && { return std::move(document_); }

  Status apply(const Object& operation) {
    STRAKE_TRY(const std::string_view name, string_member(operation, "op"));
    STRAKE_TRY(const PointerTokens path, pointer_member(operation, "path"));
    if (name == "add") {
      STRAKE_TRY(const Value* value, value_member(operation));
      return insert(path, *value);
    }
    if (name == "remove") return remove(path);
    if (name == "replace") {
      STRAKE_TRY(const Value* value, value_member(operation));
      return replace(path, *value);
    }
    if (name == "move" || name == "copy") {
      STRAKE_TRY(const PointerTokens from, pointer_member(operation, "from"));
      return name == "move" ? move(from, path) : copy(from, path);
    }
    if (name == "test") {
      STRAKE_TRY(const Value* value, value_member(operation));
      return test(path, *value);
    }
    return error(Code::kInvalidArgument, "unknown operation \"{}\": use add, remove, replace, move, copy or test",
                 name);
  }

 private:
  static Result<std::string_view> string_member(const Object& operation, std::string_view name) {
    const Value* member = operation.if_contains(name);
    if (member == nullptr) return error(Code::kInvalidArgument, "the member \"{}\" is missing", name);
    if (!member->is_string()) {
      return error(Code::kInvalidArgument, "the member \"{}\" must be a string, not a value of type {}", name,
                   type_name(*member));
    }
    return as_view(member->get_string());
  }

  static Result<PointerTokens> pointer_member(const Object& operation, std::string_view name) {
    STRAKE_TRY(const std::string_view text, string_member(operation, name));
    return parse_json_pointer(text);
  }

  static Result<const Value*> value_member(const Object& operation) {
    if (const Value* member = operation.if_contains("value")) return member;
    return error(Code::kInvalidArgument, "the member \"value\" is missing");
  }

  Status insert(const PointerTokens& path, Value value) {
    // Many small operations could otherwise nest a document deeper than the stack of those who walk it later.
    const std::size_t limit = ParseLimits{}.max_depth;
    if (path.size() + nesting_of(value) > limit) {
      return error(Code::kExhausted, "the document would be nested deeper than the limit of {} levels", limit);
    }
    if (path.empty()) {
      document_ = std::move(value);
      return {};
    }
    STRAKE_TRY(Value * parent, resolve_pointer(document_, path, path.size() - 1));
    const std::string& last = path.back();
    if (Object* object = parent->if_object()) {
      object->insert_or_assign(last, std::move(value));
      return {};
    }
    if (Array* array = parent->if_array()) {
      std::size_t index = array->size();
      if (last != "-") {
        STRAKE_TRY(index, parse_array_index(last, array->size() + 1));
      }
      STRAKE_CHECK_OK(work(array->size() - index));
      array->insert(array->begin() + index, std::move(value));
      return {};
    }
    return error(Code::kInvalidArgument, "\"{}\" cannot be added to a value of type {}", last, type_name(*parent));
  }

  Status remove(const PointerTokens& path) {
    if (path.empty()) return error(Code::kInvalidArgument, "the whole document cannot be removed");
    STRAKE_TRY(Value * parent, resolve_pointer(document_, path, path.size() - 1));
    STRAKE_CHECK_OK(child_status(*parent, path.back()));
    if (Object* object = parent->if_object()) {
      STRAKE_CHECK_OK(work(object->size()));
      object->stable_erase(path.back());
    } else {
      Array& array = parent->get_array();
      STRAKE_TRY(const std::size_t index, parse_array_index(path.back(), array.size()));
      STRAKE_CHECK_OK(work(array.size() - index));
      array.erase(array.begin() + index);
    }
    return {};
  }

  static Status child_status(Value& parent, std::string_view token) {
    auto child = child_of(parent, token);
    if (!child.ok()) return std::move(child).error();
    return {};
  }

  Status replace(const PointerTokens& path, const Value& value) {
    STRAKE_TRY(Value * target, resolve_pointer(document_, path, path.size()));
    const std::size_t limit = ParseLimits{}.max_depth;
    if (path.size() + nesting_of(value) > limit) {
      return error(Code::kExhausted, "the document would be nested deeper than the limit of {} levels", limit);
    }
    *target = value;
    return {};
  }

  Status move(const PointerTokens& from, const PointerTokens& path) {
    STRAKE_TRY(Value * source, resolve_pointer(document_, from, from.size()));
    if (from == path) return {};
    if (path.size() > from.size() && std::equal(from.begin(), from.end(), path.begin())) {
      return error(Code::kInvalidArgument, "a value cannot be moved into itself");
    }
    Value moved = std::move(*source);
    STRAKE_CHECK_OK(work(kWalkedNode * nodes_in(moved)));
    STRAKE_CHECK_OK(remove(from));
    return insert(path, std::move(moved));
  }

  Status copy(const PointerTokens& from, const PointerTokens& path) {
    STRAKE_TRY(Value * source, resolve_pointer(document_, from, from.size()));
    copied_bytes_ += text_size_of(*source);
    if (copied_bytes_ > kMaxPatchCopyBytes) {
      return error(Code::kExhausted, "the patch copies more than {} bytes", kMaxPatchCopyBytes);
    }
    return insert(path, *source);
  }

  Status test(const PointerTokens& path, const Value& expected) {
    STRAKE_TRY(const Value* actual, resolve_pointer(document_, path, path.size()));
    if (same_value(*actual, expected)) return {};
    return error(Code::kConflict, "the value is not the expected one");
  }

  Status work(std::size_t elements) {
    work_ += elements + 1;
    if (work_ <= kMaxPatchWork) return {};
    return error(Code::kExhausted,
                 "the patch shifts more than {} elements of lists and objects: change large lists as a whole",
                 kMaxPatchWork);
  }

  Value document_;
  std::size_t copied_bytes_ = 0;
  std::size_t work_ = 0;
};

std::string describe_operation(const Object& operation) {
  const auto text = [&](std::string_view name) -> std::string {
    const Value* member = operation.if_contains(name);
    return member != nullptr && member->is_string() ? std::string(as_view(member->get_string())) : "?";
  };
  return fmt::format("{} \"{}\"", text("op"), text("path"));
}

}  // namespace

bool same_value(const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) return same_number(left, right);
  if (left.kind() != right.kind()) return false;
  if (const Object* object = left.if_object()) {
    const Object& other = right.get_object();
    return object->size() == other.size() && std::all_of(object->begin(), object->end(), [&](const auto& member) {
             const Value* counterpart = other.if_contains(member.key());
             return counterpart != nullptr && same_value(member.value(), *counterpart);
           });
  }
  if (const Array* array = left.if_array()) {
    const Array& other = right.get_array();
    return std::equal(array->begin(), array->end(), other.begin(), other.end(), same_value);
  }
  return left == right;
}

Result<Value> apply_json_patch(Value document, const Value& patch) {
  const Array* operations = patch.if_array();
  if (operations == nullptr) {
    return error(Code::kInvalidArgument, "a JSON patch is an array of operations, not a value of type {}",
                 type_name(patch));
  }
  if (operations->size() > kMaxPatchOperations) {
    return error(Code::kExhausted, "the patch has {} operations, the limit is {}", operations->size(),
                 kMaxPatchOperations);
  }
  JsonPatcher patcher(std::move(document));
  for (std::size_t i = 0; i < operations->size(); ++i) {
    const Object* operation = (*operations)[i].if_object();
    if (operation == nullptr) {
      return error(Code::kInvalidArgument, "operation {} must be an object, not a value of type {}", i,
                   type_name((*operations)[i]));
    }
    STRAKE_CHECK_OK(patcher.apply(*operation).context("operation {} ({})", i, describe_operation(*operation)));
  }
  return std::move(patcher).take();
}

void erase_members(Object& object, const std::vector<std::string_view>& keys) {
  // Each single erasure shifts all members behind it; keeping the order makes a patched document read like the one
  // before.
  constexpr std::size_t kFew = 4;
  if (keys.size() <= kFew) {
    for (const std::string_view key : keys) object.stable_erase(key);
    return;
  }
  const std::unordered_set<std::string_view> doomed(keys.begin(), keys.end());
  Object kept;
  kept.reserve(object.size());
  for (auto& member : object) {
    if (!doomed.contains(std::string_view(member.key()))) kept.emplace(member.key(), std::move(member.value()));
  }
  object = std::move(kept);
}

Value apply_merge_patch(Value target, const Value& patch) {
  const Object* changes = patch.if_object();
  if (changes == nullptr) return patch;
  if (!target.is_object()) target.emplace_object();
  Object& object = target.get_object();
  std::vector<std::string_view> doomed;
  for (const auto& change : *changes) {
    if (change.value().is_null() && object.contains(change.key())) doomed.emplace_back(change.key());
  }
  erase_members(object, doomed);
  for (const auto& change : *changes) {
    if (!change.value().is_null()) {
      Value& member = object[change.key()];
      member = apply_merge_patch(std::move(member), change.value());
    }
  }
  return target;
}

Value create_merge_patch(const Value& from, const Value& to) {
  if (!from.is_object() || !to.is_object()) return to;
  const Object& before = from.get_object();
  const Object& after = to.get_object();
  Object patch;
  for (const auto& member : before) {
    if (!after.contains(member.key())) patch.emplace(member.key(), nullptr);
  }
  for (const auto& member : after) {
    const Value* old = before.if_contains(member.key());
    if (old != nullptr && old->is_object() && member.value().is_object()) {
      Value nested = create_merge_patch(*old, member.value());
      if (!nested.get_object().empty()) patch.emplace(member.key(), std::move(nested));
    } else if (old == nullptr || !same_value(*old, member.value())) {
      patch.emplace(member.key(), member.value());
    }
  }
  return patch;
}

}  // namespace strake::json
