#include "apistore/guard/audit_record.h"

#include "base/time.h"
#include "base/visible_text.h"
#include "codec/json.h"

namespace strake::apistore {

namespace {

constexpr std::size_t kMaxShownBytes = 256;
constexpr std::size_t kMaxGroups = 16;

std::string shown(std::string_view text) {
  if (text.size() <= kMaxShownBytes) return visible_line(text);
  return visible_line(text.substr(0, kMaxShownBytes)) + "...";
}

}  // namespace

std::string audit_line(const AuditRecord& record) {
  json::Object line{{"time", format_rfc3339_micros(record.time)}};
  const auto add = [&](std::string_view key, std::string_view value) {
    if (!value.empty()) line[key] = shown(value);
  };
  add("id", record.id);
  line["user"] = shown(record.user);
  json::Array groups;
  for (std::size_t i = 0; i < record.groups.size() && i < kMaxGroups; ++i) {
    groups.emplace_back(json::Value(shown(record.groups[i])));
  }
  if (!groups.empty()) line["groups"] = std::move(groups);
  add("actingAs", record.acting_as);
  add("source", record.source);
  add("verb", record.verb);
  add("resource", record.resource);
  add("namespace", record.ns);
  add("name", record.name);
  add("subresource", record.subresource);
  add("path", record.path);
  line["code"] = record.code;
  if (record.more > 0) {
    line["more"] = record.more;
  } else {
    line["requestBytes"] = record.request_bytes;
    line["answerBytes"] = record.answer_bytes;
    line["microseconds"] = record.duration.count();
  }
  return json::write(line) + "\n";
}

std::string audit_loss_line(std::chrono::system_clock::time_point time, std::uint64_t lost) {
  return json::write(json::Object{{"time", format_rfc3339_micros(time)}, {"lost", lost}}) + "\n";
}

}  // namespace strake::apistore
