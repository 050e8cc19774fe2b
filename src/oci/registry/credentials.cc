#include "oci/registry/credentials.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/fd.h"
#include "base/text.h"
#include "codec/base64.h"
#include "codec/json.h"

namespace strake::oci {

namespace {

constexpr std::size_t kMaxHelperNameBytes = 64;
constexpr std::size_t kMaxHelperOutputBytes = 1u << 20;
constexpr std::string_view kDefaultRegistryKey = "https://index.docker.io/v1/";
constexpr std::string_view kTokenUser = "<token>";
constexpr std::string_view kHelperHasNothing = "credentials not found";

/// "host[:port][/path]" of what old tools wrote as a URL; "docker.io" under its current name.
std::string normalized_key(std::string_view key) {
  const bool is_url = key.starts_with("https://") || key.starts_with("http://");
  if (is_url) key.remove_prefix(key.find("://") + 3);
  while (key.ends_with('/')) key.remove_suffix(1);
  // Only old URLs carry the version of the API as a path; below a bare host "v1" may be a namespace.
  for (const std::string_view version : {"/v1", "/v2"}) {
    if (is_url && key.ends_with(version)) key.remove_suffix(version.size());
  }
  const std::string_view host = key.substr(0, key.find('/'));
  if (host == "index.docker.io" || host == "registry-1.docker.io") {
    return "docker.io" + std::string(key.substr(host.size()));
  }
  return std::string(key);
}

Result<std::optional<Credentials>> parse_auth_entry(const json::Value& entry) {
  if (!entry.is_object()) return error(Code::kInvalidArgument, "expected an object, found {}", json::type_name(entry));
  Credentials found;
  found.identity_token = json::find_string(entry, {"identitytoken"}).value_or("");
  const std::string auth = json::find_string(entry, {"auth"}).value_or("");
  if (!auth.empty()) {
    // Not the decoder's own words: they quote the text, which is a secret.
    const Result<std::string> pair = codec::decode_base64(auth, codec::kBase64Lenient);
    const std::size_t colon = pair.ok() ? pair->find(':') : std::string::npos;
    if (colon == std::string::npos) {
      return error(Code::kInvalidArgument, "auth is not the base64 form of USER:PASSWORD; log in again");
    }
    found.user = pair->substr(0, colon);
    found.password = pair->substr(colon + 1);
    // Docker pads the pair with zero bytes in some old files.
    while (found.password.ends_with('\0')) found.password.pop_back();
  } else {
    found.user = json::find_string(entry, {"username"}).value_or("");
    found.password = json::find_string(entry, {"password"}).value_or("");
  }
  // Docker leaves an empty object where a helper keeps the secret.
  if (found.user.empty() && found.identity_token.empty()) return std::optional<Credentials>();
  return std::optional(std::move(found));
}

Result<std::optional<std::string>> read_if_there(const std::filesystem::path& file, bool required) {
  Result<std::string> text = read_file(file, kMaxAuthFileBytes);
  if (text.ok()) return std::optional(*std::move(text));
  if (text.error().code() == Code::kNotFound && !required) return std::optional<std::string>();
  return std::move(text).error();
}

Result<std::optional<Credentials>> find_in_file(const AuthFile& file, std::string_view registry,
                                                std::string_view repository, const CredentialOptions& options,
                                                std::stop_token stop) {
  if (const std::string helper = file.find_helper(registry); !helper.empty()) {
    STRAKE_TRY(auto found, ask_credential_helper(helper, registry, options, stop));
    if (found) return found;
  }
  if (const Credentials* found = file.find(registry, repository)) return std::optional(*found);
  if (!file.default_helper.empty()) return ask_credential_helper(file.default_helper, registry, options, stop);
  return std::optional<Credentials>();
}

}  // namespace

const Credentials* AuthFile::find(std::string_view registry, std::string_view repository) const {
  std::string key = fmt::format("{}/{}", registry, repository);
  for (;;) {
    if (const auto found = entries.find(key); found != entries.end()) return &found->second;
    const std::size_t slash = key.rfind('/');
    if (slash == std::string::npos) return nullptr;
    key.resize(slash);
  }
}

std::string AuthFile::find_helper(std::string_view registry) const {
  const auto found = helpers.find(std::string(registry));
  return found == helpers.end() ? std::string() : found->second;
}

Result<AuthFile> parse_auth_file(std::string_view text) {
  json::ParseLimits limits;
  limits.max_bytes = kMaxAuthFileBytes;
  AuthFile file;
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return file;  // `touch auth.json` is common
  STRAKE_TRY(const json::Value document, json::parse(text, limits));
  if (!document.is_object()) {
    return error(Code::kInvalidArgument, "expected an object, found {}", json::type_name(document));
  }
  file.default_helper = json::find_string(document, {"credsStore"}).value_or("");
  if (const json::Value* helpers = json::find(document, {"credHelpers"}); helpers != nullptr && helpers->is_object()) {
    for (const auto& [host, helper] : helpers->get_object()) {
      if (!helper.is_string()) {
        return error(Code::kInvalidArgument, "credHelpers '{}': expected the name of a helper", std::string_view(host));
      }
      file.helpers[normalized_key(host)] = json::as_view(helper.get_string());
    }
  }
  const json::Value* auths = json::find(document, {"auths"});
  if (auths == nullptr || auths->is_null()) return file;
  if (!auths->is_object()) {
    return error(Code::kInvalidArgument, "auths: expected an object, found {}", json::type_name(*auths));
  }
  for (const auto& [key, value] : auths->get_object()) {
    STRAKE_TRY_CONTEXT(auto found, parse_auth_entry(value), "auths '{}'", std::string_view(key));
    if (!found) continue;
    const std::string name = normalized_key(key);
    // A key written as it is used now wins over an old spelling of the same host.
    if (name == std::string_view(key)) {
      file.entries.insert_or_assign(name, *std::move(found));
    } else {
      file.entries.emplace(name, *std::move(found));
    }
  }
  return file;
}

CredentialOptions credential_options(const ReadVariable& variable, unsigned user_id) {
  CredentialOptions options;
  const auto folder = [&](std::string_view name) { return std::filesystem::path(variable(name).value_or("")); };
  if (const std::filesystem::path file = folder("REGISTRY_AUTH_FILE"); !file.empty()) {
    options.files = {file};
    options.files_required = true;
    return options;
  }
  const std::filesystem::path runtime = folder("XDG_RUNTIME_DIR");
  options.files.push_back(runtime.empty() ? std::filesystem::path(fmt::format("/run/containers/{}/auth.json", user_id))
                                          : runtime / "containers/auth.json");
  const std::filesystem::path home = folder("HOME");
  std::filesystem::path config = folder("XDG_CONFIG_HOME");
  if (config.empty() && !home.empty()) config = home / ".config";
  if (!config.empty()) options.files.push_back(config / "containers/auth.json");
  std::filesystem::path docker = folder("DOCKER_CONFIG");
  if (docker.empty() && !home.empty()) docker = home / ".docker";
  if (!docker.empty()) options.files.push_back(docker / "config.json");
  return options;
}

CredentialOptions credential_options_from_process() {
  const ReadVariable variable = [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  return credential_options(variable, ::getuid());
}

Result<std::optional<Credentials>> find_credentials(std::string_view registry, std::string_view repository,
                                                    const CredentialOptions& options, std::stop_token stop) {
  for (const std::filesystem::path& path : options.files) {
    STRAKE_TRY_CONTEXT(const auto text, read_if_there(path, options.files_required), "reading auth file");
    if (!text) continue;
    STRAKE_TRY_CONTEXT(const AuthFile file, parse_auth_file(*text), "auth file {}", path.string());
    STRAKE_TRY_CONTEXT(auto found, find_in_file(file, registry, repository, options, stop), "auth file {}",
                       path.string());
    if (found) return found;
  }
  return std::optional<Credentials>();
}

bool is_helper_name(std::string_view name) {
  const auto is_word = [](char c) { return is_alphanumeric(c); };
  return !name.empty() && name.size() <= kMaxHelperNameBytes && is_word(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return is_word(c) || c == '-' || c == '_' || c == '.'; });
}

Result<std::optional<Credentials>> ask_credential_helper(std::string_view name, std::string_view registry,
                                                         const CredentialOptions& options, std::stop_token stop) {
  if (!is_helper_name(name)) {
    return error(Code::kInvalidArgument, "'{}' cannot be the name of a credential helper", name);
  }
  Command command;
  command.argv = {fmt::format("docker-credential-{}", name), "get"};
  // Helpers file the default registry under the address docker used for it at first.
  command.stdin_bytes = registry == "docker.io" ? kDefaultRegistryKey : registry;
  command.timeout = options.helper_timeout;
  command.stdout_limit_bytes = kMaxHelperOutputBytes;
  const auto ask = [&]() -> Result<std::optional<Credentials>> {
    STRAKE_TRY(const ProcessOutput output, options.run ? options.run(command, stop) : run(command, stop));
    if (!output.exit.success()) {
      if (output.stdout_bytes.find(kHelperHasNothing) != std::string::npos) return std::optional<Credentials>();
      return error(Code::kIo, "it {}", to_string(output.exit));  // what it printed may be a secret
    }
    const Result<json::Value> answer = json::parse(output.stdout_bytes);
    if (!answer.ok()) return error(Code::kCorrupt, "its answer is not JSON");
    Credentials found;
    found.user = json::find_string(*answer, {"Username"}).value_or("");
    found.password = json::find_string(*answer, {"Secret"}).value_or("");
    if (found.user.empty() && found.password.empty()) return std::optional<Credentials>();
    if (found.user == kTokenUser) {
      found.user.clear();
      found.identity_token = std::exchange(found.password, {});
    }
    return std::optional(std::move(found));
  };
  return ask().context("asking credential helper {} for {}", command.argv.front(), registry);
}

}  // namespace strake::oci
