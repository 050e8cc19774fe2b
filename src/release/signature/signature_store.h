// Where release signatures are kept, and how they are found there.
//
//   a store by URL    BASE/sha256=HEX/signature-N over http or https, or below a folder (file:///srv/signatures)
//   a folder          the same, by path
//   a ConfigMap       binaryData keys that start with sha256-HEX, as the cluster keeps them and mirroring tools write
//   a file            one signature
//
// N runs from 1 to 9. Over HTTP only "404 Not Found" ends the search, since a server's trouble with one number says
// nothing about the next; below a folder it ends at the first number that is missing. A store that cannot be reached
// harms nobody: what went wrong is noted, and told when no good signature is found anywhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codec/digest.h"
#include "release/url_reader.h"

namespace strake::release {

struct FoundSignature {
  std::string source;  ///< for messages: the URL, or file and key
  std::string bytes;
};

struct SignatureSearch {
  std::vector<FoundSignature> found;
  std::vector<std::string> notes;  ///< why a place gave nothing
  bool unreachable = false;        ///< one of them did not answer: a signature may lie there

  void append(SignatureSearch other);
};

inline constexpr int kMaxSignatureNumber = 9;

/// `base_url`: http, https or file. No trouble with a store is an error; a wrong scheme is.
Result<SignatureSearch> search_store(const UrlReader& reader, std::string_view base_url, const codec::Digest& digest,
                                     const net::CallOptions& call = {});

/// A store by URL, or a path (see search_path) when there is no "://" in it.
Result<SignatureSearch> search_place(const UrlReader& reader, const std::string& place, const codec::Digest& digest,
                                     const net::CallOptions& call = {});

/// A folder, a ConfigMap (JSON or YAML) or a file with one signature.
Result<SignatureSearch> search_path(const UrlReader& reader, const std::string& path, const codec::Digest& digest);

/// The signatures for `digest` in the text of a ConfigMap, in the order of their keys.
Result<SignatureSearch> search_config_map(std::string_view text, std::string_view source, const codec::Digest& digest);

}  // namespace strake::release
