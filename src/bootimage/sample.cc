#include "bootimage/sample.h"

namespace strake::bootimage {

namespace {

/// An image of some release before every sample release: never equal to what a stream publishes.
constexpr std::string_view kRetiredSampleAmi = "ami-0000000000005a1d0";

struct SampleMachineSet {
  std::string_view name;
  std::string_view region;
  std::string_view zone;
  std::string_view go_arch;
  std::string_view instance_type;
};

constexpr SampleMachineSet kCurrentSample{"sample-us-east-1a", "us-east-1", "us-east-1a", "amd64", "m6i.xlarge"};
constexpr SampleMachineSet kBehindSample{"sample-eu-west-1b", "eu-west-1", "eu-west-1b", "arm64", "m6g.xlarge"};

kube::Object make_sample_machine_set(const SampleMachineSet& sample, std::string_view ami) {
  const json::Object selector_labels{{"machine.openshift.io/cluster-api-cluster", "sample"},
                                     {"machine.openshift.io/cluster-api-machineset", sample.name}};
  json::Object template_labels = selector_labels;
  template_labels["machine.openshift.io/cluster-api-machine-role"] = "worker";
  template_labels["machine.openshift.io/cluster-api-machine-type"] = "worker";

  const json::Object provider_spec{
      {"apiVersion", "machine.openshift.io/v1beta1"},
      {"kind", "AWSMachineProviderConfig"},
      {"ami", json::Object{{"id", ami}}},
      {"instanceType", sample.instance_type},
      {"placement", json::Object{{"availabilityZone", sample.zone}, {"region", sample.region}}},
      {"blockDevices", json::Array{json::Object{
                           {"ebs", json::Object{{"encrypted", true}, {"volumeSize", 120}, {"volumeType", "gp3"}}}}}},
      {"credentialsSecret", json::Object{{"name", "aws-cloud-credentials"}}},
      {"userDataSecret", json::Object{{"name", "worker-user-data-managed"}}}};

  return kube::Object(json::Object{
      {"apiVersion", "machine.openshift.io/v1beta1"},
      {"kind", "MachineSet"},
      {"metadata", json::Object{{"name", sample.name},
                                {"namespace", "openshift-machine-api"},
                                {"labels", json::Object{{"machine.openshift.io/cluster-api-cluster", "sample"}}},
                                {"annotations", json::Object{{"capacity.cluster-autoscaler.kubernetes.io/labels",
                                                              fmt::format("kubernetes.io/arch={}", sample.go_arch)}}}}},
      {"spec", json::Object{
                   {"replicas", 1},
                   {"selector", json::Object{{"matchLabels", selector_labels}}},
                   {"template",
                    json::Object{{"metadata", json::Object{{"labels", template_labels}}},
                                 {"spec", json::Object{{"providerSpec", json::Object{{"value", provider_spec}}}}}}}}}});
}

}  // namespace

Result<std::vector<kube::Object>> sample_machine_sets(const stream::Stream& stream) {
  const auto image_for = [&](const SampleMachineSet& sample) {
    return stream.aws_image(stream::rpm_architecture(sample.go_arch), sample.region).context("sample machine sets");
  };
  STRAKE_TRY(const stream::CloudImage current, image_for(kCurrentSample));
  STRAKE_CHECK_OK(image_for(kBehindSample));
  return std::vector<kube::Object>{make_sample_machine_set(kCurrentSample, current.image),
                                   make_sample_machine_set(kBehindSample, kRetiredSampleAmi)};
}

}  // namespace strake::bootimage
