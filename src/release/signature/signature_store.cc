#include "release/signature/signature_store.h"

#include <filesystem>
#include <map>

#include "base/fd.h"
#include "codec/base64.h"
#include "codec/document_node.h"
#include "codec/yaml.h"
#include "net/url.h"
#include "release/signature/signature_check.h"

namespace strake::release {

namespace {

constexpr std::size_t kMaxSignatureMapBytes = 4u << 20;
/// A host that does not answer is asked a few times and not nine, each of which may take as long as a connection may.
constexpr int kMaxFailuresInARow = 3;

std::string digest_folder(const codec::Digest& digest) {
  return fmt::format("{}={}", codec::to_string(digest.algorithm()), digest.hex());
}

/// JSON and YAML mappings begin with what no OpenPGP packet begins with.
bool looks_like_text(std::string_view bytes) {
  return !bytes.empty() && (static_cast<unsigned char>(bytes.front()) & 0x80) == 0;
}

}  // namespace

void SignatureSearch::append(SignatureSearch other) {
  std::move(other.found.begin(), other.found.end(), std::back_inserter(found));
  std::move(other.notes.begin(), other.notes.end(), std::back_inserter(notes));
  unreachable |= other.unreachable;
}

Result<SignatureSearch> search_store(const UrlReader& reader, std::string_view base_url, const codec::Digest& digest,
                                     const net::CallOptions& call) {
  const bool is_folder = base_url.starts_with("file://");
  if (!is_folder && !base_url.starts_with("http://") && !base_url.starts_with("https://")) {
    return error(Code::kInvalidArgument, "signature store '{}': expected an http, https or file URL", base_url);
  }
  while (base_url.ends_with('/')) base_url.remove_suffix(1);
  SignatureSearch search;
  int failures = 0;
  for (int number = 1; number <= kMaxSignatureNumber; ++number) {
    const std::string url = fmt::format("{}/{}/signature-{}", base_url, digest_folder(digest), number);
    Result<std::string> bytes = reader.read(url, call);
    if (bytes.ok()) {
      failures = 0;
      if (!bytes->empty()) search.found.push_back({url, *std::move(bytes)});
      continue;
    }
    const Code code = bytes.error().code();
    if (code == Code::kCancelled) return std::move(bytes).error();
    if (code == Code::kNotFound) {
      if (number == 1) search.notes.push_back(fmt::format("{}: there is none", url));
      break;
    }
    search.notes.push_back(bytes.error().to_string());
    search.unreachable |= bytes.error().verdict() == Verdict::kUnreachable;
    if (is_folder || ++failures == kMaxFailuresInARow) break;
  }
  return search;
}

Result<SignatureSearch> search_place(const UrlReader& reader, const std::string& place, const codec::Digest& digest,
                                     const net::CallOptions& call) {
  return place.find("://") == std::string::npos ? search_path(reader, place, digest)
                                                : search_store(reader, place, digest, call);
}

Result<SignatureSearch> search_config_map(std::string_view text, std::string_view source, const codec::Digest& digest) {
  const auto read = [&]() -> Result<SignatureSearch> {
    if (text.size() > kMaxSignatureMapBytes) {
      return error(Code::kExhausted, "{} bytes: more than the {} a ConfigMap may have", text.size(),
                   kMaxSignatureMapBytes);
    }
    STRAKE_TRY(const json::Value document, yaml::parse(text));
    if (json::find_string(document, {"kind"}) != "ConfigMap") {
      return error(Code::kInvalidArgument, "expected a ConfigMap with signatures, or one binary signature");
    }
    const std::string prefix = fmt::format("{}-{}", codec::to_string(digest.algorithm()), digest.hex());
    std::map<std::string, std::string> by_key;
    STRAKE_CHECK_OK(json::DocumentNode(document).for_each_in(
        "binaryData", [&](const std::string& key, const json::DocumentNode& node) -> Status {
          if (!key.starts_with(prefix)) return {};
          if (!node.value().is_string()) return node.expected("base64 text");
          STRAKE_TRY_CONTEXT(std::string bytes, codec::decode_base64(json::as_view(node.value().get_string())), "{}",
                             node.path());
          by_key.emplace(key, std::move(bytes));
          return {};
        }));
    SignatureSearch search;
    for (auto& [key, bytes] : by_key) search.found.push_back({fmt::format("{}, {}", source, key), std::move(bytes)});
    if (by_key.empty()) search.notes.push_back(fmt::format("{}: no key starts with {}", source, prefix));
    return search;
  };
  return read().context("{}", source);
}

Result<SignatureSearch> search_path(const UrlReader& reader, const std::string& path, const codec::Digest& digest) {
  std::error_code failure;
  if (std::filesystem::is_directory(path, failure)) {
    const std::filesystem::path absolute = std::filesystem::absolute(path, failure);
    if (failure) return errno_error(failure.value(), path);
    std::string encoded;  // a folder's name may hold what has a meaning in URLs
    for (const auto& part : absolute.relative_path()) encoded += "/" + net::percent_encode(part.string());
    return search_store(reader, "file://" + encoded, digest);
  }
  STRAKE_TRY(std::string bytes, read_file(path, kMaxSignatureMapBytes));
  if (looks_like_text(bytes)) return search_config_map(bytes, path, digest);
  SignatureSearch search;
  search.found.push_back({path, std::move(bytes)});
  return search;
}

}  // namespace strake::release
