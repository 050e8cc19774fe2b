#include "agent/preview.h"

namespace strake::agent {

namespace {

std::string name_or_nothing(const std::optional<kube::Object>& config) { return config ? config->name() : "no config"; }

std::string update_text(const UpdatePlan& update) {
  std::string text =
      fmt::format("  {}: {}\n", machineconfig::to_string(update.consequence.disruption),
                  update.consequence.reasons.empty() ? "nothing that a node notices"
                                                     : fmt::format("{}", fmt::join(update.consequence.reasons, ", ")));
  for (std::size_t i = 0; i < update.steps.size(); ++i)
    text += fmt::format("  {:>3}. {}\n", i + 1, to_string(update.steps[i]));
  if (update.steps.empty()) text += "  everything it asks for is in place already\n";
  return text;
}

}  // namespace

std::string to_text(const Preview& preview) {
  const Observation& observed = preview.observed;
  const std::string& desired = observed.node.desired_config;
  std::string node = fmt::format("node {}: ", observed.node.name);
  switch (preview.next) {
    case NextStep::kNothing:
      if (desired.empty()) return node + "was given no config yet; nothing to do\n";
      return node + fmt::format("runs {}, as it should; nothing to do\n", desired);
    case NextStep::kUpdate:
      return node + fmt::format("from {} to {}\n", name_or_nothing(observed.current), desired) +
             (preview.update ? update_text(*preview.update) : "");
    case NextStep::kRetry:
      return node +
             fmt::format("{} is not in place ({}) and is applied again\n", desired,
                         observed.mismatch ? observed.mismatch->to_string() : "") +
             (preview.update ? update_text(*preview.update) : "");
    case NextStep::kReboot:
      return node + fmt::format("all of {} is in place or staged; the machine reboots\n", desired);
    case NextStep::kFinish:
      return node + fmt::format("{} is in place; that is recorded and reported\n", observed.journal->config.name());
    case NextStep::kGiveUp:
      return node + fmt::format(
                        "{} could not be reached ({}) and is not tried again; put that right, or give the node "
                        "another config\n",
                        observed.journal->config.name(), observed.mismatch ? observed.mismatch->to_string() : "");
    case NextStep::kReport: return node + fmt::format("runs {}; the Node object is told so\n", desired);
  }
  return node;
}

}  // namespace strake::agent
