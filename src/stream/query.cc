#include "stream/query.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/text_table.h"
#include "stream/os_version.h"

namespace strake::stream {

namespace {

constexpr std::string_view kAzure = "azure";
constexpr std::string_view kExtensions = "rhel-coreos-extensions";
/// Members of the extensions that belong to one platform.
constexpr std::pair<std::string_view, std::string_view> kExtensionPlatforms[] = {
    {"azure-disk", kAzure}, {"marketplace", kAzure}, {"aws-winli", "aws-winli"}};

using TableRows = std::vector<std::vector<std::string>>;
using NameSet = std::map<std::string, bool>;  // as names_in() wants it

std::string dash_if_empty(const std::string& text) { return text.empty() ? "-" : text; }

std::string joined_keys(const auto& map) {
  std::string text;
  for (const auto& [name, value] : map) text += (text.empty() ? "" : " ") + name;
  return text;
}

/// Walks the document; nullptr when a step is missing.
const json::Value* value_at(const json::Value& root, const std::vector<std::string>& path) {
  const json::Value* value = &root;
  for (const std::string& step : path) {
    value = value->is_object() ? value->get_object().if_contains(step) : nullptr;
    if (value == nullptr) return nullptr;
  }
  return value;
}

NameSet platforms_of(const StreamArchitecture& architecture) {
  NameSet names;
  for (const auto& [name, platform] : architecture.artifacts) names[name] = true;
  for (const auto& [name, images] : architecture.images) names[name] = true;
  if (!architecture.azure.empty()) names[std::string(kAzure)] = true;
  return names;
}

/// Fills in an answer from the document; the typed entry was found there, so its path exists.
StreamAnswer answer_at(const Stream& stream, const std::vector<std::string>& path) {
  StreamAnswer answer;
  for (const std::string& step : path) answer.path += (answer.path.empty() ? "" : ".") + step;
  const json::Value* value = value_at(stream.document, path);
  STRAKE_INVARIANT(value != nullptr);
  answer.value = *value;
  return answer;
}

void add_row(TableRows& rows, std::string name, const std::string& value) {
  if (!value.empty()) rows.push_back({std::move(name), value});
}

void add_image_rows(TableRows& rows, const CloudImage& image) {
  add_row(rows, "release", image.release);
  add_row(rows, "image", image.image);
  add_row(rows, "digest-ref", image.digest_ref);
  add_row(rows, "project", image.project);
  add_row(rows, "family", image.family);
  add_row(rows, "name", image.name);
  add_row(rows, "bucket", image.bucket);
  add_row(rows, "object", image.object);
  add_row(rows, "url", image.url);
}

std::string artifact_table(const std::string& release, const std::string& format,
                           const std::map<std::string, Artifact>& members) {
  TableRows rows;
  for (const auto& [member, artifact] : members) {
    add_row(rows, "format", members.size() == 1 ? format : fmt::format("{} ({})", format, member));
    add_row(rows, "release", release);
    add_row(rows, "location", artifact.location);
    add_row(rows, "signature", artifact.signature);
    add_row(rows, "sha256", artifact.sha256);
    add_row(rows, "uncompressed-sha256", artifact.uncompressed_sha256);
    rows.push_back({});
  }
  rows.pop_back();
  return align_columns(rows);
}

/// Asks for every member, so that what is incomplete is refused before anybody uses it.
Status add_artifacts(const Stream& stream, const StreamQuery& query, const std::string& format, StreamAnswer& answer) {
  const ArtifactPlatform& platform = stream.architectures.at(query.arch).artifacts.at(query.platform);
  const auto& members = platform.formats.at(format);
  for (const auto& [member, artifact] : members) {
    STRAKE_TRY(const Artifact usable, stream.artifact(query.arch, query.platform, format, member));
    answer.references.push_back(usable.location);
  }
  if (members.empty()) return {};
  if (!answer.text.empty()) answer.text += "\n";
  answer.text += artifact_table(platform.release, format, members);
  return {};
}

Result<StreamAnswer> ask_for_artifacts(const Stream& stream, const StreamQuery& query) {
  const StreamArchitecture& architecture = stream.architectures.at(query.arch);
  const auto platform = architecture.artifacts.find(query.platform);
  if (platform == architecture.artifacts.end()) {
    return error(Code::kNotFound, "stream '{}' has no {} artifact for {} (it has: {})", stream.name, query.arch,
                 query.platform, names_in(architecture.artifacts));
  }
  std::vector<std::string> path{"architectures", query.arch, "artifacts", query.platform};
  if (query.format.empty()) {
    StreamAnswer answer = answer_at(stream, path);
    for (const auto& [format, members] : platform->second.formats) {
      STRAKE_CHECK_OK(add_artifacts(stream, query, format, answer));
    }
    return answer;
  }
  if (!platform->second.formats.contains(query.format)) {
    return error(Code::kNotFound, "stream '{}': {} {} has no format {} (it has: {})", stream.name, query.arch,
                 query.platform, query.format, names_in(platform->second.formats));
  }
  path.insert(path.end(), {"formats", query.format});
  StreamAnswer answer = answer_at(stream, path);
  STRAKE_CHECK_OK(add_artifacts(stream, query, query.format, answer));
  return answer;
}

std::vector<std::string> path_of_images(const Stream& stream, const StreamQuery& query) {
  const CloudImages& images = stream.architectures.at(query.arch).images.at(query.platform);
  return {"architectures", query.arch, images.section, query.platform};
}

Result<StreamAnswer> ask_for_region(const Stream& stream, const StreamQuery& query) {
  STRAKE_TRY(const CloudImage image, stream.image(query.arch, query.platform, query.region));
  std::vector<std::string> path = path_of_images(stream, query);
  path.insert(path.end(), {"regions", query.region});
  StreamAnswer answer = answer_at(stream, path);
  TableRows rows;
  add_image_rows(rows, image);
  answer.text = align_columns(rows);
  answer.references = {image.reference()};
  return answer;
}

StreamAnswer answer_with_images(const Stream& stream, const StreamQuery& query, const CloudImages& images) {
  StreamAnswer answer = answer_at(stream, path_of_images(stream, query));
  TableRows rows;
  if (images.global) {
    add_image_rows(rows, *images.global);
    answer.references.push_back(images.global->reference());
  } else {
    rows.push_back({"REGION", "RELEASE", "IMAGE"});
    for (const auto& [region, image] : images.regions) {
      rows.push_back({region, dash_if_empty(image.release), image.reference()});
      answer.references.push_back(image.reference());
    }
  }
  answer.text = align_columns(rows);
  return answer;
}

/// What an installation takes: the image without a purchase plan, of the second generation unless told otherwise; where
/// the marketplace has none, the disk, which boots on both.
Result<std::string> azure_reference(const Stream& stream, const StreamQuery& query, const AzureImages& azure) {
  const auto free_plan = azure.plans.find(std::string(kNoPurchasePlan));
  const MarketplacePlan plan = free_plan == azure.plans.end() ? MarketplacePlan{} : free_plan->second;
  const AzureGeneration wanted = query.generation.value_or(AzureGeneration::kV2);
  if (const auto& image = wanted == AzureGeneration::kV1 ? plan.gen1 : plan.gen2) return image->urn();
  const bool none = !plan.gen1 && !plan.gen2;
  if (azure.disk && (none || !query.generation)) return azure.disk->url;
  if (!query.generation) return std::string();
  return error(Code::kNotFound, "stream '{}' has no {} image for Azure machines of generation {} (it has: {})",
               stream.name, query.arch, to_string(wanted), none ? "none" : (plan.gen1 ? "V1" : "V2"));
}

Result<StreamAnswer> answer_with_azure(const Stream& stream, const StreamQuery& query, const AzureImages& azure) {
  StreamAnswer answer = answer_at(stream, {"architectures", query.arch, std::string(kExtensions)});
  json::Object value;
  for (const auto& [member, platform] : kExtensionPlatforms) {
    const json::Value* found = json::find(answer.value, {member});
    if (platform == kAzure && found != nullptr) value[member] = *found;
  }
  answer.value = std::move(value);
  TableRows rows{{"PLAN", "GENERATION", "IMAGE"}};
  for (const auto& [name, plan] : azure.plans) {
    if (plan.gen1) rows.push_back({name, "V1", plan.gen1->urn()});
    if (plan.gen2) rows.push_back({name, "V2", plan.gen2->urn()});
  }
  if (azure.disk) rows.push_back({"(disk to copy)", "-", azure.disk->url});
  answer.text = align_columns(rows);
  STRAKE_TRY(std::string reference, azure_reference(stream, query, azure));
  if (!reference.empty()) answer.references = {std::move(reference)};
  return answer;
}

/// Removes the members of an object that are not `wanted`.
void keep_only(json::Value* object, std::string_view wanted) {
  if (object == nullptr || !object->is_object() || wanted.empty()) return;
  json::Object kept;
  if (json::Value* value = object->get_object().if_contains(wanted)) kept[wanted] = std::move(*value);
  *object = std::move(kept);
}

/// Keeps of every member only the part `wanted` of its member `part`; those that have none go.
void keep_part(json::Value* object, std::string_view part, std::string_view wanted) {
  if (object == nullptr || !object->is_object() || wanted.empty()) return;
  json::Object kept;
  for (auto& [name, entry] : object->get_object()) {
    if (json::find(entry, {part, wanted}) == nullptr) continue;
    keep_only(json::find(entry, {part}), wanted);
    kept[name] = std::move(entry);
  }
  *object = std::move(kept);
}

void narrow_extensions(json::Value& architecture, const StreamQuery& query) {
  json::Value* extensions = json::find(architecture, {kExtensions});
  if (extensions == nullptr || !extensions->is_object()) return;
  for (const auto& [member, platform] : kExtensionPlatforms) {
    const bool other_platform = !query.platform.empty() && platform != query.platform;
    const bool other_kind = !query.format.empty() || (!query.region.empty() && platform == kAzure);
    if (other_platform || other_kind) extensions->get_object().erase(member);
  }
  if (!query.region.empty() && json::find(*extensions, {"aws-winli"}) != nullptr) {
    keep_only(json::find(*extensions, {"aws-winli", "regions"}), query.region);
  }
}

void narrow_architecture(json::Value& architecture, const StreamQuery& query) {
  json::Value* artifacts = json::find(architecture, {"artifacts"});
  json::Value* images = json::find(architecture, {"images"});
  keep_only(artifacts, query.platform);
  keep_only(images, query.platform);
  // A region is a matter of images and a format one of artifacts: who asks for one does not want the other.
  keep_part(artifacts, "formats", query.format);
  keep_part(images, "regions", query.region);
  if (!query.format.empty() && images != nullptr) *images = json::Object{};
  if (!query.region.empty() && artifacts != nullptr) *artifacts = json::Object{};
  narrow_extensions(architecture, query);
}

/// What there would be to choose from, for the message that nothing matches.
Error nothing_matches(const Stream& stream, const StreamQuery& query) {
  NameSet platforms, regions, formats;
  for (const auto& [arch, architecture] : stream.architectures) {
    if (!query.arch.empty() && arch != query.arch) continue;
    platforms.merge(platforms_of(architecture));
    for (const auto& [name, images] : architecture.images) {
      if (!query.platform.empty() && name != query.platform) continue;
      for (const auto& [region, image] : images.regions) regions[region] = true;
    }
    for (const auto& [name, platform] : architecture.artifacts) {
      if (!query.platform.empty() && name != query.platform) continue;
      for (const auto& [format, members] : platform.formats) formats[format] = true;
    }
  }
  if (!query.platform.empty() && !platforms.contains(query.platform)) {
    return error(Code::kNotFound, "stream '{}' has no platform {} (it has: {})", stream.name, query.platform,
                 names_in(platforms));
  }
  if (!query.region.empty() && !regions.contains(query.region)) {
    return error(Code::kNotFound, "stream '{}' has no region {} (it has: {})", stream.name, query.region,
                 names_in(regions));
  }
  return error(Code::kNotFound, "stream '{}' has no format {} (it has: {})", stream.name, query.format,
               names_in(formats));
}

std::string cloud_summary(const StreamArchitecture& architecture, const std::string& platform) {
  if (platform == kAzure && !architecture.azure.empty()) {
    const std::size_t plans = architecture.azure.plans.size();
    return fmt::format("{} marketplace plan{}{}", plans, plans == 1 ? "" : "s",
                       architecture.azure.disk ? ", disk" : "");
  }
  const auto images = architecture.images.find(platform);
  if (images == architecture.images.end()) return "-";
  if (images->second.global) return images->second.global->reference();
  if (images->second.regions.size() > 1) return fmt::format("{} regions", images->second.regions.size());
  const auto& [region, image] = *images->second.regions.begin();
  return fmt::format("{} in {}", image.reference(), region);
}

/// Of the artifacts, else of the cloud images where they agree.
std::string release_summary(const StreamArchitecture& architecture, const std::string& platform) {
  const auto artifacts = architecture.artifacts.find(platform);
  if (artifacts != architecture.artifacts.end()) return artifacts->second.release;
  std::set<std::string> releases;
  if (const auto images = architecture.images.find(platform); images != architecture.images.end()) {
    if (images->second.global) releases.insert(images->second.global->release);
    for (const auto& [region, image] : images->second.regions) releases.insert(image.release);
  }
  if (platform == kAzure && architecture.azure.disk) releases.insert(architecture.azure.disk->release);
  if (releases.empty()) return "";
  return releases.size() == 1 ? *releases.begin() : "several";
}

}  // namespace

std::string stream_platform(std::string_view name) { return std::string(name == "vsphere" ? "vmware" : name); }

std::string_view to_string(AzureGeneration generation) {
  switch (generation) {
    case AzureGeneration::kV1: return "V1";
    case AzureGeneration::kV2: return "V2";
  }
  return "unknown";
}

Result<std::string> StreamAnswer::reference() const {
  if (references.size() == 1) return references.front();
  if (references.empty()) return error(Code::kNotFound, "{} names nothing to boot from", path);
  return error(Code::kInvalidArgument,
               "{} names {} images or files; narrow it down with --region (cloud images) or --format (files)", path,
               references.size());
}

Result<StreamAnswer> ask_stream(const Stream& stream, const StreamQuery& query) {
  STRAKE_TRY(const StreamArchitecture* architecture, stream.architecture(query.arch));
  const NameSet platforms = platforms_of(*architecture);
  if (!platforms.contains(query.platform)) {
    return error(Code::kNotFound, "stream '{}' has nothing for platform '{}' on {} (it has: {})", stream.name,
                 query.platform, query.arch, names_in(platforms));
  }
  if (!query.format.empty() && !query.region.empty()) {
    return error(Code::kInvalidArgument,
                 "a region is a matter of cloud images and a format one of files to download: ask for one of them");
  }
  if (!query.format.empty()) return ask_for_artifacts(stream, query);
  if (!query.region.empty()) return ask_for_region(stream, query);
  if (query.platform == kAzure && !architecture->azure.empty()) {
    return answer_with_azure(stream, query, architecture->azure);
  }
  const auto images = architecture->images.find(query.platform);
  if (images != architecture->images.end()) return answer_with_images(stream, query, images->second);
  return ask_for_artifacts(stream, query);
}

Result<Stream> narrow_stream(const Stream& stream, const StreamQuery& query) {
  if (!query.arch.empty()) {
    STRAKE_TRY([[maybe_unused]] const StreamArchitecture* found, stream.architecture(query.arch));
  }
  json::Value document = stream.document;
  json::Value* architectures = json::find(document, {"architectures"});
  keep_only(architectures, query.arch);
  if (architectures != nullptr && architectures->is_object()) {
    for (auto& [arch, architecture] : architectures->get_object()) {
      if (architecture.is_object()) narrow_architecture(architecture, query);
    }
  }
  STRAKE_TRY(Stream narrowed, stream_of_document(std::move(document)));
  const bool asked = !query.platform.empty() || !query.region.empty() || !query.format.empty();
  const bool matches = std::any_of(narrowed.architectures.begin(), narrowed.architectures.end(),
                                   [](const auto& entry) { return !platforms_of(entry.second).empty(); });
  if (asked && !matches) return nothing_matches(stream, query);
  return narrowed;
}

std::string describe_stream(const Stream& stream) {
  TableRows head;
  add_row(head, "stream", stream.name);
  add_row(head, "modified", stream.last_modified);
  add_row(head, "generator", stream.generator);
  std::set<std::string> releases;
  TableRows rows{{"ARCH", "PLATFORM", "RELEASE", "FORMATS", "CLOUD IMAGES"}};
  for (const auto& [arch, architecture] : stream.architectures) {
    for (const auto& [platform, artifacts] : architecture.artifacts) releases.insert(artifacts.release);
    for (const auto& [platform, known] : platforms_of(architecture)) {
      const auto artifacts = architecture.artifacts.find(platform);
      rows.push_back(
          {arch, platform, dash_if_empty(release_summary(architecture, platform)),
           artifacts == architecture.artifacts.end() ? "-" : dash_if_empty(joined_keys(artifacts->second.formats)),
           cloud_summary(architecture, platform)});
    }
  }
  for (const std::string& release : releases) add_row(head, "release", release + os_version_note(release));
  if (rows.size() == 1) return align_columns(head) + "\nThis stream publishes nothing.\n";
  return align_columns(head) + "\n" + align_columns(rows);
}

Result<json::Value> legacy_amis(const Stream& stream, std::string_view rpm_arch) {
  STRAKE_TRY(const StreamArchitecture* architecture, stream.architecture(rpm_arch));
  const auto aws = architecture->images.find("aws");
  if (aws == architecture->images.end()) {
    return error(Code::kNotFound, "stream '{}' publishes no {} AMIs (it has images in: {})", stream.name, rpm_arch,
                 names_in(architecture->images));
  }
  json::Object regions;
  for (const auto& [region, image] : aws->second.regions) regions[region] = json::Object{{"hvm", image.image}};
  return json::Object{{"amis", std::move(regions)}};
}

}  // namespace strake::stream
