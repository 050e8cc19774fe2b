// gzip, zstd and xz as streams. Decompression is bounded in output and in memory, because its input comes from
// strangers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/stream.h"

namespace strake::codec {

enum class Compression { kNone, kGzip, kZstd, kXz };

std::string_view to_string(Compression compression);
Result<Compression> parse_compression(std::string_view name);

/// How many leading bytes detect_compression needs to be sure.
inline constexpr std::size_t kCompressionMagicBytes = 6;

/// By magic number; kNone when no known one matches.
Compression detect_compression(std::span<const std::byte> head);

struct DecompressLimits {
  std::uint64_t max_output_bytes = std::uint64_t{64} << 30;
  std::uint64_t max_memory_bytes = std::uint64_t{128} << 20;  ///< window and dictionary the input may ask for
};

/// Reads `input` decompressed, all its members (frames, streams) one after the other. Damaged or cut input is kCorrupt
/// and names the offset in the compressed bytes; what exceeds the limits is kExhausted. kNone passes bytes through,
/// under the same output limit. `input` must outlive the result.
std::unique_ptr<Source> make_decompressor(Compression compression, Source& input, const DecompressLimits& limits = {});

/// The same, choosing by the magic number at the start of `input`; says in `detected`, when given, what it found.
Result<std::unique_ptr<Source>> make_detecting_decompressor(Source& input, const DecompressLimits& limits = {},
                                                            Compression* detected = nullptr);

/// Raw deflate data, one stream without header or checksum, as ostree archives hold it. What follows its end is
/// refused. Otherwise as make_decompressor().
std::unique_ptr<Source> make_inflater(Source& input, const DecompressLimits& limits = {});

/// A sink whose output is complete only after finish().
class CompressingSink : public Sink {
 public:
  virtual Status finish() = 0;
};

/// Same input, same bytes: gzip headers carry no name, no time and the "unknown" system; zstd runs in one thread with a
/// checksum. kXz is read only. `output` must outlive the result.
Result<std::unique_ptr<CompressingSink>> make_compressor(Compression compression, Sink& output, int level);

inline constexpr int kDefaultGzipLevel = 6;
inline constexpr int kDefaultZstdLevel = 3;

std::string gzip(std::string_view bytes, int level = kDefaultGzipLevel);
Result<std::string> gunzip(std::string_view bytes, std::uint64_t max_output_bytes);

}  // namespace strake::codec
