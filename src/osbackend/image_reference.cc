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

}  // namespace strake::osbackend
