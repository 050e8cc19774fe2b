#include <algorithm>
#include <array>

#include "api/conditions.h"
#include "api/controller_config.h"
#include "api/kinds.h"
#include "api/machine_config_pool.h"
#include "api/node_annotations.h"
#include "api/os_image_stream.h"
#include "api/release_contents.h"
#include "codec/json_patch.h"
#include "release/publish.h"
#include "release/release_order.h"

namespace strake::release {

namespace {

using Action = PublicationStep::Action;

constexpr std::array<std::string_view, 2> kBuiltInPools{api::kMasterPool, api::kWorkerPool};
constexpr std::string_view kBootImagesConfigMap = "coreos-bootimages";

const kube::ObjectKey kControllerConfigKey{"", std::string(api::kControllerConfigName)};
const kube::ObjectKey kOsImageStreamKey{"", std::string(api::kOsImageStreamName)};
const kube::ObjectKey kReleaseContentsKey{std::string(api::kMachineConfigNamespace),
                                          std::string(api::kReleaseContentsName)};
const kube::ObjectKey kBootImagesKey{std::string(api::kMachineConfigNamespace), std::string(kBootImagesConfigMap)};
const kube::ObjectKey kClusterVersionKey{"", std::string(api::kClusterVersionName)};
const kube::ObjectKey kNamespaceKey{"", std::string(api::kMachineConfigNamespace)};

/// Servers leave these out, or fill them in, as they like: to an owner of the field they all mean "not set".
bool counts_as_unset(const json::Value& value) {
  if (value.is_string()) return value.get_string().empty();
  if (value.is_array()) return value.get_array().empty();
  if (value.is_object()) return value.get_object().empty();
  if (value.is_bool()) return !value.get_bool();
  return value.is_null();
}

/// The part of a merge patch that `present` does not already satisfy; nullopt when all of it is.
std::optional<json::Value> missing_part(const json::Value* present, const json::Value& wanted) {
  if (wanted.is_null()) {
    if (present == nullptr || counts_as_unset(*present)) return std::nullopt;
    return wanted;
  }
  if (!wanted.is_object()) {
    if (present != nullptr && json::same_value(*present, wanted)) return std::nullopt;
    return wanted;
  }
  json::Object missing;
  for (const auto& [key, value] : wanted.get_object()) {
    const json::Value* member = present == nullptr ? nullptr : json::find(*present, {std::string_view(key)});
    if (std::optional<json::Value> part = missing_part(member, value)) missing[key] = *std::move(part);
  }
  if (missing.empty() && present != nullptr && present->is_object()) return std::nullopt;
  return json::Value(std::move(missing));
}

/// Ignition reads null as absent; a merge patch cannot say null. So the two meet at absent.
json::Value without_nulls(const json::Value& value) {
  if (value.is_array()) {
    json::Array array;
    for (const json::Value& item : value.get_array()) array.push_back(without_nulls(item));
    return array;
  }
  if (!value.is_object()) return value;
  json::Object object;
  for (const auto& [key, member] : value.get_object()) {
    if (!member.is_null()) object[key] = without_nulls(member);
  }
  return object;
}

api::ReleaseContents contents_of(const ReleasePayload& payload) {
  api::ReleaseContents contents;
  contents.release_image = payload.pull_spec;
  contents.release_version = payload.version;
  for (const auto& [role, spec] : payload.base_configs) contents.base_configs.emplace(role, without_nulls(spec));
  contents.os_images.reserve(payload.os_streams.size());
  for (const OsStream& stream : payload.os_streams) {
    std::optional<api::OsImageFacts> facts;
    if (stream.known_files) facts = api::OsImageFacts{stream.image.pull_spec, *stream.known_files};
    contents.os_images.push_back(std::move(facts));
  }
  return contents;
}

/// Said before anything is written: half a release is worse than none.
Status check_contents_fit(const ReleasePayload& payload) {
  const std::size_t size = json::write(json::Value(api::release_contents_data(contents_of(payload)))).size();
  if (size <= api::kMaxReleaseContentsBytes) return {};
  return error(Code::kExhausted, "the base configs of release {} have {} bytes together, the limit is {}",
               payload.version, size, api::kMaxReleaseContentsBytes);
}

class PublicationPlanner {
 public:
  PublicationPlanner(const ProvenRelease& release, const ReleaseHistory& history, const ObservedObjects& observed,
                     const Publisher& publisher)
      : payload_(release.payload()),
        proof_(release.proof()),
        history_(history),
        observed_(observed),
        publisher_(publisher),
        default_stream_(choose_default_stream()) {}

