#include "osimage/object_layer.h"

#include <optional>

#include "codec/compress.h"
#include "oci/layers.h"

namespace strake::osimage {

namespace {

using ostree::Checksum;
using ostree::FileInfo;
using ostree::ObjectType;

/// Takes what nobody wants.
class NowhereSink final : public codec::Sink {
 public:
  Status write(std::span<const std::byte>) override { return {}; }
};

/// What is kept of a layer while it streams past.
class KeptObjects final : public ostree::ObjectReceiver {
 public:
  KeptObjects(const OpenObjectSink& open, bool keep) : open_(open), keep_(keep) {}

  bool wants_metadata() const override { return keep_; }

  Status metadata(ObjectType type, const Checksum& checksum, std::string bytes) override {
    if (!objects.emplace(std::pair(type, checksum), std::move(bytes)).second) return duplicate();
    return {};
  }

  Status file(const Checksum& checksum, FileInfo info, codec::Source& content) override {
    STRAKE_TRY(codec::Sink* const sink, open_ ? open_(checksum, info) : Result<codec::Sink*>(nullptr));
    if (!info.is_symlink() && (keep_ || sink != nullptr)) {
      NowhereSink nowhere;
      STRAKE_CHECK_OK(
          ostree::copy_checked(info, content, checksum, sink == nullptr ? static_cast<codec::Sink&>(nowhere) : *sink));
    }
    return keep_file(checksum, std::move(info));
  }

  Status archived_file(const Checksum& checksum, FileInfo info, codec::Source& filez) override {
    STRAKE_TRY(codec::Sink* const sink, open_ ? open_(checksum, info) : Result<codec::Sink*>(nullptr));
    if (sink != nullptr) STRAKE_CHECK_OK(ostree::copy_archived(info, filez, checksum, *sink));
    return keep_file(checksum, std::move(info));
  }

  Status text(std::string_view path, std::string text) override {
    if (keep_) texts.insert_or_assign(std::string(path), std::move(text));
    return {};
  }

  std::map<std::pair<ObjectType, Checksum>, std::string> objects;
  std::map<Checksum, FileInfo> files;
  std::map<std::string, std::string> texts;

 private:
  static Status duplicate() { return error(Code::kCorrupt, "the object is in the layer twice"); }

  Status keep_file(const Checksum& checksum, FileInfo info) {
    if (keep_ && !files.emplace(checksum, std::move(info)).second) return duplicate();
    return {};
  }

