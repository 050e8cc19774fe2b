#include "osbackend/json_texts.h"

namespace strake::osbackend {

Result<std::vector<std::string>> texts_of(const json::Value& value, std::string_view name) {
  std::vector<std::string> texts;
  const json::Value* items = json::find(value, {name});
  if (items == nullptr || items->is_null()) return texts;
  if (!items->is_array()) return error(Code::kCorrupt, "{}: not a list", name);
  texts.reserve(items->get_array().size());
  for (const json::Value& item : items->get_array()) {
    if (!item.is_string()) return error(Code::kCorrupt, "{}: an item is not a text", name);
    texts.emplace_back(json::as_view(item.get_string()));
  }
  return texts;
}

json::Array json_of_texts(const std::vector<std::string>& texts) {
  json::Array array;
  array.reserve(texts.size());
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

}  // namespace strake::osbackend
