#include "stream/checksum_list.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "codec/hex.h"
#include "stream/legacy.h"

namespace strake::stream {

namespace {

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
    const std::string_view line = trimmed(take_until(text, '\n'));
    if (line.empty()) continue;
    constexpr std::size_t kDigits = 64;
    const std::string_view sha256 = line.substr(0, kDigits);
    // Two blanks, or a blank and the asterisk of binary mode.
    if (line.size() < kDigits + 3 || !codec::is_lower_hex(sha256) || line[kDigits] != ' ') {
      return error(Code::kInvalidArgument, "{}:{}: expected 64 hex digits and a file name", kChecksumList, number);
    }
    const std::string_view name = line.substr(kDigits + 2);
    if (name.find('/') != std::string_view::npos) {
      return error(Code::kInvalidArgument, "{}:{}: '{}' is not the name of a file of this folder", kChecksumList,
                   number, name);
    }
    const std::string named_arch = architecture_in(name);
    if (named_arch.empty() || named_arch == arch) files.push_back(listed_file(name, sha256, arch));
  }
  return files;
}

}  // namespace

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
        json::Object{{"location", fmt::format("{}{}{}", folder_url, folder_url.ends_with('/') ? "" : "/", file.name)},
                     {"sha256", file.sha256}};
  }
  json::Object architectures;
  if (!artifacts.get_object().empty()) architectures[rpm_arch] = json::Object{{"artifacts", std::move(artifacts)}};
  return json::Object{{"stream", label}, {"architectures", std::move(architectures)}};
}

}  // namespace strake::stream