  const OpenObjectSink& open_;
  bool keep_;
};

/// The digest of the whole archive.
Result<codec::Digest> scan_tar(KeptObjects& kept, ObjectLayerForm form, codec::Source& tar) {
  codec::HashingSource hashed(tar);
  STRAKE_CHECK_OK(ostree::scan_object_layer(hashed, form, kept));
  // What follows the end of the archive belongs to the layer's digests.
  return hashed.finish();
}

// --- The form for the cache: a GVariant like the objects themselves, compressed -------------------------------------

/// Changes with the form: an older program's files are then simply not understood, and made anew.
constexpr std::string_view kObjectLayerMagic = "strake ostree layer 1\n";
constexpr std::string_view kObjectLayerType = "(sa(yayay)a(ayuuutsu)aaya(ss))";
constexpr int kObjectLayerZstdLevel = 9;
constexpr std::uint64_t kMaxEncodedLayerBytes = ostree::kMaxLayerObjectBytes + ostree::kMaxLayerObjects * 128;

Error damaged_layer() { return error(Code::kCorrupt, "the objects of a layer, as the cache holds them, are damaged"); }

}  // namespace

Result<ObjectLayer> scan_object_tar(codec::Source& tar, ObjectLayerForm form, const OpenObjectSink& open) {
  KeptObjects kept(open, true);
  STRAKE_TRY(codec::Digest diff_id, scan_tar(kept, form, tar));
  return ObjectLayer{std::move(diff_id), std::move(kept.objects), std::move(kept.files), std::move(kept.texts)};
}

Result<ObjectLayer> read_object_layer(const oci::ImageSource& source, const oci::Descriptor& layer,
                                      ObjectLayerForm form, const OpenObjectSink& open, const runtime::Call& call) {
  std::optional<ObjectLayer> objects;
  const auto read = [&](codec::Source& tar) -> Status {
    STRAKE_TRY(objects, scan_object_tar(tar, form, open));
    return {};
  };
  STRAKE_CHECK_OK(oci::read_layer(source, layer, read, call));
  return *std::move(objects);
}

Status copy_layer_objects(const oci::ImageSource& source, const oci::Descriptor& layer, ObjectLayerForm form,
                          const OpenObjectSink& open, const runtime::Call& call) {
  const auto read = [&](codec::Source& tar) -> Status {
    KeptObjects kept(open, false);
    STRAKE_TRY([[maybe_unused]] const codec::Digest diff_id, scan_tar(kept, form, tar));
    return {};
  };
  return oci::read_layer(source, layer, read, call);
}

Result<std::string> encode_object_layer(const ObjectLayer& layer) {
  using ostree::Variant;
  std::vector<Variant> metadata;
  metadata.reserve(layer.metadata.size());
  for (const auto& [key, bytes] : layer.metadata) {
    metadata.push_back(Variant::tuple({Variant{"y", static_cast<std::uint64_t>(key.first)},
                                       Variant::bytes(key.second.bytes()), Variant::bytes(bytes)}));
  }
  std::map<ostree::Xattrs, std::uint32_t> known;
  std::vector<Variant> xattrs;
  std::vector<Variant> files;
  files.reserve(layer.files.size());
  for (const auto& [checksum, info] : layer.files) {
    const auto [entry, is_new] = known.emplace(info.xattrs, static_cast<std::uint32_t>(xattrs.size()));
    if (is_new) xattrs.push_back(Variant::bytes(ostree::serialize_xattrs(info.xattrs)));
    files.push_back(Variant::tuple({Variant::bytes(checksum.bytes()), Variant::u32(info.uid), Variant::u32(info.gid),
                                    Variant::u32(info.mode), Variant::u64(info.size),
                                    Variant::string(info.symlink_target), Variant::u32(entry->second)}));
  }
  std::vector<Variant> texts;
  texts.reserve(layer.texts.size());
  for (const auto& [path, text] : layer.texts) {
    texts.push_back(Variant::tuple({Variant::string(path), Variant::string(text)}));
  }
  const Variant whole =
      Variant::tuple({Variant::string(layer.diff_id.to_string()), Variant::array("(yayay)", std::move(metadata)),
                      Variant::array("(ayuuutsu)", std::move(files)), Variant::array("ay", std::move(xattrs)),
                      Variant::array("(ss)", std::move(texts))});
  codec::StringSink sink;
  STRAKE_CHECK_OK(codec::write(sink, kObjectLayerMagic));
  STRAKE_TRY(const auto compressor, codec::make_compressor(codec::Compression::kZstd, sink, kObjectLayerZstdLevel));
  STRAKE_CHECK_OK(codec::write(*compressor, ostree::encode_variant(whole)));
  STRAKE_CHECK_OK(compressor->finish());
  return std::move(sink).take();
}

Result<ObjectLayer> decode_object_layer(std::string_view bytes) {
  if (!bytes.starts_with(kObjectLayerMagic)) return damaged_layer();
  codec::MemorySource compressed(bytes.substr(kObjectLayerMagic.size()));
  const auto plain =
      codec::make_decompressor(codec::Compression::kZstd, compressed,
                               {.max_output_bytes = kMaxEncodedLayerBytes, .max_memory_bytes = 64u << 20});
  STRAKE_TRY(const std::string text, codec::read_all(*plain, kMaxEncodedLayerBytes));
  STRAKE_TRY(ostree::Variant whole, ostree::decode_variant(kObjectLayerType, text, {.max_nodes = 20'000'000}));
  STRAKE_TRY(codec::Digest diff_id, codec::Digest::parse(whole.items[0].text));
  ObjectLayer layer{std::move(diff_id), {}, {}, {}};
  for (ostree::Variant& item : whole.items[1].items) {
    if (item.items[0].number > static_cast<std::uint64_t>(ObjectType::kFile)) return damaged_layer();
    STRAKE_TRY(const Checksum checksum, Checksum::from_bytes(item.items[1].text));
    layer.metadata.emplace(std::pair(static_cast<ObjectType>(item.items[0].number), checksum),
                           std::move(item.items[2].text));
  }
  std::vector<ostree::Xattrs> xattrs;
  for (const ostree::Variant& item : whole.items[3].items) {
    STRAKE_TRY(ostree::Xattrs parsed, ostree::parse_xattrs(item.text));
    xattrs.push_back(std::move(parsed));
  }
  for (ostree::Variant& item : whole.items[2].items) {
    std::vector<ostree::Variant>& members = item.items;
    STRAKE_TRY(const Checksum checksum, Checksum::from_bytes(members[0].text));
    if (members[6].number >= xattrs.size()) return damaged_layer();
    layer.files.emplace(
        checksum, FileInfo{static_cast<std::uint32_t>(members[1].number), static_cast<std::uint32_t>(members[2].number),
                           static_cast<std::uint32_t>(members[3].number), members[4].number, std::move(members[5].text),
                           xattrs[static_cast<std::size_t>(members[6].number)]});
  }
  for (ostree::Variant& item : whole.items[4].items) {
    layer.texts.emplace(std::move(item.items[0].text), std::move(item.items[1].text));
  }
  return layer;
}

}  // namespace strake::osimage
