#include "cmd/input/access_input.h"

#include <unistd.h>

#include "controlplane/enrolment.h"

namespace strake::cmd {

Result<json::Value> AccessServer::get(std::string_view what, const kube::Call& call) const {
  return api->get_raw(controlplane::access_path(what), call);
}

Result<json::Value> AccessServer::post(std::string_view what, const json::Object& body, const kube::Call& call) const {
  return api->post_raw(controlplane::access_path(what), body, call);
}

Result<AccessServer> connect_access(runtime::Runtime& runtime, const Invocation& invocation, const kube::Call& call) {
  AccessServer server;
  STRAKE_TRY(server.api, connect_https(runtime, invocation));
  auto authority = server.get("authority", call);
  const bool forbidden = !authority.ok() && authority.error().reason() == "Forbidden";
  if (!authority.ok() && !forbidden && authority.error().code() != Code::kNotFound) return std::move(authority).error();
  server.issues = authority.ok();
  if (authority.ok()) server.authority = *std::move(authority);
  return server;
}

Error kubernetes_has_its_own_way(std::string_view what, std::string_view instead) {
  return error(Code::kUnsupported, "this API server is Kubernetes, which {}; {}", what, instead)
      .with_verdict(Verdict::kBlocked);
}

Status check_can_be_made(const std::filesystem::path& file, std::string_view option) {
  std::error_code failure;
  const auto status = std::filesystem::symlink_status(file, failure);
  if (status.type() == std::filesystem::file_type::not_found) {
    // Before anything is issued: a credential nobody could write down would count all the same.
    const std::filesystem::path folder = file.parent_path().empty() ? "." : file.parent_path();
    if (::access(folder.c_str(), W_OK | X_OK) == 0) return {};
    return errno_error(errno, fmt::format("{} {}: writing to {}", option, file.string(), folder.string()));
  }
  return error(Code::kExists, "{} {}: the file is there already; remove it, or choose another name", option,
               file.string())
      .with_verdict(Verdict::kBlocked);
}

std::string answer_text(const json::Value& answer, std::string_view field) {
  return json::find_string(answer, {field}).value_or("");
}

}  // namespace strake::cmd
