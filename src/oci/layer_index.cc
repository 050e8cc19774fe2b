#include "oci/layer_index.h"

#include <algorithm>
#include <optional>

namespace strake::oci {

namespace {

/// Changes with the form: an older program's files are then simply not understood, and made anew.
constexpr std::string_view kIndexMagic = "strake layer index 1\n";
constexpr int kIndexZstdLevel = 9;
constexpr std::uint64_t kMaxEncodedBytes = kMaxLayerIndexBytes + kMaxLayerIndexEntries * 64;

class IndexWriter {
 public:
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>((value & 0x7f) | 0x80);
    out_ += static_cast<char>(value);
  }
  /// Small negative numbers stay small.
  void signed_number(std::int64_t value) {
    number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void text(std::string_view value) {
    number(value.size());
    out_ += value;
  }
  std::string take() && { return std::move(out_); }

 private:
  std::string out_;
};

class IndexReader {
 public:
  explicit IndexReader(std::string_view bytes) : rest_(bytes) {}

  Result<std::uint64_t> number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return damaged();
  }
  Result<std::uint32_t> small_number() {
    STRAKE_TRY(const std::uint64_t value, number());
    if (value > UINT32_MAX) return damaged();
    return static_cast<std::uint32_t>(value);
  }
  Result<std::int64_t> signed_number() {
    STRAKE_TRY(const std::uint64_t value, number());
    return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
  }
  Result<std::string> text() {
    STRAKE_TRY(const std::uint64_t size, number());
    if (size > rest_.size()) return damaged();
    std::string value(rest_.substr(0, static_cast<std::size_t>(size)));
    rest_.remove_prefix(value.size());
    return value;
  }
  bool at_end() const { return rest_.empty(); }
  static Error damaged() { return error(Code::kCorrupt, "the index of a layer is damaged"); }

 private:
  std::string_view rest_;
};

void write_file(IndexWriter& out, const LayerFile& file, const LayerFile& previous) {
  const codec::TarEntry& tar = file.tar;
  const auto ends = std::mismatch(tar.path.begin(), tar.path.end(), previous.tar.path.begin(), previous.tar.path.end());
  const auto shared = static_cast<std::size_t>(ends.first - tar.path.begin());
  out.number(shared);
  out.text(std::string_view(tar.path).substr(shared));
  out.number(static_cast<std::uint64_t>(tar.type));
  out.text(tar.link_target);
  out.number(tar.mode);
  out.number(tar.uid);
  out.number(tar.gid);
  out.text(tar.user);
  out.text(tar.group);
  out.number(tar.size);
  out.signed_number(tar.mtime.seconds - previous.tar.mtime.seconds);
  out.number(tar.mtime.nanoseconds);
  out.number(tar.device_major);
  out.number(tar.device_minor);
  out.number(tar.xattrs.size());
  for (const auto& [name, value] : tar.xattrs) {
    out.text(name);
    out.text(value);
  }
  out.signed_number(static_cast<std::int64_t>(file.tar_offset - previous.tar_offset - previous.tar.size));
}

Result<LayerFile> read_file_entry(IndexReader& in, const LayerFile& previous) {
  LayerFile file;
  codec::TarEntry& tar = file.tar;
  STRAKE_TRY(const std::uint64_t shared, in.number());
  if (shared > previous.tar.path.size()) return IndexReader::damaged();
  STRAKE_TRY(const std::string rest, in.text());
  tar.path = previous.tar.path.substr(0, static_cast<std::size_t>(shared)) + rest;
  STRAKE_TRY(const std::uint64_t type, in.number());
  if (type > static_cast<std::uint64_t>(codec::TarEntryType::kFifo)) return IndexReader::damaged();
  tar.type = static_cast<codec::TarEntryType>(type);
  STRAKE_TRY(tar.link_target, in.text());
  STRAKE_TRY(tar.mode, in.small_number());
  STRAKE_TRY(tar.uid, in.number());
  STRAKE_TRY(tar.gid, in.number());
  STRAKE_TRY(tar.user, in.text());
  STRAKE_TRY(tar.group, in.text());
  STRAKE_TRY(tar.size, in.number());
  STRAKE_TRY(const std::int64_t seconds, in.signed_number());
  // Unsigned, because a damaged file may make it overflow.
  tar.mtime.seconds = static_cast<std::int64_t>(static_cast<std::uint64_t>(seconds) +
                                                static_cast<std::uint64_t>(previous.tar.mtime.seconds));
  STRAKE_TRY(tar.mtime.nanoseconds, in.small_number());
  STRAKE_TRY(tar.device_major, in.small_number());
  STRAKE_TRY(tar.device_minor, in.small_number());
  STRAKE_TRY(const std::uint64_t attributes, in.number());
  for (std::uint64_t i = 0; i < attributes; ++i) {
    STRAKE_TRY(std::string name, in.text());
    STRAKE_TRY(std::string value, in.text());
    tar.xattrs.insert_or_assign(std::move(name), std::move(value));
  }
  STRAKE_TRY(const std::int64_t gap, in.signed_number());
  file.tar_offset = static_cast<std::uint64_t>(gap) + previous.tar_offset + previous.tar.size;
  return file;
}

/// Of what comes before the first entry.
const LayerFile& no_file() {
  static const LayerFile none;
  return none;
}

Result<LayerIndex> index_tar(codec::Source& tar, const codec::TarLimits& limits) {
  codec::HashingSource hashed(tar);
  codec::TarLimits own = limits;
  own.max_entries = std::min(own.max_entries, kMaxLayerIndexEntries);
  std::vector<LayerFile> files;
  std::uint64_t bytes = 0;
  const LayerVisitor collect = [&](const LayerEntry& entry) -> Result<AfterEntry> {
    bytes += text_bytes(entry.tar);
    if (bytes > kMaxLayerIndexBytes) {
      return error(Code::kExhausted, "the names in the layer take more than {} bytes", kMaxLayerIndexBytes);
    }
    files.push_back({std::move(entry.tar), entry.tar_offset});
    return AfterEntry::kGoOn;
  };
  STRAKE_CHECK_OK(visit_tar(hashed, collect, own));
  // What follows the end of the archive belongs to the layer's digests.
  STRAKE_TRY(codec::Digest diff_id, hashed.finish());
  return LayerIndex{std::move(diff_id), std::move(files)};
}

}  // namespace

