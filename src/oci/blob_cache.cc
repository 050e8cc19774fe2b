#include "oci/blob_cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "base/fd.h"
#include "oci/file_store.h"
#include "oci/partial_file.h"

namespace strake::oci {

namespace {

constexpr mode_t kCacheFileMode = 0600;

std::string algorithm_name(const codec::Digest& digest) { return std::string(codec::to_string(digest.algorithm())); }

struct CacheFile {
  std::filesystem::path path;
  std::uint64_t bytes = 0;  ///< on disk
  timespec used{};
  bool partial = false;
};

bool used_earlier(const CacheFile& a, const CacheFile& b) {
  return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec : a.used.tv_nsec < b.used.tv_nsec;
}

/// A file that goes away while we look is none.
Result<std::vector<CacheFile>> list_files(const std::filesystem::path& directory) {
  std::vector<CacheFile> files;
  for (const char* part : {"blobs/sha256", "blobs/sha512", "partial", "derived"}) {
    std::error_code failure;
    for (std::filesystem::directory_iterator it(directory / part, failure), end; !failure && it != end;
         it.increment(failure)) {
      struct stat info{};
      if (::lstat(it->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
      files.push_back({it->path(), static_cast<std::uint64_t>(info.st_blocks) * 512, info.st_mtim,
                       std::string_view(part) == "partial"});
    }
    if (failure) return errno_error(failure.value(), (directory / part).string());
  }
  return files;
}

/// The time of last use is the time of modification: access times are often not kept.
void mark_used(const std::filesystem::path& path) { ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); }

/// A partial file somebody fills is not ours to remove.
bool is_in_work(const std::filesystem::path& path) {
  const Result<Fd> fd = open_file(path, O_RDWR);
  if (!fd.ok()) return false;
  const Result<bool> locked = try_lock_file(*fd);
  return !locked.ok() || !*locked;
}

}  // namespace

Result<std::filesystem::path> default_cache_directory() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return std::filesystem::path(cache) / "strake";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return std::filesystem::path(home) / ".cache/strake";
  }
  return error(Code::kNotFound, "there is no place for a cache: set XDG_CACHE_HOME or HOME, or use no cache");
}

Result<std::unique_ptr<BlobCache>> BlobCache::open(CacheOptions options, runtime::Runtime& runtime) {
  const std::filesystem::path& directory = options.directory;
  std::error_code failure;
  for (const char* part : {"blobs/sha256", "blobs/sha512", "partial", "derived"}) {
    std::filesystem::create_directories(directory / part, failure);
    if (failure) return errno_error(failure.value(), fmt::format("creating cache {}", (directory / part).string()));
  }
  if (::chmod(directory.c_str(), 0700) != 0) return errno_error(errno, directory.string());
  return std::unique_ptr<BlobCache>(new BlobCache(std::move(options), runtime));
}

std::filesystem::path BlobCache::blob_path(const codec::Digest& digest) const {
  return options_.directory / "blobs" / algorithm_name(digest) / digest.hex();
}

std::filesystem::path BlobCache::derived_path(std::string_view kind, const codec::Digest& digest) const {
  return options_.directory / "derived" / fmt::format("{}-{}-{}", kind, algorithm_name(digest), digest.hex());
}

