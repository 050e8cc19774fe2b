#include "cmd/output/result_document.h"

#include "api/kinds.h"
#include "base/secrets.h"

namespace strake::cmd {

std::string_view result_of(const Error& failure) {
  if (failure.code() == Code::kCancelled) return "interrupted";
  switch (failure.verdict()) {
    case Verdict::kAbsent: return "absent";
    case Verdict::kBlocked: return "blocked";
    case Verdict::kUnreachable: return "unreachable";
    case Verdict::kNotGenuine: return "refused";
    case Verdict::kNone: break;
  }
  return "error";
}

json::Value result_document(std::string_view kind, std::string_view result, json::Object body) {
  json::Object document{{"apiVersion", api::kStrakeApiVersion}, {"kind", kind}, {"result", result}};
  for (auto& member : body) document[member.key()] = std::move(member.value());
  return document;
}

json::Value failure_document(std::string_view kind, const Error& failure, json::Object body) {
  body["error"] = without_secrets(failure.to_string());
  return result_document(kind, result_of(failure), std::move(body));
}

}  // namespace strake::cmd
