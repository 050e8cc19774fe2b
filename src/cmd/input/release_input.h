// Releases as verbs are given them: in a registry, a layout, an archive, a mirror; and whose signature they need.
#pragma once

#include <memory>
#include <string>

#include "cmd/input/image_access.h"
#include "kube/kube_api.h"
#include "release/payload.h"
#include "release/proven_release.h"

namespace strake::cmd {

inline constexpr std::string_view kReleaseArgumentHelp =
    "the release image: quay.io/org/release:TAG (or @sha256:...), ./FOLDER[:NAME] or ./FILE with a mirror, an OCI "
    "layout or an archive; oci:, oci-archive:, docker-archive: and docker:// as skopeo has them";

inline constexpr OptionSpec kKeyringOption{
    "keyring", "FILE", "OpenPGP public keys, armoured or not; default: the keyrings the release itself names", "",
    kFileValue};
inline constexpr OptionSpec kSignatureStoreOption{
    "signature-store", "PLACE",
    "where its signatures are: an http, https or file URL, a folder, a ConfigMap or a signature file; default: beside "
    "the release, then, for a release in a registry, the stores it names"};

inline constexpr OptionSpec kFetchArtifactsOption{
    "fetch-artifacts", "",
    "of a release in a folder or file: fetch boot artifacts it does not carry from their locations"};

inline constexpr OptionSpec kAllowLocationOption{
    "allow-location", "PREFIX",
    "follow what a release names below this http, https or file URL, even to this machine; may be repeated", "",
    kListValue};

/// Whether boot artifacts that do not lie beside the release may be fetched from their locations: what was carried
/// across an air gap does not reach out again unless it is told to.
inline bool may_fetch_artifacts(const Invocation& invocation, const release::ReleasePlace& place) {
  return !place.is_local() || invocation.is_set("fetch-artifacts");
}

/// Said by verbs that use a release where nobody named the keys they trust.
inline constexpr std::string_view kNoKeyringKnown =
    "nobody said whose signature the release needs, and keyrings it names itself do not count";

/// From these two options; the readers stay with the demand.
struct ReleaseDemand {
  std::unique_ptr<release::UrlReader> reader, foreign_reader;
  release::SignatureDemand signatures;
};
Result<ReleaseDemand> signature_demand(const Invocation& invocation);

/// For what the release names, its boot artifacts: --certificate-authority and --allow-location count.
Result<net::ClientOptions> foreign_client(const Invocation& invocation);

/// The place of a release; valid as long as the access. Contacts nobody, except about a tag that stands beside a
/// digest.
Result<std::unique_ptr<release::ReleasePlace>> open_release(ImageAccess& access, std::string_view text);

/// The keyrings a cluster keeps as one, for a demand; kDenied ("blocked") with `otherwise` when it keeps none.
Result<release::Keyring> kept_keyring_of(kube::KubeApi& api, const kube::Call& call, std::string_view otherwise);

/// The release itself. OS images beside it are hashed to their end where that costs no network; `os_images` asks for it
/// everywhere.
Result<release::ReleasePayload> read_release(ImageAccess& access, const release::ReleasePlace& place,
                                             release::OsImageCheck os_images = release::OsImageCheck::kLabels);

/// How read_release() reads, for those who read it another way.
release::PayloadOptions release_reading(ImageAccess& access, const release::ReleasePlace& place,
                                        release::OsImageCheck os_images = release::OsImageCheck::kLabels);

/// For verbs that look at releases for several architectures: --arch may be "all".
inline constexpr OptionSpec kReleaseArchOption{
    "arch", "NAME", "of a release for several architectures: amd64 (x86_64), arm64, ppc64le, s390x, or all", "amd64"};

bool asks_for_every_arch(const Invocation& invocation);
/// The access without the word "all", which names no architecture.
Result<std::unique_ptr<ImageAccess>> create_release_access(const Invocation& invocation);
/// The one asked for, or all there are.
Result<std::vector<oci::Platform>> release_platforms_asked_for(const Invocation& invocation, ImageAccess& access,
                                                               const release::ReleasePlace& place);
/// As read_release(), for one of them.
Result<release::ReleasePayload> read_release_for(ImageAccess& access, const release::ReleasePlace& place,
                                                 const oci::Platform& platform);

/// Both steps, for verbs that only want to know what is in it.
Result<release::ReleasePayload> read_release(const Invocation& invocation, std::string_view text,
                                             release::OsImageCheck os_images = release::OsImageCheck::kLabels);

}  // namespace strake::cmd
