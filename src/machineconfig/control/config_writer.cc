#include "machineconfig/control/config_writer.h"

#include "api/kinds.h"
#include "api/machine_config.h"
#include "kube/patch.h"

namespace strake::machineconfig {

namespace {

using namespace std::chrono_literals;

constexpr auto kOwnWritePatience = 5s;

std::string written_name(const kube::Object& object) { return fmt::format("{} {}", object.kind(), object.name()); }

/// The merge patch that leaves of `present` only what `wanted` has.
json::Value whole_replacement(const json::Value* present, const json::Value& wanted) {
  if (!wanted.is_object() || present == nullptr || !present->is_object()) return wanted;
  json::Object own;
  for (const auto& member : present->get_object()) {
    if (!wanted.get_object().contains(member.key())) own[member.key()] = nullptr;
  }
  for (const auto& member : wanted.get_object()) {
    own[member.key()] = whole_replacement(present->get_object().if_contains(member.key()), member.value());
  }
  return own;
}

/// Everything of `config` as a patch of `known`.
json::Value own_part(const kube::Object& config, const kube::Object& known) {
  json::Value own = json::Object{};
  api::MachineConfigEdit(own).set_whole_spec(*api::spec_of(config));
  const json::Value* wanted = api::MachineConfigView(config.json()).config();
  api::MachineConfigEdit(own).set_config(whole_replacement(api::MachineConfigView(known.json()).config(), *wanted));
  own.get_object()["metadata"] = json::Object{{"annotations", *json::find(config.json(), {"metadata", "annotations"})},
                                              {"labels", *json::find(config.json(), {"metadata", "labels"})}};
  return own;
}

}  // namespace

Status ConfigWriter::write(const kube::Object& config, const kube::Call& call) {
  const kube::ObjectPtr known = configs_.get(config.key());
  if (!known) {
    const auto created = api_.create(api::kMachineConfig, config, {}, call);
    if (created.ok()) note_written(*created);
    // There already: the informer will say what it is like, and we come back.
    if (created.ok() || created.error().code() == Code::kExists) return {};
    return Error(created.error()).context(fmt::format("creating {}", config.name()));
  }
  const auto written = kube::merge_patch_own_fields(api_, api::kMachineConfig, *known, own_part(config, *known),
                                                    kube::IfChanged::kRefuse, {}, call);
  if (!written.ok()) return Error(written.error()).context(fmt::format("writing {}", config.name()));
  if (written->resource_version() != known->resource_version()) note_written(*written);
  return {};
}

bool ConfigWriter::differs(const kube::Object& config) const {
  const kube::ObjectPtr known = configs_.get(config.key());
  return !known || kube::own_fields_patch(known->json(), own_part(config, *known)).has_value();
}

Status ConfigWriter::remove(const kube::Object& config, const kube::Call& call) {
  kube::DeleteOptions exactly_this;
  exactly_this.uid = config.uid();
  exactly_this.resource_version = config.resource_version();
  const auto removed = api_.remove(api::kMachineConfig, config.key(), exactly_this, call);
  if (removed.ok() || removed.error().code() == Code::kNotFound) return {};
  return Error(removed.error()).context(fmt::format("removing {}, which nothing asks for any more", config.name()));
}

void ConfigWriter::note_written(const kube::Object& object) {
  own_writes_[written_name(object)] = {object.resource_version(), runtime_.now()};
}

bool ConfigWriter::sees_own_writes(const std::vector<const std::vector<kube::ObjectPtr>*>& seen) {
  if (own_writes_.empty()) return true;
  std::map<std::string, std::string> versions;
  for (const auto* objects : seen) {
    for (const kube::ObjectPtr& object : *objects) versions[written_name(*object)] = object->resource_version();
  }
  std::erase_if(own_writes_, [&](const auto& own) {
    const auto found = versions.find(own.first);
    const bool seen_it = found != versions.end() && !kube::is_older_version(found->second, own.second.version);
    // Somebody may have deleted it since; a conflict tells who acts on old knowledge after all.
    return seen_it || runtime_.now() - own.second.when > kOwnWritePatience;
  });
  return own_writes_.empty();
}

}  // namespace strake::machineconfig
