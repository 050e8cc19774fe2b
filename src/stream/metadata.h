// Stream metadata: which boot artifacts and cloud images belong to one OS stream, per architecture.
//
// The one reader of this format. Older shapes (stream_legacy.h) are turned into it first. The vocabulary is open:
// unknown platforms are read like known ones and unknown members are kept in `document`, because a stream is written by
// newer builds than this program. What we do read must have the right type, and what is handed out for use must be
// complete; errors name the path. `release` may differ between architectures and regions: always use the one of the
// exact entry, and never compose file names from it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "codec/json.h"

namespace strake::stream {

/// Real streams are below 200 KiB; the limit only keeps a broken document from costing memory.
inline constexpr std::size_t kMaxStreamBytes = 8u << 20;

struct Artifact {
  std::string location;             ///< a URL, or a path beside the metadata when its origin is unknown
  std::string signature;            ///< empty: the stream names none
  std::string sha256;               ///< of the file as downloaded
  std::string uncompressed_sha256;  ///< empty when the file is not compressed, or nobody wrote it down
};

struct ArtifactPlatform {
  std::string release;
  std::map<std::string, std::map<std::string, Artifact>> formats;  ///< format ("qcow2.gz") to member ("disk") to file
};

/// An image that lies in a cloud already. Which members are filled depends on the cloud.
struct CloudImage {
  std::string release;
  std::string image;       ///< aws, aliyun: the id; kubevirt: a name by tag
  std::string digest_ref;  ///< kubevirt: the same by digest
  std::string project;     ///< gcp
  std::string family;      ///< gcp
  std::string name;        ///< gcp
  std::string bucket;      ///< ibmcloud, powervs
  std::string object;      ///< ibmcloud, powervs
  std::string url;         ///< ibmcloud, powervs; azure: the disk to copy

  /// The one text a machine is told to boot from: an AMI id, projects/P/global/images/N, name@digest, bucket/object or
  /// a URL; empty when the entry names no image.
  std::string reference() const;
};

/// A cloud has either one image for the whole world or one per region.
struct CloudImages {
  std::string section;  ///< the member of the architecture they stand in: "images", or "rhel-coreos-extensions"
  std::optional<CloudImage> global;
  std::map<std::string, CloudImage> regions;  ///< a region whose entry names no image is unpublished and not here
};

struct MarketplaceImage {
  std::string publisher;
  std::string offer;
  std::string sku;
  std::string version;

  /// "publisher:offer:sku:version"
  std::string urn() const;
};

/// The Azure images of one purchase plan, by generation of the virtual machine; either may be missing.
struct MarketplacePlan {
  std::optional<MarketplaceImage> gen1;
  std::optional<MarketplaceImage> gen2;
};

inline constexpr std::string_view kNoPurchasePlan = "no-purchase-plan";

struct AzureImages {
  std::optional<CloudImage> disk;
  std::map<std::string, MarketplacePlan> plans;

  bool empty() const { return !disk && plans.empty(); }
};

struct StreamArchitecture {
  std::map<std::string, ArtifactPlatform> artifacts;  ///< platforms without a release count as absent and are not here
  std::map<std::string, CloudImages>
      images;  ///< aws-winli of the RHEL extensions too; clouds without an image are not here
  AzureImages azure;
};

struct Stream {
  std::string name;  ///< a label only ("rhcos-4.21"): not a key
  std::string last_modified;
  std::string generator;
  std::map<std::string, StreamArchitecture> architectures;  ///< keyed by RPM architecture ("x86_64")
  json::Value document;                                     ///< everything, members unknown to us included

  // kNotFound names the first step that is absent, and what there is instead. kInvalidArgument: the entry is there but
  // lacks what it takes to use it.
  Result<const StreamArchitecture*> architecture(std::string_view rpm_arch) const;
  /// `region` is empty for a cloud with one image for all regions.
  Result<CloudImage> image(std::string_view rpm_arch, std::string_view platform, std::string_view region) const;
  Result<CloudImage> aws_image(std::string_view rpm_arch, std::string_view region) const;
  Result<Artifact> artifact(std::string_view rpm_arch, std::string_view platform, std::string_view format,
                            std::string_view member = "disk") const;
};

Result<Stream> parse_stream(std::string_view json_text);
Result<Stream> stream_of_document(json::Value document);

/// Go architecture name (amd64, as nodes and images say) to the RPM name (x86_64, as streams say); others pass through.
std::string rpm_architecture(std::string_view go_arch);

}  // namespace strake::stream
