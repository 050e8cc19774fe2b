#include "release/sample.h"

#include <algorithm>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/kinds.h"
#include "api/machine_config.h"
#include "api/node_annotations.h"
#include "codec/data_url.h"
#include "codec/json.h"
#include "codec/tar.h"
#include "codec/yaml.h"
#include "oci/copy.h"
#include "oci/layout.h"
#include "release/release_signatures.h"

namespace strake::release {

namespace {

constexpr std::string_view kSampleRepository = "registry.example.com/strake-sample";

/// Everything in which the two releases differ.
struct SampleContent {
  std::string_view version;
  std::string_view os_version;
  std::string_view kernel;
  std::string_view created;
  std::string_view sample_conf;
  std::vector<std::string_view> kernel_arguments;
  char ami_letter;
};

SampleContent sample_content(SampleRelease sample) {
  switch (sample) {
    case SampleRelease::kA:
      return {"4.21.0-sample-a",
              "9.8.20260401-0",
              "5.14.0-700.1.el9",
              "2026-04-01T00:00:00Z",
              "greeting = hello\n",
              {"audit=1"},
              'a'};
    case SampleRelease::kB: break;
  }
  return {"4.21.1-sample-b",
          "9.8.20260501-0",
          "5.14.0-700.9.el9",
          "2026-05-01T00:00:00Z",
          "greeting = welcome\n",
          {"audit=1", "mitigations=auto"},
          'b'};
}

struct SampleFile {
  std::string path;
  std::string content;
  std::uint32_t mode = 0644;
};

/// A tar stream with a folder entry before the first file of each folder, as image builders write it.
Result<std::string> sample_layer(const std::vector<SampleFile>& files) {
  codec::StringSink sink;
  codec::TarWriter writer(sink);
  std::vector<std::string> folders;
  for (const SampleFile& file : files) {
    for (std::size_t slash = file.path.find('/'); slash != std::string::npos; slash = file.path.find('/', slash + 1)) {
      std::string folder = file.path.substr(0, slash);
      if (std::find(folders.begin(), folders.end(), folder) != folders.end()) continue;
      codec::TarEntry entry;
      entry.type = codec::TarEntryType::kDirectory;
      entry.path = folder;
      entry.mode = 0755;
      STRAKE_CHECK_OK(writer.add(entry));
      folders.push_back(std::move(folder));
    }
    codec::TarEntry entry;
    entry.path = file.path;
    entry.mode = file.mode;
    STRAKE_CHECK_OK(writer.add(entry, std::string_view(file.content)));
  }
  STRAKE_CHECK_OK(writer.finish());
  return std::move(sink).take();
}

Result<oci::Descriptor> add_os_image(oci::LayoutWriter& writer, const SampleContent& content) {
  const std::string os_release = fmt::format(
      "NAME=\"Sample CoreOS\"\nID=\"rhcos\"\nID_LIKE=\"rhel "
      "fedora\"\nVERSION=\"{0}\"\nVERSION_ID=\"9.8\"\nVARIANT_ID=coreos\n"
      "OSTREE_VERSION=\"{0}\"\nPRETTY_NAME=\"Sample CoreOS {0}\"\n",
      content.os_version);
  STRAKE_TRY(std::string base,
             sample_layer({{"usr/lib/os-release", os_release},
                           {"usr/lib/ostree/prepare-root.conf", "[sysroot]\nreadonly = true\n"},
                           {"usr/lib/bootc/install/00-sample.toml", "[install.filesystem.root]\ntype = \"xfs\"\n"}}));
  STRAKE_TRY(std::string kernel, sample_layer({{fmt::format("usr/lib/modules/{}/vmlinuz", content.kernel),
                                                fmt::format("sample kernel {}\n", content.kernel), 0755},
                                               {fmt::format("usr/lib/modules/{}/initramfs.img", content.kernel),
                                                fmt::format("sample initramfs {}\n", content.kernel)}}));
  oci::ImageSpec spec;
  spec.labels = {{"containers.bootc", "1"},
                 {"io.openshift.os.streamclass", "rhel-9"},
                 {"org.opencontainers.image.version", std::string(content.os_version)},
                 {"ostree.bootable", "true"},
                 {"ostree.linux", std::string(content.kernel)}};
  spec.created = content.created;
  spec.layers = {std::move(base), std::move(kernel)};
  return writer.add_image(spec);
}

Result<oci::Descriptor> add_extensions_image(oci::LayoutWriter& writer, const SampleContent& content) {
  STRAKE_TRY(std::string layer,
             sample_layer({{"usr/share/rpm-ostree/extensions/extensions.json",
                            fmt::format(R"({{"extensions":{{}},"version":"{}"}})", content.os_version)}}));
  oci::ImageSpec spec;
  spec.labels = {{"io.openshift.os.extensions", "true"}, {"io.openshift.os.streamclass", "rhel-9"}};
  spec.created = content.created;
  spec.layers = {std::move(layer)};
  return writer.add_image(spec);
}

/// "ami-0a00000000000e001": a letter for the release, digits for architecture and region.
std::string sample_ami(const SampleContent& content, std::size_t architecture, std::size_t region) {
  return fmt::format("ami-0{}00000000000e{}{:02}", content.ami_letter, architecture, region);
}

std::string boot_image_stream(const SampleContent& content) {
  json::Object architectures;
  std::size_t arch_number = 0;
  for (const std::string_view arch : {"x86_64", "aarch64"}) {
    json::Object regions;
    std::size_t region_number = 0;
    for (const std::string_view region : {"us-east-1", "eu-west-1"}) {
      regions[region] =
          json::Object{{"release", content.os_version}, {"image", sample_ami(content, arch_number, ++region_number)}};
    }
    const std::string file = fmt::format("rhcos-{}-metal.{}.raw.gz", content.os_version, arch);
    const json::Object disk{
        {"location", fmt::format("https://mirror.example.com/{}/{}/{}", content.os_version, arch, file)},
        {"sha256", codec::sha256_hex(file)},
        {"uncompressed-sha256", codec::sha256_hex(file + " unpacked")}};
    architectures[arch] = json::Object{
        {"artifacts",
         json::Object{{"metal", json::Object{{"release", content.os_version},
                                             {"formats", json::Object{{"raw.gz", json::Object{{"disk", disk}}}}}}}}},
        {"images", json::Object{{"aws", json::Object{{"regions", std::move(regions)}}}}}};
    ++arch_number;
  }
  return json::write_pretty(
      json::Object{{"stream", "rhcos-4.21"},
                   {"metadata", json::Object{{"last-modified", content.created}, {"generator", "strake sample"}}},
                   {"architectures", std::move(architectures)}});
}

Result<std::string> boot_images_manifest(const SampleContent& content) {
  return yaml::emit(json::Object{
      {"apiVersion", "v1"},
      {"kind", "ConfigMap"},
      {"metadata", json::Object{{"name", "coreos-bootimages"}, {"namespace", "openshift-machine-config-operator"}}},
      {"data", json::Object{{"releaseVersion", content.version}, {"stream", boot_image_stream(content)}}}});
}

json::Object ignition_file(std::string_view path, std::string_view text) {
  return json::Object{{"path", path},
                      {"mode", 0644},
                      {"overwrite", true},
                      {"contents", json::Object{{"source", codec::encode_data_url(text)}}}};
}

Result<std::string> base_config_manifest(const SampleContent& content, std::string_view role) {
  const std::vector<std::string> kernel_arguments(content.kernel_arguments.begin(), content.kernel_arguments.end());
  const json::Array files{ignition_file("/etc/strake/first-boot", fmt::format("role={}\n", role)),
                          ignition_file("/etc/strake-sample.conf", content.sample_conf)};
  const json::Array units{json::Object{
      {"name", "strake-sample.service"},
      {"enabled", true},
      {"contents",
       "[Unit]\nDescription=Sample service\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/bin/cat "
       "/etc/strake-sample.conf\n[Install]\nWantedBy=multi-user.target\n"}}};
  kube::Object config(api::kMachineConfig, {"", fmt::format("00-{}", role)});
  config.set_label(api::label::kRole, role);
  api::MachineConfigEdit edit(config.json());
  edit.set_config(json::Object{{"ignition", json::Object{{"version", "3.5.0"}}},
                               {"storage", json::Object{{"files", files}}},
                               {"systemd", json::Object{{"units", units}}}});
  edit.set_kernel_arguments(kernel_arguments);
  return yaml::emit(config.json());
}

json::Object image_tag(std::string_view tag, std::string_view repository, const oci::Descriptor& image) {
  return json::Object{
      {"name", tag},
      {"annotations", json::Object{{"io.openshift.build.source-location", "https://github.com/openshift/os"}}},
      {"from",
       json::Object{{"kind", "DockerImage"},
                    {"name", fmt::format("{}/{}@{}", kSampleRepository, repository, image.digest.to_string())}}},
      {"generation", nullptr},
      {"importPolicy", json::Object{}},
      {"referencePolicy", json::Object{{"type", ""}}}};
}

Result<oci::Descriptor> add_release_image(oci::LayoutWriter& writer, const SampleContent& content,
                                          const oci::Descriptor& os, const oci::Descriptor& extensions) {
  const json::Object references{
      {"kind", "ImageStream"},
      {"apiVersion", "image.openshift.io/v1"},
      {"metadata", json::Object{{"name", content.version}, {"creationTimestamp", content.created}}},
      {"spec", json::Object{{"lookupPolicy", json::Object{{"local", false}}},
                            {"tags", json::Array{image_tag("rhel-coreos", "os", os),
                                                 image_tag("rhel-coreos-extensions", "extensions", extensions)}}}}};
  const json::Object metadata{
      {"kind", "cincinnati-metadata-v0"}, {"version", content.version}, {"previous", json::Array{}}};
  STRAKE_TRY(std::string boot_images, boot_images_manifest(content));
  STRAKE_TRY(std::string master, base_config_manifest(content, "master"));
  STRAKE_TRY(std::string worker, base_config_manifest(content, "worker"));
  constexpr std::uint32_t kReadOnly = 0444;
  STRAKE_TRY(
      std::string layer,
      sample_layer({{"release-manifests/image-references", json::write_pretty(references), kReadOnly},
                    {"release-manifests/release-metadata", json::write_pretty(metadata), kReadOnly},
                    {"release-manifests/0000_50_installer_coreos-bootimages.yaml", std::move(boot_images), kReadOnly},
                    {"release-manifests/0000_80_strake_00-master.yaml", std::move(master), kReadOnly},
                    {"release-manifests/0000_80_strake_00-worker.yaml", std::move(worker), kReadOnly}}));
  oci::ImageSpec spec;
  spec.labels = {{"io.openshift.release", std::string(content.version)}};
  spec.created = content.created;
  spec.layers = {std::move(layer)};
  STRAKE_TRY(oci::Descriptor image, writer.add_image(spec));
  image.annotations["io.containerd.image.name"] = fmt::format("{}/release:{}", kSampleRepository, content.version);
  return image;
}

Status write_sample(const std::filesystem::path& directory, const SampleContent& content) {
  STRAKE_TRY(oci::LayoutWriter writer, oci::LayoutWriter::create(directory));
  STRAKE_TRY(const oci::Descriptor os, add_os_image(writer, content));
  STRAKE_TRY(const oci::Descriptor extensions, add_extensions_image(writer, content));
  STRAKE_TRY(const oci::Descriptor release, add_release_image(writer, content, os, extensions));
  writer.tag(release, kSampleReleaseReference);
  writer.tag(os, "os");
  writer.tag(extensions, "extensions");
  return writer.finish();
}

}  // namespace

std::string_view to_string(SampleRelease sample) { return sample_content(sample).version; }

Status sign_sample_release(const std::filesystem::path& directory, const ReleaseSigner& signer,
                           runtime::Runtime& runtime, const runtime::Call& call) {
  const auto sign = [&]() -> Status {
    STRAKE_TRY(const oci::Layout layout, oci::Layout::open(directory));
    STRAKE_TRY(const oci::Descriptor image, layout.find_entry(kSampleReleaseReference));
    STRAKE_TRY(std::string message,
               signer.sign_release(image.digest, fmt::format("{}/release", kSampleRepository), runtime.wall_now()));
    AcceptedSignature signature;
    signature.bytes = std::move(message);
    ArtifactImages images;
    add_signature_artifact(images, image.digest, std::span(&signature, 1));
    STRAKE_TRY(const std::unique_ptr<oci::LayoutTarget> target, oci::LayoutTarget::open(directory, runtime));
    const std::string tag = signature_artifact_tag(image.digest);
    STRAKE_TRY([[maybe_unused]] const oci::CopyReport copied,
               oci::copy_image(images, tag, *target, tag, {.parallel = 1}, runtime, call));
    return {};
  };
  return sign().context("signing the sample release in {}", directory.string());
}

Status write_sample_release(const std::filesystem::path& directory, SampleRelease sample) {
  return write_sample(directory, sample_content(sample))
      .context("writing sample release {} to {}", to_string(sample), directory.string());
}

}  // namespace strake::release
