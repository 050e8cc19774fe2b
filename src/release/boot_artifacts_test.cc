#include "release/boot_artifacts.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "net/testing/test_server.h"
#include "oci/copy.h"
#include "oci/layout.h"
#include "oci/testing/sample_image.h"
#include "support/temp_dir.h"

namespace strake::release::boot_artifacts_test {

stream::StreamSet stream_with(const std::string& artifacts_of_x86) {
  Result<stream::Stream> stream = stream::parse_stream(
      R"({"stream":"s","metadata":{"last-modified":"x"},"architectures":{"x86_64":)" + artifacts_of_x86 + "}}");
  EXPECT_TRUE(stream.ok()) << (stream.ok() ? "" : stream.error().to_string());
  stream::StreamSet set;
  set.default_stream = *stream;
  set.by_name.emplace("again", *std::move(stream));
  return set;
}

std::string iso_entry(const std::string& location, const std::string& sha256) {
  return fmt::format(
      R"({{"artifacts":{{"metal":{{"release":"1","formats":{{"iso":{{"disk":{{"location":"{}","sha256":"{}"}}}}}}}}}}}})",
      location, sha256);
}

TEST(BootArtifacts, EachFileOnceWithWhatCannotBeChecked) {
  const std::string sum = codec::sha256_hex("iso");
  const std::string text = fmt::format(
      R"({{"artifacts":{{"metal":{{"release":"1","formats":{{"iso":{{"disk":{{"location":"https://x.example/a/b.iso","sha256":"{0}"}}}},)"
      R"("pxe":{{"kernel":{{"location":"https://x.example/k","sha256":"{0}"}},"initramfs":{{"location":"https://x.example/i"}}}}}}}}}},)"
      R"("images":{{"aws":{{"regions":{{"r1":{{"release":"1","image":"ami-1"}},"r2":{{"release":"1","image":"ami-2"}}}}}}}}}})",
      sum);
  const Result<BootArtifactList> list = boot_artifacts_of(stream_with(text));
  ASSERT_TRUE(list.ok()) << list.error().to_string();
  ASSERT_EQ(list->artifacts.size(), 1u);
  EXPECT_EQ(list->artifacts[0].label(), "x86_64 metal iso disk");
  EXPECT_EQ(list->artifacts[0].file_name, "b.iso");
  EXPECT_EQ(boot_artifact_tag(list->artifacts[0].digest), fmt::format("sha256-{}.boot", sum));
  EXPECT_EQ(list->without_sum.front(), "x86_64 metal pxe initramfs");
  EXPECT_EQ(list->cloud_images, 4u) << "two in each of the two streams";

  const auto wrong = boot_artifacts_of(stream_with(iso_entry("https://x.example/a.iso", "12")));
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().to_string().find("x86_64 metal iso disk"), std::string::npos) << wrong.error().to_string();
}

/// A web server with one file, which knows ranges or not.
class FileServer {
 public:
  explicit FileServer(std::string content, bool ranges)
      : server_([content = std::move(content), ranges](const net::ServerRequest& request, net::Responder responder) {
          if (request.target.path != "/a.iso") return responder.send({404, {}, "no"});
          const auto range = request.headers.get("Range");
          if (!ranges || !range) return responder.send({200, {}, content});
          const std::size_t from = std::stoul(std::string(range->substr(std::string_view("bytes=").size())));
          responder.send({206, {}, content.substr(from)});
        }) {}

  std::string url() const { return server_.url("/a.iso"); }
  Result<ArtifactDownloads> downloads() const { return ArtifactDownloads::create(server_.client_options()); }

 private:
  net::testing::TestServer server_;
};

