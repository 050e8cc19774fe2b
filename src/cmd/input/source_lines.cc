#include "cmd/input/source_lines.h"

#include <algorithm>
#include <filesystem>

#include "cmd/input/text_input.h"
#include "codec/yaml_locate.h"
#include "ignition/butane/butane.h"

namespace strake::cmd {

yaml::ParseLimits input_limits() {
  yaml::ParseLimits limits;
  limits.max_bytes = kMaxInputBytes;
  return limits;
}

std::string SourcePlace::to_string() const { return is_known() ? fmt::format("{}:{}", file, line) : ""; }

std::string SourceLines::Origin::to_string() const {
  std::string text = fmt::format("{}:{}", shown_path(path), line);
  for (const std::string& step : inside) text += step.starts_with('[') ? step : ": " + step;
  return text;
}

Result<std::string> SourceLines::read(const std::string& path) {
  STRAKE_TRY(std::string text, read_text_input(path, kMaxInputBytes));
  paths_.push_back(path);
  std::error_code failure;
  if (path == kStandardInputPath || !std::filesystem::is_regular_file(path, failure)) kept_[path] = text;
  return text;
}

Result<std::string> SourceLines::text_of(const std::string& path) const {
  if (const auto kept = kept_.find(path); kept != kept_.end()) return kept->second;
  return read_text_input(path, kMaxInputBytes);
}

bool SourceLines::add(const kube::Object& object, Origin origin) {
  return known_.emplace(std::pair(object.kind(), object.key().to_string()), std::move(origin)).second;
}

const SourceLines::Origin* SourceLines::find_object(std::string_view kind, std::string_view name) const {
  const auto found = known_.find(std::pair(std::string(kind), std::string(name)));
  return found == known_.end() ? nullptr : &found->second;
}

std::vector<SourcePlace> SourceLines::find(std::span<const SourceField> fields) const {
  std::vector<SourcePlace> places(fields.size());
  std::map<std::string, std::vector<std::size_t>> by_path;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Origin* origin = find_object(fields[i].kind, fields[i].name);
    if (origin == nullptr) continue;
    places[i] = {shown_path(origin->path), origin->line};
    if (!fields[i].field.empty() || !origin->inside.empty()) by_path[origin->path].push_back(i);
  }
  for (const auto& [path, asked] : by_path) {
    const auto text = text_of(path);
    if (!text.ok()) continue;
    std::vector<yaml::WantedField> wanted;
    for (const std::size_t i : asked) {
      const Origin& origin = *find_object(fields[i].kind, fields[i].name);
      const json::Steps field = origin.is_butane ? ignition::butane_field(fields[i].field) : fields[i].field;
      json::Steps steps = origin.inside;
      steps.insert(steps.end(), field.begin(), field.end());
      wanted.push_back({origin.document, {std::move(steps), true}});
    }
    const auto positions = yaml::locate(*text, wanted, input_limits());
    if (!positions.ok()) continue;
    for (std::size_t n = 0; n < asked.size(); ++n) places[asked[n]].line = (*positions)[n].line;
  }
  return places;
}

SourcePlace SourceLines::find(const SourceField& field) const { return find(std::span(&field, 1)).front(); }

}  // namespace strake::cmd
