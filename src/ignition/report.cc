#include "ignition/report.h"

#include <algorithm>

#include <fmt/format.h>

namespace strake::ignition {

namespace {

constexpr std::size_t kMaxShownBytes = 80;  // a found value may be a whole file

}  // namespace

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::kError: return "error";
    case Severity::kWarning: return "warning";
  }
  return "error";
}

std::string Finding::path() const { return json::path_text(steps); }

std::string Finding::to_string() const {
  std::string text = path();
  if (!text.empty()) text += ": ";
  text += message;
  if (!found.empty()) text += fmt::format(": '{}'", found);
  return text;
}

json::Steps Path::steps() const {
  json::Steps steps;
  for (const Path* here = this; here->around_ != nullptr; here = here->around_) {
    steps.push_back(here->name_.data() != nullptr ? std::string(here->name_) : fmt::format("[{}]", here->index_));
  }
  std::ranges::reverse(steps);
  return steps;
}

bool Report::is_fatal() const {
  return std::ranges::any_of(findings, [](const Finding& finding) { return finding.severity == Severity::kError; });
}

void Report::error(const Path& path, std::string message, std::string_view found) {
  add(Severity::kError, path, std::move(message), found, false);
}

void Report::warn(const Path& path, std::string message, std::string_view found) {
  add(Severity::kWarning, path, std::move(message), found, false);
}

void Report::warn_key(const Path& path, std::string message) {
  add(Severity::kWarning, path, std::move(message), {}, true);
}

void Report::add(Severity severity, const Path& path, std::string message, std::string_view found, bool at_key) {
  std::size_t& count = severity == Severity::kError ? errors_ : warnings_;
  if (count > kMaxFindings) return;
  if (++count > kMaxFindings) {
    findings.push_back(
        {severity, {}, fmt::format("more than {}; the others are not listed", kMaxFindings), "", false, {}});
    return;
  }
  std::string shown(found.substr(0, kMaxShownBytes));
  if (found.size() > kMaxShownBytes) shown += "...";
  findings.push_back({severity, path.steps(), std::move(message), std::move(shown), at_key, std::nullopt});
}

void Report::locate(std::string_view text) {
  std::vector<json::Wanted> wanted;
  wanted.reserve(findings.size());
  for (const Finding& finding : findings) wanted.push_back({finding.steps, finding.at_key});
  const auto positions = json::locate(text, wanted);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (!findings[i].position) findings[i].position = positions[i];
  }
}

}  // namespace strake::ignition
