#include "kube/kubeconfig.h"

#include <cstdlib>

#include "base/fd.h"
#include "codec/base64.h"
#include "codec/json.h"
#include "codec/yaml.h"

namespace strake::kube {

namespace {

constexpr std::size_t kMaxKubeconfigBytes = 8u << 20;
constexpr std::size_t kMaxKubeconfigEntries = 10'000;
constexpr std::size_t kMaxKubeconfigFiles = 100;

/// One mapping of the file together with its place in it, so that every error names the field.
class KubeconfigFields {
 public:
  KubeconfigFields(const json::Value& value, std::string place, const std::filesystem::path& folder)
      : value_(value), place_(std::move(place)), folder_(folder) {}

  Error wrong(std::string_view field, std::string_view what) const {
    return error(Code::kInvalidArgument, "{}{}{}: {}", place_, place_.empty() || field.empty() ? "" : ".", field, what);
  }

  Status check_is_mapping() const {
    if (value_.is_object()) return {};
    return wrong("", fmt::format("must be a mapping, found {}", json::type_name(value_)));
  }

  /// nullptr when absent or null.
  const json::Value* find(std::string_view field) const {
    const json::Value* found = json::find(value_, {field});
    return found != nullptr && found->is_null() ? nullptr : found;
  }

  Status read(std::string_view field, std::string& into) const {
    const json::Value* found = find(field);
    if (found == nullptr) return {};
    if (!found->is_string()) {
      return wrong(field, fmt::format("must be a string, found {} (put it in quotes)", json::type_name(*found)));
    }
    into = json::as_view(found->get_string());
    return {};
  }

  Status read(std::string_view field, bool& into) const {
    const json::Value* found = find(field);
    if (found == nullptr) return {};
    if (!found->is_bool()) return wrong(field, fmt::format("must be true or false, found {}", json::type_name(*found)));
    into = found->get_bool();
    return {};
  }

  Status read(std::string_view field, std::vector<std::string>& into) const {
    const json::Value* found = find(field);
    if (found == nullptr) return {};
    if (!found->is_array()) return wrong(field, fmt::format("must be a list, found {}", json::type_name(*found)));
    for (const json::Value& item : found->get_array()) {
      if (!item.is_string()) return wrong(field, fmt::format("must hold strings, found {}", json::type_name(item)));
      into.emplace_back(json::as_view(item.get_string()));
    }
    return {};
  }

  Status read_path(std::string_view field, std::filesystem::path& into) const {
    std::string text;
    STRAKE_CHECK_OK(read(field, text));
    if (!text.empty()) into = folder_ / text;  // an absolute path replaces the folder
    return {};
  }

  Status read_base64(std::string_view field, std::string& into) const {
    std::string text;
    STRAKE_CHECK_OK(read(field, text));
    std::erase_if(text, [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; });
    Result<std::string> decoded = codec::decode_base64(text, codec::kBase64Lenient);
    if (!decoded.ok()) return wrong(field, fmt::format("is not base64: {}", decoded.error().message()));
    into = *std::move(decoded);
    return {};
  }

  const std::filesystem::path& folder() const { return folder_; }
  const std::string& place() const { return place_; }
  const json::Value& value() const { return value_; }

