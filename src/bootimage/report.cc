#include "base/text_table.h"
#include "bootimage/aws_check.h"

namespace strake::bootimage {

namespace {

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

}  // namespace

std::string render_text(const BootImageReport& report) {
  std::vector<std::vector<std::string>> rows{{"NAME", "STATE", "ARCH", "REGION", "CURRENT", "DESIRED", "REASON"}};
  for (const BootImageCheck& item : report.items) {
    const std::string name = fmt::format(
        "{}/{}", item.kind == "ControlPlaneMachineSet" ? "controlplanemachineset" : "machineset", item.key.name);
    rows.push_back({name, std::string(to_string(item.state)), or_dash(item.arch), or_dash(item.region),
                    or_dash(item.current_id), or_dash(item.desired_id), item.reason});
  }
  return align_columns(rows) +
         fmt::format("{} current, {} behind, {} skipped\n", report.count(BootImageState::kCurrent),
                     report.count(BootImageState::kBehind), report.count(BootImageState::kSkipped));
}

json::Value render_json(const BootImageReport& report) {
  json::Array items;
  for (const BootImageCheck& item : report.items) {
    json::Object entry{{"kind", item.kind},
                       {"namespace", item.key.ns},
                       {"name", item.key.name},
                       {"state", to_string(item.state)},
                       {"reason", to_string(item.code)},
                       {"message", item.reason},
                       {"architecture", item.arch},
                       {"region", item.region},
                       {"currentImage", item.current_id},
                       {"desiredImage", item.desired_id}};
    if (!item.patch.is_null()) entry["patch"] = item.patch;
    items.push_back(std::move(entry));
  }
  return json::Object{{"items", std::move(items)},
                      {"summary", json::Object{{"current", report.count(BootImageState::kCurrent)},
                                               {"behind", report.count(BootImageState::kBehind)},
                                               {"skipped", report.count(BootImageState::kSkipped)}}}};
}

}  // namespace strake::bootimage
