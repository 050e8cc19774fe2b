// BlobCache: blobs kept on disk by digest, shared by processes, within a limit.
//
//   blobs/ALGORITHM/HEX     complete; the bytes had this digest when they were written, and are hashed again when read
//   partial/ALGORITHM-HEX   being fetched, or left by a fetch that died: the next one goes on there
//   derived/KIND-HEX        small files computed from a blob, such as the index of a layer
//   lock                    held while files are removed
//
// The least recently used files go first when the limit is reached. A file that is being read stays readable. Several
// who fetch at once may together exceed the limit while they do; each makes it hold again when it is done.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/runtime.h"
#include "oci/image_source.h"

namespace strake::oci {

struct CacheOptions {
  std::filesystem::path directory;
  std::uint64_t max_bytes = std::uint64_t{20} << 30;
};

/// $XDG_CACHE_HOME/strake, else ~/.cache/strake.
Result<std::filesystem::path> default_cache_directory();

class BlobCache {
 public:
  /// Creates the folders; only their owner may look inside.
  static Result<std::unique_ptr<BlobCache>> open(CacheOptions options, runtime::Runtime& runtime);

  /// The blob, fetched from `source` when it is not there. kExhausted when it alone is larger than the limit.
  Result<std::unique_ptr<BlobSource>> fetch(const ImageSource& source, const Descriptor& descriptor,
                                            const runtime::Call& call);
  bool has(const Descriptor& descriptor) const;
  /// The size of a blob that is there; for who knows a digest and nothing else.
  std::optional<std::uint64_t> size_of(const codec::Digest& digest) const;

  /// A file computed from a blob earlier; nullopt when there is none.
  Result<std::optional<std::string>> read_derived(std::string_view kind, const codec::Digest& digest,
                                                  std::size_t max_bytes) const;
  Status write_derived(std::string_view kind, const codec::Digest& digest, std::string_view bytes,
                       const runtime::Call& call);

  /// Of everything the cache holds.
  Result<std::uint64_t> size_bytes() const;

 private:
  BlobCache(CacheOptions options, runtime::Runtime& runtime) : options_(std::move(options)), runtime_(runtime) {}
  std::filesystem::path blob_path(const codec::Digest& digest) const;
  std::filesystem::path derived_path(std::string_view kind, const codec::Digest& digest) const;
  /// For so many bytes more. `keep` stays whatever its age: somebody is about to open it.
  Status make_room(std::uint64_t bytes, const std::filesystem::path& keep, const runtime::Call& call);

  CacheOptions options_;
  runtime::Runtime& runtime_;
};

/// The images of another source, their blobs by way of a cache.
class CachedSource final : public ImageSource {
 public:
  /// Both must outlive the source.
  CachedSource(const ImageSource& inner, BlobCache& cache) : inner_(inner), cache_(cache) {}

  std::string description() const override { return inner_.description(); }
  bool is_remote() const override { return inner_.is_remote(); }
  Result<std::vector<Descriptor>> find_entries(std::string_view reference,
                                               const runtime::Call& call = {}) const override {
    return inner_.find_entries(reference, call);
  }
  Result<std::optional<Descriptor>> find_companion(std::string_view tag,
                                                   const runtime::Call& call = {}) const override {
    return inner_.find_companion(tag, call);
  }
  Result<std::vector<Descriptor>> find_referrers(const codec::Digest& digest,
                                                 const runtime::Call& call = {}) const override {
    return inner_.find_referrers(digest, call);
  }
  Result<std::unique_ptr<BlobSource>> open_blob(const Descriptor& descriptor,
                                                const runtime::Call& call = {}) const override;

 private:
  enum class Reading { kCache, kCacheAgain, kPastCache };

  Status reject_content(const Descriptor& descriptor, Error why) const override;

  const ImageSource& inner_;
  BlobCache& cache_;
  mutable std::mutex mutex_;
  mutable std::map<codec::Digest, Reading> reading_;  ///< where the last reader of a blob gets it from
};

/// Has a blob read from where that costs least: from the cache when it is there; through it, so that the next reader
/// finds it, when it comes over a network; else from the source. What does not fit into the cache's limit is read and
/// not kept. `cache` may be nullptr.
Status read_sparingly(const ImageSource& source, BlobCache* cache, const Descriptor& descriptor,
                      const std::function<Status(const ImageSource&)>& read);

}  // namespace strake::oci
