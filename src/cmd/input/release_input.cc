#include "cmd/input/release_input.h"

#include "cmd/input/text_input.h"
#include "release/mirror_folder.h"
#include "release/release_platforms.h"
#include "release/signature/kept_keyrings.h"

namespace strake::cmd {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view kEveryArch = "all";

/// The files of a mirror that `text` names, and which release in it; nullopt when it names something else.
struct NamedMirror {
  std::shared_ptr<const oci::FileStore> files;
  std::string release;
};
Result<std::optional<NamedMirror>> find_mirror(std::string_view text) {
  if (!oci::looks_like_path(text)) return std::optional<NamedMirror>();
  auto [path, release] = oci::split_local_name(text);
  std::error_code failure;
  std::shared_ptr<const oci::FileStore> files;
  if (std::filesystem::is_directory(path, failure)) {
    files = std::make_shared<oci::FolderFiles>(path);
  } else if (std::filesystem::is_regular_file(path, failure)) {
    const auto names = oci::ArchiveFiles::names(path);
    // What is wrong with an archive is said when it is opened as an image.
    if (!names.ok() || !names->contains(std::string(release::kMirrorIndexFile))) return std::optional<NamedMirror>();
    STRAKE_TRY(files, oci::ArchiveFiles::scan(path));
  }
  if (!files || !release::is_mirror(*files)) return std::optional<NamedMirror>();
  return std::optional(NamedMirror{std::move(files), std::move(release)});
}

/// For signature stores and boot artifacts: --certificate-authority counts.
net::ClientOptions download_client(const Invocation& invocation) {
  net::ClientOptions options;
  options.ca_file = invocation.value("certificate-authority");
  options.also_trust_system_roots = true;
  return options;
}

}  // namespace

Result<ReleaseDemand> signature_demand(const Invocation& invocation) {
  ReleaseDemand whole;
  STRAKE_TRY(release::UrlReader reader, release::UrlReader::create(download_client(invocation)));
  whole.reader = std::make_unique<release::UrlReader>(std::move(reader));
  STRAKE_TRY(net::ClientOptions foreign, foreign_client(invocation));
  STRAKE_TRY(release::UrlReader foreign_reader, release::UrlReader::create(std::move(foreign)));
  whole.foreign_reader = std::make_unique<release::UrlReader>(std::move(foreign_reader));
  release::SignatureDemand& demand = whole.signatures;
  demand.reader = whole.reader.get();
  demand.foreign_reader = whole.foreign_reader.get();
  demand.call.timeout = 30s;
  demand.call.stop = invocation.stop;
  if (const std::string& file = invocation.value("keyring"); !file.empty()) {
    STRAKE_TRY(const std::string text, read_text_input(file, release::kMaxKeyringBytes));
    STRAKE_TRY(release::Keyring keyring, release::parse_keyring(shown_path(file), text));
    demand.keyrings.push_back(std::move(keyring));
  }
  if (const std::string& place = invocation.value("signature-store"); !place.empty()) demand.stores = {place};
  return whole;
}

Result<net::ClientOptions> foreign_client(const Invocation& invocation) {
  net::ClientOptions options = download_client(invocation);
  options.foreign_urls.emplace();
  for (const std::string& prefix : invocation.list("allow-location")) {
    STRAKE_CHECK_OK(net::check_location_prefix(prefix).context("--allow-location"));
    options.foreign_urls->allowed_prefixes.push_back(prefix);
  }
  return options;
}

Result<release::Keyring> kept_keyring_of(kube::KubeApi& api, const kube::Call& call, std::string_view otherwise) {
  STRAKE_TRY(const std::vector<release::Keyring> kept, release::read_kept_keyrings(api, call));
  if (!kept.empty()) return release::any_of_keyrings(kept);
  return error(Code::kDenied, "{}: the cluster keeps no keyring; {}", kNoKeyringKnown, otherwise)
      .with_verdict(Verdict::kBlocked);
}

Result<std::unique_ptr<release::ReleasePlace>> open_release(ImageAccess& access, std::string_view text) {
  STRAKE_TRY(std::optional<NamedMirror> mirror, find_mirror(text));
  if (mirror) return release::open_mirror(std::move(mirror->files), mirror->release);
  STRAKE_TRY(const oci::ImageName name, oci::find_image_name(text));
  if (name.transport == oci::Transport::kRegistry) {
    STRAKE_TRY(const oci::Reference reference, oci::parse_reference(name.place));
    STRAKE_TRY(auto place, release::ReleasePlace::in_registry(reference, access.registries()));
    access.warn_about(text, reference, place->home());
    return place;
  }
  STRAKE_TRY(oci::OpenedImage opened, oci::open_image(name, access.registries()));
  return std::make_unique<release::ReleasePlace>(std::move(opened.source), std::move(opened.reference));
}

release::PayloadOptions release_reading(ImageAccess& access, const release::ReleasePlace& place,
                                        release::OsImageCheck os_images) {
  return {access.platform(), place.is_local() ? release::OsImageCheck::kLayers : os_images, access.cache()};
}

Result<release::ReleasePayload> read_release(ImageAccess& access, const release::ReleasePlace& place,
                                             release::OsImageCheck os_images) {
  return release::read_payload(place, release_reading(access, place, os_images), access.runtime(), access.call());
}

bool asks_for_every_arch(const Invocation& invocation) { return invocation.value("arch") == kEveryArch; }

Result<std::unique_ptr<ImageAccess>> create_release_access(const Invocation& invocation) {
  Invocation of_release = invocation;
  if (asks_for_every_arch(invocation)) of_release.forget("arch");
  return ImageAccess::create(of_release);
}

Result<std::vector<oci::Platform>> release_platforms_asked_for(const Invocation& invocation, ImageAccess& access,
                                                               const release::ReleasePlace& place) {
  if (asks_for_every_arch(invocation)) return release::release_platforms(place, access.call());
  return std::vector{access.platform()};
}

Result<release::ReleasePayload> read_release_for(ImageAccess& access, const release::ReleasePlace& place,
                                                 const oci::Platform& platform) {
  const release::PayloadOptions options{
      platform, place.is_local() ? release::OsImageCheck::kLayers : release::OsImageCheck::kLabels, access.cache()};
  return release::read_payload(place, options, access.runtime(), access.call());
}

Result<release::ReleasePayload> read_release(const Invocation& invocation, std::string_view text,
                                             release::OsImageCheck os_images) {
  STRAKE_TRY(const std::unique_ptr<ImageAccess> access, ImageAccess::create(invocation));
  STRAKE_TRY(const auto place, open_release(*access, text));
  return read_release(*access, *place, os_images);
}

}  // namespace strake::cmd
