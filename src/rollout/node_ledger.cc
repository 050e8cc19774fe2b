#include "rollout/node_ledger.h"

namespace strake::rollout {

std::vector<NodeLedger::NodePtr> NodeLedger::update(const std::vector<kube::ObjectPtr>& cached) {
  std::map<std::string, Known> seen;
  std::vector<NodePtr> nodes;
  nodes.reserve(cached.size());
  for (const kube::ObjectPtr& object : cached) {
    const std::string name = object->name();
    Known known{object->resource_version(), nullptr};
    if (const auto before = cached_.find(name); before != cached_.end() && before->second.version == known.version) {
      known.view = before->second.view;
    } else {
      known.view = std::make_shared<const api::NodeView>(api::node_view(*object));
    }
    const auto ours = written_.find(name);
    if (ours != written_.end() && kube::is_older_version(known.version, ours->second.version)) {
      nodes.push_back(ours->second.view);
    } else {
      if (ours != written_.end()) written_.erase(ours);
      nodes.push_back(known.view);
    }
    seen.emplace(name, std::move(known));
  }
  cached_ = std::move(seen);
  // A node that left the cache was deleted after we wrote to it.
  std::erase_if(written_, [&](const auto& entry) { return !cached_.contains(entry.first); });
  return nodes;
}

void NodeLedger::wrote(const kube::Object& answer) {
  written_.insert_or_assign(
      answer.name(), Known{answer.resource_version(), std::make_shared<const api::NodeView>(api::node_view(answer))});
}

Status NodeLedger::resolve_doubts(kube::KubeApi& api, const kube::Call& call) {
  while (!doubted_.empty()) {
    const std::string name = *doubted_.begin();
    const auto node = api.get(kube::core::kNode, {"", name}, call);
    if (node.ok()) {
      wrote(*node);
    } else if (node.error().code() != Code::kNotFound) {
      return Error(node.error()).context(fmt::format("finding out whether node {} was targeted", name));
    }
    doubted_.erase(name);
  }
  return {};
}

}  // namespace strake::rollout
