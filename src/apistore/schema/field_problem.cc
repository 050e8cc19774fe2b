#include "apistore/schema/field_problem.h"

namespace strake::apistore {

namespace {
constexpr std::size_t kMaxShownBytes = 1024;  // a 1 MiB value in an error helps nobody
}

std::string shown_value(const json::Value& value) {
  std::string text = json::write(value);
  if (text.size() > kMaxShownBytes) {
    std::size_t end = kMaxShownBytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;  // never half a UTF-8 sequence
    text.resize(end);
    text += "...";
  }
  return text;
}

FieldProblem FieldProblem::required(std::string field, std::string_view detail) {
  return {std::move(field), "FieldValueRequired",
          detail.empty() ? "Required value" : fmt::format("Required value: {}", detail)};
}

FieldProblem FieldProblem::invalid(std::string field, const json::Value& value, std::string_view detail) {
  return {std::move(field), "FieldValueInvalid", fmt::format("Invalid value: {}: {}", shown_value(value), detail)};
}

FieldProblem FieldProblem::wrong_type(std::string field, std::string_view actual, std::string_view detail) {
  return {std::move(field), "FieldValueTypeInvalid", fmt::format("Invalid value: \"{}\": {}", actual, detail)};
}

FieldProblem FieldProblem::not_supported(std::string field, const json::Value& value,
                                         std::span<const std::string> supported) {
  std::string list;
  for (const std::string& one : supported) list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", one);
  return {std::move(field), "FieldValueNotSupported",
          fmt::format("Unsupported value: {}: supported values: {}", shown_value(value), list)};
}

FieldProblem FieldProblem::duplicate(std::string field, const json::Value& value) {
  return {std::move(field), "FieldValueDuplicate", fmt::format("Duplicate value: {}", shown_value(value))};
}

FieldProblem FieldProblem::forbidden(std::string field, std::string_view detail) {
  return {std::move(field), "FieldValueForbidden", fmt::format("Forbidden: {}", detail)};
}

FieldProblem FieldProblem::too_long(std::string field, std::int64_t limit) {
  return {std::move(field), "FieldValueTooLong", fmt::format("Too long: may not be more than {} bytes", limit)};
}

FieldProblem FieldProblem::too_many(std::string field, std::int64_t actual, std::int64_t limit) {
  return {std::move(field), "FieldValueTooMany",
          fmt::format("Too many: {}: must have at most {} items", actual, limit)};
}

Error invalid_object(const ErrorSubject& subject, const std::vector<FieldProblem>& problems,
                     kube::StatusDetails& details) {
  details.name = subject.name;
  details.group = subject.group;
  details.kind = subject.kind;
  std::string list;
  for (const FieldProblem& problem : problems) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", problem.to_string());
    details.causes.push_back({problem.reason, problem.text, problem.field});
  }
  if (problems.size() > 1) list = "[" + list + "]";
  const std::string kind = subject.group.empty() ? subject.kind : subject.kind + "." + subject.group;
  return error(Code::kInvalidArgument, "{} \"{}\" is invalid: {}", kind, subject.name, list).with_reason("Invalid");
}

}  // namespace strake::apistore
