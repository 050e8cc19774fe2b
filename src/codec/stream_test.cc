#include "codec/stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace strake::codec::stream_test {

/// Hands out one byte at a time, then fails if told to: what a slow, unreliable network looks like.
class TricklingSource : public Source {
 public:
  explicit TricklingSource(std::string text, bool fails_at_end = false)
      : text_(std::move(text)), fails_at_end_(fails_at_end) {}

  Result<std::size_t> read(std::span<std::byte> into) override {
    if (at_ == text_.size()) {
      if (fails_at_end_) return error(Code::kUnavailable, "connection reset");
      return std::size_t{0};
    }
    into[0] = static_cast<std::byte>(text_[at_++]);
    return std::size_t{1};
  }

 private:
  std::string text_;
  std::size_t at_ = 0;
  bool fails_at_end_;
};

TEST(Stream, CopiesEverything) {
  TricklingSource source("hello world");
  StringSink sink;
  EXPECT_EQ(*copy(source, sink), 11u);
  EXPECT_EQ(sink.text(), "hello world");
}

TEST(Stream, ErrorsPass) {
  TricklingSource source("hello", /*fails_at_end=*/true);
  StringSink sink;
  const auto copied = copy(source, sink);
  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().code(), Code::kUnavailable);
}

TEST(Stream, ReadFullStopsAtTheEnd) {
  TricklingSource source("abc");
  std::array<std::byte, 2> two{};
  EXPECT_EQ(*read_full(source, two), 2u);
  EXPECT_EQ(*read_full(source, two), 1u);
  EXPECT_EQ(*read_full(source, two), 0u);
}

TEST(Stream, StringSinkHasALimit) {
  StringSink sink(5);
  EXPECT_TRUE(write(sink, "12345").ok());
  EXPECT_EQ(write(sink, "6").error().code(), Code::kExhausted);
  EXPECT_EQ(sink.text(), "12345");
}

TEST(Stream, LimitedSourceAllowsExactlyTheLimit) {
  for (std::uint64_t limit : {5, 6, 100}) {
    MemorySource inner("12345");
    LimitedSource limited(inner, limit);
    EXPECT_EQ(*read_all(limited, 1000), "12345");
  }
  for (std::uint64_t limit : {0, 4}) {
    MemorySource inner("12345");
    LimitedSource limited(inner, limit);
    EXPECT_EQ(read_all(limited, 1000).error().code(), Code::kExhausted);
    EXPECT_EQ(read_all(limited, 1000).error().code(), Code::kExhausted) << "the failure must stay";
  }
  MemorySource empty("");
  LimitedSource limited(empty, 0);
  EXPECT_EQ(*read_all(limited, 1000), "");
}

TEST(Stream, HashingSourceCoversWhatNobodyRead) {
  TricklingSource inner("abcdef");
  HashingSource hashing(inner);
  std::array<std::byte, 2> some{};
  ASSERT_TRUE(hashing.read(some).ok());
  EXPECT_EQ(*hashing.finish(), Digest::sha256_of("abcdef"));
  EXPECT_EQ(hashing.bytes_read(), 6u);
  EXPECT_EQ(*hashing.finish(), Digest::sha256_of("abcdef"));
  EXPECT_EQ(*hashing.read(some), 0u);

  TricklingSource broken("abc", /*fails_at_end=*/true);
  HashingSource half(broken);
  EXPECT_FALSE(half.finish().ok());
}

TEST(Stream, HashingSink) {
  StringSink inner;
  HashingSink hashing(inner, Digest::Algorithm::kSha512);
  EXPECT_TRUE(write(hashing, "ab").ok());
  EXPECT_TRUE(write(hashing, "c").ok());
  EXPECT_EQ(hashing.bytes_written(), 3u);
  EXPECT_EQ(std::move(hashing).finish().to_string().substr(0, 20), "sha512:ddaf35a193617");
  EXPECT_EQ(inner.text(), "abc");
}

TEST(Stream, Descriptors) {
  test::TempDir directory;
  const std::string path = (directory / "file").string();
  const std::string text(300'000, 'x');
  const int out = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(out, 0);
  FdSink sink(out, path);
  EXPECT_TRUE(write(sink, text).ok());
  ::close(out);

  const int in = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(in, 0);
  FdSource source(in, path);
  EXPECT_EQ(*read_all(source, 1 << 20), text);

  FdSink wrong(in, path);
  const auto refused = write(wrong, "x");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kIo);
  EXPECT_NE(refused.error().message().find(path), std::string::npos);
  ::close(in);

  FdSource closed(-1, "nowhere");
  EXPECT_EQ(read_all(closed, 10).error().code(), Code::kIo);
}

}  // namespace strake::codec::stream_test
