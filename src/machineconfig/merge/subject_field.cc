#include "machineconfig/merge/subject_field.h"

#include "api/machine_config.h"

namespace strake::machineconfig {

namespace {

void append_steps(json::Steps& steps, std::string_view path) {
  for (std::string& step : json::parse_steps(path)) steps.push_back(std::move(step));
}

/// Walks down one MachineConfig, and stays where the next step does not exist.
class FieldWalk {
 public:
  FieldWalk(const kube::Object& config, api::Field field)
      : steps_(json::parse_steps(field.path())), here_(api::find_field(config.json(), field)) {}

  FieldWalk& member(std::string_view name) {
    if (lost_) return *this;
    steps_.emplace_back(name);
    here_ = here_ == nullptr ? nullptr : json::find(*here_, {name});
    return *this;
  }

  /// The last item whose member is `value`; "" as member: that is the value itself.
  FieldWalk& item(std::string_view key, std::string_view value) {
    if (lost_) return *this;
    const json::Array* items = here_ == nullptr ? nullptr : here_->if_array();
    lost_ = true;
    for (std::size_t i = items == nullptr ? 0 : items->size(); i-- > 0;) {
      const json::Value* text = key.empty() ? &(*items)[i] : json::find((*items)[i], {key});
      if (text == nullptr || !text->is_string() || json::as_view(text->get_string()) != value) continue;
      steps_.push_back(fmt::format("[{}]", i));
      here_ = &(*items)[i];
      lost_ = false;
      break;
    }
    return *this;
  }

  json::Steps steps(std::string_view more = {}) {
    if (!lost_) append_steps(steps_, more);
    return std::move(steps_);
  }

 private:
  json::Steps steps_;
  const json::Value* here_;
  bool lost_ = false;  ///< an item was not found: what is deeper cannot be told
};

}  // namespace

json::Steps ignition_field(std::string_view member) {
  json::Steps steps = json::parse_steps(api::kMachineConfigFields["spec.config"].path());
  append_steps(steps, member);
  return steps;
}

json::Steps field_of(const kube::Object& config, const Subject& subject, std::string_view member) {
  const auto& fields = api::kMachineConfigFields;
  FieldWalk ignition(config, fields["spec.config"]);
  const std::string_view name = subject.name;
  switch (subject.kind) {
    case SubjectKind::kOsImage: return json::parse_steps(fields["spec.osImageURL"].path());
    case SubjectKind::kExtensionsImage: return json::parse_steps(fields["spec.baseOSExtensionsContainerImage"].path());
    case SubjectKind::kKernelType: return json::parse_steps(fields["spec.kernelType"].path());
    case SubjectKind::kFips: return json::parse_steps(fields["spec.fips"].path());
    case SubjectKind::kKernelArgument: return FieldWalk(config, fields["spec.kernelArguments"]).item("", name).steps();
    case SubjectKind::kExtension: return FieldWalk(config, fields["spec.extensions"]).item("", name).steps();
    case SubjectKind::kFile: return ignition.member("storage").member("files").item("path", name).steps(member);
    case SubjectKind::kDirectory:
      return ignition.member("storage").member("directories").item("path", name).steps(member);
    case SubjectKind::kLink: return ignition.member("storage").member("links").item("path", name).steps(member);
    case SubjectKind::kUnit: return ignition.member("systemd").member("units").item("name", name).steps(member);
    case SubjectKind::kDropin: {
      const std::size_t slash = name.find('/');
      ignition.member("systemd").member("units").item("name", name.substr(0, slash));
      ignition.member("dropins").item("name", slash == name.npos ? "" : name.substr(slash + 1));
      return ignition.steps(member);
    }
    case SubjectKind::kUser: return ignition.member("passwd").member("users").item("name", name).steps(member);
    case SubjectKind::kSshKey: {
      const std::size_t blank = name.find(' ');
      ignition.member("passwd").member("users").item("name", name.substr(0, blank)).member("sshAuthorizedKeys");
      return ignition.item("", blank == name.npos ? "" : name.substr(blank + 1)).steps();
    }
    case SubjectKind::kPassword:
      return ignition.member("passwd").member("users").item("name", name).member("passwordHash").steps();
    case SubjectKind::kGroup: return ignition.member("passwd").member("groups").item("name", name).steps(member);
    case SubjectKind::kIgnitionSection: return ignition_field(name);
  }
  return {};
}

}  // namespace strake::machineconfig
