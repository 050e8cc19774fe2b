#include "bootimage/boot_image_data.h"

#include "api/kinds.h"

namespace strake::bootimage {

Result<stream::StreamSet> read_cluster_streams(kube::KubeApi& api, const kube::Call& call) {
  const kube::ObjectKey key{std::string(api::kMachineConfigNamespace), "coreos-bootimages"};
  const Result<kube::Object> data = api.get(kube::core::kConfigMap, key, call);
  if (data.ok()) return stream::streams_of_config_map(data->json());
  if (data.error().code() != Code::kNotFound) return data.error();
  return error(Code::kNotFound,
               "the cluster has no boot image data (ConfigMap {}); apply a release first: strake release apply DIR",
               key.to_string())
      .with_verdict(Verdict::kAbsent);
}

Result<stream::Stream> read_cluster_stream(kube::KubeApi& api, const kube::Call& call) {
  STRAKE_TRY(const stream::StreamSet streams, read_cluster_streams(api, call));
  STRAKE_TRY(const stream::Stream* stream, streams.find(""));
  return *stream;
}

}  // namespace strake::bootimage
