#include "api/field.h"

#include "base/result.h"

namespace strake::api {

namespace {

/// Cuts the first name off a dotted path.
std::string_view next_step(std::string_view& rest) {
  const std::size_t dot = rest.find('.');
  const std::string_view step = rest.substr(0, dot);
  rest = dot == std::string_view::npos ? std::string_view{} : rest.substr(dot + 1);
  STRAKE_INVARIANT(!step.empty() && !step.ends_with("[]"));
  return step;
}

const json::Value* find_path(const json::Value& object, std::string_view path) {
  const json::Value* at = &object;
  while (!path.empty()) {
    const std::string_view step = next_step(path);
    const json::Object* members = at->if_object();
    if (members == nullptr) return nullptr;
    const auto found = members->find(step);
    if (found == members->end()) return nullptr;
    at = &found->value();
  }
  return at;
}

std::string text_of(const json::Value* value) {
  if (value == nullptr) return {};
  const json::String* text = value->if_string();
  return text == nullptr ? std::string{} : std::string(json::as_view(*text));
}

}  // namespace

const json::Value* find_field(const json::Value& object, Field field) { return find_path(object, field.path()); }

json::Value* find_field(json::Value& object, Field field) {
  return const_cast<json::Value*>(find_path(object, field.path()));
}

std::string text_at(const json::Value& object, Field field) { return text_of(find_field(object, field)); }

std::int64_t int_at(const json::Value& object, Field field) {
  const json::Value* value = find_field(object, field);
  if (value == nullptr) return 0;
  boost::json::error_code not_integral;
  const std::int64_t number = value->is_number() ? value->to_number<std::int64_t>(not_integral) : 0;
  return not_integral ? 0 : number;
}

bool flag_at(const json::Value& object, Field field) {
  const json::Value* value = find_field(object, field);
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::vector<std::string> texts_at(const json::Value& object, Field field) {
  std::vector<std::string> texts;
  for (const json::Value& item : items_at(object, field)) {
    if (const json::String* text = item.if_string()) texts.emplace_back(json::as_view(*text));
  }
  return texts;
}

std::map<std::string, std::string> text_map_at(const json::Value& object, Field field) {
  std::map<std::string, std::string> map;
  const json::Value* value = find_field(object, field);
  if (value == nullptr || !value->is_object()) return map;
  for (const auto& [name, text] : value->get_object()) {
    if (text.is_string()) map.emplace(name, json::as_view(text.get_string()));
  }
  return map;
}

const json::Array& items_at(const json::Value& object, Field field) {
  static const json::Array kNone;
  const json::Value* value = find_field(object, field);
  return value != nullptr && value->is_array() ? value->get_array() : kNone;
}

std::string item_text_at(const json::Value& item, Field field) {
  const std::size_t list = field.path().rfind("[].");
  STRAKE_INVARIANT(list != std::string_view::npos);
  return text_of(find_path(item, field.path().substr(list + 3)));
}

void set_field(json::Value& object, Field field, json::Value value) {
  json::Value* at = &object;
  std::string_view rest = field.path();
  while (!rest.empty()) {
    const std::string_view step = next_step(rest);
    if (!at->is_object()) *at = json::Object{};
    at = &at->get_object()[step];
  }
  *at = std::move(value);
}

void set_text(json::Value& object, Field field, std::string_view text) {
  set_field(object, field, json::Value(json::String(text)));
}

}  // namespace strake::api
