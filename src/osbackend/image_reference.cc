#include "osbackend/image_reference.h"

#include <algorithm>

#include "ostree/import/container_names.h"

namespace strake::osbackend {

namespace {

constexpr std::size_t kMaxImageNameBytes = 1024;

/// Nothing that a shell, a log or an option parser could misunderstand: the name ends up on command lines.
bool is_plain_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-/:[]").find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= kMaxImageNameBytes && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), plain);
}

/// Of hosts that are updated from the older kind of OS image.
constexpr std::string_view kPivotWord = "pivot://";

}  // namespace

Result<ImageReference> ImageReference::parse(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos) {
    return error(Code::kInvalidArgument, "'{}' names an OS image without its digest; write it as NAME@sha256:...",
                 text.substr(0, kMaxImageNameBytes));
  }
  const std::string_view name = text.substr(0, at);
  if (!is_plain_name(name)) {
    return error(Code::kInvalidArgument, "'{}' is not the name of an image in a registry",
                 text.substr(0, kMaxImageNameBytes));
  }
  STRAKE_TRY_CONTEXT(codec::Digest digest, codec::Digest::parse(text.substr(at + 1)), "OS image {}", name);
  return ImageReference(std::string(name), std::move(digest));
}

Result<ImageReference> ImageReference::of_origin(std::string_view origin, std::string_view digest) {
  if (origin.starts_with(kPivotWord)) return parse(origin.substr(kPivotWord.size()));
  STRAKE_TRY(const ostree::ContainerReference reference, ostree::parse_container_reference(origin));
  using Transport = ostree::ContainerReference::Transport;
  if (reference.transport != Transport::kRegistry && reference.transport != Transport::kContainersStorage)
    return error(Code::kUnsupported, "{} does not lie in a registry", origin);
  return with_digest(reference.name, digest);
}

Result<ImageReference> ImageReference::with_digest(std::string_view name, std::string_view digest) {
  if (name.find('@') != std::string_view::npos || digest.empty()) return parse(name);
  return parse(fmt::format("{}@{}", name, digest));
}

}  // namespace strake::osbackend
