#include "osbackend/image_reference.h"

#include <algorithm>

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

/// How its signature is checked, then how the image is reached.
constexpr std::string_view kSignatureWords[] = {
    "ostree-unverified-registry:", "ostree-unverified-image:", "ostree-image-signed:"};
constexpr std::string_view kRemoteWords[] = {"ostree-remote-registry:", "ostree-remote-image:"};
constexpr std::string_view kTransportWords[] = {"docker://", "registry:", "containers-storage:"};
/// Of hosts that are updated from the older kind of OS image.
constexpr std::string_view kPivotWord = "pivot://";

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string_view without_transport(std::string_view origin) {
  for (const std::string_view word : kSignatureWords) {
    if (take_prefix(origin, word)) break;
  }
  for (const std::string_view word : kRemoteWords) {
    if (take_prefix(origin, word)) origin.remove_prefix(std::min(origin.find(':'), origin.size() - 1) + 1);
  }
  (void)take_prefix(origin, kPivotWord);
  for (const std::string_view word : kTransportWords) {
    if (take_prefix(origin, word)) break;
  }
  return origin;
}

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
  const std::string_view name = without_transport(origin);
  if (name.find('@') != std::string_view::npos || digest.empty()) return parse(name);
  return parse(fmt::format("{}@{}", name, digest));
}

}  // namespace strake::osbackend
