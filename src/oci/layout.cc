#include "oci/layout.h"

#include <set>

#include "oci/file_store.h"

namespace strake::oci {

namespace {

constexpr std::size_t kMaxLayoutFileBytes = 4096;

bool is_named(const Descriptor& entry, std::string_view reference) {
  if (reference.empty() || entry.digest.to_string() == reference) return true;
  const auto name = entry.annotations.find(std::string(kRefNameAnnotation));
  return name != entry.annotations.end() && name->second == reference;
}

/// An image under two names is one image.
std::vector<Descriptor> entries_named(const Index& index, std::string_view reference) {
  std::vector<Descriptor> matching;
  std::set<codec::Digest> seen;
  for (const Descriptor& entry : index.manifests) {
    if (is_named(entry, reference) && seen.insert(entry.digest).second) matching.push_back(entry);
  }
  return matching;
}

}  // namespace

Layout::Layout(std::filesystem::path directory, std::shared_ptr<const FileStore> files, Index index)
    : directory_(std::move(directory)), files_(std::move(files)), index_(std::move(index)) {}

Result<Layout> Layout::read(std::filesystem::path directory, std::shared_ptr<const FileStore> files) {
  STRAKE_TRY(const std::string marker, files->read("oci-layout", kMaxLayoutFileBytes));
  STRAKE_TRY_CONTEXT(const json::Value layout, json::parse(marker), "oci-layout");
  const std::string version = json::find_string(layout, {"imageLayoutVersion"}).value_or("");
  if (version != "1.0.0") {
    return error(Code::kUnsupported, "oci-layout: imageLayoutVersion is '{}', expected 1.0.0", version);
  }
  STRAKE_TRY(const std::string text, files->read("index.json", kMaxManifestBytes));
  STRAKE_TRY_CONTEXT(Index index, parse_index(text), "index.json");
  return Layout(std::move(directory), std::move(files), std::move(index));
}

Result<Layout> Layout::open(const std::filesystem::path& directory) {
  return read(directory, std::make_shared<FolderFiles>(directory))
      .context("opening image layout {}", directory.string());
}

Result<Layout> Layout::open_archive(const std::filesystem::path& archive) {
  STRAKE_TRY(std::shared_ptr<const FileStore> files, ArchiveFiles::scan(archive));
  return read(archive, std::move(files)).context("opening image archive {}", archive.string());
}

Result<Layout> Layout::open_in(std::shared_ptr<const FileStore> files) {
  const std::string location = files->location();
  return read(location, std::move(files)).context("opening image layout {}", location);
}

std::string Layout::description() const { return fmt::format("image layout {}", directory_.string()); }

Result<std::vector<Descriptor>> Layout::find_entries(std::string_view reference, const runtime::Call&) const {
  std::vector<Descriptor> matching = entries_named(index_, reference);
  if (!matching.empty()) return matching;
  return error(Code::kNotFound, "{} has no image '{}' (it has: {})", description(), reference,
               entry_names(index_.manifests))
      .with_verdict(Verdict::kAbsent);
}

Result<std::unique_ptr<BlobSource>> Layout::open_blob(const Descriptor& descriptor, const runtime::Call&) const {
  Result<StoredFile> found = files_->open(
      fmt::format("blobs/{}/{}", codec::to_string(descriptor.digest.algorithm()), descriptor.digest.hex()));
  if (!found.ok() && found.error().code() == Code::kNotFound) {
    return error(Code::kNotFound, "{} lacks blob {}: the copy was not finished; repeat the command that makes it",
                 description(), descriptor.digest.to_string())
        .with_verdict(Verdict::kAbsent);
  }
  STRAKE_TRY(StoredFile file, std::move(found));
  if (file.size != descriptor.size) {
    return not_genuine("{} has {} bytes, its descriptor says {}; fetch it again", file.name, file.size,
                       descriptor.size);
  }
  return std::make_unique<BlobSource>(std::move(file.content), std::move(file.name), descriptor);
}

}  // namespace strake::oci
