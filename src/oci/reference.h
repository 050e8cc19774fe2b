// Image references as people write them ("busybox", "quay.io/org/os:4.20", "[::1]:5000/os@sha256:...") and as they are
// meant.
//
// Names are completed as the container tools do it: a first component without a dot, a port or capitals that is not
// "localhost" belongs to docker.io, and a single component there to docker.io/library. A reference may carry a tag and
// a digest at once; the digest then decides what is fetched.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codec/digest.h"

namespace strake::oci {

inline constexpr std::size_t kMaxReferenceBytes = 1024;
inline constexpr std::size_t kMaxRepositoryBytes =
    255;  ///< of registry and repository together, as registries limit it
inline constexpr std::size_t kMaxTagBytes = 128;

struct Reference {
  std::string registry;    ///< "quay.io", "127.0.0.1:5000", "[::1]:5000"
  std::string repository;  ///< "library/busybox"
  std::string tag = {};    ///< empty: none was given
  std::optional<codec::Digest> digest = {};

  /// registry/repository
  std::string name() const;
  /// What a registry is asked for: the digest, else the tag, else "latest".
  std::string tag_or_digest() const;
  /// Complete and unambiguous; reads back as the same reference.
  std::string to_string() const;

  bool operator==(const Reference&) const = default;
};

/// Whether the text names its registry, and is not completed to one of docker.io.
bool names_its_registry(std::string_view text);

/// Errors quote the text and say which part of it is wrong.
Result<Reference> parse_reference(std::string_view text);

/// Whether this is a host with an optional port, as it may stand before the first slash of a reference.
bool is_registry_host(std::string_view text);
bool is_repository_path(std::string_view text);
bool is_tag(std::string_view text);

}  // namespace strake::oci
