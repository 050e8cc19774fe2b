#include "codec/compress.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "codec/deflate.h"

namespace strake::codec {
namespace {

constexpr std::size_t kCompressBufferBytes = 64 * 1024;

/// What one call into a decoder did.
struct DecodeStep {
  std::size_t consumed = 0;
  std::size_t produced = 0;
  bool at_boundary = false;  ///< the input may end here
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual Result<DecodeStep> step(std::span<const std::byte> in, std::span<std::byte> out, bool input_ended) = 0;
};

class GzipDecoder : public Decoder {
 public:
  GzipDecoder() {
    constexpr int kLargestWindowGzipOnly = 15 + 16;
    STRAKE_INVARIANT(inflateInit2(&stream_, kLargestWindowGzipOnly) == Z_OK);
  }
  ~GzipDecoder() override { inflateEnd(&stream_); }
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;

  Result<DecodeStep> step(std::span<const std::byte> in, std::span<std::byte> out, bool) override {
    if (in.empty() && at_boundary_) return DecodeStep{.at_boundary = true};
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));  // zlib does not write there
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int answer = inflate(&stream_, Z_NO_FLUSH);
    DecodeStep done{.consumed = in.size() - stream_.avail_in, .produced = out.size() - stream_.avail_out};
    switch (answer) {
      case Z_OK:
      case Z_BUF_ERROR: at_boundary_ = at_boundary_ && done.consumed == 0; break;
      case Z_STREAM_END:
        at_boundary_ = true;
        STRAKE_INVARIANT(inflateReset(&stream_) == Z_OK);  // another member may follow
        break;
      case Z_MEM_ERROR: return error(Code::kExhausted, "gzip: out of memory");
      default: return error(Code::kCorrupt, "gzip: {}", stream_.msg != nullptr ? stream_.msg : "invalid data");
    }
    done.at_boundary = at_boundary_;
    return done;
  }

 private:
  z_stream stream_{};
  bool at_boundary_ = false;
};

class RawDeflateDecoder : public Decoder {
 public:
  RawDeflateDecoder() {
    constexpr int kLargestWindowNoHeader = -15;
    STRAKE_INVARIANT(inflateInit2(&stream_, kLargestWindowNoHeader) == Z_OK);
  }
  ~RawDeflateDecoder() override { inflateEnd(&stream_); }
  RawDeflateDecoder(const RawDeflateDecoder&) = delete;
  RawDeflateDecoder& operator=(const RawDeflateDecoder&) = delete;

  Result<DecodeStep> step(std::span<const std::byte> in, std::span<std::byte> out, bool) override {
    if (ended_) {
      if (!in.empty()) return error(Code::kCorrupt, "deflate: data follows the end");
      return DecodeStep{.at_boundary = true};
    }
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));  // zlib does not write there
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int answer = inflate(&stream_, Z_NO_FLUSH);
    if (answer == Z_MEM_ERROR) return error(Code::kExhausted, "deflate: out of memory");
    if (answer != Z_OK && answer != Z_BUF_ERROR && answer != Z_STREAM_END) {
      return error(Code::kCorrupt, "deflate: {}", stream_.msg != nullptr ? stream_.msg : "invalid data");
    }
    ended_ = answer == Z_STREAM_END;
    return DecodeStep{
        .consumed = in.size() - stream_.avail_in, .produced = out.size() - stream_.avail_out, .at_boundary = ended_};
  }

 private:
  z_stream stream_{};
  bool ended_ = false;
};

class ZstdDecoder : public Decoder {
 public:
  explicit ZstdDecoder(std::uint64_t max_memory_bytes) : context_(ZSTD_createDCtx()) {
    STRAKE_INVARIANT(context_ != nullptr);
    const auto bounds = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);
    const int wanted = static_cast<int>(std::bit_width(std::max<std::uint64_t>(max_memory_bytes, 1))) - 1;
    const int window_log = std::clamp(wanted, bounds.lowerBound, bounds.upperBound);
    STRAKE_INVARIANT(ZSTD_isError(ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, window_log)) == 0);
  }
  ~ZstdDecoder() override { ZSTD_freeDCtx(context_); }
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;

  Result<DecodeStep> step(std::span<const std::byte> in, std::span<std::byte> out, bool) override {
    if (in.empty() && at_boundary_) return DecodeStep{.at_boundary = true};
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    const std::size_t answer = ZSTD_decompressStream(context_, &output, &input);
    if (ZSTD_isError(answer) != 0) {
      // The message is the stable part of the interface; the numeric codes are in an experimental header.
      const std::string_view name = ZSTD_getErrorName(answer);
      const bool too_large = name.find("too much memory") != std::string_view::npos;
      return error(too_large ? Code::kExhausted : Code::kCorrupt, "zstd: {}", name);
    }
    at_boundary_ = answer == 0;
    return DecodeStep{.consumed = input.pos, .produced = output.pos, .at_boundary = at_boundary_};
  }

 private:
  ZSTD_DCtx* context_;
  bool at_boundary_ = false;
};

