#include "support/layout_editor.h"

#include <system_error>

#include <fmt/format.h>

#include "base/fd.h"
#include "codec/compress.h"
#include "codec/digest.h"
#include "codec/tar.h"

namespace strake::test {
namespace {

using std::filesystem::path;

constexpr std::size_t kMaxEditedBytes = 256u << 20;
constexpr const char* kFinalLayerLabel = "ostree.final-diffid";

Result<boost::json::object> read_json(const path& file) {
  STRAKE_TRY(const std::string text, read_file(file, kMaxEditedBytes));
  boost::system::error_code failure;
  boost::json::value value = boost::json::parse(text, failure);
  if (failure || !value.is_object()) return error(Code::kCorrupt, "{} is no JSON object", file.string());
  return std::move(value.as_object());
}

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::string text_at(const boost::json::object& object, std::string_view key) {
  return std::string(object.at(key).as_string());
}

}  // namespace

Result<LayoutEditor> LayoutEditor::copy(const path& from, const path& to) {
  std::error_code failure;
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive, failure);
  if (failure) return errno_error(failure.value(), fmt::format("copying {} to {}", from.string(), to.string()));
  LayoutEditor editor;
  editor.directory_ = to;
  STRAKE_TRY(const auto index, read_json(to / "index.json"));
  editor.manifest_digest_ = text_at(index.at("manifests").as_array().at(0).as_object(), "digest");
  STRAKE_TRY(editor.manifest, read_json(editor.blob(editor.manifest_digest_)));
  STRAKE_TRY(editor.config, read_json(editor.blob(editor.config_digest())));
  return editor;
}

path LayoutEditor::blob(const std::string& digest) const {
  return directory_ / "blobs/sha256" / digest.substr(digest.find(':') + 1);
}

std::string LayoutEditor::config_digest() const { return text_at(manifest.at("config").as_object(), "digest"); }

std::vector<std::string> LayoutEditor::layer_digests() const {
  std::vector<std::string> digests;
  for (const auto& layer : manifest.at("layers").as_array()) digests.push_back(text_at(layer.as_object(), "digest"));
  return digests;
}

Status LayoutEditor::flip_bit_in_the_middle(const std::string& digest) const {
  STRAKE_TRY(std::string bytes, read_file(blob(digest), kMaxEditedBytes));
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  return write_file_atomic(blob(digest), bytes, 0644);
}

Status LayoutEditor::remove_blob(const std::string& digest) const {
  std::error_code failure;
  if (!std::filesystem::remove(blob(digest), failure)) return errno_error(failure.value(), blob(digest).string());
  return {};
}

void LayoutEditor::set_label(std::string_view name, std::string_view value) {
  config.at("config").as_object().at("Labels").as_object()[name] = value;
  auto* annotations = manifest.if_contains("annotations");
  if (annotations != nullptr && annotations->as_object().contains(name)) annotations->as_object()[name] = value;
}

boost::json::array& LayoutEditor::diff_ids() { return config.at("rootfs").as_object().at("diff_ids").as_array(); }

Result<std::string> LayoutEditor::uncompressed_layer(std::size_t number) const {
  STRAKE_TRY(std::string bytes, read_file(blob(layer_digests().at(number)), kMaxEditedBytes));
  if (!is_gzip(bytes)) return bytes;
  return codec::gunzip(bytes, kMaxEditedBytes);
}

Result<std::string> LayoutEditor::add_blob(const std::string& bytes) const {
  std::string digest = codec::Digest::sha256_of(bytes).to_string();
  STRAKE_CHECK_OK(write_file_atomic(blob(digest), bytes, 0644));
  return digest;
}

Status LayoutEditor::replace_layer(std::size_t number, const std::string& tar) {
  STRAKE_TRY(const std::string before, read_file(blob(layer_digests().at(number)), kMaxEditedBytes));
  const std::string bytes = is_gzip(before) ? codec::gzip(tar) : tar;
  auto& layer = manifest.at("layers").as_array().at(number).as_object();
  STRAKE_TRY(layer["digest"], add_blob(bytes));
  layer["size"] = bytes.size();
  boost::json::value& diff_id = diff_ids().at(number);
  const std::string new_diff_id = codec::Digest::sha256_of(tar).to_string();
  const auto& labels = config.at("config").as_object().at("Labels").as_object();
  const auto* last = labels.if_contains(kFinalLayerLabel);
  if (last != nullptr && *last == diff_id) set_label(kFinalLayerLabel, new_diff_id);
  diff_id = new_diff_id;
  return {};
}

Status LayoutEditor::write() {
  const std::string config_text = boost::json::serialize(config);
  auto& config_descriptor = manifest.at("config").as_object();
  STRAKE_TRY(config_descriptor["digest"], add_blob(config_text));
  config_descriptor["size"] = config_text.size();
  const std::string manifest_text = boost::json::serialize(manifest);
  STRAKE_TRY(manifest_digest_, add_blob(manifest_text));
  STRAKE_TRY(auto index, read_json(directory_ / "index.json"));
  auto& entry = index.at("manifests").as_array().at(0).as_object();
  entry["digest"] = manifest_digest_;
  entry["size"] = manifest_text.size();
  return write_file_atomic(directory_ / "index.json", boost::json::serialize(index), 0644);
}

Result<std::vector<TarMember>> tar_members(const std::string& tar) {
  codec::MemorySource source(tar);
  codec::TarReader reader(source);
  std::vector<TarMember> members;
  for (;;) {
    STRAKE_TRY(auto entry, reader.next());
    if (!entry) return members;
    members.push_back({.path = entry->path, .content_at = reader.offset(), .size = entry->size});
  }
}

Result<std::string> tar_without(const std::string& tar, const std::string& path) {
  codec::MemorySource source(tar);
  codec::TarReader reader(source);
  codec::StringSink sink;
  codec::TarWriter writer(sink);
  for (;;) {
    STRAKE_TRY(auto entry, reader.next());
    if (!entry) break;
    if (entry->path != path) STRAKE_CHECK_OK(writer.add(*entry, reader.content()));
  }
  STRAKE_CHECK_OK(writer.finish());
  return sink.text();
}

}  // namespace strake::test
