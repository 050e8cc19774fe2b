#include "osimage/inspection.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "codec/toml.h"

namespace strake::osimage {

namespace {

constexpr std::size_t kMaxOsReleaseBytes = 256 * 1024;
constexpr std::size_t kMaxKernelArgumentsBytes = 256 * 1024;
constexpr std::size_t kMaxKernelArgumentsFiles = 1000;
constexpr std::size_t kMaxDpkgMembers = 20'000;
constexpr std::string_view kModulesFolder = "usr/lib/modules";
constexpr std::string_view kKernelArgumentsFolder = "usr/lib/bootc/kargs.d";

packages::PackageSystem system_of(packages::DatabaseForm form) {
  switch (form) {
    case packages::DatabaseForm::kRpmFile: return packages::PackageSystem::kRpm;
    case packages::DatabaseForm::kDpkgFile:
    case packages::DatabaseForm::kDpkgDirectory: return packages::PackageSystem::kDpkg;
  }
  return packages::PackageSystem::kRpm;
}

/// Files to read, in one pass over the layers, and what came of them.
class WantedFiles {
 public:
  void want(const std::string& path, std::size_t max_bytes) { places_.emplace(path, Place{path, max_bytes}); }

  Status read(OsImage& image, const runtime::Call& call) {
    const OsImage::OpenSink open = [&](const std::vector<std::string>& sharing) -> Result<codec::Sink*> {
      auto text = std::make_shared<codec::StringSink>(packages::kMaxDatabaseBytes);
      for (const std::string& path : sharing) texts_[path] = text;
      return text.get();
    };
    // Which of them are links turns out while they are looked for; few are, and then a second pass reads what they
    // lead to.
    for (std::set<std::string> missing = still_missing(); !missing.empty(); missing = still_missing()) {
      STRAKE_TRY(const std::vector<std::string> links,
                 image.copy_files_except_links({missing.begin(), missing.end()}, open, call));
      for (const std::string& link : links) STRAKE_CHECK_OK(follow(image, link, call));
    }
    for (const auto& [path, place] : places_) {
      const auto found = texts_.find(place.path);
      if (found != texts_.end() && found->second->text().size() > place.max_bytes) {
        return error(Code::kExhausted, "/{} has more than {} bytes", path, place.max_bytes);
      }
    }
    return {};
  }

  /// nullptr: a link that leads nowhere, or not to a file.
  const std::string* text(const std::string& path) const {
    const auto found = texts_.find(places_.at(path).path);
    return found == texts_.end() ? nullptr : &found->second->text();
  }

 private:
  struct Place {
    std::string path;  ///< where it leads; empty: nowhere
    std::size_t max_bytes = 0;
  };

  std::set<std::string> still_missing() const {
    std::set<std::string> missing;
    for (const auto& [path, place] : places_) {
      if (!place.path.empty() && !texts_.contains(place.path)) missing.insert(place.path);
    }
    return missing;
  }

  Status follow(OsImage& image, const std::string& link, const runtime::Call& call) {
    const Result<OsImage::Found> found = image.resolve(link, OsImage::LastLink::kFollow, call);
    if (!found.ok() && found.error().code() != Code::kNotFound && found.error().code() != Code::kInvalidArgument) {
      return found.error();
    }
    const bool is_file = found.ok() && found->node->type == NodeType::kFile;
    for (auto& [path, place] : places_) {
      if (place.path == link) place.path = is_file ? found->path : "";
    }
    return {};
  }

