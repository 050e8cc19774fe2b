// Stream metadata: which boot artifacts and cloud images belong to one OS stream, per architecture.
//
// The vocabulary is open: unknown platforms, formats and members are kept or passed over, never refused, because a
// stream is written by newer builds than this program. What we do read must have the right type; errors name the path.
// `release` may differ between architectures and regions: always use the one of the exact entry, and never compose file
// names from it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json.h"
#include "kube/object.h"

namespace strake::bootimage {

struct Artifact {
  std::string location;
  std::string signature;            ///< empty: the stream names none
  std::string sha256;               ///< of the file as downloaded
  std::string uncompressed_sha256;  ///< empty when the file is not compressed
};

struct ArtifactPlatform {
  std::string release;
  std::map<std::string, std::map<std::string, Artifact>> formats;  ///< format ("qcow2.gz") to member ("disk") to file
};

struct AwsImage {
  std::string release;
  std::string ami;
};

struct StreamArchitecture {
  std::map<std::string, ArtifactPlatform> artifacts;  ///< platforms without a release count as absent and are not here
  std::map<std::string, AwsImage> aws_regions;        ///< regions with an empty image are unpublished and are not here
};

struct Stream {
  std::string name;  ///< a label only ("rhcos-4.21"): not a key
  std::string last_modified;
  std::map<std::string, StreamArchitecture> architectures;  ///< keyed by RPM architecture ("x86_64")

  /// kNotFound when the architecture or region is not published; the message lists what is.
  Result<AwsImage> aws_image(std::string_view rpm_arch, std::string_view region) const;
  /// kNotFound naming the missing step.
  Result<Artifact> artifact(std::string_view rpm_arch, std::string_view platform, std::string_view format,
                            std::string_view member = "disk") const;
};

Result<Stream> parse_stream(std::string_view json_text);

/// The default stream of ConfigMap openshift-machine-config-operator/coreos-bootimages.
Result<Stream> stream_of_config_map(const kube::Object& config_map);

/// Go architecture name (amd64, as nodes and images say) to the RPM name (x86_64, as streams say); others pass through.
std::string rpm_architecture(std::string_view go_arch);

}  // namespace strake::bootimage
