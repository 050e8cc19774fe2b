#include "api/config_generator.h"

namespace strake::api {

std::optional<Condition> ConfigGeneratorView::last_condition() const {
  const json::Array& conditions = items_at(object_, kKubeletConfigFields["status.conditions"]);
  if (conditions.empty()) return std::nullopt;
  const json::Value& last = conditions.back();
  const auto status = parse_condition_status(item_text_at(last, kKubeletConfigFields["status.conditions[].status"]));
  return Condition{item_text_at(last, kKubeletConfigFields["status.conditions[].type"]),
                   status.ok() ? *status : ConditionStatus::kUnknown, "",
                   item_text_at(last, kKubeletConfigFields["status.conditions[].message"]), ""};
}

bool ConfigGeneratorView::succeeded() const {
  const auto last = last_condition();
  return last && (last->type == "Success" || last->type == "Accepted") && last->status == ConditionStatus::kTrue;
}

}  // namespace strake::api
