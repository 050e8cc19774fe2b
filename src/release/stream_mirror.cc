#include "release/stream_mirror.h"

#include <algorithm>
#include <array>

#include <fmt/ranges.h>

#include "codec/hex.h"
#include "codec/semver.h"
#include "release/stream_legacy.h"

namespace strake::release {

namespace {

constexpr std::string_view kVersionsPath = "dependencies/rhcos";
constexpr std::string_view kPreReleaseFolder = "pre-release";
constexpr std::string_view kLatest = "latest";
constexpr std::string_view kChecksums = "sha256sum.txt";
constexpr std::string_view kBuildId = "rhcos-id.txt";

std::string with_slash(std::string_view url) { return url.ends_with('/') ? std::string(url) : fmt::format("{}/", url); }

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t start = text.find_first_not_of(kBlank);
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(kBlank) - start + 1);
}

struct ListedFile {
  std::string name;
  std::string sha256;
  std::string key;         ///< what the build calls it
  bool versioned = false;  ///< the name with the version in it; the other one is an alias for it
};

/// "vmware" of "rhcos-4.16.3-x86_64-vmware.x86_64.ova" and of "rhcos-vmware.x86_64.ova".
ListedFile listed_file(std::string_view name, std::string_view sha256, std::string_view arch) {
  ListedFile file{std::string(name), std::string(sha256), {}, false};
  const std::string version_end = fmt::format("-{}-", arch);
  std::string_view rest = name;
  if (const std::size_t at = name.find(version_end); at != std::string_view::npos) {
    file.versioned = true;
    rest = name.substr(at + version_end.size());
  } else {
    rest = name.substr(name.find('-') + 1);
  }
  std::string_view key = rest.substr(0, rest.find('.'));
  if (const std::string suffix = fmt::format("-{}", arch); key.ends_with(suffix)) key.remove_suffix(suffix.size());
  constexpr std::array kOtherNames{std::pair("live", "live-iso"), std::pair("installer", "iso"),
                                   std::pair("installer-kernel", "kernel"),
                                   std::pair("installer-initramfs", "initramfs")};
  file.key = key;
  for (const auto& [mirror_name, build_name] : kOtherNames) {
    if (key == mirror_name) file.key = build_name;
  }
  return file;
}

Result<std::vector<ListedFile>> parse_checksums(std::string_view text, std::string_view arch) {
  std::vector<ListedFile> files;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty()) continue;
    constexpr std::size_t kDigits = 64;
    const std::string_view sha256 = line.substr(0, kDigits);
    // Two blanks, or a blank and the asterisk of binary mode.
    if (line.size() < kDigits + 3 || !codec::is_lower_hex(sha256) || line[kDigits] != ' ') {
      return error(Code::kInvalidArgument, "{}:{}: expected 64 hex digits and a file name", kChecksums, number);
    }
    const std::string_view name = line.substr(kDigits + 2);
    if (name.find('/') != std::string_view::npos) {
      return error(Code::kInvalidArgument, "{}:{}: '{}' is not the name of a file of this folder", kChecksums, number,
                   name);
    }
    const std::string named_arch = architecture_in(name);
    if (named_arch.empty() || named_arch == arch) files.push_back(listed_file(name, sha256, arch));
  }
  return files;
}

/// Semantic versions in their order, after everything else.
bool version_before(const std::string& a, const std::string& b) {
  const auto left = codec::SemVer::parse(a);
  const auto right = codec::SemVer::parse(b);
  if (left.ok() && right.ok()) return (*left <=> *right) < 0;
  if (left.ok() != right.ok()) return right.ok();
  return a < b;
}

std::vector<std::string> folders_of(const std::vector<std::string>& names) {
  std::vector<std::string> folders;
  for (const std::string& name : names) {
    if (name.ends_with('/')) folders.push_back(name.substr(0, name.size() - 1));
  }
  return folders;
}

}  // namespace

Result<std::string> mirror_folder_of(std::string_view version) {
  if (version.empty() ||
      version.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz.-") != std::string_view::npos ||
      version.find("..") != std::string_view::npos) {
    return error(Code::kInvalidArgument, "'{}' is not a version such as 4.16.3, 4.16 or latest", version);
  }
  if (version == kLatest) return std::string(version);
  if (version.starts_with("latest-")) return fmt::format("{}/{}", kPreReleaseFolder, version);
  const auto dots = std::count(version.begin(), version.end(), '.');
  if (dots == 1) return fmt::format("{}/{}", version, kLatest);
  STRAKE_TRY_CONTEXT(const codec::SemVer parsed, codec::SemVer::parse(version), "mirror version '{}'", version);
  if (parsed.is_prerelease()) return fmt::format("{}/{}", kPreReleaseFolder, version);
  return fmt::format("{}.{}/{}", parsed.major, parsed.minor, version);
}

