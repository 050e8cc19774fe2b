// The content of the files that ImageFiles lists.
#include <deque>
#include <map>

#include "oci/image_files.h"
#include "oci/layered_tree.h"
#include "oci/spool.h"

namespace strake::oci {

namespace {

struct WantedContent {
  const ImageFile* file = nullptr;
  std::vector<std::string> paths;
};
/// By where the content begins in its layer.
using WantedOfLayer = std::map<std::uint64_t, WantedContent>;

Status read_wanted(const ImageSource& source, const Descriptor& layer, const WantedOfLayer& wanted,
                   const ContentVisitor& visit, const runtime::Call& call) {
  std::size_t found = 0;
  const LayerVisitor pick = [&](const LayerEntry& entry) -> Result<AfterEntry> {
    const auto match = wanted.find(entry.tar_offset);
    if (match == wanted.end()) return AfterEntry::kGoOn;
    const ImageFile& file = *match->second.file;
    if (entry.tar.type != codec::TarEntryType::kFile || entry.tar.size != file.tar.size) {
      return error(Code::kInternal,
                   "entry '{}' is not what the index of the layer says; list the image without a cache",
                   entry.tar.path);
    }
    STRAKE_CHECK_OK(visit({match->second.paths, file, entry.content}).context("{}", match->second.paths.front()));
    return ++found == wanted.size() ? AfterEntry::kEnough : AfterEntry::kGoOn;
  };
  const auto read = [&](codec::Source& tar) {
    found = 0;
    return visit_tar(tar, pick);
  };
  STRAKE_CHECK_OK(read_layer(source, layer, read, call));
  if (found == wanted.size()) return {};
  return error(Code::kInternal,
               "{} of {} files are not where the index of the layer says; list the image without a cache",
               wanted.size() - found, wanted.size());
}

}  // namespace

Result<std::string> ImageFiles::resolve(std::string_view path, SymbolicLinks links) const {
  if (links == SymbolicLinks::kKeep) {
    STRAKE_TRY(std::string clean, codec::clean_archive_path(path));
    if (clean == "." || find(clean) != nullptr) return clean;
    return error(Code::kNotFound, "the image has no /{}", clean);
  }
  std::deque<std::string> left;
  codec::prepend_path_parts(left, path);
  std::string at;
  int followed = 0;
  while (!left.empty()) {
    const std::string part = std::move(left.front());
    left.pop_front();
    if (part == "..") {
      at = std::string(parent_path(at));
      continue;
    }
    std::string next = at.empty() ? part : fmt::format("{}/{}", at, part);
    const ImageFile* file = find(next);
    if (file == nullptr) {
      return error(Code::kNotFound, "the image has no /{}{}", next,
                   followed > 0 ? fmt::format(", where {} leads", path) : "");
    }
    if (file->tar.type == codec::TarEntryType::kSymlink) {
      if (++followed > kMaxSymbolicLinks) {
        return error(Code::kInvalidArgument, "{} leads through more than {} symbolic links", path, kMaxSymbolicLinks);
      }
      if (file->tar.link_target.starts_with('/')) at.clear();
      codec::prepend_path_parts(left, file->tar.link_target);
      continue;
    }
    if (!left.empty() && file->tar.type != codec::TarEntryType::kDirectory) {
      return error(Code::kNotFound, "/{} is no folder of the image, so there is no {}", next, path);
    }
    at = std::move(next);
  }
  return at.empty() ? "." : at;
}

Status ImageFiles::visit_files(const ContentOrigin& origin, const std::vector<std::string>& paths, SymbolicLinks links,
                               const ContentVisitor& visit, const runtime::Call& call) const {
  std::map<std::size_t, WantedOfLayer> wanted;
  for (const std::string& path : paths) {
    STRAKE_TRY(const std::string real, resolve(path, links));
    const ImageFile* file = find(real);
    if (file == nullptr || file->tar.type != codec::TarEntryType::kFile) {
      return error(Code::kInvalidArgument, "{} is a {}, not a regular file", path,
                   file == nullptr ? "directory" : codec::to_string(file->tar.type));
    }
    WantedContent& content = wanted[file->layer][file->tar_offset];
    content.file = file;
    content.paths.push_back(path);
  }
  for (const auto& [number, files] : wanted) {
    if (number >= origin.manifest.layers.size()) {
      return error(Code::kInvalidArgument, "the manifest has {} layers: it is not the one these files were listed from",
                   origin.manifest.layers.size());
    }
    const Descriptor& layer = origin.manifest.layers[number];
    const auto read = [&](const ImageSource& source) {
      return read_wanted(source, layer, files, visit, call)
          .context("reading layer {} of {} ({})", number + 1, origin.manifest.layers.size(), layer.digest.to_string());
    };
    STRAKE_CHECK_OK(read_sparingly(origin.source, origin.cache, layer, read));
  }
  return {};
}

Result<std::map<std::string, std::string>> ImageFiles::read_files(const ContentOrigin& origin,
                                                                  const std::vector<std::string>& paths,
                                                                  SymbolicLinks links, const FileLimits& limits,
                                                                  const runtime::Call& call) const {
  std::map<std::string, std::string> texts;
  std::uint64_t total_bytes = 0;
  const ContentVisitor keep = [&](const FileContent& found) -> Status {
    STRAKE_TRY(const std::string text, codec::read_all(found.content, limits.max_file_bytes));
    for (const std::string& path : found.paths) {
      std::string& kept = texts[path];
      total_bytes += text.size() - kept.size();  // it may be shown a second time
      kept = text;
    }
    if (texts.size() <= limits.max_files && total_bytes <= limits.max_total_bytes) return {};
    return error(Code::kExhausted, "more than {} files or {} bytes are asked for", limits.max_files,
                 limits.max_total_bytes);
  };
  STRAKE_CHECK_OK(visit_files(origin, paths, links, keep, call));
  return texts;
}

Status ImageFiles::stream_file(const ContentOrigin& origin, std::string_view path, SymbolicLinks links,
                               codec::Sink& sink, const runtime::Call& call) const {
  Spool spool;
  const ContentVisitor keep = [&](const FileContent& found) -> Status {
    spool = Spool();
    STRAKE_TRY([[maybe_unused]] const std::uint64_t copied, codec::copy(found.content, spool));
    return {};
  };
  STRAKE_CHECK_OK(visit_files(origin, {std::string(path)}, links, keep, call));
  return spool.copy_to(sink);
}

}  // namespace strake::oci