 private:
  const json::Value& value_;
  std::string place_;
  const std::filesystem::path& folder_;
};

Result<ExecConfig> read_exec(const KubeconfigFields& fields) {
  STRAKE_CHECK_OK(fields.check_is_mapping());
  ExecConfig exec;
  STRAKE_CHECK_OK(fields.read("apiVersion", exec.api_version));
  STRAKE_CHECK_OK(fields.read("command", exec.command));
  STRAKE_CHECK_OK(fields.read("args", exec.args));
  STRAKE_CHECK_OK(fields.read("installHint", exec.install_hint));
  STRAKE_CHECK_OK(fields.read("interactiveMode", exec.interactive_mode));
  STRAKE_CHECK_OK(fields.read("provideClusterInfo", exec.provide_cluster_info));
  if (exec.command.empty()) return fields.wrong("command", "must name a program");
  // A path is relative to the file; a bare name is looked up in PATH.
  if (exec.command.find('/') != std::string::npos) exec.command = (fields.folder() / exec.command).string();
  if (const json::Value* env = fields.find("env")) {
    if (!env->is_array()) return fields.wrong("env", "must be a list");
    for (std::size_t i = 0; i < env->get_array().size(); ++i) {
      const KubeconfigFields item(env->get_array()[i], fmt::format("{}.env[{}]", fields.place(), i), fields.folder());
      STRAKE_CHECK_OK(item.check_is_mapping());
      std::pair<std::string, std::string> variable;
      STRAKE_CHECK_OK(item.read("name", variable.first));
      STRAKE_CHECK_OK(item.read("value", variable.second));
      if (variable.first.empty() || variable.first.find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
        return item.wrong("name", "must be the name of an environment variable");
      }
      exec.env.push_back(std::move(variable));
    }
  }
  return exec;
}

Result<KubeconfigCluster> read_cluster(const KubeconfigFields& fields) {
  KubeconfigCluster cluster;
  STRAKE_CHECK_OK(fields.read("server", cluster.server));
  STRAKE_CHECK_OK(fields.read_base64("certificate-authority-data", cluster.ca_pem));
  STRAKE_CHECK_OK(fields.read_path("certificate-authority", cluster.ca_file));
  STRAKE_CHECK_OK(fields.read("tls-server-name", cluster.tls_server_name));
  STRAKE_CHECK_OK(fields.read("proxy-url", cluster.proxy_url));
  STRAKE_CHECK_OK(fields.read("insecure-skip-tls-verify", cluster.insecure_skip_tls_verify));
  return cluster;
}

Result<KubeconfigUser> read_user(const KubeconfigFields& fields) {
  KubeconfigUser user;
  STRAKE_CHECK_OK(fields.read_base64("client-certificate-data", user.client_certificate_pem));
  STRAKE_CHECK_OK(fields.read_path("client-certificate", user.client_certificate_file));
  STRAKE_CHECK_OK(fields.read_base64("client-key-data", user.client_key_pem));
  STRAKE_CHECK_OK(fields.read_path("client-key", user.client_key_file));
  STRAKE_CHECK_OK(fields.read("token", user.token));
  STRAKE_CHECK_OK(fields.read_path("tokenFile", user.token_file));
  STRAKE_CHECK_OK(fields.read("username", user.username));
  STRAKE_CHECK_OK(fields.read("password", user.password));
  STRAKE_CHECK_OK(fields.read("as", user.impersonate_user));
  STRAKE_CHECK_OK(fields.read("as-uid", user.impersonate_uid));
  STRAKE_CHECK_OK(fields.read("as-groups", user.impersonate_groups));
  if (const json::Value* provider = fields.find("auth-provider")) {
    user.auth_provider = json::find_string(*provider, {"name"}).value_or("unnamed");
  }
  if (const json::Value* exec = fields.find("exec")) {
    STRAKE_TRY(user.exec, read_exec(KubeconfigFields(*exec, fields.place() + ".exec", fields.folder())));
  }
  return user;
}

Result<KubeconfigContext> read_context(const KubeconfigFields& fields) {
  KubeconfigContext context;
  STRAKE_CHECK_OK(fields.read("cluster", context.cluster));
  STRAKE_CHECK_OK(fields.read("user", context.user));
  STRAKE_CHECK_OK(fields.read("namespace", context.ns));
  return context;
}

/// `clusters: [{name: x, cluster: {...}}]` and its siblings, which differ only in words.
template <typename Entry>
Status read_entries(const KubeconfigFields& root, std::string_view list_name, std::string_view entry_name,
                    Result<Entry> (*read_entry)(const KubeconfigFields&), const std::filesystem::path& file,
                    std::map<std::string, Entry>& into) {
  const json::Value* list = root.find(list_name);
  if (list == nullptr) return {};
  if (!list->is_array()) return root.wrong(list_name, fmt::format("must be a list, found {}", json::type_name(*list)));
  if (list->get_array().size() > kMaxKubeconfigEntries) {
    return root.wrong(list_name, fmt::format("holds more than {} entries", kMaxKubeconfigEntries));
  }
  for (std::size_t i = 0; i < list->get_array().size(); ++i) {
    const KubeconfigFields item(list->get_array()[i], fmt::format("{}[{}]", list_name, i), root.folder());
    STRAKE_CHECK_OK(item.check_is_mapping());
    std::string name;
    STRAKE_CHECK_OK(item.read("name", name));
    if (name.empty()) return item.wrong("name", "must not be empty");
    const json::Value nothing = json::Object{};
    const json::Value* content = item.find(entry_name);
    const KubeconfigFields fields(content == nullptr ? nothing : *content,
                                  fmt::format("{}.{}", item.place(), entry_name), root.folder());
    STRAKE_CHECK_OK(fields.check_is_mapping());
    STRAKE_TRY(Entry entry, read_entry(fields));
    entry.file = file;
    if (!into.try_emplace(name, std::move(entry)).second)
      return item.wrong("name", fmt::format("\"{}\" is used twice", name));
  }
  return {};
}

void put(json::Object& into, std::string_view field, const std::string& text) {
  if (!text.empty()) into[field] = text;
}

void put_base64(json::Object& into, std::string_view field, const std::string& bytes) {
  if (!bytes.empty()) into[field] = codec::encode_base64(std::string_view(bytes));
}

json::Array string_array(const std::vector<std::string>& items) { return json::Array(items.begin(), items.end()); }

json::Object cluster_json(const KubeconfigCluster& cluster) {
  json::Object out;
  put_base64(out, "certificate-authority-data", cluster.ca_pem);
  put(out, "certificate-authority", cluster.ca_file.string());
  put(out, "server", cluster.server);
  put(out, "tls-server-name", cluster.tls_server_name);
  put(out, "proxy-url", cluster.proxy_url);
  if (cluster.insecure_skip_tls_verify) out["insecure-skip-tls-verify"] = true;
  return out;
}

json::Object user_json(const KubeconfigUser& user) {
  json::Object out;
  put_base64(out, "client-certificate-data", user.client_certificate_pem);
  put(out, "client-certificate", user.client_certificate_file.string());
  put_base64(out, "client-key-data", user.client_key_pem);
  put(out, "client-key", user.client_key_file.string());
  put(out, "token", user.token);
  put(out, "tokenFile", user.token_file.string());
  put(out, "username", user.username);
  put(out, "password", user.password);
  put(out, "as", user.impersonate_user);
  put(out, "as-uid", user.impersonate_uid);
  if (!user.impersonate_groups.empty()) out["as-groups"] = string_array(user.impersonate_groups);
  if (!user.exec) return out;
  json::Object exec;
  put(exec, "apiVersion", user.exec->api_version);
  put(exec, "command", user.exec->command);
  if (!user.exec->args.empty()) exec["args"] = string_array(user.exec->args);
  json::Array env;
  for (const auto& [name, value] : user.exec->env) env.push_back(json::Object{{"name", name}, {"value", value}});
  if (!env.empty()) exec["env"] = std::move(env);
  put(exec, "installHint", user.exec->install_hint);
  put(exec, "interactiveMode", user.exec->interactive_mode);
  if (user.exec->provide_cluster_info) exec["provideClusterInfo"] = true;
  out["exec"] = std::move(exec);
  return out;
}

json::Object context_json(const KubeconfigContext& context) {
  json::Object out{{"cluster", context.cluster}, {"user", context.user}};
  put(out, "namespace", context.ns);
  return out;
}

template <typename Entry>
json::Array entries_json(const std::map<std::string, Entry>& entries, std::string_view entry_name,
                         json::Object (*entry_json)(const Entry&)) {
  json::Array list;
  for (const auto& [name, entry] : entries) {
    json::Object item{{"name", name}};
    item[entry_name] = entry_json(entry);
    list.push_back(std::move(item));
  }
  return list;
}

Result<Kubeconfig> load_kubeconfig_file(const std::filesystem::path& file) {
  STRAKE_TRY_CONTEXT(const std::string text, read_file(file, kMaxKubeconfigBytes), "kubeconfig {}", file.string());
  return parse_kubeconfig(text, file);
}

}  // namespace

Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::filesystem::path& file) {
  const auto in_file = [&](Error error) {
    return std::move(error).context(fmt::format("kubeconfig {}", file.string()));
  };
  yaml::ParseLimits limits;
  limits.max_bytes = kMaxKubeconfigBytes;
  Result<std::vector<yaml::Document>> documents = yaml::parse_stream(text, limits);
  if (!documents.ok()) return in_file(std::move(documents).error());
  Kubeconfig config;
  if (documents->empty()) return config;
  if (documents->size() > 1) return in_file(error(Code::kInvalidArgument, "must hold one YAML document"));

  const std::filesystem::path folder = file.parent_path();
  const KubeconfigFields root(documents->front().value, "", folder);
  const auto read_all = [&]() -> Status {
    if (!root.value().is_object())
      return error(Code::kInvalidArgument, "must be a mapping, found {}", json::type_name(root.value()));
    STRAKE_CHECK_OK(root.read("current-context", config.current_context));
    STRAKE_CHECK_OK(read_entries(root, "clusters", "cluster", read_cluster, file, config.clusters));
    STRAKE_CHECK_OK(read_entries(root, "users", "user", read_user, file, config.users));
    return read_entries(root, "contexts", "context", read_context, file, config.contexts);
  };
  if (Status read = read_all(); !read.ok()) return in_file(std::move(read).error());
  return config;
}