  std::vector<PublicationStep> plan() && {
    if (observed_.find(kube::core::kNamespace, kNamespaceKey) == nullptr) {
      want(kube::core::kNamespace, kNamespaceKey, json::Object{});
    }
    plan_controller_config();
    plan_release_contents();
    plan_os_image_stream();
    plan_boot_images();
    for (const std::string_view pool : kBuiltInPools) plan_pool(std::string(pool));
    plan_controller_config_status();
    return std::move(steps_);
  }

 private:
  /// What the administrator asked for, where the release has it.
  const OsStream& choose_default_stream() const {
    if (const kube::Object* object = observed_.find(api::kOsImageStream, kOsImageStreamKey)) {
      if (const OsStream* wished = payload_.find_stream(api::OsImageStreamView(object->json()).wished_default()))
        return *wished;
    }
    const OsStream* chosen = payload_.find_stream(payload_.default_stream);
    STRAKE_INVARIANT(chosen != nullptr);
    return *chosen;
  }

  /// Creates the object with `patch` as content, or patches what differs. True when a step was added.
  bool want(const kube::Resource& resource, const kube::ObjectKey& key, const json::Value& patch) {
    const kube::Object* present = observed_.find(resource, key);
    if (present == nullptr) {
      steps_.push_back(
          {Action::kCreate, resource, key, json::apply_merge_patch(kube::Object(resource, key).json(), patch)});
      return true;
    }
    std::optional<json::Value> missing = missing_part(&present->json(), patch);
    if (!missing) return false;
    steps_.push_back({Action::kPatch, resource, key, *std::move(missing)});
    return true;
  }

  void plan_controller_config() {
    const std::string extensions = default_stream_.extensions ? default_stream_.extensions->pull_spec : "";
    kube::Object patch;
    patch.set_annotation(api::config_annotation::kGeneratedByVersion, publisher_.version);
    patch.set_annotation(api::config_annotation::kReleaseImageVersion, payload_.version);
    patch.set_annotation(api::config_annotation::kReleaseSignature, proof_.record());
    patch.set_annotation(api::config_annotation::kInstalledVersion,
                         history_.installed.empty() ? payload_.version : history_.installed);
    api::ControllerConfigEdit edit(patch.json());
    edit.set_base_os_images(default_stream_.image.pull_spec, extensions);
    edit.set_release_image(payload_.pull_spec);
    if (want(api::kControllerConfig, kControllerConfigKey, patch.json())) steps_.back().if_unchanged = true;
  }

  /// The conditions of the templates and the observed generation are the template controller's.
  void plan_controller_config_status() {
    const kube::Object* present = observed_.find(api::kControllerConfig, kControllerConfigKey);
    json::Value after = present == nullptr ? json::Value(json::Object{}) : present->json();
    namespace condition = api::controller_config_condition;
    const bool changed = api::set_condition(
        after,
        {.type = std::string(condition::kReleaseSigned),
         .status = proof_.is_signed() ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
         .reason = proof_.is_signed() ? "Signed" : "Unsigned",
         .message = proof_.is_signed()
                        ? fmt::format("release {} is {}", payload_.version, proof_.record())
                        : fmt::format("release {} was applied unsigned, as the user wished", payload_.version),
         .last_transition_time = {}},
        publisher_.now);
    if (!changed) return;
    steps_.push_back(
        {Action::kPatchStatus, api::kControllerConfig, kControllerConfigKey, api::conditions_patch(after)});
  }

  /// One object, so that base configs of two releases are never seen together.
  void plan_release_contents() {
    want(kube::core::kConfigMap, kReleaseContentsKey,
         json::Object{{"data", api::release_contents_data(contents_of(payload_))}});
  }

