#include "configserver/cluster_answers.h"

#include <algorithm>

#include "api/controller_config.h"
#include "api/kinds.h"
#include "api/roles.h"
#include "codec/base64.h"
#include "codec/digest.h"
#include "configserver/choice.h"
#include "configserver/node_kubeconfig.h"
#include "configserver/watching.h"

namespace strake::configserver {

namespace {

const std::string kNamespace(api::kMachineConfigNamespace);

kube::ControllerOptions answer_controller_options(const kube::Hooks& hooks) {
  kube::ControllerOptions options;
  options.name = "config-server";
  options.hooks = hooks;
  return options;
}

kube::ObjectPtr in_namespace(const kube::Informer& informer, std::string_view name) {
  return informer.get({kNamespace, std::string(name)});
}

/// Of a ControllerConfig only this goes into answers; its status changes all the time.
std::string authorities_of(const kube::ObjectPtr& controller_config) {
  if (!controller_config) return "";
  const api::ControllerConfigView view(controller_config->json());
  return view.api_server_ca_base64() + "," + view.cloud_ca_base64();
}

/// Equal for inputs that give equal bytes. A name alone does not do: a config may be made anew under it.
std::string fingerprint(const AssemblyInput& input) {
  return codec::sha256_hex(fmt::format("{}\n{}\n{}\n{}\n{}", input.config->uid(), input.config->resource_version(),
                                       input.layered_image, authorities_of(input.controller_config), input.kubeconfig));
}

PoolServing serving_of(const std::string& pool, const PoolAnswers& answers) {
  PoolServing serving;
  serving.pool = pool;
  serving.config = answers.config;
  serving.layered_image = answers.layered_image;
  std::set<std::string> reasons;
  bool any_served = false;
  for (const auto& [version, answer] : answers.by_version) {
    if (answer.body) {
      any_served = true;
      serving.bytes = std::max(serving.bytes, answer.body->size());
    } else if (version != ignition::SpecVersion{3, 0}) {  // nobody can write it, whatever the config says
      serving.problems[ignition::to_string(version)] = answer.problem;
      reasons.insert(answer.problem);
    }
  }
  if (!any_served && reasons.size() == 1) serving.problems = {{"", *reasons.begin()}};
  return serving;
}

/// The same refusal of a pool's machines is told so often.
constexpr std::chrono::minutes kTellRefusalEvery{5};

/// What is wrong with the machines' stub and what to do, for who looks at the pool; "" for what is told otherwise.
std::string refusal_words(Outcome outcome, const std::string& pool) {
  const std::string renew = fmt::format("`strake stub token create --pool {} --into STUB` puts one into it", pool);
  switch (outcome) {
    case Outcome::kNoToken: return "their stub carries no token; " + renew;
    case Outcome::kBadToken: return "nobody knows the token of their stub; " + renew;
    case Outcome::kTokenExpired: return "the token of their stub has ended; " + renew;
    case Outcome::kTokenRevoked: return "the token of their stub was revoked; " + renew;
    case Outcome::kTokenUsedUp: return "the token of their stub was used as often as it may be; " + renew;
    case Outcome::kBadCertificate:
      return "their client certificate does not count; `strake config-server auth show` says whose do";
    case Outcome::kWrongPool:
      return "what they show is good for another pool; look at the URL of their stub, and at its token";
    case Outcome::kTooManyRefused: return "their address was refused too often and has to wait; look for the reason";
    case Outcome::kUnsupportedVersion:
      return "they read an Ignition version that nobody can write; use another boot image";
    case Outcome::kServed:
    case Outcome::kNoBootstrapConfig:
    case Outcome::kNotReady:
    case Outcome::kNoPool:
    case Outcome::kNotRendered:
    case Outcome::kNotConvertible:
    case Outcome::kNotReadable:
    case Outcome::kAccessUnknown: return "";
  }
  return "";
}

/// For kinds that a cluster need not have: that they are missing is no failure.
kube::InformerOptions where_there(kube::InformerOptions options) {
  options.hooks.on_informer_failure = [next = options.hooks.on_informer_failure](const kube::InformerFailure& failure) {
    if (failure.error.code() != Code::kNotFound && next) next(failure);
  };
  return options;
}

}  // namespace

ClusterAnswers::ClusterAnswers(runtime::Runtime& runtime, kube::KubeApi& api, AnswerShelf& shelf,
                               ClusterAnswersOptions options)
    : runtime_(runtime),
      shelf_(shelf),
      options_(std::move(options)),
      pools_(runtime, api, api::kMachineConfigPool, all_objects()),
      configs_(runtime, api, api::kMachineConfig, all_objects()),
      controller_configs_(runtime, api, api::kControllerConfig, all_objects()),
      token_(runtime, api, kube::core::kSecret, one_object(api::serving_object::kBootstrapToken)),
      api_server_ca_(runtime, api, kube::core::kConfigMap, one_object(api::serving_object::kApiServerCa)),
      identity_(runtime, api, kube::core::kSecret, one_object(api::serving_object::kIdentity)),
      os_configs_(runtime, api, api::kMachineOsConfig, where_there(all_objects())),
      os_builds_(runtime, api, api::kMachineOsBuild, where_there(all_objects())),
      events_(runtime, api, server_events(options_.hooks)),
      controller_(runtime, answer_controller_options(options_.hooks),
                  [this](const kube::ObjectKey& key, const kube::Call&) { return reconcile(key); }) {
  const auto always = [](const kube::Object&, const kube::Object&) { return true; };
  const auto every_pool = [this](const kube::Object&) { return all_pools(); };
  controller_.watch(pools_, always);
  for (kube::Informer* informer : {&controller_configs_, &token_, &api_server_ca_}) {
    controller_.watch(*informer, every_pool, always);
  }
  // Of thousands of MachineConfigs only the rendered ones are served, and those hardly change.
  controller_.watch(
      configs_,
      [this](const kube::Object& config) {
        return config.name().starts_with("rendered-") ? all_pools() : std::vector<kube::ObjectKey>{};
      },
      always);
  for (kube::Informer* informer : {&os_configs_, &os_builds_}) {
    informer->on_change([this](const kube::ObjectKey&) { wake_pools(); });
  }
  identity_.on_change([this](const kube::ObjectKey&) { take_identity(); });
}

kube::Hooks ClusterAnswers::watched_hooks() {
  const kube::Hooks& outer = options_.hooks;
  const std::size_t informer = watched_++;
  kube::Hooks hooks = outer;
  hooks.on_informer_failure = [this, informer, next = outer.on_informer_failure](const kube::InformerFailure& failure) {
    {
      const std::scoped_lock lock(mutex_);
      failing_since_.try_emplace(informer, runtime_.now());
    }
    if (next) next(failure);
  };
  hooks.on_informer_contact = [this, informer, next = outer.on_informer_contact](const kube::Resource& resource) {
    {
      const std::scoped_lock lock(mutex_);
      failing_since_.erase(informer);
    }
    if (next) next(resource);
  };
  return hooks;
}

kube::InformerOptions ClusterAnswers::all_objects() {
  kube::InformerOptions options;
  options.hooks = watched_hooks();
  return options;
}

kube::InformerOptions ClusterAnswers::one_object(std::string_view name) {
  return watch_one({kNamespace, std::string(name)}, watched_hooks());
}

std::vector<kube::Informer*> ClusterAnswers::informers() {
  return {&pools_, &configs_, &controller_configs_, &token_, &api_server_ca_, &identity_, &os_configs_, &os_builds_};
}

void ClusterAnswers::start() {
  events_.start();
  for (kube::Informer* informer : informers()) informer->start();
  controller_.start();
}

void ClusterAnswers::stop() {
  controller_.stop();
  for (kube::Informer* informer : informers()) informer->stop();
  events_.stop();
}

std::optional<runtime::Duration> ClusterAnswers::stale_for() const {
  const std::scoped_lock lock(mutex_);
  std::optional<runtime::TimePoint> first;
  for (const auto& [informer, since] : failing_since_) first = std::min(first.value_or(since), since);
  if (!first) return std::nullopt;
  return runtime_.now() - *first;
}

void ClusterAnswers::note_refused(const std::string& pool, Outcome outcome) {
  const std::string words = refusal_words(outcome, pool);
  if (words.empty()) return;
  const kube::ObjectPtr object = pools_.get({"", pool});
  if (!object) return;
  {
    const std::scoped_lock lock(mutex_);
    const auto [told, first] = refusals_told_.try_emplace({pool, outcome}, runtime_.now());
    if (!first && runtime_.now() < told->second + kTellRefusalEvery) return;
    told->second = runtime_.now();
  }
  events_.record(*object, kube::EventType::kWarning, "MachineRefused",
                 fmt::format("New machines are refused ({}): {}. `strake stub list --callers` names them, `strake stub "
                             "check` the stubs",
                             to_string(outcome), words));
}

std::vector<kube::ObjectKey> ClusterAnswers::all_pools() const {
  std::vector<kube::ObjectKey> keys;
  for (const kube::ObjectPtr& pool : pools_.list()) keys.push_back(pool->key());
  return keys;
}

void ClusterAnswers::wake_pools() {
  for (const kube::ObjectKey& key : all_pools()) controller_.enqueue(key);
}

void ClusterAnswers::take_identity() {
  const kube::ObjectPtr secret = in_namespace(identity_, api::serving_object::kIdentity);
  if (!secret || !options_.on_identity) return;
  const auto certificate = codec::decode_base64(secret->text({"data", "tls.crt"}));
  const auto key = codec::decode_base64(secret->text({"data", "tls.key"}));
  // What is broken is said by whoever tries to use it.
  options_.on_identity(certificate.ok() ? *certificate : "", key.ok() ? *key : "");
}

Result<kube::Reconciled> ClusterAnswers::reconcile(const kube::ObjectKey& pool_key) {
  const kube::ObjectPtr pool = pools_.get(pool_key);
  if (!pool) {
    shelf_.put_pool(pool_key.name, nullptr);
    {
      const std::scoped_lock lock(mutex_);
      std::erase_if(refusals_told_, [&](const auto& told) { return told.first.first == pool_key.name; });
    }
    PoolServing serving;
    serving.pool = pool_key.name;
    serving.gone = true;
    tell(nullptr, std::move(serving));
    return kube::Reconciled{};
  }
  const std::shared_ptr<const PoolAnswers> answers = answers_for(*pool);
  shelf_.put_pool(pool->name(), answers);
  tell(pool.get(), serving_of(pool->name(), *answers));
  return kube::Reconciled{};
}

std::shared_ptr<const PoolAnswers> ClusterAnswers::answers_for(const kube::Object& pool) {
  const auto name = served_config(pool);
  if (!name.ok()) return answer_with_problem(Outcome::kNotRendered, name.error().to_string());
  AssemblyInput input;
  input.config = configs_.get({"", *name});
  if (!input.config) {
    return answer_with_problem(
        Outcome::kNotRendered,
        fmt::format("MachineConfig {}, which pool {} is to run, is not there", *name, pool.name()));
  }
  input.controller_config = controller_configs_.get({"", std::string(api::kControllerConfigName)});
  input.layered_image = layered_image(pool, *name, os_configs_.list(), os_builds_.list());
  auto kubeconfig =
      node_kubeconfig({options_.api_server_url, in_namespace(api_server_ca_, api::serving_object::kApiServerCa),
                       in_namespace(token_, api::serving_object::kBootstrapToken), options_.bootstrap_token_optional});
  if (!kubeconfig.ok()) return answer_with_problem(Outcome::kNotReadable, kubeconfig.error().to_string());
  input.kubeconfig = *std::move(kubeconfig);
  const std::string inputs = fingerprint(input);
  if (const auto book = shelf_.current()) {
    const auto known = book->pools.find(pool.name());
    if (known != book->pools.end() && known->second->inputs == inputs) return known->second;
  }
  auto answers = std::make_shared<PoolAnswers>(*answer_in_every_version(input));
  answers->inputs = inputs;
  return answers;
}

void ClusterAnswers::tell(const kube::Object* pool, PoolServing serving) {
  const auto known = told_.find(serving.pool);
  if (known != told_.end() && known->second == serving) return;
  if (pool != nullptr) {
    for (const auto& [version, problem] : serving.problems) {
      events_.record(*pool, kube::EventType::kWarning, "ConfigNotServed",
                     version.empty()
                         ? fmt::format("New machines get no config: {}", problem)
                         : fmt::format("New machines that read Ignition {} get no config: {}", version, problem));
    }
  }
  if (options_.on_pool) options_.on_pool(serving);
  if (serving.gone) {
    told_.erase(serving.pool);
  } else {
    told_.insert_or_assign(serving.pool, std::move(serving));
  }
}

}  // namespace strake::configserver