TEST(BootArtifacts, DownloadsGoOnWhereTheyEnded) {
  const std::string content = oci::testing::noise(300'000, 3);
  for (const bool ranges : {true, false}) {
    const FileServer server(content, ranges);
    const auto downloads = server.downloads();
    ASSERT_TRUE(downloads.ok());
    EXPECT_EQ(*downloads->size(server.url(), {}), content.size());
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{299'999}}) {
      std::string got;
      const Status streamed = downloads->stream(server.url(), offset,
                                                [&](std::string_view data) -> Status {
                                                  got += data;
                                                  return {};
                                                },
                                                {});
      ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
      EXPECT_EQ(got, content.substr(offset)) << offset << " " << ranges;
    }
    EXPECT_EQ(downloads->size(server.url() + "x", {}).error().code(), Code::kNotFound);
  }
}

class DownloadTest : public ::testing::Test {
 protected:
  DownloadTest() : content_(oci::testing::noise(100'000, 5)), server_(content_, true) {
    oci::testing::write_image(dir_ / "release", "release", {oci::testing::make_layer({})});
    Result<oci::Layout> layout = oci::Layout::open(dir_ / "release");
    place_ = std::make_unique<ReleasePlace>(std::make_unique<oci::Layout>(*std::move(layout)), "release");
    downloads_.emplace(*server_.downloads());
  }
  BootArtifact artifact(const std::string& of) const {
    return boot_artifacts_of(stream_with(iso_entry(server_.url(), codec::sha256_hex(of))))->artifacts.front();
  }
  Result<DownloadOutcome> download(const BootArtifact& artifact) {
    return download_artifact(*place_, *downloads_, artifact, dir_ / "out", cache_.get(), runtime_, {});
  }

  test::TempDir dir_;
  std::string content_;
  FileServer server_;
  runtime::ThreadRuntime runtime_;
  std::unique_ptr<ReleasePlace> place_;
  std::optional<ArtifactDownloads> downloads_;
  std::unique_ptr<oci::BlobCache> cache_;
};

TEST_F(DownloadTest, WhatWasVerifiedIsAtHandLater) {
  cache_ = *oci::BlobCache::open({dir_ / "cache"}, runtime_);
  const BootArtifact good = artifact(content_);
  EXPECT_FALSE(find_cached(cache_.get(), good));
  ASSERT_TRUE(verify_download(*downloads_, good, cache_.get(), runtime_, {}).ok());
  ASSERT_TRUE(find_cached(cache_.get(), good));
  EXPECT_EQ(*download(good), DownloadOutcome::kFromCache);
  EXPECT_EQ(*read_file(dir_ / "out/a.iso", 1u << 20), content_);
  const BootArtifact other = artifact("something else");
  EXPECT_EQ(verify_download(*downloads_, other, cache_.get(), runtime_, {}).error().code(), Code::kCorrupt);
  EXPECT_FALSE(find_cached(cache_.get(), other));
  // Too large for the cache is no reason not to verify.
  cache_ = *oci::BlobCache::open({dir_ / "small", 1000}, runtime_);
  EXPECT_TRUE(verify_download(*downloads_, good, cache_.get(), runtime_, {}).ok());
  EXPECT_FALSE(find_cached(cache_.get(), good));
}

TEST_F(DownloadTest, ChecksWhatArrivesAndWhatIsThere) {
  const BootArtifact good = artifact(content_);
  EXPECT_EQ(*download(good), DownloadOutcome::kFromLocation);
  EXPECT_EQ(*download(good), DownloadOutcome::kPresent);
  ASSERT_TRUE(write_file_atomic(dir_ / "out/a.iso", "damaged", 0644).ok());
  EXPECT_EQ(*download(good), DownloadOutcome::kFromLocation);
  EXPECT_EQ(*read_file(dir_ / "out/a.iso", 1u << 20), content_);
  EXPECT_TRUE(verify_download(*downloads_, good, nullptr, runtime_, {}).ok());

  const BootArtifact other = artifact("something else");
  std::filesystem::remove(dir_ / "out/a.iso");
  EXPECT_EQ(download(other).error().code(), Code::kCorrupt);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "out/a.iso"));
  EXPECT_EQ(verify_download(*downloads_, other, nullptr, runtime_, {}).error().code(), Code::kCorrupt);

  BootArtifact hostile = good;
  hostile.file_name = "..";
  EXPECT_EQ(download(hostile).error().code(), Code::kInvalidArgument);
}

TEST_F(DownloadTest, TravelsAsAnImageBesideTheRelease) {
  const BootArtifact good = artifact(content_);
  const ArtifactSource source(*downloads_, {good}, runtime_);
  auto target = oci::LayoutTarget::open(dir_ / "release", runtime_);
  ASSERT_TRUE(target.ok());
  const std::string tag = boot_artifact_tag(good.digest);
  const auto copied = oci::copy_image(source, tag, **target, tag, {}, runtime_, {});
  ASSERT_TRUE(copied.ok()) << copied.error().to_string();
  EXPECT_EQ(*read_file(dir_ / "release/blobs/sha256" / good.digest.hex(), 1u << 20), content_);

  place_ =
      std::make_unique<ReleasePlace>(std::make_unique<oci::Layout>(*oci::Layout::open(dir_ / "release")), "release");
  EXPECT_EQ(*download(good), DownloadOutcome::kFromRelease);
  // Another file under the same tag is not taken for it.
  const BootArtifact other = artifact("something else");
  EXPECT_EQ(find_artifact(*place_, other, {}).error().code(), Code::kNotFound);
}

}  // namespace strake::release::boot_artifacts_test
