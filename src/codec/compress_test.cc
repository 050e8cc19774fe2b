#include "codec/compress.h"

#include <gtest/gtest.h>
#include <lzma.h>
#include <rapidcheck.h>

#include "codec/deflate.h"

namespace strake::codec::compress_test {

/// Text that compresses well and one part that does not.
std::string sample_text() {
  std::string text;
  std::uint32_t state = 1;
  for (int i = 0; i < 20'000; ++i) {
    text += "line " + std::to_string(i % 97) + "\n";
    state = state * 1664525 + 1013904223;
    text.push_back(static_cast<char>(state >> 24));
  }
  return text;
}

std::string compressed(Compression compression, std::string_view text) {
  if (compression == Compression::kNone) return std::string(text);
  if (compression == Compression::kXz) {
    std::string out(lzma_stream_buffer_bound(text.size()), '\0');
    std::size_t size = 0;
    EXPECT_EQ(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()),
                                      text.size(), reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()),
              LZMA_OK);
    out.resize(size);
    return out;
  }
  StringSink out;
  auto sink = make_compressor(compression, out, 5);
  EXPECT_TRUE(sink.ok());
  EXPECT_TRUE(write(**sink, text).ok());
  EXPECT_TRUE((*sink)->finish().ok());
  return std::move(out).take();
}

Result<std::string> decompressed(Compression compression, std::string_view bytes, const DecompressLimits& limits = {}) {
  MemorySource input(bytes);
  const auto source = make_decompressor(compression, input, limits);
  return read_all(*source, UINT64_MAX);
}

constexpr Compression kRealOnes[] = {Compression::kGzip, Compression::kZstd, Compression::kXz};

TEST(Compress, RoundTrip) {
  const std::string text = sample_text();
  for (Compression compression : kRealOnes) {
    for (std::string_view piece : {std::string_view(), std::string_view("x"), std::string_view(text)}) {
      const auto back = decompressed(compression, compressed(compression, piece));
      ASSERT_TRUE(back.ok()) << to_string(compression) << ": " << back.error().to_string();
      EXPECT_EQ(*back, piece) << to_string(compression);
    }
  }
}

TEST(Compress, MembersFollowOneAnother) {
  for (Compression compression : kRealOnes) {
    const std::string twice =
        compressed(compression, "one ") + compressed(compression, "") + compressed(compression, "two");
    const auto back = decompressed(compression, twice);
    ASSERT_TRUE(back.ok()) << to_string(compression) << ": " << back.error().to_string();
    EXPECT_EQ(*back, "one two") << to_string(compression);
  }
}

TEST(Compress, DetectsByMagic) {
  for (Compression compression : kRealOnes) {
    const std::string bytes = compressed(compression, sample_text());
    MemorySource input(bytes);
    Compression detected = Compression::kNone;
    auto source = make_detecting_decompressor(input, {}, &detected);
    ASSERT_TRUE(source.ok());
    EXPECT_EQ(detected, compression);
    EXPECT_EQ(*read_all(**source, UINT64_MAX), sample_text());
  }
  for (std::string_view plain : {"", "\x1f", "hello", "plain text that is longer than a magic number"}) {
    MemorySource input(plain);
    auto source = make_detecting_decompressor(input);
    ASSERT_TRUE(source.ok());
    EXPECT_EQ(*read_all(**source, UINT64_MAX), plain);
  }
}

TEST(Compress, CutInputIsCorrupt) {
  for (Compression compression : kRealOnes) {
    const std::string bytes = compressed(compression, "some text, some text, some text");
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto result = decompressed(compression, std::string_view(bytes).substr(0, size));
      ASSERT_FALSE(result.ok()) << to_string(compression) << " cut to " << size << " bytes";
      EXPECT_EQ(result.error().code(), Code::kCorrupt);
      EXPECT_NE(result.error().to_string().find("offset"), std::string::npos) << result.error().to_string();
    }
  }
}

TEST(Compress, DamagedInputNeverPassesAsWhole) {
  const std::string text = sample_text();
  for (Compression compression : kRealOnes) {
    const std::string bytes = compressed(compression, text);
    for (std::size_t at = 12; at < bytes.size(); at += 1 + bytes.size() / 40) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
      const auto result = decompressed(compression, damaged);
      EXPECT_FALSE(result.ok() && *result != text) << to_string(compression) << " with a flipped bit in byte " << at;
    }
    const auto garbage = decompressed(compression, bytes + "garbage behind the end");
    ASSERT_FALSE(garbage.ok()) << to_string(compression);
    EXPECT_EQ(garbage.error().code(), Code::kCorrupt);
  }
}

