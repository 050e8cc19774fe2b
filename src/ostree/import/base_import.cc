#include "ostree/import/base_import.h"

#include <sys/stat.h>

#include <algorithm>

namespace strake::ostree {

namespace {

/// Hashes a file as the image has it, while something else is made of it.
class FileHashingSource final : public codec::Source {
 public:
  FileHashingSource(const FileInfo& info, codec::Source& inner) : hasher_(info), inner_(inner) {}
  Result<std::size_t> read(std::span<std::byte> into) override {
    STRAKE_TRY(const std::size_t got, inner_.read(into));
    hasher_.update(into.first(got));
    return got;
  }
  Checksum finish() && { return std::move(hasher_).finish(); }

 private:
  FileHasher hasher_;
  codec::Source& inner_;
};

Variant dictionary_entry(std::string_view key, Variant value) {
  Variant entry = Variant::tuple({Variant::string(key), Variant::boxed(std::move(value))});
  entry.type = "{sv}";
  return entry;
}

}  // namespace

Variant text_dictionary(const std::map<std::string, std::string>& texts) {
  std::vector<Variant> entries;
  entries.reserve(texts.size());
  for (const auto& [key, text] : texts) entries.push_back(dictionary_entry(key, Variant::string(text)));
  return Variant::array("{sv}", std::move(entries));
}

/// The files of a layer go into the repository; a commit layer's metadata is kept, a chunk may have none.
class LayerFiles final : public ObjectReceiver {
 public:
  LayerFiles(BaseImport& base, bool is_chunk) : base_(base), is_chunk_(is_chunk) {}

  Status metadata(ObjectType type, const Checksum& checksum, std::string bytes) override {
    if (is_chunk_) return error(Code::kCorrupt, "a {} object in a layer that holds files alone", to_string(type));
    if (!objects.emplace(std::pair(type, checksum), std::move(bytes)).second) return twice();
    return {};
  }

  Status file(const Checksum& checksum, FileInfo info, codec::Source& content) override {
    if (files.contains(checksum)) return twice();
    if (!base_.owner_) {
      STRAKE_TRY(const Checksum stored, base_.writer_.write_file(info, content, checksum));
      files.emplace(checksum, stored);
      return {};
    }
    FileHashingSource hashed(info, content);
    STRAKE_TRY(const Checksum stored, base_.writer_.write_file(mapped_to(*base_.owner_, info), hashed));
    STRAKE_CHECK_OK(require_checksum(ObjectType::kFile, checksum, std::move(hashed).finish()));
    files.emplace(checksum, stored);
    return {};
  }

  Status archived_file(const Checksum&, FileInfo, codec::Source&) override {
    return error(Code::kCorrupt, "an archived file in a layer of another form");
  }

  Status detached_metadata(const Checksum& commit, codec::Source& content) override {
    if (is_chunk_) return error(Code::kCorrupt, "metadata of a commit in a layer that holds files alone");
    STRAKE_TRY(std::string bytes, codec::read_all(content, kMaxMetadataBytes));
    if (!detached.emplace(commit, std::move(bytes)).second) return twice();
    return {};
  }

  Status unknown(std::string_view) override {
    return error(Code::kUnsupported, "it is no object this program knows: the image needs a newer one");
  }

  std::map<std::pair<ObjectType, Checksum>, std::string> objects;
  std::map<Checksum, std::string> detached;
  std::map<Checksum, Checksum> files;

 private:
  static Status twice() { return error(Code::kCorrupt, "the object is in the layer twice"); }

