// Every value of whatever parses is found, inside the text; what does not exist is found where something else is.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/yaml_locate.h"

namespace {

using namespace strake;

constexpr std::size_t kMaxQuestions = 2000;

void ask(const json::Value& value, std::size_t document, json::Steps& steps, std::vector<yaml::WantedField>& wanted) {
  if (wanted.size() >= kMaxQuestions) return;
  wanted.push_back({document, {steps, wanted.size() % 2 == 0}});
  const auto ask_inside = [&](const json::Value& inner, std::string step) {
    steps.push_back(std::move(step));
    ask(inner, document, steps, wanted);
    steps.pop_back();
  };
  if (const json::Object* object = value.if_object()) {
    for (const auto& member : *object) ask_inside(member.value(), std::string(member.key()));
  } else if (const json::Array* array = value.if_array()) {
    std::size_t index = 0;
    for (const json::Value& item : *array) ask_inside(item, fmt::format("[{}]", index++));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const yaml::ParseLimits limits{.max_bytes = 1u << 20, .max_depth = 60, .max_nodes = 10'000};
  const auto documents = yaml::parse_stream(text, limits);
  if (!documents.ok()) {
    (void)yaml::locate(text, {}, limits);
    return 0;
  }
  std::size_t lines = 1;
  for (const char c : text) lines += c == '\n' || c == '\r' ? 1 : 0;
  std::vector<yaml::WantedField> wanted;
  for (std::size_t i = 0; i <= documents->size(); ++i) {
    json::Steps steps;
    if (i < documents->size()) ask((*documents)[i].value, i, steps, wanted);
    wanted.push_back({i, {{"no such member", "[3]"}, true}});
  }
  const auto found = yaml::locate(text, wanted, limits);
  STRAKE_INVARIANT(found.ok());
  STRAKE_INVARIANT(found->size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    STRAKE_INVARIANT((*found)[i].line >= 1 && (*found)[i].line <= lines && (*found)[i].column >= 1);
    if (wanted[i].document < documents->size()) {
      STRAKE_INVARIANT((*found)[i].line >= (*documents)[wanted[i].document].line);
    }
  }
  return 0;
}