TEST(Compress, OutputIsLimited) {
  const std::string bomb(1 << 20, '\0');
  for (Compression compression : kRealOnes) {
    const std::string bytes = compressed(compression, bomb);
    ASSERT_LT(bytes.size(), bomb.size() / 100);
    const auto refused = decompressed(compression, bytes, {.max_output_bytes = bomb.size() - 1});
    ASSERT_FALSE(refused.ok()) << to_string(compression);
    EXPECT_EQ(refused.error().code(), Code::kExhausted);
    EXPECT_TRUE(decompressed(compression, bytes, {.max_output_bytes = bomb.size()}).ok()) << to_string(compression);
  }
  EXPECT_EQ(decompressed(Compression::kNone, "12345", {.max_output_bytes = 4}).error().code(), Code::kExhausted);
}

TEST(Compress, MemoryIsLimited) {
  const std::string text = sample_text();
  EXPECT_EQ(
      decompressed(Compression::kXz, compressed(Compression::kXz, text), {.max_memory_bytes = 1 << 20}).error().code(),
      Code::kExhausted);
  StringSink out;
  auto sink = make_compressor(Compression::kZstd, out, 19);
  ASSERT_TRUE(sink.ok());
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(write(**sink, text).ok());
  ASSERT_TRUE((*sink)->finish().ok());
  EXPECT_EQ(decompressed(Compression::kZstd, out.text(), {.max_memory_bytes = 1 << 20}).error().code(),
            Code::kExhausted);
  EXPECT_TRUE(decompressed(Compression::kZstd, out.text()).ok());
}

TEST(Compress, FailuresStay) {
  MemorySource input("\x1f\x8bnot really");
  const auto source = make_decompressor(Compression::kGzip, input);
  std::array<std::byte, 16> buffer{};
  EXPECT_EQ(source->read(buffer).error().code(), Code::kCorrupt);
  EXPECT_EQ(source->read(buffer).error().code(), Code::kCorrupt);
}

TEST(Compress, RawDeflate) {
  constexpr std::size_t kGzipHeaderBytes = 10;
  constexpr std::size_t kGzipTrailerBytes = 8;
  const auto inflated = [](std::string_view bytes, std::uint64_t max_output_bytes) {
    MemorySource input(bytes);
    const auto source = make_inflater(input, {.max_output_bytes = max_output_bytes});
    return read_all(*source, UINT64_MAX);
  };
  for (const std::string& text : {std::string(), sample_text()}) {
    const std::string gz = gzip(text);
    const std::string raw = gz.substr(kGzipHeaderBytes, gz.size() - kGzipHeaderBytes - kGzipTrailerBytes);
    StringSink written;
    const auto deflater = make_deflater(written);
    ASSERT_TRUE(write(*deflater, text).ok() && deflater->finish().ok());
    EXPECT_EQ(written.text(), raw);
    const auto whole = inflated(raw, text.size());
    ASSERT_TRUE(whole.ok()) << whole.error().to_string();
    EXPECT_EQ(*whole, text);
    EXPECT_EQ(inflated(raw.substr(0, raw.size() - 1), text.size()).error().code(), Code::kCorrupt);
    EXPECT_EQ(inflated(raw + "x", text.size()).error().code(), Code::kCorrupt);
    if (text.empty()) continue;
    EXPECT_EQ(inflated(raw, text.size() - 1).error().code(), Code::kExhausted);
  }
}

TEST(Compress, GzipIsDeterministic) {
  const std::string bytes = gzip("hello");
  EXPECT_EQ(bytes.substr(0, 10), std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", 10))
      << "name, time and system";
  EXPECT_EQ(gzip("hello"), bytes);
  EXPECT_EQ(*gunzip(bytes, 5), "hello");
  EXPECT_EQ(gunzip(bytes, 4).error().code(), Code::kExhausted);
}

TEST(Compress, NoCompressorForXz) {
  StringSink out;
  EXPECT_EQ(make_compressor(Compression::kXz, out, 5).error().code(), Code::kUnsupported);
  EXPECT_EQ(make_compressor(Compression::kGzip, out, 10).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(make_compressor(Compression::kZstd, out, 100).error().code(), Code::kInvalidArgument);
}

TEST(Compress, Names) {
  for (auto compression : {Compression::kNone, Compression::kGzip, Compression::kZstd, Compression::kXz}) {
    EXPECT_EQ(*parse_compression(to_string(compression)), compression);
  }
  EXPECT_EQ(parse_compression("lzma").error().code(), Code::kUnsupported);
}

TEST(Compress, DecompressingUndoesCompressing) {
  EXPECT_TRUE(rc::check([](const std::string& text) {
    for (auto compression : {Compression::kGzip, Compression::kZstd}) {
      const auto back = decompressed(compression, compressed(compression, text));
      RC_ASSERT(back.ok());
      RC_ASSERT(*back == text);
    }
  }));
}

}  // namespace strake::codec::compress_test
