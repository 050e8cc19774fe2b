#include "osbackend/kernel_argument_record.h"

#include "codec/json.h"
#include "osbackend/json_texts.h"

namespace strake::osbackend {

namespace {

constexpr std::size_t kMaxRecordBytes = 1u << 20;

}  // namespace

Result<KernelArgumentRecord> KernelArgumentRecord::load(FileTree& tree) {
  KernelArgumentRecord record(tree);
  STRAKE_TRY_CONTEXT(const auto file, tree.read(kPath), "reading which kernel arguments are ours");
  if (!file) return record;
  record.is_new_ = false;
  const auto parse = [&]() -> Status {
    STRAKE_TRY(const json::Value value, json::parse(file->contents, {.max_bytes = kMaxRecordBytes}));
    STRAKE_TRY(record.last_, texts_of(value, "last"));
    STRAKE_TRY(record.intended_, texts_of(value, "intended"));
    STRAKE_TRY(record.machine_, texts_of(value, "machine"));
    const json::Value* deployments = json::find(value, {"deployments"});
    if (deployments == nullptr || !deployments->is_object()) return error(Code::kCorrupt, "deployments: missing");
    for (const auto& [id, ours] : deployments->get_object()) {
      STRAKE_TRY(record.deployments_[std::string(id)], texts_of(*deployments, id));
    }
    return {};
  };
  if (const Status parsed = parse(); !parsed.ok()) {
    return error(Code::kCorrupt,
                 "{}, which says whose the kernel arguments are, is damaged ({}); put it back, or remove it: then all "
                 "arguments on the command line count as the machine's own and stay there",
                 kPath, parsed.error().to_string());
  }
  return record;
}

std::vector<std::string> KernelArgumentRecord::of(const std::string& deployment) const {
  const auto known = deployments_.find(deployment);
  return known != deployments_.end() ? known->second : either_of(last_, intended_);
}

DividedArguments KernelArgumentRecord::divide(const std::string& deployment,
                                              const std::vector<std::string>& line) const {
  if (knows(deployment)) return divide_arguments(line, of(deployment));
  const std::vector<std::string> not_the_machines = divide_arguments(line, machine_).machine;
  return divide_arguments(line, divide_arguments(not_the_machines, of(deployment)).ours);
}

Status KernelArgumentRecord::begin(const std::string& booted, const DividedArguments& arguments,
                                   const std::vector<std::string>& intended) {
  deployments_.insert_or_assign(booted, arguments.ours);
  last_ = arguments.ours;
  machine_ = arguments.machine;
  intended_ = intended;
  return save();
}

Status KernelArgumentRecord::note(const std::string& deployment, const std::vector<std::string>& ours,
                                  const std::set<std::string>& alive) {
  std::map<std::string, std::vector<std::string>> kept;
  for (auto& [id, arguments] : deployments_) {
    if (alive.contains(id)) kept.emplace(id, arguments);
  }
  kept.insert_or_assign(deployment, ours);
  deployments_ = std::move(kept);
  last_ = intended_ = ours;
  return save();
}

Status KernelArgumentRecord::save() {
  is_new_ = false;
  json::Object deployments;
  for (const auto& [id, ours] : deployments_) deployments[id] = json_of_texts(ours);
  json::Object value;
  value["deployments"] = std::move(deployments);
  value["last"] = json_of_texts(last_);
  value["intended"] = json_of_texts(intended_);
  value["machine"] = json_of_texts(machine_);
  return tree_->write(kPath, json::write_pretty(value), 0600, {})
      .context("writing which kernel arguments are ours ({})", kPath);
}

}  // namespace strake::osbackend
