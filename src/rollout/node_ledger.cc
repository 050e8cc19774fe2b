#include "rollout/node_ledger.h"

#include <algorithm>

namespace strake::rollout {

api::NodePtr NodeLedger::read(const kube::Object& node) {
  ++views_read_;
  return std::make_shared<const api::NodeView>(api::node_view(node));
}

api::NodePtr NodeLedger::current_view(const Seen& seen) {
  if (written_.empty()) return seen.view;
  const auto ours = written_.find(seen.view->name);
  if (ours == written_.end()) return seen.view;
  if (kube::is_older_version(seen.object->resource_version(), ours->second.version)) return ours->second.view;
  written_.erase(ours);
  return seen.view;
}

std::vector<api::NodePtr> NodeLedger::update(const std::vector<kube::ObjectPtr>& cached) {
  std::vector<Seen> seen;
  std::vector<api::NodePtr> nodes;
  seen.reserve(cached.size());
  nodes.reserve(cached.size());
  auto before = cached_.begin();
  for (const kube::ObjectPtr& object : cached) {
    const auto is_same = [&] { return before != cached_.end() && before->object == object; };
    if (!is_same()) {
      // Both are in the order of the names.
      const std::string name = object->name();
      while (before != cached_.end() && before->view->name < name) ++before;
      if (!is_same()) {
        api::NodePtr view = read(*object);
        // A heartbeat makes another object and the same view.
        if (before != cached_.end() && *before->view == *view) view = before->view;
        seen.push_back({object, std::move(view)});
      }
    }
    if (is_same()) seen.push_back(*before);
    nodes.push_back(current_view(seen.back()));
  }
  const auto is_gone = [&](const auto& entry) {
    const auto place = std::lower_bound(seen.begin(), seen.end(), entry.first,
                                        [](const Seen& one, const std::string& name) { return one.view->name < name; });
    return place == seen.end() || place->view->name != entry.first;
  };
  // A node that left the cache was deleted after we wrote to it.
  std::erase_if(written_, is_gone);
  cached_ = std::move(seen);
  return nodes;
}

void NodeLedger::wrote(const kube::Object& answer) {
  written_.insert_or_assign(answer.name(), Written{answer.resource_version(), read(answer)});
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