  std::map<std::string, Place> places_;
  std::map<std::string, std::shared_ptr<codec::StringSink>> texts_;  ///< files may share their content
};

/// A path whose folders exist, and which is no folder. Whether it is a link is left open: to know would mean to read.
Result<std::optional<std::string>> find_file(OsImage& image, std::string_view path, const runtime::Call& call) {
  Result<OsImage::Found> found = image.resolve(path, OsImage::LastLink::kKeep, call);
  if (!found.ok()) {
    if (found.error().code() == Code::kNotFound) return std::optional<std::string>();
    return std::move(found).error();
  }
  if (found->node->is_directory()) return std::optional<std::string>();
  return std::optional(found->path);
}

Result<std::optional<OsImage::Found>> find_folder(OsImage& image, std::string_view path, const runtime::Call& call) {
  Result<OsImage::Found> found = image.resolve(path, OsImage::LastLink::kFollow, call);
  if (!found.ok()) {
    if (found.error().code() == Code::kNotFound) return std::optional<OsImage::Found>();
    return std::move(found).error();
  }
  if (!found->node->is_directory()) return std::optional<OsImage::Found>();
  return std::optional(*std::move(found));
}

/// The databases of an image, found before they are read.
struct FoundDatabase {
  packages::DatabaseLocation location;
  std::vector<std::string> files;
};

Result<std::vector<FoundDatabase>> find_databases(OsImage& image, WantedFiles& wanted, const runtime::Call& call) {
  std::vector<FoundDatabase> databases;
  for (const packages::DatabaseLocation& location : packages::database_locations()) {
    const auto same_system = [&](const FoundDatabase& known) {
      return system_of(known.location.form) == system_of(location.form);
    };
    if (std::ranges::any_of(databases, same_system)) continue;
    FoundDatabase database{location, {}};
    if (location.form == packages::DatabaseForm::kDpkgDirectory) {
      STRAKE_TRY(const auto folder, find_folder(image, location.path, call));
      if (!folder) continue;
      for (const auto& [name, child] : folder->node->children) {
        if (child->is_directory() || !packages::is_dpkg_member(name)) continue;
        if (database.files.size() == kMaxDpkgMembers) {
          return error(Code::kExhausted, "/{} has more than {} files", location.path, kMaxDpkgMembers);
        }
        database.files.push_back(join_path(folder->path, name));
      }
    } else {
      STRAKE_TRY(const std::optional<std::string> file, find_file(image, location.path, call));
      if (!file) continue;
      database.files.push_back(*file);
    }
    for (const std::string& file : database.files) wanted.want(file, packages::kMaxDatabaseBytes);
    databases.push_back(std::move(database));
  }
  return databases;
}

Result<std::vector<packages::Package>> packages_of(const FoundDatabase& database, const WantedFiles& files) {
  std::vector<packages::Package> all;
  for (const std::string& file : database.files) {
    const std::string* text = files.text(file);
    if (text == nullptr) return error(Code::kNotFound, "/{} is a link that leads to no file", file);
    switch (database.location.form) {
      case packages::DatabaseForm::kRpmFile: return packages::read_rpm_database(*text);
      case packages::DatabaseForm::kDpkgFile: return packages::read_dpkg_status(*text);
      case packages::DatabaseForm::kDpkgDirectory: break;
    }
    STRAKE_TRY_CONTEXT(std::vector<packages::Package> some, packages::read_dpkg_member(*text), "/{}", file);
    all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  packages::sort_packages(packages::PackageSystem::kDpkg, all);
  return all;
}

std::vector<PackageDatabase> read_databases(const std::vector<FoundDatabase>& found, const WantedFiles& files) {
  std::vector<PackageDatabase> databases;
  for (const FoundDatabase& database : found) {
    PackageDatabase read{system_of(database.location.form), "/" + std::string(database.location.path)};
    Result<std::vector<packages::Package>> packages = packages_of(database, files);
    if (packages.ok()) {
      read.packages = *std::move(packages);
    } else {
      read.problem = packages.error().to_string();
      read.damaged = packages.error().code() != Code::kUnsupported;
    }
    databases.push_back(std::move(read));
  }
  return databases;
}

Result<std::vector<Kernel>> find_kernels(OsImage& image, const runtime::Call& call) {
  std::vector<Kernel> kernels;
  STRAKE_TRY(const auto modules, find_folder(image, kModulesFolder, call));
  if (!modules) return kernels;
  for (const auto& [version, folder] : modules->node->children) {
    if (!folder->is_directory()) continue;
    Kernel kernel{version};
    const auto file_of = [&](std::string_view name) -> Result<std::optional<Kernel::File>> {
      const std::string path = join_path(join_path(modules->path, kernel.version), name);
      Result<OsImage::Found> found = image.resolve(path, OsImage::LastLink::kFollow, call);
      if (found.ok()) return std::optional(Kernel::File{"/" + path, found->node->size});
      if (found.error().code() == Code::kNotFound) return std::optional<Kernel::File>();
      return std::move(found).error();
    };
    STRAKE_TRY(kernel.vmlinuz, file_of("vmlinuz"));
    STRAKE_TRY(kernel.initramfs, file_of("initramfs.img"));
    // Folders of modules alone are left by packages that add some.
    if (kernel.vmlinuz || kernel.initramfs) kernels.push_back(std::move(kernel));
  }
  return kernels;
}

bool says_yes(const std::map<std::string, std::string>& labels, const std::string& name) {
  const auto found = labels.find(name);
  return found != labels.end() && (found->second == "1" || found->second == "true");
}

Result<std::vector<std::string>> string_list(const json::Value& value, std::string_view key) {
  if (!value.is_array()) return error(Code::kInvalidArgument, "{} is not a list", key);
  std::vector<std::string> texts;
  for (const json::Value& item : value.get_array()) {
    if (!item.is_string()) return error(Code::kInvalidArgument, "{} holds something that is no text", key);
    texts.emplace_back(std::string_view(item.get_string()));
  }
  return texts;
}

Status fill_kernel_arguments(KernelArgumentsFile& file, std::string_view text) {
  STRAKE_TRY(const json::Value document, toml::parse(text));
  bool has_arguments = false;
  for (const auto& member : document.get_object()) {
    const std::string_view key = member.key();
    if (key == "kargs") {
      STRAKE_TRY(file.arguments, string_list(member.value(), key));
      has_arguments = true;
    } else if (key == "match-architectures") {
      STRAKE_TRY(file.architectures, string_list(member.value(), key));
    } else {
      return error(Code::kInvalidArgument, "unknown key {}", key);
    }
  }
  if (!has_arguments) return error(Code::kInvalidArgument, "kargs is missing");
  return {};
}

}  // namespace

std::map<std::string, std::string> parse_os_release(std::string_view text) {
  std::map<std::string, std::string> values;
  while (!text.empty()) {
    const std::string_view line = trimmed(take_until(text, '\n'));
    const std::size_t equals = line.find('=');
    if (line.starts_with('#') || equals == std::string_view::npos || equals == 0) continue;
    std::string_view raw = line.substr(equals + 1);
    const char quote = raw.size() >= 2 && raw.front() == raw.back() ? raw.front() : '\0';
    if (quote == '"' || quote == '\'') raw = raw.substr(1, raw.size() - 2);
    std::string value;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] == '\\' && quote != '\'' && i + 1 < raw.size()) ++i;
      value += raw[i];
    }
    values.insert_or_assign(std::string(line.substr(0, equals)), std::move(value));
  }
  return values;
}