class XzDecoder : public Decoder {
 public:
  explicit XzDecoder(std::uint64_t max_memory_bytes) : max_memory_bytes_(max_memory_bytes) {
    STRAKE_INVARIANT(lzma_stream_decoder(&stream_, max_memory_bytes, LZMA_CONCATENATED) == LZMA_OK);
  }
  ~XzDecoder() override { lzma_end(&stream_); }
  XzDecoder(const XzDecoder&) = delete;
  XzDecoder& operator=(const XzDecoder&) = delete;

  Result<DecodeStep> step(std::span<const std::byte> in, std::span<std::byte> out, bool input_ended) override {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = out.size();
    const lzma_ret answer = lzma_code(&stream_, input_ended ? LZMA_FINISH : LZMA_RUN);
    const DecodeStep done{.consumed = in.size() - stream_.avail_in,
                          .produced = out.size() - stream_.avail_out,
                          .at_boundary = answer == LZMA_STREAM_END};
    switch (answer) {
      case LZMA_OK:
      case LZMA_BUF_ERROR:
      case LZMA_STREAM_END: return done;
      case LZMA_MEMLIMIT_ERROR:
        return error(Code::kExhausted, "xz: the data needs {} bytes of memory, more than the limit of {}",
                     lzma_memusage(&stream_), max_memory_bytes_);
      case LZMA_MEM_ERROR: return error(Code::kExhausted, "xz: out of memory");
      case LZMA_FORMAT_ERROR: return error(Code::kCorrupt, "xz: not in xz format");
      case LZMA_OPTIONS_ERROR:
        return error(Code::kUnsupported, "xz: the data uses an option this program does not know");
      default: return error(Code::kCorrupt, "xz: the data is damaged");
    }
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  std::uint64_t max_memory_bytes_;
};

class DecompressingSource : public Source {
 public:
  DecompressingSource(std::unique_ptr<Decoder> decoder, Source& input, std::uint64_t max_output_bytes)
      : decoder_(std::move(decoder)),
        input_(input),
        buffer_(kCompressBufferBytes),
        max_output_bytes_(max_output_bytes) {}

  Result<std::size_t> read(std::span<std::byte> into) override {
    if (failure_) return *failure_;
    Result<std::size_t> result = decode_into(into);
    if (!result.ok()) failure_ = result.error();
    return result;
  }

 private:
  Result<std::size_t> decode_into(std::span<std::byte> into) {
    into = into.first(std::min<std::size_t>(into.size(), 1u << 30));  // zlib counts in 32 bits
    while (!ended_) {
      if (pending_.empty() && !input_ended_) {
        STRAKE_TRY(const std::size_t size, input_.read(buffer_));
        pending_ = std::span<const std::byte>(buffer_).first(size);
        input_ended_ = size == 0;
      }
      auto stepped = decoder_->step(pending_, into, input_ended_);
      if (!stepped.ok()) return std::move(stepped).context("near offset {} of the compressed data", offset_).error();
      const DecodeStep step = *stepped;
      pending_ = pending_.subspan(step.consumed);
      offset_ += step.consumed;
      if (step.produced > max_output_bytes_ - produced_) {
        return error(Code::kExhausted, "decompressed content is larger than the limit of {} bytes", max_output_bytes_);
      }
      produced_ += step.produced;
      if (step.produced > 0) return step.produced;
      if (input_ended_ && step.consumed == 0) {
        if (!step.at_boundary) return error(Code::kCorrupt, "compressed data is cut short at offset {}", offset_);
        ended_ = true;
      }
    }
    return std::size_t{0};
  }

  std::unique_ptr<Decoder> decoder_;
  Source& input_;
  std::vector<std::byte> buffer_;
  std::span<const std::byte> pending_;
  std::uint64_t max_output_bytes_;
  std::uint64_t offset_ = 0;
  std::uint64_t produced_ = 0;
  std::optional<Error> failure_;
  bool input_ended_ = false;
  bool ended_ = false;
};

/// Gives back bytes that were read ahead, then the rest; owns the decompressor that reads from it.
class ReplayingSource : public Source {
 public:
  ReplayingSource(std::string head, Source& rest) : head_(std::move(head)), rest_(rest) {}

  Result<std::size_t> read(std::span<std::byte> into) override {
    if (replayed_ == head_.size()) return rest_.read(into);
    MemorySource head(std::string_view(head_).substr(replayed_));
    STRAKE_TRY(const std::size_t size, head.read(into));
    replayed_ += size;
    return size;
  }

