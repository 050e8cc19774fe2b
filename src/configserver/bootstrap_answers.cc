#include "configserver/bootstrap_answers.h"

#include <algorithm>

#include "api/machine_config_pool.h"
#include "base/fd.h"
#include "codec/yaml.h"

namespace strake::configserver {

namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20;

Result<kube::ObjectPtr> read_object(const std::filesystem::path& path) {
  STRAKE_TRY(const std::string text, read_file(path, kMaxFileBytes));
  yaml::ParseLimits limits;
  limits.max_bytes = kMaxFileBytes;
  STRAKE_TRY_CONTEXT(json::Value value, yaml::parse(text, limits), "{}", path.string());
  if (!value.is_object()) return error(Code::kInvalidArgument, "{}: the document is not an object", path.string());
  return kube::ObjectPtr(std::make_shared<const kube::Object>(std::move(value)));
}

/// The first file by name; none is fine.
Result<kube::ObjectPtr> read_controller_config(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  std::error_code none;
  for (std::filesystem::directory_iterator entry(directory, none), end; !none && entry != end; entry.increment(none)) {
    if (entry->path().extension() == ".yaml") files.push_back(entry->path());
  }
  if (files.empty()) return kube::ObjectPtr();
  return read_object(*std::ranges::min_element(files));
}

Result<AssemblyInput> read_pool(const BootstrapInput& input, const kube::Object& pool) {
  const std::string name = api::MachineConfigPoolView(pool.json()).reached();
  if (name.empty()) return error(Code::kNotFound, "pool {}: status.configuration.name is missing", pool.name());
  if (!kube::is_object_name(name)) {
    return error(Code::kInvalidArgument, "pool {}: status.configuration.name is no name of an object", pool.name());
  }
  AssemblyInput assembly;
  assembly.bootstrap = true;
  STRAKE_TRY(assembly.config, read_object(input.directory / "machine-configs" / (name + ".yaml")));
  STRAKE_TRY(assembly.controller_config, read_controller_config(input.directory / "controller-config"));
  STRAKE_TRY(assembly.kubeconfig, read_file(input.kubeconfig, kMaxFileBytes));
  for (const auto& [registry, file] : input.registry_authorities) {
    STRAKE_TRY(std::string pem, read_file(file, kMaxFileBytes));
    assembly.registry_authorities.emplace_back(registry, std::move(pem));
  }
  return assembly;
}

std::shared_ptr<const PoolAnswers> answers_from(const BootstrapInput& input, std::string_view pool_name) {
  const auto pool = read_object(input.directory / "machine-pools" / fmt::format("{}.yaml", pool_name));
  if (!pool.ok()) {
    const bool missing = pool.error().code() == Code::kNotFound;
    return answer_with_problem(missing ? Outcome::kNoBootstrapConfig : Outcome::kNotReadable, pool.error().to_string());
  }
  const auto assembly = read_pool(input, **pool);
  if (assembly.ok()) return answer_in_every_version(*assembly);
  const bool missing = assembly.error().code() == Code::kNotFound;
  return answer_with_problem(missing ? Outcome::kNoBootstrapConfig : Outcome::kNotReadable,
                             assembly.error().to_string());
}

}  // namespace

std::shared_ptr<const AnswerBook> read_bootstrap(const BootstrapInput& input) {
  auto book = std::make_shared<AnswerBook>();
  book->unknown_pool.problem = "while the cluster is made, only the pools master and arbiter are served";
  for (const std::string_view pool : {api::kMasterPool, api::kArbiterPool}) {
    book->pools.emplace(std::string(pool), answers_from(input, pool));
  }
  return book;
}

}  // namespace strake::configserver
