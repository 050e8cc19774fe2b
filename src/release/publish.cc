#include "release/publish.h"

namespace strake::release {

namespace {

/// Each attempt reads again, so more of them only help against a writer that never rests; that one needs a person.
constexpr int kMaxPublishAttempts = 5;

Result<ObservedObjects> observe_targets(kube::KubeApi& api, const kube::Call& call) {
  ObservedObjects observed;
  for (const PublicationTarget& target : publication_targets()) {
    Result<kube::Object> object = api.get(target.resource, target.key, call);
    if (object.ok()) {
      observed.put(target.resource, *std::move(object));
    } else if (object.error().code() != Code::kNotFound) {
      return std::move(object).error().context(
          fmt::format("reading {} {}", target.resource.qualified_name(), target.key.to_string()));
    }
  }
  return observed;
}

/// Somebody created, changed or removed the object after we read it.
bool lost_race(const Error& failure) {
  return failure.code() == Code::kConflict || failure.code() == Code::kExists || failure.code() == Code::kNotFound;
}

Result<kube::Object> run_step(kube::KubeApi& api, const PublicationStep& step, const kube::Object* latest,
                              const kube::Call& call) {
  kube::WriteOptions options;
  switch (step.action) {
    case PublicationStep::Action::kCreate: return api.create(step.resource, kube::Object(step.body), options, call);
    case PublicationStep::Action::kPatch: {
      json::Value body = step.body;
      // Which release may follow was decided from the object as it was read.
      if (step.if_unchanged && latest != nullptr) {
        json::ensure(body, {"metadata", "resourceVersion"}) = latest->resource_version();
      }
      return api.patch(step.resource, step.key, kube::PatchType::kMerge, body, options, call);
    }
    case PublicationStep::Action::kPatchStatus: break;
  }
  STRAKE_INVARIANT(latest != nullptr);
  json::Value body = step.body;
  // A merge patch replaces lists whole; pinned to the version the list was made from, it cannot drop another writer's
  // entries.
  json::ensure(body, {"metadata", "resourceVersion"}) = latest->resource_version();
  options.subresource = "status";
  return api.patch(step.resource, step.key, kube::PatchType::kMerge, body, options, call);
}

/// Runs the plan; every finished step is appended to `done`.
Status run_plan(kube::KubeApi& api, const std::vector<PublicationStep>& plan, ObservedObjects& observed,
                std::vector<PublicationStep>& done, const kube::Call& call) {
  for (const PublicationStep& step : plan) {
    STRAKE_TRY_CONTEXT(kube::Object after, run_step(api, step, observed.find(step.resource, step.key), call), "{}",
                       step.to_string());
    observed.put(step.resource, std::move(after));
    done.push_back(step);
  }
  return {};
}

}  // namespace

Result<std::vector<PublicationStep>> publish(kube::KubeApi& api, const ProvenRelease& release,
                                             const Publisher& publisher, const kube::Call& call) {
  const ReleasePayload& payload = release.payload();
  std::vector<PublicationStep> done;
  for (int attempt = 1;; ++attempt) {
    STRAKE_TRY_CONTEXT(ObservedObjects observed, observe_targets(api, call), "publishing release {}", payload.version);
    STRAKE_TRY(const std::vector<PublicationStep> plan, plan_publication(release, observed, publisher));
    Status status = run_plan(api, plan, observed, done, call);
    if (status.ok()) return done;
    if (!lost_race(status.error()) || attempt == kMaxPublishAttempts) {
      return std::move(status).error().context(fmt::format("publishing release {}", payload.version));
    }
  }
}

}  // namespace strake::release
