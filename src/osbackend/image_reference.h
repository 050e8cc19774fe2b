// Which OS image is meant: a name to fetch it by, and the digest that says what it is.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/digest.h"

namespace strake::osbackend {

class ImageReference {
 public:
  /// "registry.example/os@sha256:<hex>", with or without a tag before the '@'. A reference without a digest is refused:
  /// what a tag names tomorrow is not what was planned today.
  static Result<ImageReference> parse(std::string_view text);

  /// As ostree's tools write down where a deployment came from ("ostree-unverified-registry:NAME:TAG"), with the digest
  /// beside it where the name carries none. An error: no image of a registry, or no digest.
  static Result<ImageReference> of_origin(std::string_view origin, std::string_view digest = {});
  /// A name that may carry its digest itself; where it does not, that one.
  static Result<ImageReference> with_digest(std::string_view name, std::string_view digest);

  const std::string& name() const { return name_; }
  const codec::Digest& digest() const { return digest_; }
  std::string to_string() const { return name_ + "@" + digest_.to_string(); }

  /// The same image, whatever it is called: that it came from a mirror changes nothing on the machine.
  bool operator==(const ImageReference& other) const { return digest_ == other.digest_; }

 private:
  ImageReference(std::string name, codec::Digest digest) : name_(std::move(name)), digest_(std::move(digest)) {}

  std::string name_;
  codec::Digest digest_;
};

}  // namespace strake::osbackend
