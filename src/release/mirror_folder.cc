#include "release/mirror_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "api/kinds.h"
#include "base/fd.h"
#include "codec/document_node.h"
#include "codec/tar.h"
#include "oci/layout.h"

namespace strake::release {

namespace {

constexpr std::string_view kMirrorKind = "StrakeMirror";
constexpr std::string_view kImagesFolder = "images";
constexpr mode_t kMirrorFileMode = 0644;

/// "quay.io/org/os" as one name that is fit for a path and for skopeo, which ends a path at a colon.
std::string folder_name(std::string_view repository) {
  std::string name(repository);
  std::ranges::replace_if(name, [](char c) { return c == '/' || c == ':' || c == '[' || c == ']'; }, '_');
  return name;
}

Result<MirroredRelease> parse_release(const json::DocumentNode& node) {
  MirroredRelease release;
  STRAKE_TRY(release.version, node.required_text("version"));
  STRAKE_TRY(release.digest, node.required_text("digest"));
  STRAKE_TRY(release.repository, node.required_text("repository"));
  STRAKE_TRY(release.tag, node.required_text("tag"));
  STRAKE_TRY(release.signature, node.text("signature"));
  return release;
}

/// The index comes from wherever the mirror was carried from: its folders may lead below the mirror only.
Status check_folder(std::string_view folder) {
  const Result<std::string> clean = codec::clean_archive_path(folder);
  if (clean.ok() && *clean == folder && folder.starts_with(std::string(kImagesFolder) + "/")) return {};
  return error(Code::kInvalidArgument, "'{}' is no folder below {}/", folder, kImagesFolder);
}

std::string release_names(const MirrorIndex& index) {
  std::string names;
  for (const MirroredRelease& release : index.releases) names += (names.empty() ? "" : ", ") + release.tag;
  return names.empty() ? "none" : names;
}

Result<MirroredRelease> find_mirrored(const MirrorIndex& index, std::string_view wanted) {
  std::vector<const MirroredRelease*> matching;
  for (const MirroredRelease& release : index.releases) {
    if (wanted.empty() || wanted == release.version || wanted == release.tag || wanted == release.digest) {
      matching.push_back(&release);
    }
  }
  if (matching.size() == 1) return *matching.front();
  if (matching.empty()) {
    return error(Code::kNotFound, "the mirror has no release '{}' (it has: {})", wanted, release_names(index))
        .with_verdict(Verdict::kAbsent);
  }
  return error(Code::kInvalidArgument, "the mirror has {} releases: name one of {}", matching.size(),
               release_names(index));
}

Status pack_file(codec::TarWriter& tar, const std::filesystem::path& path, std::string name) {
  STRAKE_TRY(const Fd fd, open_file(path, O_RDONLY));
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return errno_error(errno, path.string());
  codec::TarEntry entry;
  entry.path = std::move(name);
  entry.mode = kMirrorFileMode;
  entry.size = static_cast<std::uint64_t>(info.st_size);
  codec::FdSource content(fd.get(), path.string());
  return tar.add(entry, content);
}

}  // namespace

Result<MirrorIndex> parse_mirror_index(std::string_view text) {
  STRAKE_TRY(const json::Value document, json::parse(text));
  if (json::find_string(document, {"kind"}) != kMirrorKind ||
      json::find_string(document, {"apiVersion"}) != api::kStrakeApiVersion) {
    return error(Code::kInvalidArgument, "expected kind {} of {}", kMirrorKind, api::kStrakeApiVersion);
  }
  MirrorIndex index;
  const json::DocumentNode root(document);
  const auto add_repository = [&](const std::string& name, const json::DocumentNode& node) -> Status {
    if (!node.value().is_string()) return node.expected("text");
    const std::string folder(json::as_view(node.value().get_string()));
    STRAKE_CHECK_OK(check_folder(folder).context("{}", node.path()));
    index.repositories.emplace(name, folder);
    return {};
  };
  STRAKE_CHECK_OK(root.for_each_in("repositories", add_repository));
  STRAKE_CHECK_OK(root.for_each_item("releases", [&](const json::DocumentNode& node) -> Status {
    STRAKE_TRY(MirroredRelease release, parse_release(node));
    index.releases.push_back(std::move(release));
    return {};
  }));
  return index;
}

std::string write_mirror_index(const MirrorIndex& index) {
  json::Array releases;
  for (const MirroredRelease& release : index.releases) {
    json::Object& item = releases
                             .emplace_back(json::Object{{"version", release.version},
                                                        {"digest", release.digest},
                                                        {"repository", release.repository},
                                                        {"tag", release.tag}})
                             .get_object();
    if (!release.signature.empty()) item["signature"] = release.signature;
  }
  json::Object repositories;
  for (const auto& [name, folder] : index.repositories) repositories[name] = folder;
  return json::write_pretty(json::Object{{"apiVersion", api::kStrakeApiVersion},
                                         {"kind", kMirrorKind},
                                         {"releases", std::move(releases)},
                                         {"repositories", std::move(repositories)}});
}

bool is_mirror(const oci::FileStore& files) { return files.open(kMirrorIndexFile).ok(); }

Result<std::unique_ptr<ReleasePlace>> open_mirror(std::shared_ptr<const oci::FileStore> files,
                                                  std::string_view release) {
  STRAKE_TRY(const std::string text, files->read(kMirrorIndexFile, kMaxMirrorIndexBytes));
  STRAKE_TRY_CONTEXT(MirrorIndex index, parse_mirror_index(text), "{} of {}", kMirrorIndexFile, files->location());
  STRAKE_TRY_CONTEXT(const MirroredRelease wanted, find_mirrored(index, release), "{}", files->location());
  const auto open = [files, repositories = std::move(index.repositories)](
                        const std::string& repository) -> Result<std::unique_ptr<oci::ImageSource>> {
    const auto folder = repositories.find(repository);
    if (folder == repositories.end()) {
      return error(Code::kNotFound, "mirror {} has nothing of {}", files->location(), repository)
          .with_verdict(Verdict::kAbsent);
    }
    STRAKE_TRY(oci::Layout layout, oci::Layout::open_in(std::make_shared<oci::SubfolderFiles>(files, folder->second)));
    return std::unique_ptr<oci::ImageSource>(std::make_unique<oci::Layout>(std::move(layout)));
  };
  STRAKE_TRY(std::unique_ptr<oci::ImageSource> home, open(wanted.repository));
  auto place =
      std::make_unique<ReleasePlace>(std::move(home), wanted.digest, wanted.repository,
                                     [open](const oci::Reference& reference) { return open(reference.name()); });
  place->set_complete();
  return place;
}

Result<std::unique_ptr<MirrorWriter>> MirrorWriter::open(std::filesystem::path folder, runtime::Runtime& runtime) {
  std::error_code failure;
  std::filesystem::create_directories(folder / kImagesFolder, failure);
  if (failure) return errno_error(failure.value(), folder.string());
  std::unique_ptr<MirrorWriter> writer(new MirrorWriter(std::move(folder), runtime));
  const std::filesystem::path file = writer->folder_ / kMirrorIndexFile;
  const Result<std::string> text = read_file(file, kMaxMirrorIndexBytes);
  if (!text.ok() && text.error().code() == Code::kNotFound) return writer;
  if (!text.ok()) return text.error();
  STRAKE_TRY_CONTEXT(writer->index_, parse_mirror_index(*text), "{}", file.string());
  return writer;
}

Result<oci::ImageTarget*> MirrorWriter::target(const std::string& repository) {
  std::unique_ptr<oci::ImageTarget>& known = targets_[repository];
  if (known) return known.get();
  if (!index_.repositories.contains(repository)) {
    std::string folder = fmt::format("{}/{}", kImagesFolder, folder_name(repository));
    const auto taken = [&](const auto& entry) { return entry.second == folder; };
    while (std::ranges::any_of(index_.repositories, taken)) folder += "_";
    index_.repositories.emplace(repository, folder);
    STRAKE_CHECK_OK(save());
  }
  STRAKE_TRY(known, oci::LayoutTarget::open(folder_ / index_.repositories.at(repository), runtime_));
  return known.get();
}

Status MirrorWriter::add_release(MirroredRelease release) {
  std::erase_if(index_.releases, [&](const MirroredRelease& other) { return other.tag == release.tag; });
  index_.releases.push_back(std::move(release));
  std::ranges::sort(index_.releases, {}, &MirroredRelease::tag);
  return save();
}

Status MirrorWriter::save() const {
  return write_file_atomic(folder_ / kMirrorIndexFile, write_mirror_index(index_), kMirrorFileMode);
}

Status pack_folder(const std::filesystem::path& folder, const std::filesystem::path& archive) {
  std::vector<std::string> names;
  std::error_code failure;
  for (std::filesystem::recursive_directory_iterator it(folder, failure), end; !failure && it != end;
       it.increment(failure)) {
    // Hidden files are fetches that died.
    const bool hidden = it->path().filename().string().starts_with('.');
    if (it->is_regular_file() && !hidden) names.push_back(it->path().lexically_relative(folder).string());
  }
  if (failure) return errno_error(failure.value(), folder.string());
  std::ranges::sort(names);
  const std::filesystem::path partial = archive.string() + ".part";
  {
    STRAKE_TRY(const Fd fd, open_file(partial, O_WRONLY | O_CREAT | O_TRUNC, kMirrorFileMode));
    codec::FdSink sink(fd.get(), partial.string());
    codec::TarWriter tar(sink);
    for (const std::string& name : names) STRAKE_CHECK_OK(pack_file(tar, folder / name, name));
    STRAKE_CHECK_OK(tar.finish());
    if (::fsync(fd.get()) != 0) return errno_error(errno, partial.string());
  }
  std::filesystem::rename(partial, archive, failure);
  if (failure) return errno_error(failure.value(), archive.string());
  return {};
}

}  // namespace strake::release
