// A cluster whose base configs are made by templates, for tests: what the release's OS image has, and what is set.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/kinds.h"
#include "api/node_annotations.h"
#include "api/release_contents.h"
#include "machineconfig/template/template_plan.h"
#include "machineconfig/testing/builders.h"

namespace strake::machineconfig::template_cluster {

inline constexpr const char* kRelease = "registry.example/release@sha256:b";
inline const std::string kAgentImage = "registry.example/strake@sha256:" + std::string(64, 'a');

/// A cluster with a release of one OS image.
struct Cluster {
  Cluster() {
    controller_config.set_annotation(api::config_annotation::kGeneratedByVersion, "1.0");
    json::ensure(controller_config.json(), {"metadata", "generation"}) = 3;
    json::ensure(controller_config.json(), {"spec", "releaseImage"}) = kRelease;
    contents.release_image = kRelease;
    contents.release_version = "4.21.0";
    contents.os_images = {api::OsImageFacts{"os@sha256:1", {"/usr/bin/podman"}}};
  }
  void image_has(std::set<std::string> files) {
    contents.os_images = {api::OsImageFacts{"os@sha256:1", std::move(files)}};
  }
  void agent_image(const std::string& image) { json::ensure(strake_config.json(), {"spec", "agentImage"}) = image; }

  TemplateInput input() const {
    TemplateInput input;
    input.controller_config = builders::shared(controller_config);
    kube::Object map(kube::core::kConfigMap, {"openshift-machine-config-operator", "strake-release"});
    json::ensure(map.json(), {"data"}) = api::release_contents_data(contents);
    input.release_contents = builders::shared(std::move(map));
    input.strake_config = builders::shared(strake_config);
    input.pools = pools;
    input.configs = configs;
    if (!pull_secret.json().get_object().empty()) input.pull_secret = builders::shared(pull_secret);
    input.version = "1.0";
    return input;
  }
  TemplatePlan plan() const { return plan_templates(input()); }

  kube::Object controller_config{api::kControllerConfig, {"", "machine-config-controller"}};
  kube::Object strake_config{api::kStrakeConfig, {"", "cluster"}};
  kube::Object pull_secret{};
  api::ReleaseContents contents;
  std::vector<kube::ObjectPtr> pools;
  std::vector<kube::ObjectPtr> configs;
};

}  // namespace strake::machineconfig::template_cluster
