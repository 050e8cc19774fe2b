#include "release/payload_difference.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text_table.h"
#include "release/payload_report.h"

namespace strake::release {

namespace {

/// These two are what the rest of the difference is made of.
constexpr std::string_view kComparedManifests[] = {"image-references", "release-metadata"};

/// Calls `visit` with both values of every key of two maps; nullptr where one has none.
template <typename Map, typename Visit>
void for_both(const Map& before, const Map& after, const Visit& visit) {
  std::set<typename Map::key_type> keys;
  for (const auto& [key, value] : before) keys.insert(key);
  for (const auto& [key, value] : after) keys.insert(key);
  for (const auto& key : keys) {
    const auto a = before.find(key);
    const auto b = after.find(key);
    visit(key, a == before.end() ? nullptr : &a->second, b == after.end() ? nullptr : &b->second);
  }
}

/// What a boot image of one platform is: its release, its files by checksum, its cloud images by reference.
struct PlatformImages {
  std::string release;
  std::map<std::string, std::string> files;
  std::map<std::string, std::string> images;

  bool operator==(const PlatformImages&) const = default;
};
using ImagesByPlace = std::map<std::tuple<std::string, std::string, std::string>, PlatformImages>;

void add_cloud_image(PlatformImages& platform, const std::string& place, const stream::CloudImage& image) {
  if (platform.release.empty()) platform.release = image.release;
  platform.images[place] = image.reference();
}

void add_stream(const std::string& name, const stream::Stream& stream, ImagesByPlace& all) {
  for (const auto& [arch, architecture] : stream.architectures) {
    for (const auto& [platform, entry] : architecture.artifacts) {
      PlatformImages& images = all[{name, arch, platform}];
      images.release = entry.release;
      for (const auto& [format, members] : entry.formats) {
        for (const auto& [member, artifact] : members) {
          images.files[fmt::format("{} {}", format, member)] =
              artifact.sha256.empty() ? artifact.location : artifact.sha256;
        }
      }
    }
    for (const auto& [cloud, entry] : architecture.images) {
      PlatformImages& images = all[{name, arch, cloud}];
      if (entry.global) add_cloud_image(images, "", *entry.global);
      for (const auto& [region, image] : entry.regions) add_cloud_image(images, region, image);
    }
    if (architecture.azure.empty()) continue;
    PlatformImages& images = all[{name, arch, "azure"}];
    if (architecture.azure.disk) add_cloud_image(images, "", *architecture.azure.disk);
    for (const auto& [plan, generations] : architecture.azure.plans) {
      if (generations.gen1) images.images[plan + " V1"] = generations.gen1->urn();
      if (generations.gen2) images.images[plan + " V2"] = generations.gen2->urn();
    }
  }
}

ImagesByPlace images_by_place(const ReleasePayload& payload) {
  ImagesByPlace all;
  for (const auto& [name, stream] : named_boot_streams(payload)) add_stream(name, *stream, all);
  return all;
}

std::size_t count_others(const std::map<std::string, std::string>& before,
                         const std::map<std::string, std::string>& after) {
  std::size_t count = 0;
  for_both(before, after, [&](const std::string&, const std::string* a, const std::string* b) {
    count += a == nullptr || b == nullptr || *a != *b ? 1 : 0;
  });
  return count;
}

char change_sign(bool before, bool after) { return before && after ? '~' : (after ? '+' : '-'); }

std::string arrow(std::string_view before, std::string_view after) {
  return fmt::format("{} -> {}", before.empty() ? "none" : before, after.empty() ? "none" : after);
}

std::string counted(std::size_t number, std::string_view what) {
  return number == 0 ? "" : fmt::format("{} other {}{}", number, what, number == 1 ? "" : "s");
}

json::Value side_json(const ReleasePayload& payload) {
  return json::Object{
      {"version", payload.version}, {"digest", payload.digest.to_string()}, {"image", payload.pull_spec}};
}

json::Object component_json(const Component& component) {
  return {{"name", component.tag}, {"image", component.pull_spec}, {"digest", component.digest.to_string()}};
}

}  // namespace

bool PayloadDifference::any() const {
  return !components.empty() || !versions.empty() || !boot_images.empty() || !manifests.empty();
}

PayloadDifference compare_payloads(const ReleasePayload& before, const ReleasePayload& after) {
  PayloadDifference difference;
  difference.same_image = before.digest == after.digest;
  if (difference.same_image) {
    difference.same_components = before.components.size();
    return difference;
  }
  for_both(before.components, after.components, [&](const std::string& tag, const Component* a, const Component* b) {
    if (a != nullptr && b != nullptr && a->digest == b->digest) {
      ++difference.same_components;
      return;
    }
    difference.components.push_back(
        {tag, a == nullptr ? std::nullopt : std::optional(*a), b == nullptr ? std::nullopt : std::optional(*b)});
  });
  for_both(declared_versions(before), declared_versions(after),
           [&](const std::string& name, const DeclaredVersion* a, const DeclaredVersion* b) {
             const std::string was = a == nullptr ? "" : a->version;
             const std::string is = b == nullptr ? "" : b->version;
             if (was != is) difference.versions.push_back({name, was, is});
           });
  for_both(images_by_place(before), images_by_place(after),
           [&](const ImagesByPlace::key_type& place, const PlatformImages* a, const PlatformImages* b) {
             static const PlatformImages kNone;
             const PlatformImages& was = a == nullptr ? kNone : *a;
             const PlatformImages& is = b == nullptr ? kNone : *b;
             if (was == is) return;
             const auto& [stream, arch, platform] = place;
             difference.boot_images.push_back({stream, arch, platform, was.release, is.release,
                                               count_others(was.files, is.files), count_others(was.images, is.images)});
           });
  for_both(before.manifests, after.manifests, [&](const std::string& name, const std::string* a, const std::string* b) {
    if (std::ranges::find(kComparedManifests, name) != std::end(kComparedManifests)) return;
    if (a == nullptr || b == nullptr || *a != *b) {
      difference.manifests.push_back({name, a != nullptr, b != nullptr});
    }
  });
  return difference;
}

void keep_parts(PayloadDifference& difference, const DifferenceParts& parts) {
  if (!parts.components) {
    difference.components.clear();
    difference.versions.clear();
    difference.same_components = 0;
  }
  if (!parts.boot_images) difference.boot_images.clear();
  if (!parts.manifests) difference.manifests.clear();
}

std::string describe_payload_difference(const ReleasePayload& before, const ReleasePayload& after,
                                        const PayloadDifference& difference) {
  using Rows = std::vector<std::vector<std::string>>;
  if (difference.same_image) return fmt::format("Both are {} {}.\n", before.version, before.digest.to_string());
  Rows head{{"release", arrow(before.version, after.version)},
            {"digest", arrow(before.digest.to_string(), after.digest.to_string())}};
  for (const VersionDifference& version : difference.versions) {
    head.push_back({version.name, arrow(version.before, version.after)});
  }
  std::string text = align_columns(head);
  if (!difference.components.empty() || difference.same_components > 0) {
    text += fmt::format("\nComponents: {} differ, {} are the same\n", difference.components.size(),
                        difference.same_components);
    Rows rows;
    for (const ComponentDifference& component : difference.components) {
      const auto digest = [](const std::optional<Component>& side) { return side ? side->digest.to_string() : ""; };
      const bool both = component.before && component.after;
      rows.push_back({fmt::format("  {} {}", change_sign(component.before.has_value(), component.after.has_value()),
                                  component.tag),
                      both ? arrow(digest(component.before), digest(component.after))
                           : digest(component.before) + digest(component.after)});
    }
    text += align_columns(rows);
  }
  if (!difference.boot_images.empty()) {
    text += "\nBoot images:\n";
    Rows rows;
    for (const BootImageDifference& image : difference.boot_images) {
      const std::string files = counted(image.files, "file");
      const std::string images = counted(image.images, "cloud image");
      rows.push_back({fmt::format("  {} {}", change_sign(!image.before.empty(), !image.after.empty()), image.stream),
                      image.arch, image.platform, arrow(image.before, image.after),
                      files + (files.empty() || images.empty() ? "" : ", ") + images});
    }
    text += align_columns(rows);
  }
  if (!difference.manifests.empty()) {
    text += "\nManifests:\n";
    for (const NamedDifference& manifest : difference.manifests) {
      text += fmt::format("  {} {}\n", change_sign(manifest.before, manifest.after), manifest.name);
    }
  }
  return text;
}

json::Object payload_difference_json(const ReleasePayload& before, const ReleasePayload& after,
                                     const PayloadDifference& difference) {
  json::Array versions;
  for (const VersionDifference& version : difference.versions) {
    versions.push_back(json::Object{{"name", version.name}, {"before", version.before}, {"after", version.after}});
  }
  json::Array added;
  json::Array removed;
  json::Array changed;
  for (const ComponentDifference& component : difference.components) {
    if (!component.before) {
      added.push_back(component_json(*component.after));
    } else if (!component.after) {
      removed.push_back(component_json(*component.before));
    } else {
      changed.push_back(json::Object{{"name", component.tag},
                                     {"before", component_json(*component.before)},
                                     {"after", component_json(*component.after)}});
    }
  }
  json::Array boot_images;
  for (const BootImageDifference& image : difference.boot_images) {
    boot_images.push_back(json::Object{{"stream", image.stream},
                                       {"arch", image.arch},
                                       {"platform", image.platform},
                                       {"before", image.before},
                                       {"after", image.after},
                                       {"files", image.files},
                                       {"cloudImages", image.images}});
  }
  json::Array manifests;
  for (const NamedDifference& manifest : difference.manifests) {
    const std::string_view change =
        manifest.before && manifest.after ? "changed" : (manifest.after ? "added" : "removed");
    manifests.push_back(json::Object{{"name", manifest.name}, {"change", change}});
  }
  return {{"before", side_json(before)},
          {"after", side_json(after)},
          {"versions", std::move(versions)},
          {"components",
           json::Object{{"added", std::move(added)}, {"removed", std::move(removed)}, {"changed", std::move(changed)}}},
          {"bootImages", std::move(boot_images)},
          {"manifests", std::move(manifests)}};
}

}  // namespace strake::release
