#include "release/boot_artifacts.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/fd.h"
#include "codec/compress.h"
#include "net/testing/raw_tls_server.h"
#include "net/testing/test_server.h"
#include "oci/copy.h"
#include "oci/layout.h"
#include "oci/testing/sample_image.h"
#include "release/mirror_release.h"
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

/// A web server with one file, which knows ranges or not, and is not always there.
class FileServer {
 public:
  explicit FileServer(std::string content, bool ranges)
      : server_(
            [this, content = std::move(content), ranges](const net::ServerRequest& request, net::Responder responder) {
              ++requests;
              if (request.target.path != "/a.iso") return responder.send({404, {}, "no"});
              if (busy > 0) {
                --busy;
                return responder.send({503, {{"Retry-After", "0"}}, "later"});
              }
              const auto range = request.headers.get("Range");
              if (!ranges || !range) return responder.send({200, {}, content});
              const std::size_t from = std::stoul(std::string(range->substr(std::string_view("bytes=").size())));
              responder.send({206, {}, content.substr(from)});
            }) {}

  std::string url() const { return server_.url("/a.iso"); }
  Result<ArtifactDownloads> downloads(oci::Patience patience = kQuick) {
    return ArtifactDownloads::create(runtime_, server_.client_options(), {}, patience);
  }
  static constexpr oci::Patience kQuick{
      .backoff = {.initial = std::chrono::milliseconds(1), .cap = std::chrono::milliseconds(1)}};

  std::atomic<int> busy = 0;  ///< so many requests more
  std::atomic<int> requests = 0;

 private:
  runtime::ThreadRuntime runtime_;
  net::testing::TestServer server_;
};

