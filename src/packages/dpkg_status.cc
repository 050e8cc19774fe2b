#include <charconv>
#include <limits>

#include "base/text.h"
#include "packages/packages.h"

namespace strake::packages {
namespace {

enum class WithoutStatus { kAbsent, kInstalled };

/// "EPOCH:VERSION-REVISION": the first colon and the last hyphen count.
Status set_dpkg_version(std::string_view text, Package& package) {
  if (const std::size_t colon = text.find(':'); colon != text.npos) {
    package.epoch = text.substr(0, colon);
    text.remove_prefix(colon + 1);
    if (package.epoch.empty() || package.epoch.find_first_not_of("0123456789") != std::string::npos) {
      return error(Code::kCorrupt, "package {}: its epoch '{}' is no number", package.name, package.epoch);
    }
  }
  if (const std::size_t hyphen = text.rfind('-'); hyphen != text.npos) {
    package.release = text.substr(hyphen + 1);
    text = text.substr(0, hyphen);
  }
  package.version = text;
  return {};
}

struct Paragraph {
  std::size_t line = 0;  ///< of its first field
  std::string_view package, status, version, architecture, source, installed_size;

  bool empty() const { return line == 0; }
};

/// The third word: what became of it. The files of the others are gone.
bool is_there(std::string_view status, WithoutStatus without) {
  if (status.empty()) return without == WithoutStatus::kInstalled;
  const std::string_view state = trimmed(status.substr(status.find_last_of(" \t") + 1));
  return state != "not-installed" && state != "config-files";
}

Status add_package(const Paragraph& paragraph, WithoutStatus without, std::vector<Package>& packages) {
  if (paragraph.empty()) return {};
  if (paragraph.package.empty()) {
    return error(Code::kCorrupt, "line {}: a paragraph of a dpkg status without 'Package'", paragraph.line);
  }
  if (!is_there(paragraph.status, without)) return {};
  if (packages.size() == kMaxPackages) return error(Code::kExhausted, "more than {} packages", kMaxPackages);
  Package package{.name = std::string(paragraph.package), .architecture = std::string(paragraph.architecture)};
  STRAKE_CHECK_OK(set_dpkg_version(paragraph.version, package).context("line {}", paragraph.line));
  package.source = trimmed(paragraph.source.substr(0, paragraph.source.find('(')));
  if (const std::string_view size = paragraph.installed_size; !size.empty()) {
    std::uint64_t kibibytes = 0;
    const auto end = std::from_chars(size.data(), size.data() + size.size(), kibibytes);
    if (end.ec != std::errc() || end.ptr != size.data() + size.size() ||
        kibibytes > std::numeric_limits<std::uint64_t>::max() / 1024) {
      return error(Code::kCorrupt, "line {}: package {}: 'Installed-Size' is '{}'", paragraph.line, package.name, size);
    }
    package.installed_bytes = kibibytes * 1024;
  }
  packages.push_back(std::move(package));
  return {};
}

void set_field(std::string_view name, std::string_view value, Paragraph& paragraph) {
  if (equal_ignoring_case(name, "package")) paragraph.package = value;
  if (equal_ignoring_case(name, "status")) paragraph.status = value;
  if (equal_ignoring_case(name, "version")) paragraph.version = value;
  if (equal_ignoring_case(name, "architecture")) paragraph.architecture = value;
  if (equal_ignoring_case(name, "source")) paragraph.source = value;
  if (equal_ignoring_case(name, "installed-size")) paragraph.installed_size = value;
}

Result<std::vector<Package>> read_paragraphs(std::string_view text, WithoutStatus without) {
  std::vector<Package> packages;
  Paragraph paragraph;
  for (std::size_t line_number = 1; !text.empty(); ++line_number) {
    const std::string_view line = take_until(text, '\n');
    if (trimmed(line).empty()) {
      STRAKE_CHECK_OK(add_package(paragraph, without, packages));
      paragraph = {};
      continue;
    }
    if (line.starts_with(' ') || line.starts_with('\t')) continue;  // goes on with a field of several lines
    const std::size_t colon = line.find(':');
    if (colon == 0 || colon == line.npos) {
      return error(Code::kCorrupt, "line {} of a dpkg status is no field", line_number);
    }
    if (paragraph.empty()) paragraph.line = line_number;
    set_field(line.substr(0, colon), trimmed(line.substr(colon + 1)), paragraph);
  }
  STRAKE_CHECK_OK(add_package(paragraph, without, packages));
  sort_packages(PackageSystem::kDpkg, packages);
  return packages;
}

}  // namespace

Result<std::vector<Package>> read_dpkg_status(std::string_view text) {
  return read_paragraphs(text, WithoutStatus::kAbsent);
}

Result<std::vector<Package>> read_dpkg_member(std::string_view text) {
  return read_paragraphs(text, WithoutStatus::kInstalled);
}

bool is_dpkg_member(std::string_view file_name) { return !file_name.ends_with(".md5sums"); }

}  // namespace strake::packages
