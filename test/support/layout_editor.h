// An OCI layout with one image, changed behind the back of its digests or with all digests set right again: what
// somebody who can write to a mirror could do.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "base/result.h"

namespace strake::test {

class LayoutEditor {
 public:
  /// Copies a layout that holds one image.
  static Result<LayoutEditor> copy(const std::filesystem::path& from, const std::filesystem::path& to);

  const std::filesystem::path& directory() const { return directory_; }
  const std::string& manifest_digest() const { return manifest_digest_; }
  std::string config_digest() const;
  std::vector<std::string> layer_digests() const;
  std::filesystem::path blob(const std::string& digest) const;

  // --- Behind the back of the digests ---
  Status flip_bit_in_the_middle(const std::string& digest) const;
  Status remove_blob(const std::string& digest) const;

  // --- With digests set right: change these, then write() ---
  boost::json::object manifest;
  boost::json::object config;

  /// Of the config and, where it is there too, of the manifest's annotations.
  void set_label(std::string_view name, std::string_view value);
  boost::json::array& diff_ids();
  Result<std::string> uncompressed_layer(std::size_t number) const;
  /// Compressed as it was; diff_ids and the label that names the last ostree layer follow.
  Status replace_layer(std::size_t number, const std::string& tar);
  Status write();

 private:
  Result<std::string> add_blob(const std::string& bytes) const;  ///< returns its digest

  std::filesystem::path directory_;
  std::string manifest_digest_;
};

struct TarMember {
  std::string path;
  std::size_t content_at = 0, size = 0;
};
/// Of a tar archive, in its order.
Result<std::vector<TarMember>> tar_members(const std::string& tar);
/// The same archive without one of its members.
Result<std::string> tar_without(const std::string& tar, const std::string& path);

}  // namespace strake::test
