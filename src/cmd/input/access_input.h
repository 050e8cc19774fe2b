// What the verbs about credentials share: the API server that issues them, and files that hold them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "cmd/cli/command.h"
#include "cmd/input/connection.h"
#include "codec/json.h"
#include "kube/https_api.h"

namespace strake::cmd {

/// A connection to a server, and whether it issues credentials itself (`strake up`) or is Kubernetes.
struct AccessServer {
  std::unique_ptr<kube::HttpsApi> api;
  bool issues = false;
  json::Value authority;  ///< what it says about its authorities, when it issues

  Result<json::Value> get(std::string_view what, const kube::Call& call) const;
  Result<json::Value> post(std::string_view what, const json::Object& body, const kube::Call& call) const;
};
Result<AccessServer> connect_access(runtime::Runtime& runtime, const Invocation& invocation, const kube::Call& call);

/// Verdict::kBlocked: Kubernetes does this in its own way, which `instead` says.
Error kubernetes_has_its_own_way(std::string_view what, std::string_view instead);

/// Refuses a file that is there already, as credentials of somebody else would be lost, and one that cannot be made.
Status check_can_be_made(const std::filesystem::path& file, std::string_view option);

std::string answer_text(const json::Value& answer, std::string_view field);

}  // namespace strake::cmd
