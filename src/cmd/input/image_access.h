// How verbs reach images: registries with their credentials, authorities and mirrors as podman and the user name them,
// layouts and archives, and the cache.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "base/runtime.h"
#include "cmd/cli/command.h"
#include "cmd/output/progress_display.h"
#include "oci/blob_cache.h"
#include "oci/image_name.h"

namespace strake::cmd {

inline constexpr std::string_view kImageArgumentHelp =
    "a registry's image (quay.io/org/os:TAG or @sha256:...), ./FOLDER[:NAME] with an OCI layout, ./FILE with an "
    "archive, or skopeo's oci:, oci-archive:, docker-archive:, docker://";

inline constexpr OptionSpec kCertificateAuthorityOption{
    "certificate-authority", "FILE",
    "PEM certificates to trust besides those of this machine and of the certs.d folders", "", kFileValue};

/// What every verb that reads images takes, besides --arch; join_options() puts them behind its own.
inline constexpr OptionSpec kImageOptions[] = {
    kCertificateAuthorityOption,
    {"authfile", "FILE", "registry credentials instead of podman's and docker's files ($REGISTRY_AUTH_FILE too)", "",
     kFileValue},
    {"mirror-sets", "FILE",
     "ImageDigestMirrorSet, ImageTagMirrorSet or ImageContentSourcePolicy objects; they count before registries.conf",
     "", kFileValue},
    {"registries-conf", "FILE", "registries.conf to use instead of the user's or the machine's", "", kFileValue},
    {"cache", "DIR", "where layers and indexes are kept; default: $XDG_CACHE_HOME/strake", "", kFolderValue},
    {"no-cache", "", "keep nothing: everything is fetched again, nothing is written"},
    {"v,verbose", "", "say which registry or mirror answers, and what is tried again"},
};
/// For verbs to which the architecture matters.
inline constexpr OptionSpec kImageArchOption{
    "arch", "NAME", "of an image for several architectures: amd64 (x86_64), arm64, ppc64le, s390x", "amd64"};

inline constexpr ExitMeaning kImageAbsent{
    kExitBlocked, "the image, or one for this architecture, is not there, or the mirror rules leave nobody to ask"};
inline constexpr ExitMeaning kRegistryUnreachable{kExitUnreachable, "a registry or server does not answer"};
inline constexpr ExitMeaning kServerOrRegistryUnreachable{kExitUnreachable,
                                                          "the API server, a registry or a mirror does not answer"};
inline constexpr ExitMeaning kImageNotGenuine{kExitNotGenuine, "refused: content is not what its digest promises"};

template <std::size_t... Sizes>
consteval auto join_options(const OptionSpec (&... groups)[Sizes]) {
  std::array<OptionSpec, (Sizes + ...)> joined{};
  std::size_t next = 0;
  const auto append = [&](const auto& group) {
    for (const OptionSpec& option : group) joined[next++] = option;
  };
  (append(groups), ...);
  return joined;
}

/// Images say amd64 where the rest of the world says x86_64; people write either. amd64 when nothing was said.
std::string go_architecture(std::string_view name);

/// Owns what it opened: sources stay valid as long as the access.
class ImageAccess {
 public:
  /// From the options above. Contacts nobody.
  static Result<std::unique_ptr<ImageAccess>> create(const Invocation& invocation);

  runtime::Runtime& runtime() { return runtime_; }
  oci::Registries& registries() { return *registries_; }
  /// nullptr with --no-cache.
  oci::BlobCache* cache() { return cache_.get(); }
  const oci::Platform& platform() const { return platform_; }
  /// Until the user stops the program: every transfer has limits of its own.
  runtime::Call call() const { return {stop_, {}}; }

  struct Opened {
    const oci::ImageSource* source = nullptr;
    std::string reference;  ///< for find_entries() and resolve()
    oci::ImageName name;
  };
  Result<Opened> open(std::string_view image);
  /// Warns of a name that means another image than it seems to: one without a registry; a tag that has moved on from
  /// the digest beside it.
  void warn_about(std::string_view text, const oci::Reference& reference, const oci::ImageSource& source);
  /// For transfers beside those of registries.
  oci::TransferHooks hooks();
  /// For what others opened and sources depend on.
  void keep(std::shared_ptr<const void> owned) { kept_.push_back(std::move(owned)); }

 private:
  explicit ImageAccess(const Invocation& invocation)
      : stop_(invocation.stop),
        out_(invocation.out()),
        verbose_(invocation.is_set("verbose")),
        progress_(invocation.out(), runtime_) {}

  std::stop_token stop_;
  Output& out_;
  const bool verbose_;
  runtime::ThreadRuntime runtime_;
  ProgressDisplay progress_;
  std::unique_ptr<oci::Registries> registries_;
  std::unique_ptr<oci::BlobCache> cache_;
  oci::Platform platform_;
  std::vector<std::unique_ptr<oci::ImageSource>> opened_;
  std::vector<std::shared_ptr<const void>> kept_;
};

}  // namespace strake::cmd
