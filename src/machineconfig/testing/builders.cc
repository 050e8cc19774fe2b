#include "machineconfig/testing/builders.h"

#include "api/kinds.h"
#include "api/node_annotations.h"

namespace strake::machineconfig::builders {

json::Value from_text(std::string_view text) {
  auto value = json::parse(text);
  STRAKE_INVARIANT(value.ok());
  return *std::move(value);
}

kube::ObjectPtr shared(kube::Object object) { return std::make_shared<const kube::Object>(std::move(object)); }

kube::Object machine_config(const std::string& name, const std::string& role, json::Value spec) {
  kube::Object config(api::kMachineConfig, {"", name});
  config.set_label(api::label::kRole, role);
  config.json().get_object()["spec"] = std::move(spec);
  return config;
}

kube::Object machine_config(const std::string& name, const std::string& role, const char* spec_text) {
  return machine_config(name, role, from_text(std::string_view(spec_text)));
}

kube::Object pool_of(const std::string& name, const std::vector<std::string>& roles) {
  kube::Object pool(api::kMachineConfigPool, {"", name});
  json::ensure(pool.json(), {"metadata", "uid"}) = "pool-uid";
  json::Array values;
  for (const std::string& role : roles) values.emplace_back(role);
  json::ensure(pool.json(), {"spec", "machineConfigSelector", "matchExpressions"}) =
      json::Array{json::Object{{"key", api::label::kRole}, {"operator", "In"}, {"values", std::move(values)}}};
  return pool;
}

json::Value file_spec(const std::string& path, const std::string& contents) {
  json::Object file{{"path", path}, {"contents", json::Object{{"source", "data:," + contents}}}};
  return json::Object{{"config", json::Object{{"ignition", json::Object{{"version", "3.2.0"}}},
                                              {"storage", json::Object{{"files", json::Array{std::move(file)}}}}}}};
}

json::Value ignition_spec(std::string_view rest) {
  return from_text(
      fmt::format(R"({{"config":{{"ignition":{{"version":"3.5.0"}}{}{}}}}})", rest.empty() ? "" : ",", rest));
}

std::vector<Fragment> fragments_of(const std::vector<kube::Object>& configs) {
  std::vector<Fragment> fragments;
  for (const kube::Object& config : configs) {
    auto fragment = read_fragment(config);
    STRAKE_INVARIANT(fragment.ok());
    fragments.push_back(*std::move(fragment));
  }
  return fragments;
}

}  // namespace strake::machineconfig::builders
