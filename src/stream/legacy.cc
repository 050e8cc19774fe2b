#include "stream/legacy.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"
#include "codec/document_node.h"

namespace strake::stream {

namespace {

constexpr std::array<std::string_view, 6> kKnownArchitectures{"x86_64", "aarch64", "ppc64le",
                                                              "s390x",  "riscv64", "ppc64"};
constexpr std::array<std::string_view, 5> kCompressionSuffixes{".gz", ".xz", ".zst", ".bz2", ".zip"};
constexpr std::string_view kFileNameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+%/";
/// The first releases existed for this architecture alone and did not name it.
constexpr std::string_view kArchitectureOfUnnamed = "x86_64";

/// Files that have a place of their own, and those that nothing boots from (no platform).
struct KnownFile {
  std::string_view key;
  std::string_view platform;
  std::string_view format;  ///< ends in '.': the file's extension follows; unused without a platform
  std::string_view member = "disk";
};
constexpr KnownFile kKnownFiles[] = {
    {"live-iso", "metal", "iso"},
    {"live-kernel", "metal", "pxe", "kernel"},
    {"live-initramfs", "metal", "pxe", "initramfs"},
    {"live-rootfs", "metal", "pxe", "rootfs"},
    // The installers of before the live media.
    {"iso", "metal", "installer.iso"},
    {"kernel", "metal", "installer-pxe", "kernel"},
    {"initramfs", "metal", "installer-pxe", "initramfs"},
    {"metal4k", "metal", "4k."},
    {"metal-bios", "metal", "bios."},
    {"metal-uefi", "metal", "uefi."},
    {"metal-dasd", "metal", "dasd."},
    {"metal-zfcp", "metal", "zfcp."},
    {"dasd", "metal", "dasd."},
    {"ostree", "", ""},
    {"oci-manifest", "", ""},
    {"extensions-container", "", ""},
    {"legacy-oscontainer", "", ""},
    {"ignition-gpg-key", "", ""},
};

bool is_word_byte(char c) { return is_alphanumeric(c) || c == '_'; }

bool contains_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word_byte(text[at - 1])) && (end == text.size() || !is_word_byte(text[end]))) return true;
  }
  return false;
}

bool has_compression_suffix(std::string_view name) {
  return std::any_of(kCompressionSuffixes.begin(), kCompressionSuffixes.end(),
                     [&](std::string_view suffix) { return name.ends_with(suffix); });
}

/// "raw.gz" of "rhcos-48.84-metal.x86_64.raw.gz"; "" when the name ends without one.
std::string file_extension(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);  // npos + 1 is 0
  std::string_view compression;
  for (const std::string_view suffix : kCompressionSuffixes) {
    if (name.ends_with(suffix)) compression = suffix;
  }
  name.remove_suffix(compression.size());
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return "";
  const std::string_view extension = name.substr(dot + 1);
  const bool is_extension = !extension.empty() && architecture_in(extension).empty() &&
                            std::all_of(extension.begin(), extension.end(), is_word_byte) &&
                            extension.find_first_not_of("0123456789") != std::string_view::npos;
  return is_extension ? fmt::format("{}{}", extension, compression) : "";
}

Result<std::string> absolute_location(const std::string& path, std::string_view base_url) {
  if (base_url.empty()) return path;
  const auto has_scheme = [](std::string_view url) {
    return url.starts_with("https://") || url.starts_with("http://") || url.starts_with("file://");
  };
  if (!has_scheme(base_url)) {
    return error(Code::kInvalidArgument, "baseURI '{}' is no http, https or file URL", base_url);
  }
  if (path.starts_with("https://") || path.starts_with("http://")) return path;
  // The files of a build lie beside its record or below: a name that leads elsewhere is not one a build writes.
  const bool leads_away = path.starts_with('/') || fmt::format("/{}/", path).find("/../") != std::string::npos;
  if (leads_away || path.find_first_not_of(kFileNameBytes) != std::string::npos) {
    return error(Code::kInvalidArgument, "'{}' is not the name of a file beside the build's record", path);
  }
  const std::size_t last_slash = base_url.rfind('/');
  const bool is_bare_host = last_slash == base_url.find("://") + 2;
  return is_bare_host ? fmt::format("{}/{}", base_url, path)
                      : fmt::format("{}{}", base_url.substr(0, last_slash + 1), path);
}