Result<json::Value> stream_of_checksums(std::string_view sha256sum_text, std::string_view folder_url,
                                        std::string_view build, std::string_view label, std::string_view rpm_arch) {
  STRAKE_TRY(const std::vector<ListedFile> files, parse_checksums(sha256sum_text, rpm_arch));
  const bool any_versioned =
      std::any_of(files.begin(), files.end(), [](const ListedFile& file) { return file.versioned; });
  json::Value artifacts = json::Object{};
  for (const ListedFile& file : files) {
    if (any_versioned && !file.versioned) continue;
    const auto place = place_of_build_file(file.key, file.name);
    if (!place) continue;
    json::ensure(artifacts, {place->platform, "release"}) = build;
    json::ensure(artifacts, {place->platform, "formats", place->format, place->member}) =
        json::Object{{"location", with_slash(folder_url) + file.name}, {"sha256", file.sha256}};
  }
  json::Object architectures;
  if (!artifacts.get_object().empty()) architectures[rpm_arch] = json::Object{{"artifacts", std::move(artifacts)}};
  return json::Object{{"stream", label}, {"architectures", std::move(architectures)}};
}

StreamMirror::StreamMirror(const UrlReader& reader, std::string url, net::CallOptions call)
    : reader_(reader), call_(std::move(call)), url_(std::move(url)) {
  is_document_ = url_.ends_with(".json");
  if (is_document_) return;
  const std::string whole = with_slash(url_);
  const std::size_t at = whole.find(fmt::format("/{}/", kVersionsPath));
  if (at == std::string::npos) {
    root_ = whole;
    return;
  }
  const std::size_t end = at + kVersionsPath.size() + 2;
  const std::size_t arch_start = whole.rfind('/', at - 1) + 1;
  if (architecture_in(rpm_architecture(whole.substr(arch_start, at - arch_start))).empty()) {
    any_arch_ = whole.substr(0, end);
  } else {
    root_ = whole.substr(0, arch_start);
  }
  if (end < whole.size()) version_folder_ = whole;
}

std::string StreamMirror::versions_folder(std::string_view rpm_arch) const {
  return root_.empty() ? any_arch_ : fmt::format("{}{}/{}/", root_, rpm_arch, kVersionsPath);
}

Result<std::vector<std::string>> StreamMirror::architectures() const {
  if (root_.empty()) return std::vector<std::string>();
  STRAKE_TRY(const std::vector<std::string> names, reader_.list(root_, call_));
  std::vector<std::string> found;
  for (const std::string& name : folders_of(names)) {
    if (architecture_in(name) == name) found.push_back(name);
  }
  return found;
}

Result<std::vector<std::string>> StreamMirror::versions(std::string_view rpm_arch) const {
  const std::string base = versions_folder(rpm_arch);
  STRAKE_TRY(const std::vector<std::string> minors, reader_.list(base, call_));
  std::vector<std::string> found;
  for (const std::string& minor : folders_of(minors)) {
    if (minor == kLatest) {
      found.push_back(minor);
      continue;
    }
    STRAKE_TRY(const std::vector<std::string> names, reader_.list(fmt::format("{}{}/", base, minor), call_));
    for (const std::string& name : folders_of(names)) {
      if (name != kLatest) found.push_back(name);
    }
  }
  std::sort(found.begin(), found.end(), version_before);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

Error StreamMirror::absent(const Error& cause, std::string_view version, std::string_view rpm_arch) const {
  if (cause.code() != Code::kNotFound) return cause;
  const auto known = versions(rpm_arch);
  if (known.ok()) {
    return error(Code::kNotFound, "mirror {} has no version {} for {} (it has: {})", url_, version, rpm_arch,
                 known->empty() ? "none" : fmt::format("{}", fmt::join(*known, ", ")));
  }
  const auto others = architectures();
  return error(Code::kNotFound, "mirror {} has nothing for architecture {} (it has: {})", url_, rpm_arch,
               others.ok() && !others->empty() ? fmt::format("{}", fmt::join(*others, ", ")) : "unknown");
}

Result<json::Value> StreamMirror::read_folder(const std::string& folder, std::string_view label,
                                              std::string_view rpm_arch) const {
  STRAKE_TRY(const std::string checksums, reader_.read(fmt::format("{}{}", folder, kChecksums), call_));
  const Result<std::string> build = reader_.read(fmt::format("{}{}", folder, kBuildId), call_);
  if (!build.ok() && build.error().code() != Code::kNotFound) return build.error();
  // Folders from before this file are known by their version alone.
  const std::string_view release = build.ok() && !trimmed(*build).empty() ? trimmed(*build) : label;
  return stream_of_checksums(checksums, folder, release, label, rpm_arch).context("{}", folder);
}

Result<StreamSet> StreamMirror::read(std::string_view version, std::string_view rpm_arch,
                                     const ImportOptions& options) const {
  if (is_document_) {
    STRAKE_TRY(const std::string text, reader_.read(url_, call_));
    ImportOptions with_base = options;
    if (with_base.base_url.empty()) with_base.base_url = url_.substr(0, url_.rfind('/') + 1);
    return read_streams(text, with_base).context("{}", url_);
  }
  std::string folder = version_folder_;
  std::string label(version);
  if (!version.empty()) {
    STRAKE_TRY(const std::string below, mirror_folder_of(version));
    folder = fmt::format("{}{}/", versions_folder(rpm_arch), below);
  } else if (folder.empty()) {
    return error(Code::kInvalidArgument, "{} holds many versions: say which one", url_);
  } else {
    const std::string_view bare = std::string_view(folder).substr(0, folder.size() - 1);
    label = bare.substr(bare.rfind('/') + 1);
  }
  const Result<json::Value> document = read_folder(folder, label, rpm_arch);
  if (!document.ok()) return absent(document.error(), label, rpm_arch);
  return read_streams(json::write(*document), options).context("{}", folder);
}

}  // namespace strake::release