 private:
  std::string head_;
  Source& rest_;
  std::size_t replayed_ = 0;
};

class DetectingSource : public Source {
 public:
  DetectingSource(Compression compression, std::string head, Source& input, const DecompressLimits& limits)
      : whole_(std::move(head), input), decompressor_(make_decompressor(compression, whole_, limits)) {}

  Result<std::size_t> read(std::span<std::byte> into) override { return decompressor_->read(into); }

 private:
  ReplayingSource whole_;
  std::unique_ptr<Source> decompressor_;
};

enum class DeflateForm { kGzip, kRaw };

class DeflateSink : public CompressingSink {
 public:
  DeflateSink(Sink& output, int level, DeflateForm form) : output_(output), buffer_(kCompressBufferBytes) {
    constexpr int kLargestWindowWithGzipHeader = 15 + 16;
    constexpr int kLargestWindowNoHeader = -15;
    constexpr int kDefaultMemoryLevel = 8;
    constexpr int kUnknownSystem = 255;
    const int window = form == DeflateForm::kGzip ? kLargestWindowWithGzipHeader : kLargestWindowNoHeader;
    STRAKE_INVARIANT(deflateInit2(&stream_, level, Z_DEFLATED, window, kDefaultMemoryLevel, Z_DEFAULT_STRATEGY) ==
                     Z_OK);
    if (form == DeflateForm::kRaw) return;
    header_.os = kUnknownSystem;
    STRAKE_INVARIANT(deflateSetHeader(&stream_, &header_) == Z_OK);
  }
  ~DeflateSink() override { deflateEnd(&stream_); }
  DeflateSink(const DeflateSink&) = delete;
  DeflateSink& operator=(const DeflateSink&) = delete;

  Status write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      // Fixed pieces, because zlib counts input in 32 bits.
      const auto piece = bytes.first(std::min<std::size_t>(bytes.size(), 1u << 30));
      STRAKE_CHECK_OK(deflate_piece(piece, Z_NO_FLUSH));
      bytes = bytes.subspan(piece.size());
    }
    return {};
  }

  Status finish() override { return deflate_piece({}, Z_FINISH); }

 private:
  Status deflate_piece(std::span<const std::byte> bytes, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));  // zlib does not write there
    stream_.avail_in = static_cast<uInt>(bytes.size());
    int answer = Z_OK;
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      answer = deflate(&stream_, flush);
      STRAKE_INVARIANT(answer != Z_STREAM_ERROR);
      const std::size_t produced = buffer_.size() - stream_.avail_out;
      if (produced > 0) STRAKE_CHECK_OK(output_.write(std::span(buffer_).first(produced)));
    } while (stream_.avail_in > 0 || (flush == Z_FINISH && answer != Z_STREAM_END));
    return {};
  }

  Sink& output_;
  std::vector<std::byte> buffer_;
  z_stream stream_{};
  gz_header header_{};
};

class ZstdSink : public CompressingSink {
 public:
  ZstdSink(Sink& output, int level) : output_(output), buffer_(ZSTD_CStreamOutSize()), context_(ZSTD_createCCtx()) {
    STRAKE_INVARIANT(context_ != nullptr);
    STRAKE_INVARIANT(ZSTD_isError(ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, level)) == 0);
    STRAKE_INVARIANT(ZSTD_isError(ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1)) == 0);
  }
  ~ZstdSink() override { ZSTD_freeCCtx(context_); }
  ZstdSink(const ZstdSink&) = delete;
  ZstdSink& operator=(const ZstdSink&) = delete;

  Status write(std::span<const std::byte> bytes) override { return compress_piece(bytes, ZSTD_e_continue); }
  Status finish() override { return compress_piece({}, ZSTD_e_end); }

 private:
  Status compress_piece(std::span<const std::byte> bytes, ZSTD_EndDirective directive) {
    ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
    for (;;) {
      ZSTD_outBuffer output{buffer_.data(), buffer_.size(), 0};
      const std::size_t left = ZSTD_compressStream2(context_, &output, &input, directive);
      if (ZSTD_isError(left) != 0) return error(Code::kInternal, "zstd: {}", ZSTD_getErrorName(left));
      if (output.pos > 0) STRAKE_CHECK_OK(output_.write(std::span(buffer_).first(output.pos)));
      if (directive == ZSTD_e_end ? left == 0 : input.pos == input.size) return {};
    }
  }

  Sink& output_;
  std::vector<std::byte> buffer_;
  ZSTD_CCtx* context_;
};