class BuildConverter {
 public:
  BuildConverter(const json::DocumentNode& build, std::string_view base_url) : build_(build), base_url_(base_url) {}

  Result<json::Value> convert() {
    STRAKE_TRY(release_, build_.required_text("buildid"));
    STRAKE_TRY(const std::string own_base, build_.text("baseURI"));
    if (!own_base.empty()) base_url_ = own_base;
    STRAKE_TRY(const std::string arch, architecture());
    STRAKE_CHECK_OK(add_artifacts());
    STRAKE_CHECK_OK(add_amis());
    STRAKE_CHECK_OK(add_region_list("aliyun", "name", kAliyunMembers, images_));
    STRAKE_CHECK_OK(add_region_list("ibmcloud", "region", kBucketMembers, images_));
    STRAKE_CHECK_OK(add_region_list("powervs", "region", kBucketMembers, images_));
    STRAKE_CHECK_OK(add_region_list("aws-winli", "name", kAmiMembers, extensions_));
    STRAKE_CHECK_OK(add_gcp());
    STRAKE_CHECK_OK(add_kubevirt());
    STRAKE_CHECK_OK(add_azure());
    json::Object content{{"artifacts", std::move(artifacts_)}, {"images", std::move(images_)}};
    if (!extensions_.get_object().empty()) content["rhel-coreos-extensions"] = std::move(extensions_);
    json::Object metadata;
    STRAKE_TRY(std::string modified, build_.text("coreos-assembler.build-timestamp"));
    if (modified.empty()) {
      STRAKE_TRY(modified, build_.text("ostree-timestamp"));
    }
    if (!modified.empty()) metadata["last-modified"] = modified;
    return json::Object{{"stream", release_},
                        {"metadata", std::move(metadata)},
                        {"architectures", json::Object{{arch, std::move(content)}}}};
  }

 private:
  struct Renamed {
    std::string_view from;
    std::string_view to;
  };
  static constexpr Renamed kAliyunMembers[] = {{"id", "image"}};
  static constexpr Renamed kBucketMembers[] = {{"object", "object"}, {"bucket", "bucket"}, {"url", "url"}};
  /// A stream drops the snapshot; it is kept here because it costs nothing and cannot be found again otherwise.
  static constexpr Renamed kAmiMembers[] = {{"hvm", "image"}, {"snapshot", "snapshot"}};

  Result<std::string> architecture() const {
    STRAKE_TRY(const std::string said, build_.text("coreos-assembler.basearch"));
    if (!said.empty()) return said;
    std::string found = architecture_in(base_url_);
    STRAKE_CHECK_OK(build_.for_each_in("images", [&](const std::string&, const json::DocumentNode& file) -> Status {
      STRAKE_TRY(const std::string path, file.text("path"));
      if (found.empty()) found = architecture_in(path);
      return {};
    }));
    return found.empty() ? std::string(kArchitectureOfUnnamed) : found;
  }

  Status add_artifacts() {
    return build_.for_each_in("images", [&](const std::string& key, const json::DocumentNode& file) -> Status {
      STRAKE_TRY(const std::string path, file.required_text("path"));
      STRAKE_TRY(const std::string sha256, file.text("sha256"));
      STRAKE_TRY(const std::string uncompressed, file.text("uncompressed-sha256"));
      // Early builds gave compressed files the names of what is inside.
      const bool compressed = !uncompressed.empty() && uncompressed != sha256;
      const auto place = place_of_build_file(key, compressed && !has_compression_suffix(path) ? path + ".gz" : path);
      if (!place) return {};
      STRAKE_TRY_CONTEXT(const std::string location, absolute_location(path, base_url_), "{}", file.path());
      json::Object artifact{{"location", location}, {"sha256", sha256}};
      if (compressed) artifact["uncompressed-sha256"] = uncompressed;
      json::ensure(artifacts_, {place->platform, "release"}) = release_;
      json::ensure(artifacts_, {place->platform, "formats", place->format, place->member}) = std::move(artifact);
      return {};
    });
  }

  /// rhcos.json has an object of regions, meta.json a list.
  Status add_amis() {
    const json::Value* amis = json::find(build_.value(), {"amis"});
    if (amis != nullptr && amis->is_array()) return add_region_list("amis", "name", kAmiMembers, images_, "aws");
    return build_.for_each_in("amis", [&](const std::string& region, const json::DocumentNode& entry) {
      return add_region("aws", region, entry, kAmiMembers, images_);
    });
  }

