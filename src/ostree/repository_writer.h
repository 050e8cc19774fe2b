// RepositoryWriter: an ostree repository on disk, written without libostree, so that every ostree program reads it.
//
// An object is written under a temporary name in tmp/, hashed on its way, and renamed to its checksum when complete: a
// reader, or a power loss, sees whole objects only. One that is there already is hashed before it is relied on, and
// replaced when it is damaged. Nothing refers to objects before their refs are written, and those come last.
//
// While a writer lives, it holds the repository's lock as every ostree program does that adds to it: pruning waits. The
// first one removes what writers that died left in tmp/.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "codec/stream.h"
#include "ostree/objects.h"
#include "ostree/repository.h"

namespace strake::ostree {

/// When bytes have to be on the disk itself.
enum class SyncPolicy {
  kNever,       ///< for repositories that can be made anew
  kBeforeRefs,  ///< everything written so far, before a ref leads there
  kEachObject,
};

struct WriterOptions {
  SyncPolicy sync = SyncPolicy::kBeforeRefs;
};

class RepositoryWriter {
 public:
  /// Makes an empty repository; one of the same mode that is there is opened. kUnsupported: bare-split-xattrs, which
  /// exists inside images only.
  static Result<std::unique_ptr<RepositoryWriter>> create(const std::filesystem::path& directory, RepositoryMode mode,
                                                          const WriterOptions& options = {});
  /// kUnavailable while somebody prunes.
  static Result<std::unique_ptr<RepositoryWriter>> open(const std::filesystem::path& directory,
                                                        const WriterOptions& options = {});

  const Repository& repository() const { return repository_; }

  /// Whether the object is there and what its name says: hashed once by a writer.
  Result<bool> has_intact(ObjectType type, const Checksum& checksum);

  /// kInvalidArgument when the bytes are no object of that type.
  Result<Checksum> write_metadata(ObjectType type, std::string_view bytes);
  /// Reads `content` to its end, which must be that of `info.size` bytes (none of a link). With `expected`, kCorrupt
  /// when it is another file, and nothing was stored. kDenied when the repository keeps owners and the caller may not
  /// set them.
  Result<Checksum> write_file(const FileInfo& info, codec::Source& content,
                              const std::optional<Checksum>& expected = std::nullopt);
  /// Signatures and the like, in place of those the commit has.
  Status write_detached_metadata(const Checksum& commit, std::string_view bytes);
  /// Nothing of the commit is missing any more: takes away the mark that a broken import left.
  Status mark_complete(const Checksum& commit);

  /// "ostree/container/image/..."; after everything it leads to.
  Status write_ref(std::string_view name, const Checksum& commit);
  /// Removing what is not there is fine.
  Status remove_ref(std::string_view name);

  struct Counts {
    std::uint64_t objects_written = 0;
    std::uint64_t bytes_written = 0;
    std::uint64_t objects_kept = 0;     ///< that were there, and right
    std::uint64_t objects_damaged = 0;  ///< that were there, and not what their name says
  };
  Counts counts() const;

 private:
  class Temporary;
  struct Folders {
    Fd root, objects, tmp, heads, state, lock;
  };

  RepositoryWriter(Repository repository, Folders folders, const WriterOptions& options)
      : repository_(std::move(repository)), folders_(std::move(folders)), options_(options) {}

  Status place(Temporary& temporary, ObjectType type, const Checksum& checksum, std::uint64_t bytes);
  Result<Checksum> write_regular(const FileInfo& info, codec::Source& content, const std::optional<Checksum>& expected);
  Status write_link(const FileInfo& info, const Checksum& checksum);
  Status fill(Temporary& temporary, const FileInfo& info, codec::Source& content, FileHasher& hasher);
  Status set_attributes(const Temporary& temporary, const FileInfo& info);
  Status set_owner(const Temporary& temporary, const FileInfo& info);
  Status check_storable(const FileInfo& info) const;
  Status replace_small(int folder, const std::string& name, std::string_view bytes);
  Status sync_all();

  Repository repository_;
  Folders folders_;
  WriterOptions options_;
  std::atomic<std::uint64_t> temporaries_ = 0;
  std::atomic<bool> unsynced_ = false;
  mutable std::mutex mutex_;
  std::set<std::pair<ObjectType, Checksum>> intact_;  ///< hashed by this writer; guarded, as the counts
  Counts counts_;
};

/// Whether a text may be the name of a ref: parts of letters, digits, `-`, `_` and `.`, none of them "." or "..".
Status check_ref_name(std::string_view name);

}  // namespace strake::ostree
