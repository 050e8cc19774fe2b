#include "ignition/butane/butane.h"

#include "ignition/butane/dialect.h"
#include "ignition/butane/translator.h"

namespace strake::ignition {

namespace {

std::string text_at(const yaml::Node& document, std::string_view name) {
  const yaml::Node* node = document.find(name);
  return node != nullptr && node->kind == yaml::Node::Kind::kScalar ? node->text : "";
}

}  // namespace

bool is_butane(const json::Value& document) {
  if (!document.is_object()) return false;
  const json::Object& members = document.get_object();
  return members.contains("variant") && !members.contains("kind") && !members.contains("apiVersion") &&
         json::find(document, {"ignition", "version"}) == nullptr;
}

ButaneResult translate_butane(const yaml::Node& document, const ButaneOptions& options) {
  ButaneResult result;
  result.variant = text_at(document, "variant");
  result.version = text_at(document, "version");
  const auto dialect = find_dialect(result.variant, result.version);
  if (!dialect.ok()) {
    const yaml::Node* at = document.find(dialect.error().message().starts_with("version") ? "version" : "variant");
    const std::size_t line = at == nullptr ? document.line : at->key_line;
    result.report.findings.push_back(
        {Severity::kError, {}, dialect.error().message(), "", false, codec::TextPosition{line, 1}});
    return result;
  }
  result.spec = dialect->spec;
  ButaneTranslator(document, *dialect, options, result).translate();
  return result;
}

json::Steps butane_field(const json::Steps& field) {
  if (field.size() < 2 || field[0] != "spec") return field;
  const bool is_config = field[1] == "config";
  json::Steps steps;
  if (!is_config) steps.emplace_back("openshift");
  for (std::size_t i = is_config ? 2 : 1; i < field.size(); ++i) steps.push_back(snake_case(field[i]));
  return steps;
}

}  // namespace strake::ignition