  Status add_region_list(std::string_view member, std::string_view region_member, std::span<const Renamed> renamed,
                         json::Value& target, std::string_view cloud = {}) {
    return build_.for_each_item(member, [&](const json::DocumentNode& item) -> Status {
      STRAKE_TRY(const std::string region, item.required_text(region_member));
      return add_region(cloud.empty() ? member : cloud, region, item, renamed, target);
    });
  }

  Status add_region(std::string_view cloud, const std::string& region, const json::DocumentNode& entry,
                    std::span<const Renamed> renamed, json::Value& target) {
    json::Object image{{"release", release_}};
    for (const Renamed& member : renamed) {
      STRAKE_TRY(const std::string text, entry.text(member.from));
      if (!text.empty()) image[member.to] = text;
    }
    json::ensure(target, {cloud, "regions", region}) = std::move(image);
    return {};
  }

  Status add_gcp() {
    const json::Value* gcp = json::find(build_.value(), {"gcp"});
    if (gcp == nullptr || gcp->is_null()) return {};
    const json::DocumentNode node(*gcp, "gcp");
    json::Object image{{"release", release_}};
    for (const auto& [from, to] :
         {std::pair("project", "project"), std::pair("family", "family"), std::pair("image", "name")}) {
      STRAKE_TRY(const std::string text, node.text(from));
      if (!text.empty()) image[to] = text;
    }
    json::ensure(images_, {"gcp"}) = std::move(image);
    return {};
  }

  Status add_kubevirt() {
    const json::Value* kubevirt = json::find(build_.value(), {"kubevirt"});
    if (kubevirt == nullptr || kubevirt->is_null()) return {};
    const json::DocumentNode node(*kubevirt, "kubevirt");
    STRAKE_TRY(const std::string name, node.required_text("image"));
    STRAKE_TRY(const std::string digest, node.text("digest"));
    json::Object image{{"release", release_}, {"image", name}};
    if (!digest.empty()) {
      // A colon after the last slash starts a tag, which gives way to the digest.
      const std::size_t colon = name.find(':', name.rfind('/') + 1);
      image["digest-ref"] = fmt::format("{}@{}", std::string_view(name).substr(0, colon), digest);
    }
    json::ensure(images_, {"kubevirt"}) = std::move(image);
    return {};
  }

  Status add_azure() {
    const json::Value* azure = json::find(build_.value(), {"azure"});
    if (azure == nullptr || azure->is_null()) return {};
    STRAKE_TRY(const std::string url, json::DocumentNode(*azure, "azure").text("url"));
    if (!url.empty()) json::ensure(extensions_, {"azure-disk"}) = json::Object{{"release", release_}, {"url", url}};
    return {};
  }

  const json::DocumentNode& build_;
  std::string base_url_;
  std::string release_;
  json::Value artifacts_ = json::Object{};
  json::Value images_ = json::Object{};
  json::Value extensions_ = json::Object{};
};

}  // namespace

std::optional<ArtifactPlace> place_of_build_file(std::string_view key, std::string_view file_name) {
  const std::string extension = file_extension(file_name);
  const auto known = std::find_if(std::begin(kKnownFiles), std::end(kKnownFiles),
                                  [&](const KnownFile& file) { return file.key == key; });
  if (known == std::end(kKnownFiles)) {
    return ArtifactPlace{std::string(key), extension.empty() ? std::string(key) : extension, "disk"};
  }
  if (known->platform.empty()) return std::nullopt;
  std::string format(known->format);
  if (format.ends_with('.')) format += extension;
  return ArtifactPlace{std::string(known->platform), format, std::string(known->member)};
}

std::string architecture_in(std::string_view text) {
  for (const std::string_view arch : kKnownArchitectures) {
    if (contains_word(text, arch)) return std::string(arch);
  }
  return "";
}

bool is_build_record(const json::Value& document) { return json::find(document, {"buildid"}) != nullptr; }

Result<json::Value> stream_of_build_record(const json::Value& build, std::string_view base_url) {
  const json::DocumentNode root(build);
  return BuildConverter(root, base_url).convert().context("reading build metadata");
}

}  // namespace strake::stream