std::uint64_t text_bytes(const codec::TarEntry& entry) {
  std::uint64_t total = entry.path.size() + entry.link_target.size() + entry.user.size() + entry.group.size();
  for (const auto& [name, value] : entry.xattrs) total += name.size() + value.size();
  return total;
}

Result<LayerIndex> index_layer(codec::Source& compressed, const LayerLimits& limits) {
  STRAKE_TRY(const std::unique_ptr<codec::Source> tar,
             codec::make_detecting_decompressor(compressed, limits.decompress));
  return index_tar(*tar, limits.tar);
}

Result<LayerIndex> read_layer_index(const ImageSource& source, const Descriptor& layer, const runtime::Call& call) {
  std::optional<LayerIndex> index;
  const auto read = [&](codec::Source& tar) -> Status {
    STRAKE_TRY(index, index_tar(tar, {}));
    return {};
  };
  STRAKE_CHECK_OK(read_layer(source, layer, read, call));
  return *std::move(index);
}

Result<std::string> encode_layer_index(const LayerIndex& index) {
  IndexWriter out;
  out.text(index.diff_id.to_string());
  out.number(index.files.size());
  const LayerFile* previous = &no_file();
  for (const LayerFile& file : index.files) {
    write_file(out, file, *previous);
    previous = &file;
  }
  codec::StringSink sink;
  STRAKE_CHECK_OK(codec::write(sink, kIndexMagic));
  STRAKE_TRY(const auto compressor, codec::make_compressor(codec::Compression::kZstd, sink, kIndexZstdLevel));
  STRAKE_CHECK_OK(codec::write(*compressor, std::move(out).take()));
  STRAKE_CHECK_OK(compressor->finish());
  return std::move(sink).take();
}

Result<LayerIndex> decode_layer_index(std::string_view bytes) {
  if (!bytes.starts_with(kIndexMagic)) return error(Code::kUnsupported, "this is not the index of a layer");
  codec::MemorySource compressed(bytes.substr(kIndexMagic.size()));
  const auto plain = codec::make_decompressor(codec::Compression::kZstd, compressed,
                                              {.max_output_bytes = kMaxEncodedBytes, .max_memory_bytes = 64u << 20});
  STRAKE_TRY(const std::string text, codec::read_all(*plain, kMaxEncodedBytes));
  IndexReader in(text);
  STRAKE_TRY(const std::string digest, in.text());
  STRAKE_TRY(codec::Digest diff_id, codec::Digest::parse(digest));
  STRAKE_TRY(const std::uint64_t count, in.number());
  if (count > kMaxLayerIndexEntries) return IndexReader::damaged();
  LayerIndex index{std::move(diff_id), {}};
  std::uint64_t expanded = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    STRAKE_TRY(LayerFile file, read_file_entry(in, index.files.empty() ? no_file() : index.files.back()));
    expanded += text_bytes(file.tar);
    if (expanded > kMaxLayerIndexBytes) return IndexReader::damaged();
    index.files.push_back(std::move(file));
  }
  if (!in.at_end()) return IndexReader::damaged();
  return index;
}

}  // namespace strake::oci
