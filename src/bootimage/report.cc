#include "bootimage/report.h"

#include <algorithm>

#include "base/text_table.h"

namespace strake::bootimage {

namespace {

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

}  // namespace

std::size_t BootImageReport::count(BootImageState state) const {
  return static_cast<std::size_t>(
      std::count_if(items.begin(), items.end(), [&](const BootImageCheck& item) { return item.state == state; }));
}

int BootImageReport::exit_code() const {
  if (count(BootImageState::kBehind) > 0) return 2;
  const bool absent = std::any_of(items.begin(), items.end(),
                                  [](const BootImageCheck& item) { return item.code == CheckReason::kNotPublished; });
  return absent ? 3 : 0;
}

BootImageReport check_all(std::span<const kube::Object> machine_sets, std::span<const kube::Object> control_plane_sets,
                          const stream::Stream& stream, const CheckPolicy& policy) {
  BootImageReport report;
  for (const std::span<const kube::Object> sets : {control_plane_sets, machine_sets}) {
    const auto first = static_cast<std::ptrdiff_t>(report.items.size());
    for (const kube::Object& set : sets) report.items.push_back(check_machine_set(set, stream, policy));
    std::sort(report.items.begin() + first, report.items.end(),
              [](const BootImageCheck& a, const BootImageCheck& b) { return a.key < b.key; });
  }
  return report;
}

std::string render_text(const BootImageReport& report) {
  std::vector<std::vector<std::string>> rows{{"NAME", "STATE", "ARCH", "REGION", "CURRENT", "DESIRED", "REASON"}};
  for (const BootImageCheck& item : report.items) {
    const std::string name = fmt::format(
        "{}/{}", item.kind == "ControlPlaneMachineSet" ? "controlplanemachineset" : "machineset", item.key.name);
    rows.push_back({name, std::string(to_string(item.state)), or_dash(item.arch), or_dash(item.region),
                    or_dash(item.current_image), or_dash(item.desired_image), item.reason});
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
                       {"currentImage", item.current_image},
                       {"desiredImage", item.desired_image},
                       {"desiredRelease", item.desired_release}};
    if (!item.patch.is_null()) entry["patch"] = item.patch;
    items.push_back(std::move(entry));
  }
  return json::Object{{"items", std::move(items)},
                      {"summary", json::Object{{"current", report.count(BootImageState::kCurrent)},
                                               {"behind", report.count(BootImageState::kBehind)},
                                               {"skipped", report.count(BootImageState::kSkipped)}}}};
}

}  // namespace strake::bootimage
