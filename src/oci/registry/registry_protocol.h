// What is said between a registry and us, as pure functions: requests planned, answers judged. Private to this module.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"
#include "net/url.h"
#include "oci/manifest.h"
#include "oci/registry/challenge.h"
#include "oci/registry/credentials.h"

namespace strake::oci {

/// What a request needs leave for.
struct Scope {
  std::string repository;
  bool push = false;
  std::string mount_from = {};  ///< another repository whose blobs are read

  /// "repository:NAME:pull,push", one a repository.
  std::vector<std::string> to_strings() const;
};

/// The host that serves the API of a registry: docker.io's has another name.
std::string api_host(std::string_view registry);

/// The challenge of an answer this program can meet: bearer before basic. kUnsupported names what was offered.
Result<Challenge> choose_challenge(const net::Headers& headers);

struct Token {
  std::string value;
  std::chrono::seconds lifetime{0};
};

/// Where and how to ask for a token. The realm is the registry's word: only https is accepted, or http when the
/// registry itself is spoken to that way.
Result<net::Request> plan_token_request(const Challenge& challenge, const Scope& scope,
                                        const std::optional<Credentials>& credentials, bool allow_http);
Result<Token> parse_token(std::string_view body);

std::string basic_authorization(const Credentials& credentials);

/// The error for an answer of 400 or more; quotes what the registry says about it, with a limit and without control
/// characters.
Error registry_error(const net::Response& response, std::chrono::sys_seconds now);

/// "bytes 7-99/100".
struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::optional<std::uint64_t> total = {};
};
std::optional<ContentRange> parse_content_range(std::string_view text);

/// How many bytes an upload session holds, from its Range header ("0-1023"). The form "0-0" of an empty session and of
/// one byte is the same; registries mean the former.
std::optional<std::uint64_t> parse_upload_range(std::string_view text);

/// A decimal number and nothing else.
std::optional<std::uint64_t> parse_decimal(std::string_view text);

/// The target of the link called "next" in a Link header (RFC 8288); nullopt: there is none.
std::optional<std::string> next_link(std::string_view header);

/// The manifest types this program reads, for Accept.
std::string accepted_manifest_types();

/// Judges a fetched manifest: its type, its digest when it was asked for by one, and that it can be read at all.
Result<Descriptor> describe_manifest(std::string_view bytes, const net::Headers& headers,
                                     std::string_view tag_or_digest);

}  // namespace strake::oci
