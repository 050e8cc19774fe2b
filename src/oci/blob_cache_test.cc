#include "oci/blob_cache.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>

#include <gtest/gtest.h>

#include "base/fd.h"
#include "oci/partial_file.h"
#include "oci/testing/sample_image.h"
#include "support/temp_dir.h"

namespace strake::oci::blob_cache_test {

/// Blobs by digest; counts how often, and from where, they are read.
class CountingSource final : public ImageSource {
 public:
  Descriptor add(std::string bytes) {
    Descriptor blob{std::string(media_type::kOciLayer), codec::Digest::sha256_of(bytes), bytes.size()};
    blobs_.emplace(blob.digest, std::move(bytes));
    return blob;
  }
  std::string description() const override { return "test source"; }
  Result<std::vector<Descriptor>> find_entries(std::string_view, const runtime::Call&) const override {
    return error(Code::kNotFound, "nothing is named here");
  }
  Result<std::unique_ptr<BlobSource>> open_blob(const Descriptor& blob, const runtime::Call&) const override {
    ++opened;
    return std::make_unique<BlobSource>(make_text_source(blobs_.at(blob.digest)), "blob", blob);
  }
  Status stream_blob(const Descriptor& blob, std::uint64_t offset, const OnData& on_data,
                     const runtime::Call&) const override {
    ++streamed;
    last_offset = offset;
    const std::string& bytes = blobs_.at(blob.digest);
    for (std::size_t at = offset; at < bytes.size(); at += 1000) {
      if (fail_after && at >= *fail_after) return error(Code::kUnavailable, "cut off by the test");
      STRAKE_CHECK_OK(on_data(std::string_view(bytes).substr(at, 1000)));
    }
    return {};
  }

  mutable std::atomic<int> opened = 0, streamed = 0;
  mutable std::atomic<std::uint64_t> last_offset = 0;
  std::optional<std::size_t> fail_after;

 private:
  std::map<codec::Digest, std::string> blobs_;
};

struct CacheFixture {
  std::unique_ptr<BlobCache> open(std::uint64_t max_bytes = 1u << 30) {
    auto cache = BlobCache::open({dir / "cache", max_bytes}, runtime);
    EXPECT_TRUE(cache.ok()) << cache.error().to_string();
    return *std::move(cache);
  }
  Result<std::string> read(BlobCache& cache, const Descriptor& blob) {
    STRAKE_TRY(const auto content, cache.fetch(source, blob, {}));
    return codec::read_all(*content, 1u << 30);
  }
  std::filesystem::path file(const Descriptor& blob) const {
    return dir / "cache" / "blobs" / "sha256" / blob.digest.hex();
  }