  BaseImport& base_;
  bool is_chunk_;
};

Status BaseImport::read_commit_layer(codec::Source& tar, const Checksum& promised) {
  LayerFiles layer(*this, false);
  STRAKE_CHECK_OK(scan_object_layer(tar, ObjectLayerForm::kNative, layer));
  std::string others;
  bool found = false;
  for (const auto& [key, bytes] : layer.objects) {
    if (key.first != ObjectType::kCommit) continue;
    if (key.second == promised) {
      found = true;
    } else {
      others += " " + key.second.hex();
    }
  }
  if (!found || !others.empty()) {
    return not_genuine("the image promises commit {}, but its commit layer holds{}{}", promised.hex(),
                       found ? " others too:" : "", others.empty() ? " no commit" : others);
  }
  for (const auto& [commit, bytes] : layer.detached) {
    if (commit != promised) return error(Code::kCorrupt, "metadata of commit {}, which is not there", commit.hex());
    detached_ = bytes;
  }
  metadata_ = std::move(layer.objects);
  commit_layer_files_ = std::move(layer.files);
  return {};
}

Result<Checksum> BaseImport::read_chunk(codec::Source& tar) {
  LayerFiles layer(*this, true);
  STRAKE_CHECK_OK(scan_object_layer(tar, ObjectLayerForm::kNative, layer));
  DirTree tree;
  tree.files.reserve(layer.files.size());
  for (const auto& [checksum, stored] : layer.files) tree.files.push_back({checksum.hex(), stored});
  STRAKE_TRY(const Checksum contents, writer_.write_metadata(ObjectType::kDirTree, serialize_dirtree(tree)));
  STRAKE_TRY(const Checksum meta,
             writer_.write_metadata(ObjectType::kDirMeta, serialize_dirmeta({0, 0, S_IFDIR | 0755, {}})));
  const Commit commit{text_dictionary({}), std::nullopt, "", "", 0, contents, meta};
  STRAKE_TRY(const Checksum written, writer_.write_metadata(ObjectType::kCommit, serialize_commit(commit)));
  chunk_files_.merge(layer.files);
  return written;
}

Status BaseImport::know_chunk(const Checksum& chunk_commit) {
  const Repository& repository = writer_.repository();
  STRAKE_TRY(const Commit commit, read_commit(repository, chunk_commit));
  STRAKE_TRY(const std::string bytes, read_metadata(repository, ObjectType::kDirTree, commit.root_tree));
  STRAKE_TRY(const DirTree tree, parse_dirtree(bytes));
  for (const DirTree::File& file : tree.files) {
    STRAKE_TRY_CONTEXT(const Checksum name, Checksum::from_hex(file.name), "commit {} of a layer", chunk_commit.hex());
    chunk_files_.emplace(name, file.checksum);
  }
  return {};
}

Result<std::string> BaseImport::load_metadata(ObjectType type, const Checksum& checksum) const {
  const auto found = metadata_.find({type, checksum});
  if (found != metadata_.end()) return found->second;
  return error(Code::kNotFound, "{} object {} is in none of the image's layers: the image is not complete",
               to_string(type), checksum.hex());
}

Result<Checksum> BaseImport::write_meta(const Checksum& meta) {
  if (const auto known = metas_.find(meta); known != metas_.end()) return known->second;
  STRAKE_TRY(std::string bytes, load_metadata(ObjectType::kDirMeta, meta));
  if (owner_) {
    STRAKE_TRY(DirMeta read, parse_dirmeta(bytes));
    bytes = serialize_dirmeta(mapped_to(*owner_, std::move(read)));
  }
  STRAKE_TRY(const Checksum written, writer_.write_metadata(ObjectType::kDirMeta, bytes));
  metas_.emplace(meta, written);
  return written;
}

Result<BaseImport::WrittenFolder> BaseImport::write_folder(const Checksum& contents, std::size_t depth) {
  // A folder may be at many places: it is written once, and counted at each.
  if (const auto known = folders_.find(contents); known != folders_.end()) return known->second;
  if (depth > TreeLimits{}.max_depth) {
    return error(Code::kExhausted, "folders are nested more than {} deep", TreeLimits{}.max_depth);
  }
  STRAKE_TRY(const std::string bytes, load_metadata(ObjectType::kDirTree, contents));
  STRAKE_TRY(DirTree tree, parse_dirtree(bytes));
  std::uint64_t entries = tree.files.size();
  for (DirTree::File& file : tree.files) {
    auto stored = chunk_files_.find(file.checksum);
    if (stored == chunk_files_.end()) {
      stored = commit_layer_files_.find(file.checksum);
      if (stored == commit_layer_files_.end()) {
        return error(Code::kCorrupt, "file '{}' ({}) is in none of the image's layers: the image is not complete",
                     file.name, file.checksum.hex());
      }
    }
    file.checksum = stored->second;
  }
  for (DirTree::Directory& child : tree.directories) {
    STRAKE_TRY_CONTEXT(const WrittenFolder written, write_folder(child.tree, depth + 1), "folder '{}'", child.name);
    STRAKE_TRY_CONTEXT(child.meta, write_meta(child.meta), "folder '{}'", child.name);
    child.tree = written.contents;
    entries += 1 + written.entries;
  }
  if (entries > TreeLimits{}.max_entries) {
    return error(Code::kExhausted, "the commit has more than {} files and folders", TreeLimits{}.max_entries);
  }
  STRAKE_TRY(const Checksum written, writer_.write_metadata(ObjectType::kDirTree, serialize_dirtree(tree)));
  const WrittenFolder folder{written, entries};
  folders_.emplace(contents, folder);
  return folder;
}

Result<Checksum> BaseImport::finish(const Checksum& promised) {
  STRAKE_TRY(Commit commit, ostree::read_commit(*this, promised));
  STRAKE_TRY_CONTEXT(const WrittenFolder root, write_folder(commit.root_tree, 0), "commit {}", promised.hex());
  STRAKE_TRY_CONTEXT(const Checksum meta, write_meta(commit.root_meta), "commit {}", promised.hex());
  if (owner_) {
    commit.root_tree = root.contents;
    commit.root_meta = meta;
    // The image's own parent is no parent of what this became.
    commit.parent.reset();
    std::erase_if(commit.metadata.items, [](const Variant& item) { return item.items[0].text == kImageCommitKey; });
    commit.metadata.items.push_back(dictionary_entry(kImageCommitKey, Variant::string(promised.hex())));
  }
  STRAKE_TRY(const Checksum written, writer_.write_metadata(ObjectType::kCommit, serialize_commit(commit)));
  if (!owner_) {
    STRAKE_CHECK_OK(require_checksum(ObjectType::kCommit, promised, written));
    if (!detached_.empty()) STRAKE_CHECK_OK(writer_.write_detached_metadata(promised, detached_));
  }
  STRAKE_CHECK_OK(writer_.mark_complete(written));
  return written;
}

Result<bool> is_whole(RepositoryWriter& writer, const Checksum& checksum) {
  const auto not_whole = [](const Error& why) { return why.code() == Code::kNotFound || why.code() == Code::kCorrupt; };
  const Repository& repository = writer.repository();
  const Result<Commit> commit = read_commit(repository, checksum);
  if (!commit.ok()) return not_whole(commit.error()) ? Result<bool>(false) : Result<bool>(commit.error());
  bool whole = true;
  const Status walked = walk_tree(repository, *commit, [&](const TreeEntry& entry) -> Status {
    if (entry.meta != nullptr || !whole) return {};
    STRAKE_TRY(whole, writer.has_intact(ObjectType::kFile, entry.checksum));
    return {};
  });
  if (!walked.ok()) return not_whole(walked.error()) ? Result<bool>(false) : Result<bool>(walked.error());
  return whole;
}

}  // namespace strake::ostree
