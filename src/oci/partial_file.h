// A blob on its way to its file: fetched into a partial file, checked, renamed.
//
// The partial file is locked by whoever fills it, across processes. A fetch that died leaves it behind, and the next
// one goes on where it ended; its bytes are hashed again first.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "base/fd.h"
#include "base/runtime.h"
#include "oci/manifest.h"

namespace strake::oci {

/// Delivers the bytes of the blob from `offset` on.
using FillBlob = std::function<Status(std::uint64_t offset, const std::function<Status(std::string_view)>& on_data)>;

struct BlobFilePaths {
  std::filesystem::path partial;
  std::filesystem::path complete;  ///< on the same file system
};

enum class FileFetch { kPresent, kFetched };

/// When this returns, `complete` holds the blob, and its bytes had the right digest when they were written. Waits while
/// another process or task fetches the same blob. Both folders must exist.
Result<FileFetch> fetch_to_file(const BlobFilePaths& paths, const Descriptor& descriptor, const FillBlob& fill,
                                runtime::Runtime& runtime, const runtime::Call& call);

/// An exclusive lock on an open file, tried again until it is ours. It ends with the descriptor.
Status lock_file(const Fd& fd, runtime::Runtime& runtime, const runtime::Call& call);
/// False when another holds it.
Result<bool> try_lock_file(const Fd& fd);

}  // namespace strake::oci