  void plan_os_image_stream() {
    // Only complete pairs can be offered; a default without its extensions leaves the choice to ControllerConfig's
    // image.
    std::vector<api::OsStream> streams;
    for (const OsStream& stream : payload_.os_streams) {
      if (stream.extensions) streams.push_back({stream.name, stream.image.pull_spec, stream.extensions->pull_spec});
    }
    if (streams.empty() || !default_stream_.extensions) return;
    const kube::Object* present = observed_.find(api::kOsImageStream, kOsImageStreamKey);
    json::Value status = json::Object{};
    api::OsImageStreamEdit(status).set_status(default_stream_.name, streams);
    std::optional<json::Value> missing = missing_part(present == nullptr ? nullptr : &present->json(), status);
    // The annotation names the release the status belongs to, so it must never be ahead of it: a reader between the two
    // writes would take the old streams for the new release's.
    const auto write_status = [&] {
      if (missing)
        steps_.push_back({Action::kPatchStatus, api::kOsImageStream, kOsImageStreamKey, *std::move(missing)});
    };
    if (present != nullptr) write_status();
    kube::Object patch;
    // Not the release's version: renders compare this one with their own version.
    patch.set_annotation(api::config_annotation::kReleaseImageVersion, publisher_.version);
    patch.set_annotation(api::config_annotation::kReleasePayloadImage, payload_.pull_spec);
    api::OsImageStreamEdit(patch.json()).ensure_spec();
    want(api::kOsImageStream, kOsImageStreamKey, patch.json());
    if (present == nullptr) write_status();
  }

  void plan_boot_images() {
    if (!payload_.boot_images) return;
    const BootImages& images = *payload_.boot_images;
    want(kube::core::kConfigMap, kBootImagesKey,
         json::Object{{"data", json::Object{{"releaseVersion", payload_.version},
                                            {"stream", images.stream},
                                            {"streams",
                                             images.streams.empty() ? json::Value() : json::Value(images.streams)}}}});
  }

  /// Labels are kept as they must be; the spec belongs to the user once the pool exists.
  void plan_pool(const std::string& name) {
    const kube::ObjectKey key{"", name};
    kube::Object pool;
    pool.set_label(api::label::kBuiltInPool, "");
    pool.set_label(std::string(api::label::kPoolPrefix) + name, "");
    if (name == api::kMasterPool) pool.set_label(api::label::kRequiredForUpgrade, "");
    if (observed_.find(api::kMachineConfigPool, key) == nullptr) {
      const auto selector = [](std::string_view label, std::string_view value) {
        return json::Object{{"matchLabels", json::Object{{label, value}}}};
      };
      api::MachineConfigPoolEdit edit(pool.json());
      edit.set_machine_config_selector(selector(api::label::kRole, name));
      edit.set_node_selector(selector(std::string(api::label::kNodeRolePrefix) + name, ""));
      edit.set_paused(false);
    }
    want(api::kMachineConfigPool, key, pool.json());
  }

  const ReleasePayload& payload_;
  const ReleaseProof& proof_;
  const ReleaseHistory& history_;
  const ObservedObjects& observed_;
  const Publisher& publisher_;
  const OsStream& default_stream_;
  std::vector<PublicationStep> steps_;
};

}  // namespace

void ObservedObjects::put(const kube::Resource& resource, kube::Object object) {
  kube::ObjectKey key = object.key();
  objects_.insert_or_assign({resource.qualified_name(), std::move(key)}, std::move(object));
}

const kube::Object* ObservedObjects::find(const kube::Resource& resource, const kube::ObjectKey& key) const {
  const auto found = objects_.find({resource.qualified_name(), key});
  return found == objects_.end() ? nullptr : &found->second;
}

std::string PublicationStep::to_string() const {
  const std::string_view verb = action == Action::kCreate  ? "create"
                                : action == Action::kPatch ? "patch"
                                                           : "patch status of";
  return fmt::format("{} {} {}", verb, resource.qualified_name(), key.to_string());
}

std::vector<PublicationTarget> publication_targets() {
  std::vector<PublicationTarget> targets{
      {kube::core::kNamespace, kNamespaceKey},  {api::kControllerConfig, kControllerConfigKey},
      {api::kOsImageStream, kOsImageStreamKey}, {kube::core::kConfigMap, kReleaseContentsKey},
      {kube::core::kConfigMap, kBootImagesKey}, {api::kClusterVersion, kClusterVersionKey}};
  for (const std::string_view pool : kBuiltInPools)
    targets.push_back({api::kMachineConfigPool, {"", std::string(pool)}});
  return targets;
}

Result<std::vector<PublicationStep>> plan_publication(const ProvenRelease& release, const ObservedObjects& observed,
                                                      const Publisher& publisher) {
  const ReleaseHistory history = release_history(observed.find(api::kControllerConfig, kControllerConfigKey),
                                                 observed.find(api::kClusterVersion, kClusterVersionKey));
  STRAKE_CHECK_OK(check_release_order(history, release.payload().version, publisher.allow_downgrade));
  STRAKE_CHECK_OK(check_contents_fit(release.payload()));
  return PublicationPlanner(release, history, observed, publisher).plan();
}

}  // namespace strake::release
