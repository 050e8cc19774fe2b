#include "release/url_reader.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/fd.h"
#include "base/visible_text.h"
#include "net/url.h"

namespace strake::release {

namespace {

constexpr std::string_view kFileScheme = "file://";

Result<std::vector<std::string>> list_folder(const std::filesystem::path& folder) {
  std::error_code failure;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entries(folder, failure);
  for (; !failure && entries != std::filesystem::directory_iterator(); entries.increment(failure)) {
    std::error_code ignored;  // a dangling link is listed as a file
    names.push_back(entries->path().filename().string() + (entries->is_directory(ignored) ? "/" : ""));
  }
  if (failure) return errno_error(failure.value(), fmt::format("listing {}", folder.string()));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

bool is_file_url(std::string_view url) { return url.starts_with(kFileScheme); }

Result<std::filesystem::path> path_of_file_url(std::string_view url) {
  STRAKE_TRY_CONTEXT(const std::string path, net::percent_decode(url.substr(kFileScheme.size())), "{}", url);
  STRAKE_CHECK_OK(net::refuse_control_characters(path, fmt::format("{}: the path", visible_line(url))));
  if (!path.starts_with('/')) {
    return error(Code::kInvalidArgument, "{}: a file URL has three slashes and an absolute path, file:///srv/mirror",
                 url);
  }
  return std::filesystem::path(path);
}

Result<UrlReader> UrlReader::create(net::ClientOptions options) {
  options.max_body_bytes = kMaxBytes;
  std::optional<net::ForeignUrlRules> foreign = options.foreign_urls;
  STRAKE_TRY(net::HttpClient client, net::HttpClient::create(std::move(options)));
  return UrlReader(std::move(client), std::move(foreign));
}

Result<std::string> UrlReader::read(std::string_view url, const net::CallOptions& call) const {
  if (foreign_) STRAKE_CHECK_OK(net::check_foreign_url(url, *foreign_));
  if (is_file_url(url)) {
    STRAKE_TRY(const std::filesystem::path path, path_of_file_url(url));
    return read_file(path, kMaxBytes);
  }
  const net::Request request{.method = "GET", .url = std::string(url), .headers = {}, .body = {}};
  STRAKE_TRY(net::Response response, client_.send(request, call));
  if (response.status == 200) return std::move(response.body);
  const Code code = response.status >= 400 ? net::code_for_status(response.status) : Code::kUnavailable;
  return error(code, "{}: the server answered {} {}", url, response.status, net::reason_phrase(response.status));
}

Result<std::vector<std::string>> UrlReader::list(std::string_view folder_url, const net::CallOptions& call) const {
  if (foreign_) STRAKE_CHECK_OK(net::check_foreign_url(folder_url, *foreign_));
  if (is_file_url(folder_url)) {
    STRAKE_TRY(const std::filesystem::path path, path_of_file_url(folder_url));
    return list_folder(path);
  }
  STRAKE_TRY(const std::string page, read(folder_url, call));
  return names_linked_below(folder_url, page);
}

Result<std::vector<std::string>> names_linked_below(std::string_view folder_url, std::string_view html) {
  constexpr std::string_view kLink = "href=";
  STRAKE_TRY(const net::Url folder, net::parse_url(folder_url));
  std::set<std::string> names;
  for (std::size_t at = html.find(kLink); at != std::string_view::npos; at = html.find(kLink, at + 1)) {
    const std::size_t open = at + kLink.size();
    if (open >= html.size() || (html[open] != '"' && html[open] != '\'')) continue;
    const std::size_t close = html.find(html[open], open + 1);
    if (close == std::string_view::npos) break;
    const auto link = net::resolve(folder, html.substr(open + 1, close - open - 1));
    if (!link.ok() || link->origin() != folder.origin() || !link->path.starts_with(folder.path)) continue;
    const auto name = net::percent_decode(std::string_view(link->path).substr(folder.path.size()));
    if (!name.ok() || name->empty() || name->find('/') < name->size() - 1) continue;
    names.insert(*name);
  }
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace strake::release