/// kNone under the output limit; owns the limiter only.
class PassingSource : public Source {
 public:
  PassingSource(Source& input, std::uint64_t max_bytes) : limited_(input, max_bytes) {}
  Result<std::size_t> read(std::span<std::byte> into) override { return limited_.read(into); }

 private:
  LimitedSource limited_;
};

}  // namespace

std::string_view to_string(Compression compression) {
  switch (compression) {
    case Compression::kNone: return "none";
    case Compression::kGzip: return "gzip";
    case Compression::kZstd: return "zstd";
    case Compression::kXz: return "xz";
  }
  return "unknown";
}

Result<Compression> parse_compression(std::string_view name) {
  for (auto compression : {Compression::kNone, Compression::kGzip, Compression::kZstd, Compression::kXz}) {
    if (name == to_string(compression)) return compression;
  }
  return error(Code::kUnsupported, "unknown compression `{}`; use none, gzip, zstd or xz", name);
}

Compression detect_compression(std::span<const std::byte> head) {
  const std::string_view bytes(reinterpret_cast<const char*>(head.data()), head.size());
  if (bytes.starts_with("\x1f\x8b")) return Compression::kGzip;
  if (bytes.starts_with("\x28\xb5\x2f\xfd")) return Compression::kZstd;
  if (bytes.starts_with(std::string_view("\xfd"
                                         "7zXZ\0",
                                         6))) {
    return Compression::kXz;
  }
  return Compression::kNone;
}

std::unique_ptr<Source> make_decompressor(Compression compression, Source& input, const DecompressLimits& limits) {
  std::unique_ptr<Decoder> decoder;
  switch (compression) {
    case Compression::kNone: return std::make_unique<PassingSource>(input, limits.max_output_bytes);
    case Compression::kGzip: decoder = std::make_unique<GzipDecoder>(); break;
    case Compression::kZstd: decoder = std::make_unique<ZstdDecoder>(limits.max_memory_bytes); break;
    case Compression::kXz: decoder = std::make_unique<XzDecoder>(limits.max_memory_bytes); break;
  }
  return std::make_unique<DecompressingSource>(std::move(decoder), input, limits.max_output_bytes);
}

std::unique_ptr<Source> make_inflater(Source& input, const DecompressLimits& limits) {
  return std::make_unique<DecompressingSource>(std::make_unique<RawDeflateDecoder>(), input, limits.max_output_bytes);
}

Result<std::unique_ptr<Source>> make_detecting_decompressor(Source& input, const DecompressLimits& limits,
                                                            Compression* detected) {
  std::string head(kCompressionMagicBytes, '\0');
  STRAKE_TRY(const std::size_t size, read_full(input, std::as_writable_bytes(std::span(head))));
  head.resize(size);
  const Compression compression = detect_compression(std::as_bytes(std::span(head)));
  if (detected != nullptr) *detected = compression;
  return std::unique_ptr<Source>(std::make_unique<DetectingSource>(compression, std::move(head), input, limits));
}

Result<std::unique_ptr<CompressingSink>> make_compressor(Compression compression, Sink& output, int level) {
  switch (compression) {
    case Compression::kGzip:
      if (level < 0 || level > 9) return error(Code::kInvalidArgument, "gzip level {} is not in 0 to 9", level);
      return std::unique_ptr<CompressingSink>(std::make_unique<DeflateSink>(output, level, DeflateForm::kGzip));
    case Compression::kZstd:
      if (level < 1 || level > ZSTD_maxCLevel()) {
        return error(Code::kInvalidArgument, "zstd level {} is not in 1 to {}", level, ZSTD_maxCLevel());
      }
      return std::unique_ptr<CompressingSink>(std::make_unique<ZstdSink>(output, level));
    case Compression::kNone:
    case Compression::kXz: break;
  }
  return error(Code::kUnsupported, "cannot compress with {}; use gzip or zstd", to_string(compression));
}

std::unique_ptr<CompressingSink> make_deflater(Sink& output, int level) {
  return std::make_unique<DeflateSink>(output, std::clamp(level, 0, 9), DeflateForm::kRaw);
}

std::string gzip(std::string_view bytes, int level) {
  StringSink out;
  DeflateSink sink(out, std::clamp(level, 0, 9), DeflateForm::kGzip);
  STRAKE_INVARIANT(sink.write(std::as_bytes(std::span(bytes))).ok());
  STRAKE_INVARIANT(sink.finish().ok());
  return std::move(out).take();
}

Result<std::string> gunzip(std::string_view bytes, std::uint64_t max_output_bytes) {
  MemorySource input(bytes);
  const auto source = make_decompressor(Compression::kGzip, input, {.max_output_bytes = max_output_bytes});
  return read_all(*source, max_output_bytes);
}

}  // namespace strake::codec
