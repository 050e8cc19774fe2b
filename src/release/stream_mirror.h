// Mirrors of boot images: folders by architecture and version, as mirror.openshift.com lays them out.
//
//   ROOT/ARCH/dependencies/rhcos/MINOR/VERSION/       4.16/4.16.3, 4.16/latest
//   ROOT/ARCH/dependencies/rhcos/pre-release/VERSION/ 4.21.0-ec.1, latest-4.21
//   ROOT/ARCH/dependencies/rhcos/latest/
//
// A version's folder has sha256sum.txt, which lists its files (each under a name with the version and one without),
// and rhcos-id.txt with the build they come from. Such a folder is read as a stream: nothing is guessed from the
// version, every location is a name that was listed. A URL that ends in .json is taken for metadata itself. What is
// read here is as trustworthy as the connection to the mirror.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "release/url_reader.h"
#include "stream/import.h"

namespace strake::release {

class StreamMirror {
 public:
  /// `url`: ROOT, the folder of versions of one architecture, the folder of one version, or a metadata document.
  StreamMirror(const UrlReader& reader, std::string url, net::CallOptions call = {});

  /// Whether the URL itself names what is to be read, so that no version has to be given.
  bool names_one_version() const { return is_document_ || !version_folder_.empty(); }

  /// `version`: "4.16.3", "4.16" (its latest), "latest", "4.21.0-ec.1"; "" when the URL names one. kNotFound lists the
  /// versions there are.
  Result<stream::StreamSet> read(std::string_view version, std::string_view rpm_arch,
                                 const stream::ImportOptions& options = {}) const;

  /// Every version the mirror has for an architecture, oldest first.
  Result<std::vector<std::string>> versions(std::string_view rpm_arch) const;
  /// The architectures that have a folder; empty when the URL is below those folders.
  Result<std::vector<std::string>> architectures() const;

 private:
  std::string versions_folder(std::string_view rpm_arch) const;
  Result<json::Value> read_folder(const std::string& folder, std::string_view label, std::string_view rpm_arch) const;
  Error absent(const Error& cause, std::string_view version, std::string_view rpm_arch) const;

  const UrlReader& reader_;
  net::CallOptions call_;
  std::string url_;
  bool is_document_ = false;
  std::string root_;      ///< above the architectures; empty when the URL is one folder of versions without a root
  std::string any_arch_;  ///< the folder of versions when there is no root
  std::string version_folder_;  ///< not empty: the URL is that of one version
};

/// The folder of a version below the folder of versions: "4.16/4.16.3" for "4.16.3".
Result<std::string> mirror_folder_of(std::string_view version);

}  // namespace strake::release