KernelArgumentsFile parse_kernel_arguments(std::string path, std::string_view text) {
  KernelArgumentsFile file{std::move(path)};
  if (const Status filled = fill_kernel_arguments(file, text); !filled.ok()) {
    file.arguments.clear();
    file.problem = filled.error().to_string();
  }
  return file;
}

Result<std::vector<PackageDatabase>> read_packages(OsImage& image, const runtime::Call& call) {
  WantedFiles files;
  STRAKE_TRY(const std::vector<FoundDatabase> databases, find_databases(image, files, call));
  STRAKE_CHECK_OK(files.read(image, call));
  return read_databases(databases, files);
}

Result<std::vector<std::string>> read_kernel_versions(OsImage& image, const runtime::Call& call) {
  std::vector<std::string> versions;
  STRAKE_TRY(const auto modules, find_folder(image, kModulesFolder, call));
  if (!modules) return versions;
  for (const auto& [version, folder] : modules->node->children) {
    if (folder->children.contains("vmlinuz") || folder->children.contains("initramfs.img")) versions.push_back(version);
  }
  return versions;
}

Result<Inspection> inspect(OsImage& image, const runtime::Call& call) {
  WantedFiles files;
  STRAKE_TRY(const std::vector<FoundDatabase> databases, find_databases(image, files, call));
  std::optional<std::string> os_release;
  for (const std::string_view path : {"usr/lib/os-release", "etc/os-release"}) {
    if (os_release) break;
    STRAKE_TRY(os_release, find_file(image, path, call));
  }
  if (os_release) files.want(*os_release, kMaxOsReleaseBytes);
  std::vector<std::string> argument_files;
  STRAKE_TRY(const auto argument_folder, find_folder(image, kKernelArgumentsFolder, call));
  if (argument_folder) {
    for (const auto& [name, child] : argument_folder->node->children) {
      if (child->is_directory() || !name.ends_with(".toml")) continue;
      if (argument_files.size() == kMaxKernelArgumentsFiles) {
        return error(Code::kExhausted, "/{} has more than {} files", kKernelArgumentsFolder, kMaxKernelArgumentsFiles);
      }
      argument_files.push_back(join_path(argument_folder->path, name));
      files.want(argument_files.back(), kMaxKernelArgumentsBytes);
    }
  }
  STRAKE_CHECK_OK(files.read(image, call));
  Inspection inspection;
  if (const std::string* text = os_release ? files.text(*os_release) : nullptr) {
    inspection.os_release = parse_os_release(*text);
  }
  for (const std::string& path : argument_files) {
    const std::string* text = files.text(path);
    inspection.kernel_arguments.push_back(
        text != nullptr ? parse_kernel_arguments("/" + path, *text)
                        : KernelArgumentsFile{"/" + path, {}, {}, "a link that leads to no file"});
  }
  inspection.package_databases = read_databases(databases, files);
  // Last, because by now the layers that were read for content are known.
  STRAKE_TRY(inspection.kernels, find_kernels(image, call));
  const ImageFacts& facts = image.facts();
  inspection.bootable = says_yes(facts.labels, "containers.bootc") || says_yes(facts.labels, "ostree.bootable") ||
                        (facts.commit && facts.commit->flag("ostree.bootable"));
  return inspection;
}

}  // namespace strake::osimage
