// Questions to a stream: the image for a platform, architecture and region, or all of it narrowed and described.
//
// Answers carry the JSON exactly as it stands in the stream, so that what a script reads with jq from a stream file it
// reads here too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stream/metadata.h"

namespace strake::stream {

/// What streams call a platform, of what people do: "vsphere" is their vmware. Other names pass through.
std::string stream_platform(std::string_view name);

/// Of Azure's virtual machines (hyperVGeneration).
enum class AzureGeneration { kV1, kV2 };
std::string_view to_string(AzureGeneration generation);  ///< "V1"

struct StreamQuery {
  std::string arch;  ///< RPM name
  std::string platform;
  std::string region;
  std::string format;
  std::optional<AzureGeneration> generation = {};  ///< of Azure: nullopt is the second, where there is a choice
};

struct StreamAnswer {
  std::string path;   ///< "architectures.x86_64.artifacts.vmware"
  json::Value value;  ///< what stands there
  std::string text;   ///< the same for people
  /// What a machine boots from or a person downloads, one for every image or file in `value`.
  std::vector<std::string> references;

  /// The only reference; kInvalidArgument says how to narrow the question down.
  Result<std::string> reference() const;
};

/// Needs `arch` and `platform`. With `format` the answer is the artifact of that format, with `region` the cloud image
/// there; with neither it is the platform's cloud images where there are some, else its artifacts. kNotFound names what
/// exists.
Result<StreamAnswer> ask_stream(const Stream& stream, const StreamQuery& query);

/// The stream with only what matches; an empty member of the query matches everything. Members unknown to us stay
/// unless they belong to another architecture or platform. kNotFound when nothing matches, naming what exists.
Result<Stream> narrow_stream(const Stream& stream, const StreamQuery& query);

/// A few lines and a table: architectures, platforms, releases, formats, cloud images.
std::string describe_stream(const Stream& stream);

/// {"amis": {"us-east-1": {"hvm": "ami-..."}}}, as rhcos.json had them.
Result<json::Value> legacy_amis(const Stream& stream, std::string_view rpm_arch);

}  // namespace strake::stream
