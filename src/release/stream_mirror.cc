#include "release/stream_mirror.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "base/text.h"
#include "codec/semver.h"
#include "stream/checksum_list.h"
#include "stream/legacy.h"

namespace strake::release {

namespace {

constexpr std::string_view kVersionsPath = "dependencies/rhcos";
constexpr std::string_view kPreReleaseFolder = "pre-release";
constexpr std::string_view kLatest = "latest";
constexpr std::string_view kBuildId = "rhcos-id.txt";

std::string with_slash(std::string_view url) { return url.ends_with('/') ? std::string(url) : fmt::format("{}/", url); }

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
  if (stream::architecture_in(stream::rpm_architecture(whole.substr(arch_start, at - arch_start))).empty()) {
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
    if (stream::architecture_in(name) == name) found.push_back(name);
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
  STRAKE_TRY(const std::string checksums, reader_.read(fmt::format("{}{}", folder, stream::kChecksumList), call_));
  const Result<std::string> build = reader_.read(fmt::format("{}{}", folder, kBuildId), call_);
  if (!build.ok() && build.error().code() != Code::kNotFound) return build.error();
  // Folders from before this file are known by their version alone.
  const std::string_view release = build.ok() && !trimmed(*build).empty() ? trimmed(*build) : label;
  return stream::stream_of_checksums(checksums, folder, release, label, rpm_arch).context("{}", folder);
}

Result<stream::StreamSet> StreamMirror::read(std::string_view version, std::string_view rpm_arch,
                                             const stream::ImportOptions& options) const {
  if (is_document_) {
    STRAKE_TRY(const std::string text, reader_.read(url_, call_));
    stream::ImportOptions with_base = options;
    if (with_base.base_url.empty()) with_base.base_url = url_.substr(0, url_.rfind('/') + 1);
    return stream::read_streams(text, with_base).context("{}", url_);
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
  return stream::read_streams(json::write(*document), options).context("{}", folder);
}

}  // namespace strake::release
