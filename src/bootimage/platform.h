// Platforms: how a machine set names its boot image on each of them. Pure functions, one entry and one file a platform.
//
// `check.cc` asks in this order: what does the set boot now, what does the release want there, may the present image be
// replaced, what is the smallest change. A platform that cannot answer returns why, and what to do about it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bootimage/check.h"
#include "codec/json.h"
#include "stream/metadata.h"

namespace strake::bootimage {

/// Why a set is not judged. Rules return it instead of setting fields, so that their order is the order of the calls.
struct Skip {
  CheckReason code;
  std::string reason;
};

struct PresentImage {
  std::string reference;  ///< as the platform refers to images: an AMI id, a URN, a template's name
  std::string region;     ///< empty where images do not depend on one
};

struct WantedImage {
  std::string reference;
  std::string release;  ///< the version of the OS in it
};

struct Platform {
  std::string_view provider_kind;       ///< providerSpec.value.kind of its machine sets
  std::string_view unknown_owner_note;  ///< put behind the verdict where nobody could ask whose the present image is

  /// Fills in what it finds even when it returns a reason.
  std::optional<Skip> (*read_present)(const json::Value& provider_spec, PresentImage& present);
  std::optional<Skip> (*find_wanted)(const stream::Stream& stream, std::string_view rpm_arch,
                                     const PresentImage& present, WantedImage& wanted);
  /// A custom image, or one from a marketplace, is not taken away.
  std::optional<Skip> (*refuse_to_replace)(const PresentImage& present, const CheckPolicy& policy);
  /// A JSON merge patch of providerSpec.value.
  json::Value (*change)(const json::Value& provider_spec, const WantedImage& wanted);
};

extern const Platform kAws;

std::span<const Platform* const> platforms();
/// nullptr: boot images of such machines are not managed here.
const Platform* find_platform(std::string_view provider_kind);

}  // namespace strake::bootimage