void merge_kubeconfig(Kubeconfig& earlier, Kubeconfig later) {
  if (earlier.current_context.empty()) earlier.current_context = std::move(later.current_context);
  earlier.clusters.merge(later.clusters);
  earlier.users.merge(later.users);
  earlier.contexts.merge(later.contexts);
}

KubeconfigLocations kubeconfig_locations(std::filesystem::path explicit_file) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  return {std::move(explicit_file), variable("KUBECONFIG"), variable("HOME")};
}

Result<Kubeconfig> load_kubeconfig(const KubeconfigLocations& locations) {
  if (!locations.explicit_file.empty()) return load_kubeconfig_file(locations.explicit_file);

  std::vector<std::filesystem::path> files;
  const std::string& list = locations.kubeconfig_variable;
  for (std::size_t start = 0; start < list.size();) {
    const std::size_t end = std::min(list.find(':', start), list.size());
    if (end > start) files.emplace_back(list.substr(start, end - start));
    start = end + 1;
  }
  if (files.size() > kMaxKubeconfigFiles) {
    return error(Code::kInvalidArgument, "KUBECONFIG names more than {} files", kMaxKubeconfigFiles);
  }
  if (list.empty() && !locations.home.empty()) files.push_back(locations.home / ".kube" / "config");

  Kubeconfig merged;
  for (const std::filesystem::path& file : files) {
    Result<Kubeconfig> config = load_kubeconfig_file(file);
    if (config.ok()) {
      merge_kubeconfig(merged, *std::move(config));
    } else if (config.error().code() != Code::kNotFound) {
      return config;
    }
  }
  return merged;
}

Result<std::string> write_kubeconfig(const Kubeconfig& config) {
  json::Object root{{"apiVersion", "v1"}, {"kind", "Config"}, {"preferences", json::Object{}}};
  root["clusters"] = entries_json(config.clusters, "cluster", cluster_json);
  root["users"] = entries_json(config.users, "user", user_json);
  root["contexts"] = entries_json(config.contexts, "context", context_json);
  root["current-context"] = config.current_context;
  return yaml::emit(root).context("writing a kubeconfig");
}

}  // namespace strake::kube
