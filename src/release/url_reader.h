// Small documents by URL (http, https, or file for folders of this machine), and what lies below a URL that is a
// folder.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_client.h"

namespace strake::release {

class UrlReader {
 public:
  /// The largest document read; a listing of a mirror is far below.
  static constexpr std::size_t kMaxBytes = 8u << 20;

  /// With foreign_urls, for what a release names: those rules count for file URLs too.
  static Result<UrlReader> create(net::ClientOptions options = {});

  /// kNotFound when there is no such file (404); another refusal of the server has the code of its status.
  Result<std::string> read(std::string_view url, const net::CallOptions& call = {}) const;

  /// The names directly below a folder, sorted; those of folders end in a slash. Over HTTP they come from the links of
  /// the page a web server makes for a folder.
  Result<std::vector<std::string>> list(std::string_view folder_url, const net::CallOptions& call = {}) const;

 private:
  UrlReader(net::HttpClient client, std::optional<net::ForeignUrlRules> foreign)
      : client_(std::move(client)), foreign_(std::move(foreign)) {}

  net::HttpClient client_;
  std::optional<net::ForeignUrlRules> foreign_;  ///< for file URLs, which the client never sees
};

bool is_file_url(std::string_view url);
/// The path of a file URL, decoded.
Result<std::filesystem::path> path_of_file_url(std::string_view url);

/// What the links of an HTML page point to directly below `folder_url`.
Result<std::vector<std::string>> names_linked_below(std::string_view folder_url, std::string_view html);

}  // namespace strake::release