std::optional<std::uint64_t> BlobCache::size_of(const codec::Digest& digest) const {
  struct stat info{};
  if (::stat(blob_path(digest).c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(info.st_size);
}

bool BlobCache::has(const Descriptor& descriptor) const { return size_of(descriptor.digest) == descriptor.size; }

Result<std::uint64_t> BlobCache::size_bytes() const {
  STRAKE_TRY(const std::vector<CacheFile> files, list_files(options_.directory));
  std::uint64_t total = 0;
  for (const CacheFile& file : files) total += file.bytes;
  return total;
}

Status BlobCache::make_room(std::uint64_t bytes, const std::filesystem::path& keep, const runtime::Call& call) {
  if (bytes > options_.max_bytes) {
    return error(Code::kExhausted, "{} bytes do not fit into the cache, whose limit is {}", bytes, options_.max_bytes);
  }
  STRAKE_TRY(const std::uint64_t held, size_bytes());
  if (held + bytes <= options_.max_bytes) return {};
  // One process removes at a time, so that two do not remove twice what is needed.
  STRAKE_TRY(const Fd lock, open_file(options_.directory / "lock", O_RDWR | O_CREAT, kCacheFileMode));
  STRAKE_CHECK_OK(
      lock_file(lock, runtime_, call).context("waiting for the lock of cache {}", options_.directory.string()));
  STRAKE_TRY(std::vector<CacheFile> files, list_files(options_.directory));
  std::sort(files.begin(), files.end(), used_earlier);
  std::uint64_t total = 0;
  for (const CacheFile& file : files) total += file.bytes;
  for (const CacheFile& file : files) {
    if (total + bytes <= options_.max_bytes) break;
    if (file.path == keep || (file.partial && is_in_work(file.path))) continue;
    std::error_code ignored;
    std::filesystem::remove(file.path, ignored);
    total -= file.bytes;
  }
  return {};
}

Result<std::unique_ptr<BlobSource>> BlobCache::fetch(const ImageSource& source, const Descriptor& descriptor,
                                                     const runtime::Call& call) {
  const codec::Digest& digest = descriptor.digest;
  const std::filesystem::path path = blob_path(digest);
  // Another process may remove the file between the fetch and the opening: then it is fetched again.
  for (int attempt = 0;; ++attempt) {
    if (!has(descriptor)) {
      STRAKE_CHECK_OK(make_room(descriptor.size, path, call));
      const BlobFilePaths paths{
          options_.directory / "partial" / fmt::format("{}-{}", algorithm_name(digest), digest.hex()), path};
      const FillBlob fill = [&](std::uint64_t offset, const auto& on_data) {
        return source.stream_blob(descriptor, offset, on_data, call);
      };
      const auto fetch_once = [&]() -> Status {
        STRAKE_TRY([[maybe_unused]] const FileFetch fetched, fetch_to_file(paths, descriptor, fill, runtime_, call));
        return {};
      };
      STRAKE_CHECK_OK(
          source.read_anywhere(descriptor, fetch_once).context("filling cache {}", options_.directory.string()));
      STRAKE_CHECK_OK(make_room(0, path, call));
    }
    Result<StoredFile> file = FolderFiles(path.parent_path()).open(digest.hex());
    if (!file.ok()) {
      if (file.error().code() == Code::kNotFound && attempt < 3) continue;
      return std::move(file).error();
    }
    mark_used(path);
    auto blob = std::make_unique<BlobSource>(std::move(file->content), file->name, descriptor);
    blob->on_corrupt([path] {
      std::error_code ignored;
      std::filesystem::remove(path, ignored);  // the next reader fetches it again
    });
    return blob;
  }
}

Result<std::optional<std::string>> BlobCache::read_derived(std::string_view kind, const codec::Digest& digest,
                                                           std::size_t max_bytes) const {
  const std::filesystem::path path = derived_path(kind, digest);
  Result<std::string> text = read_file(path, max_bytes);
  if (text.ok()) {
    mark_used(path);
    return std::optional(*std::move(text));
  }
  if (text.error().code() == Code::kNotFound) return std::optional<std::string>();
  return std::move(text).error();
}

Status BlobCache::write_derived(std::string_view kind, const codec::Digest& digest, std::string_view bytes,
                                const runtime::Call& call) {
  const std::filesystem::path path = derived_path(kind, digest);
  STRAKE_CHECK_OK(make_room(bytes.size(), path, call));
  return write_file_atomic(path, bytes, kCacheFileMode);
}

Result<std::unique_ptr<BlobSource>> CachedSource::open_blob(const Descriptor& descriptor,
                                                            const runtime::Call& call) const {
  Result<std::unique_ptr<BlobSource>> cached = cache_.fetch(inner_, descriptor, call);
  // A blob too large for the cache, or a full disk, is no reason not to read the image.
  const bool past_cache = !cached.ok() && cached.error().code() == Code::kExhausted;
  {
    const std::scoped_lock lock(mutex_);
    if (!cached.ok()) reading_.erase(descriptor.digest);
    if (cached.ok() || past_cache) {
      reading_.try_emplace(descriptor.digest, past_cache ? Reading::kPastCache : Reading::kCache);
    }
  }
  if (past_cache) return inner_.open_blob(descriptor, call);
  return cached;
}

Status CachedSource::reject_content(const Descriptor& descriptor, Error why) const {
  {
    const std::scoped_lock lock(mutex_);
    const auto reading = reading_.find(descriptor.digest);
    // Filling the cache failed, and has tried every place there is.
    if (reading == reading_.end()) return why;
    if (reading->second == Reading::kCacheAgain) return why;
    if (reading->second == Reading::kCache) {
      // Our own copy was damaged, and is gone now: it is fetched anew, once.
      reading->second = Reading::kCacheAgain;
      return {};
    }
  }
  return inner_.reject_content(descriptor, std::move(why));
}

Status read_sparingly(const ImageSource& source, BlobCache* cache, const Descriptor& descriptor,
                      const std::function<Status(const ImageSource&)>& read) {
  if (cache == nullptr || (!source.is_remote() && !cache->has(descriptor))) return read(source);
  return read(CachedSource(source, *cache));
}

}  // namespace strake::oci