TEST(BootArtifacts, DownloadsGoOnWhereTheyEnded) {
  const std::string content = oci::testing::noise(300'000, 3);
  for (const bool ranges : {true, false}) {
    FileServer server(content, ranges);
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

TEST(BootArtifacts, ABusyServerIsAskedAgain) {
  const std::string content = oci::testing::noise(1000, 3);
  FileServer server(content, true);
  const auto downloads = server.downloads();
  server.busy = 2;
  EXPECT_EQ(downloads->size(server.url(), {}).value_or(0), content.size());
  EXPECT_EQ(server.requests, 3);

  server.busy = 1000;
  server.requests = 0;
  const auto never = downloads->size(server.url(), {});
  ASSERT_FALSE(never.ok());
  EXPECT_EQ(server.requests, static_cast<int>(oci::Patience{}.max_attempts));

  server.requests = 0;
  EXPECT_EQ(downloads->size(server.url() + "x", {}).error().code(), Code::kNotFound);
  EXPECT_EQ(server.requests, 1) << "what is not there is not asked for again";
}

/// A server that closes the connection after some of the file, or sends it one byte at a time.
class BrokenServer {
 public:
  explicit BrokenServer(std::string content, std::size_t piece)
      : content_(std::move(content)), server_([this, piece](const std::string& head, auto& connection) {
          ++requests;
          const std::size_t range = head.find("bytes=");
          const std::size_t from = range == std::string::npos ? 0 : std::stoul(head.substr(range + 6));
          connection.send(fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\nContent-Range: bytes {}-{}/{}\r\n\r\n",
                                      from > 0 ? "206 Partial Content" : "200 OK", content_.size() - from, from,
                                      content_.size() - 1, content_.size()));
          connection.send(content_.substr(from, piece));
        }) {}

  Result<std::string> fetch(oci::Patience patience) {
    net::ClientOptions client;
    client.ca_pem = server_.ca_pem();
    STRAKE_TRY(const auto downloads, ArtifactDownloads::create(runtime_, client, {}, patience));
    std::string got;
    const auto take = [&](std::string_view data) -> Status {
      got += data;
      return {};
    };
    const std::string url = fmt::format("https://127.0.0.1:{}/a.iso", server_.port());
    STRAKE_CHECK_OK(downloads.stream(url, 0, take, {}));
    return got;
  }

  std::atomic<int> requests = 0;

 private:
  const std::string content_;
  runtime::ThreadRuntime runtime_;
  net::testing::RawTlsServer server_;
};

TEST(BootArtifacts, WhatBreaksOffGoesOnInTheSameRun) {
  const std::string content = oci::testing::noise(100'000, 4);
  BrokenServer server(content, 10'000);
  const auto got = server.fetch(FileServer::kQuick);
  ASSERT_TRUE(got.ok()) << got.error().to_string();
  EXPECT_TRUE(*got == content);
  EXPECT_EQ(server.requests, 10) << "more attempts than are made without progress";
}

TEST(BootArtifacts, AServerThatTricklesIsGivenUp) {
  BrokenServer server(oci::testing::noise(1000, 4), 1);
  oci::Patience none = FileServer::kQuick;
  none.limit = std::chrono::milliseconds(0);  // every piece is too small for it
  const auto got = server.fetch(none);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().verdict(), Verdict::kUnreachable);
  EXPECT_NE(got.error().to_string().find("only 1 bytes came within 0 s"), std::string::npos) << got.error().to_string();
  EXPECT_NE(got.error().to_string().find("without progress"), std::string::npos) << got.error().to_string();
  EXPECT_EQ(server.requests, 1);
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

TEST_F(DownloadTest, WhateverElseLiesUnderItsTagIsNotMirrored) {
  const BootArtifact good = artifact(content_);
  const std::string tag = boot_artifact_tag(good.digest);
  oci::testing::write_image(dir_ / "release", tag, {oci::testing::make_layer({})});
  place_ = std::make_unique<ReleasePlace>(std::make_unique<oci::Layout>(*oci::Layout::open(dir_ / "release")), tag);
  const ArtifactSource source(*downloads_, {good}, runtime_);
  oci::MeasuringTarget target;
  const auto mirrored =
      mirror_release({*place_, source}, {{MirrorStep::Kind::kBootArtifact, good.label(), "repo", good.digest, tag}},
                     [&](const std::string&) { return Result<oci::ImageTarget*>(&target); }, {}, runtime_, {});
  ASSERT_FALSE(mirrored.ok());
  EXPECT_EQ(mirrored.error().verdict(), Verdict::kNotGenuine) << mirrored.error().to_string();
}

TEST(BootArtifacts, NamesOfWhatIsInside) {
  EXPECT_EQ(unpacked_name("disk.qcow2.gz"), "disk.qcow2");
  EXPECT_EQ(unpacked_name("disk.raw.xz"), "disk.raw");
  EXPECT_EQ(unpacked_name("disk.raw.zst"), "disk.raw");
  EXPECT_EQ(unpacked_name("disk.iso"), std::nullopt);
}

/// A compressed file behind a file URL, and what the release says of it.
class UnpackTest : public DownloadTest {
 protected:
  BootArtifact packed(const std::string& file_bytes, const std::string& inner_sum) {
    EXPECT_TRUE(write_file_atomic(dir_ / "disk.raw.gz", file_bytes, 0644).ok());
    const std::string entry = fmt::format(
        R"({{"artifacts":{{"metal":{{"release":"1","formats":{{"raw.gz":{{"disk":{{"location":"file://{}","sha256":"{}","uncompressed-sha256":"{}"}}}}}}}}}}}})",
        (dir_ / "disk.raw.gz").string(), codec::sha256_hex(file_bytes), inner_sum);
    const auto list = boot_artifacts_of(stream_with(entry));
    EXPECT_TRUE(list.ok()) << (list.ok() ? "" : list.error().to_string());
    return list->artifacts.front();
  }
  Result<DownloadOutcome> unpack(const BootArtifact& artifact) {
    return download_unpacked(*place_, *downloads_, artifact, dir_ / "out", cache_.get(), runtime_, {});
  }
  std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(dir_ / "out")) ++count;
    return count;
  }
};

TEST_F(UnpackTest, OnlyTheContentComesToRest) {
  const BootArtifact good = packed(codec::gzip(content_), codec::sha256_hex(content_));
  const auto outcome = unpack(good);
  ASSERT_TRUE(outcome.ok()) << outcome.error().to_string();
  EXPECT_EQ(*outcome, DownloadOutcome::kFromLocation);
  EXPECT_EQ(*read_file(dir_ / "out/disk.raw", 1u << 20), content_);
  EXPECT_EQ(files(), 1u) << "neither the compressed file nor a partial one";
  EXPECT_EQ(*unpack(good), DownloadOutcome::kPresent);
  ASSERT_TRUE(write_file_atomic(dir_ / "out/disk.raw", "damaged", 0644).ok());
  EXPECT_EQ(*unpack(good), DownloadOutcome::kFromLocation);
  EXPECT_EQ(*read_file(dir_ / "out/disk.raw", 1u << 20), content_);
}

TEST_F(UnpackTest, BothChecksumsCount) {
  const auto inner = unpack(packed(codec::gzip(content_), codec::sha256_hex("something else")));
  ASSERT_FALSE(inner.ok());
  EXPECT_EQ(inner.error().verdict(), Verdict::kNotGenuine) << inner.error().to_string();
  EXPECT_NE(inner.error().to_string().find("unpacks to SHA-256"), std::string::npos) << inner.error().to_string();
  EXPECT_EQ(files(), 0u);
  // The file was changed behind the release's back: its own checksum is named, whatever unpacking made of it.
  const BootArtifact good = packed(codec::gzip(content_), codec::sha256_hex(content_));
  std::string flipped = codec::gzip(content_);
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
  ASSERT_TRUE(write_file_atomic(dir_ / "disk.raw.gz", flipped, 0644).ok());
  const auto outer = unpack(good);
  ASSERT_FALSE(outer.ok());
  EXPECT_EQ(outer.error().verdict(), Verdict::kNotGenuine) << outer.error().to_string();
  EXPECT_NE(outer.error().to_string().find("has digest"), std::string::npos) << outer.error().to_string();
  EXPECT_EQ(files(), 0u);
  EXPECT_FALSE(boot_artifacts_of(stream_with(iso_entry("https://x.example/a.iso", "12"))).ok());
}

TEST_F(UnpackTest, WhatIsNotCompressedIsBroughtAsItIs) {
  EXPECT_EQ(*unpack(artifact(content_)), DownloadOutcome::kFromLocation);
  EXPECT_EQ(*read_file(dir_ / "out/a.iso", 1u << 20), content_);
}

}  // namespace strake::release::boot_artifacts_test
