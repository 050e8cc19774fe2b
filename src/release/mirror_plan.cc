#include "release/mirror_plan.h"

#include <algorithm>

#include "base/text.h"
#include "oci/reference.h"
#include "release/release_signatures.h"
#include "stream/query.h"

namespace strake::release {

namespace {

std::string repository_of_pull_spec(std::string_view pull_spec) {
  return std::string(pull_spec.substr(0, pull_spec.find('@')));
}

std::string valid_tag(std::string tag) {
  for (char& c : tag) {
    const bool valid = is_alphanumeric(c) || c == '.' || c == '-' || c == '_';
    if (!valid) c = '-';
  }
  if (tag.size() > oci::kMaxTagBytes) tag.resize(oci::kMaxTagBytes);
  return tag;
}

/// "strake-registry-example-com-5000-ocp-1a2b3c4d": a name as Kubernetes wants it, from what the sets say.
std::string mirror_set_name(const std::set<std::string>& sources, const std::string& mirror) {
  constexpr std::size_t kMaxReadableBytes = 40;
  constexpr std::size_t kHashDigits = 8;
  std::string readable;
  for (const char c : lower_case(mirror)) {
    if (is_alphanumeric(c)) {
      readable += c;
    } else if (!readable.empty() && readable.back() != '-') {
      readable += '-';
    }
  }
  readable.resize(std::min(readable.size(), kMaxReadableBytes));
  while (readable.ends_with('-')) readable.pop_back();
  std::string content = mirror;
  for (const std::string& source : sources) content += "\n" + source;
  return fmt::format("strake-{}-{}", readable, codec::sha256_hex(content).substr(0, kHashDigits));
}

json::Value mirror_set(std::string_view kind, std::string_view list, const std::set<std::string>& sources,
                       const std::string& mirror) {
  json::Array entries;
  for (const std::string& source : sources) {
    entries.push_back(json::Object{{"source", source}, {"mirrors", json::Array{json::Value(mirror)}}});
  }
  return json::Object{{"apiVersion", "config.openshift.io/v1"},
                      {"kind", kind},
                      {"metadata", json::Object{{"name", mirror_set_name(sources, mirror)}}},
                      {"spec", json::Object{{list, std::move(entries)}}}};
}

}  // namespace

std::string_view to_string(MirrorStep::Kind kind) {
  switch (kind) {
    case MirrorStep::Kind::kComponent: return "component";
    case MirrorStep::Kind::kBootArtifact: return "boot artifact";
    case MirrorStep::Kind::kSignatures: return "signatures";
    case MirrorStep::Kind::kRelease: return "release";
  }
  return "unknown";
}

std::string release_tag(std::string_view version, std::string_view arch_suffix) {
  return valid_tag(fmt::format("{}-{}", version, arch_suffix));
}

std::vector<MirrorStep> plan_mirror(const ReleasePayload& payload, std::string_view arch_suffix,
                                    std::span<const BootArtifact> artifacts, bool with_signatures) {
  using Kind = MirrorStep::Kind;
  const std::string home = repository_of_pull_spec(payload.pull_spec);
  const std::string tag = release_tag(payload.version, arch_suffix);
  std::vector<MirrorStep> plan;
  plan.reserve(payload.components.size() + artifacts.size() + 2);
  for (const auto& [name, component] : payload.components) {
    plan.push_back({Kind::kComponent, name, repository_of_pull_spec(component.pull_spec), component.digest,
                    valid_tag(fmt::format("{}-{}", tag, name))});
  }
  for (const BootArtifact& artifact : artifacts) {
    plan.push_back({Kind::kBootArtifact, artifact.label(), home, artifact.digest, boot_artifact_tag(artifact.digest)});
  }
  if (with_signatures) {
    plan.push_back({Kind::kSignatures, payload.version, home, payload.digest, signature_artifact_tag(payload.digest)});
  }
  plan.push_back({Kind::kRelease, payload.version, home, payload.digest, tag});
  return plan;
}

std::set<std::string> names_in_list(std::string_view list) {
  std::set<std::string> names;
  while (!list.empty()) names.emplace(take_until(list, ','));
  return names;
}

Result<std::vector<BootArtifact>> choose_artifacts(std::vector<BootArtifact> all, std::string_view platforms,
                                                   const std::set<std::string>& rpm_architectures) {
  if (platforms == "none") return std::vector<BootArtifact>();
  if (!rpm_architectures.empty()) {
    std::erase_if(all, [&](const BootArtifact& artifact) { return !rpm_architectures.contains(artifact.arch); });
  }
  if (platforms == "all") return all;
  std::map<std::string, bool> known;
  for (const BootArtifact& artifact : all) known[artifact.platform] = true;
  std::set<std::string> wanted;
  for (const std::string& name : names_in_list(platforms)) wanted.insert(stream::stream_platform(name));
  for (const std::string& name : wanted) {
    if (!known.contains(name)) {
      return error(Code::kNotFound, "the release has no boot artifacts for platform '{}' (it has: {})", name,
                   names_in(known));
    }
  }
  std::erase_if(all, [&](const BootArtifact& artifact) { return !wanted.contains(artifact.platform); });
  return all;
}

std::vector<json::Value> mirror_sets(std::span<const MirrorStep> plan, const std::string& mirror) {
  std::set<std::string> by_digest;
  std::set<std::string> by_tag;
  for (const MirrorStep& step : plan) {
    if (step.repository == mirror) continue;
    by_digest.insert(step.repository);
    if (step.kind == MirrorStep::Kind::kRelease) by_tag.insert(step.repository);
  }
  std::vector<json::Value> sets;
  if (!by_digest.empty()) sets.push_back(mirror_set("ImageDigestMirrorSet", "imageDigestMirrors", by_digest, mirror));
  if (!by_tag.empty()) sets.push_back(mirror_set("ImageTagMirrorSet", "imageTagMirrors", by_tag, mirror));
  return sets;
}

}  // namespace strake::release
