// What two releases do not have in common, by what the release images themselves say: components, versions, boot
// images, manifests. Pure: nothing is fetched.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "release/payload.h"

namespace strake::release {

/// Absent on one side: added or removed.
struct ComponentDifference {
  std::string tag;
  std::optional<Component> before;
  std::optional<Component> after;
};

struct VersionDifference {
  std::string name;    ///< "kubernetes", "machine-os"
  std::string before;  ///< empty: not declared
  std::string after;
};

/// The images of one platform: files to download, or images in a cloud.
struct BootImageDifference {
  std::string stream;
  std::string arch;
  std::string platform;
  std::string before;  ///< the release of the boot image; empty: there is none
  std::string after;
  std::size_t files = 0;   ///< to download, other ones
  std::size_t images = 0;  ///< in the cloud, other ones: by region where it has some
};

struct NamedDifference {
  std::string name;
  bool before = false;  ///< whether it is there
  bool after = false;
};

struct PayloadDifference {
  bool same_image = false;  ///< the same digest: nothing was compared
  std::vector<ComponentDifference> components;
  std::size_t same_components = 0;
  std::vector<VersionDifference> versions;
  std::vector<BootImageDifference> boot_images;
  std::vector<NamedDifference> manifests;

  bool any() const;
};

PayloadDifference compare_payloads(const ReleasePayload& before, const ReleasePayload& after);

/// What to show of it.
struct DifferenceParts {
  bool components = true;
  bool boot_images = true;
  bool manifests = true;
};
/// Takes away what was not asked for.
void keep_parts(PayloadDifference& difference, const DifferenceParts& parts);

std::string describe_payload_difference(const ReleasePayload& before, const ReleasePayload& after,
                                        const PayloadDifference& difference);
/// before, after, versions, components, bootImages, manifests.
json::Object payload_difference_json(const ReleasePayload& before, const ReleasePayload& after,
                                     const PayloadDifference& difference);

}  // namespace strake::release