  test::TempDir dir;
  runtime::ThreadRuntime runtime;
  CountingSource source;
};

TEST(BlobCache, FetchesOnce) {
  CacheFixture f;
  const std::string bytes = testing::noise(50'000, 1);
  const Descriptor blob = f.source.add(bytes);
  const auto cache = f.open();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f.read(*cache, blob).value(), bytes);
  EXPECT_EQ(f.source.streamed, 1);
  EXPECT_EQ(f.read(*f.open(), blob).value(), bytes) << "another process";
  EXPECT_EQ(f.source.streamed, 1);
  struct stat info{};
  ASSERT_EQ(::stat((f.dir / "cache").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST(BlobCache, GoesOnWhereAFetchDied) {
  CacheFixture f;
  const std::string bytes = testing::noise(50'000, 1);
  const Descriptor blob = f.source.add(bytes);
  const auto cache = f.open();
  f.source.fail_after = 20'000;
  EXPECT_EQ(f.read(*cache, blob).error().code(), Code::kUnavailable);
  EXPECT_FALSE(cache->has(blob));
  f.source.fail_after.reset();
  EXPECT_EQ(f.read(*cache, blob).value(), bytes);
  EXPECT_EQ(f.source.last_offset, 20'000u);
}

TEST(BlobCache, DamageOnDiskIsFoundAndFetchedAgain) {
  CacheFixture f;
  const std::string bytes = testing::noise(50'000, 1);
  const Descriptor blob = f.source.add(bytes);
  const auto cache = f.open();
  ASSERT_TRUE(f.read(*cache, blob).ok());
  std::string damaged = bytes;
  damaged[30'000] ^= 1;
  std::ofstream(f.file(blob), std::ios::binary) << damaged;
  EXPECT_EQ(f.read(*cache, blob).error().code(), Code::kCorrupt);
  EXPECT_EQ(f.read(*cache, blob).value(), bytes);
  std::ofstream(f.file(blob), std::ios::binary) << "short";
  EXPECT_EQ(f.read(*cache, blob).value(), bytes);
}

TEST(BlobCache, WrongBytesAreNotKept) {
  CacheFixture f;
  Descriptor blob = f.source.add(testing::noise(5'000, 1));
  CountingSource liar;
  Descriptor lie = liar.add(testing::noise(5'000, 2));
  class Swapped final : public ImageSource {
   public:
    Swapped(const ImageSource& inner, Descriptor served) : inner_(inner), served_(std::move(served)) {}
    std::string description() const override { return "swapped"; }
    Result<std::vector<Descriptor>> find_entries(std::string_view r, const runtime::Call& c) const override {
      return inner_.find_entries(r, c);
    }
    Result<std::unique_ptr<BlobSource>> open_blob(const Descriptor&, const runtime::Call& c) const override {
      return inner_.open_blob(served_, c);
    }
    Status stream_blob(const Descriptor&, std::uint64_t o, const OnData& d, const runtime::Call& c) const override {
      return inner_.stream_blob(served_, o, d, c);
    }

   private:
    const ImageSource& inner_;
    Descriptor served_;
  };
  const auto cache = f.open();
  const auto fetched = cache->fetch(Swapped(liar, lie), blob, {});
  ASSERT_FALSE(fetched.ok());
  EXPECT_EQ(fetched.error().code(), Code::kCorrupt) << fetched.error().to_string();
  EXPECT_FALSE(cache->has(blob));
  EXPECT_TRUE(std::filesystem::is_empty(f.dir / "cache" / "partial"));
}

TEST(BlobCache, LeastRecentlyUsedGoesFirst) {
  CacheFixture f;
  std::vector<Descriptor> blobs;
  for (std::uint64_t i = 0; i < 5; ++i) blobs.push_back(f.source.add(testing::noise(100'000, i)));
  const auto cache = f.open(350'000);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(f.read(*cache, blobs[static_cast<std::size_t>(i)]).ok());
  // Use is a time of the file: set here, so that no clock decides.
  const auto used = [&](const Descriptor& blob, std::time_t when) {
    const timespec times[2] = {{when, 0}, {when, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, f.file(blob).c_str(), times, 0), 0);
  };
  used(blobs[0], 2000);
  used(blobs[1], 1000);
  used(blobs[2], 3000);
  ASSERT_TRUE(f.read(*cache, blobs[3]).ok());
  EXPECT_TRUE(cache->has(blobs[0]));
  EXPECT_FALSE(cache->has(blobs[1])) << "used the longest ago";
  EXPECT_TRUE(cache->has(blobs[2]));
  EXPECT_LE(cache->size_bytes().value(), 350'000u);
  // An open blob stays readable when its file goes.
  auto open = cache->fetch(f.source, blobs[0], {});
  ASSERT_TRUE(open.ok());
  std::filesystem::remove(f.file(blobs[0]));
  EXPECT_TRUE((*open)->finish().ok());
}

TEST(BlobCache, WhatDoesNotFitIsReadWithoutIt) {
  CacheFixture f;
  const std::string bytes = testing::noise(50'000, 1);
  const Descriptor blob = f.source.add(bytes);
  const auto cache = f.open(10'000);
  EXPECT_EQ(cache->fetch(f.source, blob, {}).error().code(), Code::kExhausted);
  EXPECT_EQ(CachedSource(f.source, *cache).read_blob(blob, 1u << 30).value(), bytes);
  EXPECT_EQ(f.source.opened, 1);
}

TEST(BlobCache, ManyAtOnceFetchOnce) {
  CacheFixture f;
  const std::string bytes = testing::noise(500'000, 1);
  const Descriptor blob = f.source.add(bytes);
  std::atomic<int> good = 0;
  {
    std::vector<runtime::Task> tasks;
    for (int i = 0; i < 6; ++i) {
      tasks.push_back(f.runtime.spawn("reader", [&](std::stop_token) {
        const auto cache = f.open();  // each its own, as processes have
        const auto text = f.read(*cache, blob);
        if (text.ok() && *text == bytes) ++good;
      }));
    }
    for (auto& task : tasks) task.join();
  }
  EXPECT_EQ(good, 6);
  EXPECT_EQ(f.source.streamed, 1);
}

TEST(BlobCache, WaitsForAnotherProcessOnlyAsLongAsAllowed) {
  CacheFixture f;
  const Descriptor blob = f.source.add(testing::noise(5'000, 1));
  const auto cache = f.open();
  const auto held = open_file(f.dir / "cache" / "partial" / ("sha256-" + blob.digest.hex()), O_RDWR | O_CREAT, 0600);
  ASSERT_TRUE(held.ok());
  ASSERT_TRUE(try_lock_file(*held).value());
  const auto late = cache->fetch(f.source, blob, f.runtime.call_within(std::chrono::milliseconds(1)));
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code(), Code::kTimeout) << late.error().to_string();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(cache->fetch(f.source, blob, {stop.get_token(), {}}).error().code(), Code::kCancelled);
  EXPECT_EQ(f.source.streamed, 0);
}

}  // namespace strake::oci::blob_cache_test
