#include "kube/exec_credential.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "base/time.h"
#include "codec/base64.h"
#include "codec/json.h"

namespace strake::kube {

namespace {

constexpr std::size_t kMaxExecOutputBytes = 1u << 20;
constexpr std::size_t kMaxQuotedStderrBytes = 500;
constexpr std::string_view kExecApiVersions[] = {"client.authentication.k8s.io/v1",
                                                 "client.authentication.k8s.io/v1beta1"};

std::string exec_info(const ClusterAccess& access) {
  json::Object spec{{"interactive", false}};
  if (access.exec->provide_cluster_info) {
    json::Object cluster{{"server", access.server}};
    if (!access.tls_server_name.empty()) cluster["tls-server-name"] = access.tls_server_name;
    if (!access.ca_pem.empty())
      cluster["certificate-authority-data"] = codec::encode_base64(std::string_view(access.ca_pem));
    if (!access.proxy_url.empty()) cluster["proxy-url"] = access.proxy_url;
    spec["cluster"] = std::move(cluster);
  }
  return json::write(
      json::Object{{"kind", "ExecCredential"}, {"apiVersion", access.exec->api_version}, {"spec", std::move(spec)}});
}

void set_variable(std::vector<std::string>& environment, const std::string& name, const std::string& value) {
  std::erase_if(environment, [&](const std::string& item) { return item.starts_with(name + "="); });
  environment.push_back(name + "=" + value);
}

Result<ExecCredential> run_plugin(const ClusterAccess& access, const ExecOptions& options, std::stop_token stop) {
  const ExecConfig& exec = *access.exec;
  if (std::find(std::begin(kExecApiVersions), std::end(kExecApiVersions), exec.api_version) ==
      std::end(kExecApiVersions)) {
    return error(Code::kUnsupported, "exec.apiVersion: \"{}\" is not one of {} and {}", exec.api_version,
                 kExecApiVersions[0], kExecApiVersions[1]);
  }
  if (exec.interactive_mode == "Always") {
    return error(Code::kUnsupported,
                 "exec.interactiveMode: the plugin needs a terminal, which this program does not give it");
  }

  Command command;
  command.argv.push_back(exec.command);
  command.argv.insert(command.argv.end(), exec.args.begin(), exec.args.end());
  command.env = options.environment;
  for (const auto& [name, value] : exec.env) set_variable(*command.env, name, value);
  set_variable(*command.env, "KUBERNETES_EXEC_INFO", exec_info(access));
  command.timeout = options.timeout;
  command.stdout_limit_bytes = kMaxExecOutputBytes;

  Result<ProcessOutput> output = options.run ? options.run(command, stop) : run(command, stop);
  if (!output.ok()) {
    if (output.error().code() == Code::kNotFound && !exec.install_hint.empty()) {
      return error(Code::kNotFound, "{}; {}", output.error().to_string(), exec.install_hint);
    }
    return std::move(output).error();
  }
  if (!output->exit.success()) {
    return error(Code::kUnauthenticated, "the program {}: {}", to_string(output->exit),
                 clip_utf8(output->stderr_bytes, kMaxQuotedStderrBytes));
  }
  return parse_exec_credential(output->stdout_bytes, exec.api_version);
}

}  // namespace

ExecOptions exec_options_from_process() {
  ExecOptions options;
  for (char** item = environ; item != nullptr && *item != nullptr; ++item) options.environment.emplace_back(*item);
  return options;
}

Result<ExecCredential> run_exec_plugin(const ClusterAccess& access, const ExecOptions& options, std::stop_token stop) {
  STRAKE_INVARIANT(access.exec.has_value());
  return run_plugin(access, options, std::move(stop)).context("credential plugin {}", access.exec->command);
}

Result<ExecCredential> parse_exec_credential(std::string_view text, std::string_view api_version) {
  json::ParseLimits limits;
  limits.max_bytes = kMaxExecOutputBytes;
  STRAKE_TRY_CONTEXT(const json::Value root, json::parse(text, limits), "its output");
  if (json::find_string(root, {"kind"}).value_or("") != "ExecCredential") {
    return error(Code::kInvalidArgument, "its output is not of kind ExecCredential");
  }
  const std::string answered = json::find_string(root, {"apiVersion"}).value_or("");
  if (answered != api_version) {
    return error(Code::kInvalidArgument, "its output has apiVersion \"{}\", expected {}", answered, api_version);
  }
  ExecCredential credential;
  credential.token = json::find_string(root, {"status", "token"}).value_or("");
  credential.client_cert_pem = json::find_string(root, {"status", "clientCertificateData"}).value_or("");
  credential.client_key_pem = json::find_string(root, {"status", "clientKeyData"}).value_or("");
  if (credential.client_cert_pem.empty() != credential.client_key_pem.empty()) {
    return error(Code::kInvalidArgument, "its output has only one of clientCertificateData and clientKeyData");
  }
  if (credential.token.empty() && credential.client_cert_pem.empty()) {
    return error(Code::kInvalidArgument, "its output has neither a token nor a client certificate");
  }
  if (const auto expires = json::find_string(root, {"status", "expirationTimestamp"})) {
    STRAKE_TRY_CONTEXT(credential.expires, parse_rfc3339(*expires), "expirationTimestamp of its output");
  }
  return credential;
}

}  // namespace strake::kube
