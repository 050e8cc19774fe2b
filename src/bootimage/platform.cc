#include "bootimage/platform.h"

#include <algorithm>
#include <array>

namespace strake::bootimage {

namespace {

constexpr std::array kPlatforms{&kAws};

}  // namespace

std::span<const Platform* const> platforms() { return kPlatforms; }

const Platform* find_platform(std::string_view provider_kind) {
  const auto found = std::ranges::find(kPlatforms, provider_kind, &Platform::provider_kind);
  return found == kPlatforms.end() ? nullptr : *found;
}

}  // namespace strake::bootimage
