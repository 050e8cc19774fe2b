// AWS: machine sets name an AMI by its id; which one a release wants depends on the region.
#include "bootimage/platform.h"

namespace strake::bootimage {

namespace {

/// The account that publishes the AMIs named in stream metadata.
constexpr std::string_view kStreamImageOwner = "531415883065";
constexpr std::string_view kMarketplaceOwner = "679593333241";

std::optional<Skip> read_ami(const json::Value& provider_spec, PresentImage& present) {
  present.region = json::find_string(provider_spec, {"placement", "region"}).value_or("");
  present.reference = json::find_string(provider_spec, {"ami", "id"}).value_or("");
  if (present.reference.empty()) {
    const std::string_view how = json::find(provider_spec, {"ami", "arn"}) != nullptr       ? "by ARN (ami.arn)"
                                 : json::find(provider_spec, {"ami", "filters"}) != nullptr ? "by search (ami.filters)"
                                                                                            : "nowhere";
    return Skip{CheckReason::kImageNotById,
                fmt::format("its image is given {}, not by ami.id; set ami.id by hand once to have it managed", how)};
  }
  if (present.region.empty()) {
    return Skip{CheckReason::kRegionUnknown, "providerSpec.value has no placement.region; set it"};
  }
  return std::nullopt;
}

std::optional<Skip> find_ami(const stream::Stream& stream, std::string_view rpm_arch, const PresentImage& present,
                             WantedImage& wanted) {
  const Result<stream::CloudImage> published = stream.aws_image(rpm_arch, present.region);
  if (!published.ok()) {
    return Skip{CheckReason::kNotPublished, fmt::format("{}; copy a published image to {} and set ami.id by hand",
                                                        published.error().message(), present.region)};
  }
  wanted = {published->image, published->release};
  return std::nullopt;
}

std::optional<Skip> keep_foreign_ami(const PresentImage& present, const CheckPolicy& policy) {
  const auto owner = policy.image_owners.find(present.reference);
  if (owner == policy.image_owners.end() || owner->second == kStreamImageOwner) return std::nullopt;
  if (owner->second == kMarketplaceOwner) {
    return Skip{
        CheckReason::kForeignImage,
        fmt::format("{} is a marketplace image, which follows its product and not the stream; update it by hand",
                    present.reference)};
  }
  return Skip{CheckReason::kForeignImage,
              fmt::format("{} belongs to account {}: a custom image is not replaced; update it by hand",
                          present.reference, owner->second)};
}

json::Value change_ami(const json::Value&, const WantedImage& wanted) {
  return json::Object{{"ami", json::Object{{"id", wanted.reference}}}};
}

}  // namespace

const Platform kAws{"AWSMachineProviderConfig",
                    " (who owns the present one was not checked)",
                    read_ami,
                    find_ami,
                    keep_foreign_ami,
                    change_ami};

}  // namespace strake::bootimage
