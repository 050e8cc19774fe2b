#include "support/registry_release.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/subprocess.h"
#include "codec/base64.h"
#include "codec/yaml.h"
#include "oci/layout.h"
#include "oci/sigstore/sigstore.h"
#include "oci/testing/sample_image.h"

namespace strake::test {

namespace {

using oci::testing::make_layer;
using oci::testing::noise;
using oci::testing::tar_file;
using oci::testing::tar_folder;

constexpr const char* kComponentRepository = "up/art-dev";
constexpr const char* kReleaseRepository = "up/release";

void write(const std::filesystem::path& file, std::string_view text) {
  EXPECT_TRUE(write_file_atomic(file, text, 0644).ok()) << file;
}

std::string run_tool(std::vector<std::string> argv) {
  Command command;
  command.argv = std::move(argv);
  command.timeout = std::chrono::seconds(60);
  const Result<ProcessOutput> output = run_checked(command);
  EXPECT_TRUE(output.ok()) << (output.ok() ? "" : output.error().to_string());
  return output.ok() ? output->stdout_bytes : "";
}

std::string digest_in_layout(const std::filesystem::path& layout, const std::string& name) {
  const auto opened = oci::Layout::open(layout);
  EXPECT_TRUE(opened.ok());
  return opened->find_entry(name)->digest.to_string();
}

oci::LayoutWriter new_layout(const std::filesystem::path& folder) {
  auto writer = oci::LayoutWriter::create(folder);
  EXPECT_TRUE(writer.ok());
  return *std::move(writer);
}

}  // namespace

RegistryRelease::RegistryRelease(const RegistryServer& registry) : registry_(registry) {
  std::filesystem::create_directory(artifact_folder());
  std::uint64_t seed = 100;
  for (const char* file : {"x86_64.iso", "x86_64.ova", "aarch64.iso"}) {
    write(artifact_folder() / file, noise(200'000, ++seed));
  }
  write(keyring(), signer_.public_key());
  run_tool({"openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out",
            (dir_ / "sigstore.key").string()});
  run_tool({"openssl", "pkey", "-in", (dir_ / "sigstore.key").string(), "-pubout", "-out", sigstore_key().string()});
  for (const char* name : {"cli", "installer", "machine-config-operator", "machine-os-images"}) {
    components_[name] = publish_component(name, {});
  }
  components_["rhel-coreos"] = publish_component("rhel-coreos", {{"io.openshift.os.streamclass", "rhel-9"}});
  components_["rhel-coreos-extensions"] = publish_component("rhel-coreos-extensions", {});
  publish_release();
}

std::string RegistryRelease::reference() const {
  return fmt::format("{}/{}:{}", registry_.host(), kReleaseRepository, kPublishedVersion);
}

std::string RegistryRelease::artifact_sha256(const std::string& file) const {
  return codec::sha256_hex(*read_file(artifact_folder() / file, 1u << 20));
}

std::string RegistryRelease::push(const std::filesystem::path& layout, const std::string& name,
                                  const std::string& repository, const std::string& tag) {
  const Result<std::string> copied = registry_.run_client(
      {"skopeo", "--insecure-policy", "copy", "--quiet", "--preserve-digests",
       "--dest-cert-dir=" + registry_.certificate_folder().string(), fmt::format("oci:{}:{}", layout.string(), name),
       fmt::format("docker://{}/{}:{}", registry_.host(), repository, tag)});
  EXPECT_TRUE(copied.ok()) << (copied.ok() ? "" : copied.error().to_string());
  return digest_in_layout(layout, name);
}

std::string RegistryRelease::publish_component(const std::string& name,
                                               const std::map<std::string, std::string>& labels) {
  const std::filesystem::path folder = dir_ / ("component-" + name);
  oci::LayoutWriter writer = new_layout(folder);
  oci::ImageSpec spec;
  spec.labels = labels;
  // The lowest layer is common to all, as in real releases.
  spec.layers = {make_layer({tar_folder("usr"), tar_file("usr/base", noise(50'000, 7))}),
                 make_layer({tar_file("usr/" + name, noise(20'000, std::hash<std::string>{}(name)))})};
  const auto image = writer.add_image(spec);
  EXPECT_TRUE(image.ok());
  writer.tag(*image, "v1");
  EXPECT_TRUE(writer.finish().ok());
  const std::string digest = push(folder, "v1", kComponentRepository, name);
  const std::string repository = fmt::format("{}/{}", registry_.host(), kComponentRepository);
  attach_sigstore(kComponentRepository, digest, repository + ":" + name);
  return fmt::format("{}@{}", repository, digest);
}

void RegistryRelease::attach_sigstore(const std::string& repository, const std::string& digest,
                                      const std::string& signed_as) {
  const std::string statement = fmt::format(
      R"({{"critical":{{"identity":{{"docker-reference":"{}"}},"image":{{"docker-manifest-digest":"{}"}},"type":"cosign container image signature"}},"optional":null}})",
      signed_as, digest);
  write(dir_ / "statement", statement);
  const std::string signature = codec::encode_base64(run_tool(
      {"openssl", "dgst", "-sha256", "-sign", (dir_ / "sigstore.key").string(), (dir_ / "statement").string()}));
  const std::filesystem::path folder = dir_ / "sigstore-layout";
  std::filesystem::remove_all(folder);
  oci::LayoutWriter writer = new_layout(folder);
  oci::Descriptor layer = *writer.add_blob(oci::kSigstoreLayerType, statement);
  layer.annotations[std::string(oci::kSigstoreSignatureAnnotation)] = signature;
  const oci::Descriptor config =
      *writer.add_blob(oci::media_type::kOciConfig,
                       fmt::format(R"({{"architecture":"","os":"","rootfs":{{"type":"layers","diff_ids":["{}"]}}}})",
                                   layer.digest.to_string()));
  const oci::Descriptor manifest = *writer.add_blob(
      oci::media_type::kOciManifest, json::write(json::Object{{"schemaVersion", 2},
                                                              {"mediaType", oci::media_type::kOciManifest},
                                                              {"config", config.to_json()},
                                                              {"layers", json::Array{layer.to_json()}}}));
  writer.tag(manifest, "sig");
  EXPECT_TRUE(writer.finish().ok());
  push(folder, "sig", repository, oci::sigstore_tag(*codec::Digest::parse(digest)));
}

std::string RegistryRelease::boot_image_manifest() {
  const auto artifact = [&](const std::string& file) {
    return json::Object{{"location", fmt::format("file://{}/{}", artifact_folder().string(), file)},
                        {"sha256", artifact_sha256(file)}};
  };
  const auto platform = [&](const std::string& format, const std::string& file) {
    return json::Object{{"release", "9.8.1"},
                        {"formats", json::Object{{format, json::Object{{"disk", artifact(file)}}}}}};
  };
  const json::Object stream{
      {"stream", "rhel-9"},
      {"metadata", json::Object{{"last-modified", "2026-01-01T00:00:00Z"}}},
      {"architectures",
       json::Object{
           {"x86_64",
            json::Object{
                {"artifacts",
                 json::Object{{"metal", platform("iso", "x86_64.iso")}, {"vmware", platform("ova", "x86_64.ova")}}},
                {"images",
                 json::Object{{"aws", json::Object{{"regions", json::Object{{"us-east-1",
                                                                             json::Object{{"release", "9.8.1"},
                                                                                          {"image", "ami-1"}}}}}}}}}}},
           {"aarch64", json::Object{{"artifacts", json::Object{{"metal", platform("iso", "aarch64.iso")}}}}}}}};
  return *yaml::emit(json::Object{{"apiVersion", "v1"},
                                  {"kind", "ConfigMap"},
                                  {"metadata", json::Object{{"name", "coreos-bootimages"}}},
                                  {"data", json::Object{{"stream", json::write(stream)}}}});
}

void RegistryRelease::publish_release() {
  json::Array tags;
  for (const auto& [name, pull_spec] : components_) {
    tags.push_back(json::Object{{"name", name}, {"from", json::Object{{"kind", "DockerImage"}, {"name", pull_spec}}}});
  }
  const std::string references = json::write(json::Object{{"kind", "ImageStream"},
                                                          {"apiVersion", "image.openshift.io/v1"},
                                                          {"metadata", json::Object{{"name", kPublishedVersion}}},
                                                          {"spec", json::Object{{"tags", std::move(tags)}}}});
  const std::string metadata = json::write(json::Object{{"kind", "cincinnati-metadata-v0"},
                                                        {"version", kPublishedVersion},
                                                        {"previous", json::Array{"4.21.5", "4.21.6"}},
                                                        {"metadata", json::Object{{"url", "https://example.com/e"}}}});
  const std::string keys = *yaml::emit(json::Object{
      {"apiVersion", "v1"},
      {"kind", "ConfigMap"},
      {"metadata", json::Object{{"name", "keys"},
                                {"annotations", json::Object{{"release.openshift.io/verification-config-map", ""}}}}},
      {"data", json::Object{{"verifier-public-key-us", signer_.public_key()},
                            {"store-us", "file://" + signature_store().string()}}}});
  const std::filesystem::path folder = dir_ / "release";
  oci::LayoutWriter writer = new_layout(folder);
  oci::ImageSpec spec;
  spec.labels = {{"io.openshift.release", kPublishedVersion}};
  spec.layers = {
      make_layer({tar_folder("usr"), tar_file("usr/base", noise(50'000, 7))}),
      make_layer({tar_folder("release-manifests"), tar_file("release-manifests/image-references", references),
                  tar_file("release-manifests/release-metadata", metadata),
                  tar_file("release-manifests/0000_50_installer_coreos-bootimages.yaml", boot_image_manifest()),
                  tar_file("release-manifests/0000_90_cluster-update-keys_configmap.yaml", keys)})};
  const auto image = writer.add_image(spec);
  EXPECT_TRUE(image.ok());
  writer.tag(*image, "v1");
  EXPECT_TRUE(writer.finish().ok());
  digest_ = push(folder, "v1", kReleaseRepository, kPublishedVersion);
  signer_.store(signature_store(), digest_, signer_.sign_digest(digest_));
  attach_sigstore(kReleaseRepository, digest_, reference());
}

}  // namespace strake::test
