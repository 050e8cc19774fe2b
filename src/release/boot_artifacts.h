// Boot artifacts: the files (ISO, OVA, qcow2, ...) a release's stream metadata names by URL and SHA-256.
//
// Beside the release they lie as small OCI images of their own: the tag says which file (sha256-HEX.boot), the only
// layer is the file itself. So a registry, a layout and a carried archive hold them like every other image, and since a
// blob's digest is its SHA-256, the file is found in blobs/sha256/HEX.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_client.h"
#include "net/url.h"
#include "oci/image_source.h"
#include "oci/patience.h"
#include "release/payload.h"

namespace strake::release {

struct BootArtifact {
  codec::Digest digest;  ///< of the file as downloaded
  std::string location;
  std::string file_name;  ///< the last part of the location
  std::string arch;       ///< RPM name
  std::string platform;
  std::string format;
  std::string member;                          ///< "disk", "kernel", ...
  std::optional<codec::Digest> unpacked = {};  ///< of what is in it, where it is compressed and somebody wrote it down

  /// "x86_64 metal iso disk"
  std::string label() const;
};

struct BootArtifactList {
  std::vector<BootArtifact> artifacts;   ///< sorted by label; a file named twice appears once
  std::vector<std::string> without_sum;  ///< labels of files nobody wrote a SHA-256 down for: they cannot be checked
  std::size_t cloud_images = 0;          ///< named by reference in a cloud: nothing of them can be hashed from here
};

/// Of every stream of the release. kInvalidArgument: a SHA-256 that is none.
Result<BootArtifactList> boot_artifacts_of(const stream::StreamSet& streams);

inline constexpr std::string_view kBootArtifactType = "application/vnd.strake.boot-artifact.v1";

/// "sha256-<hex>.boot": where an artifact lies in the repository of its release.
std::string boot_artifact_tag(const codec::Digest& digest);

/// An artifact that lies beside its release.
struct PlacedArtifact {
  const oci::ImageSource* source = nullptr;
  oci::Descriptor file;
};
/// kNotFound when it does not; kCorrupt when another file lies under its tag.
Result<PlacedArtifact> find_artifact(const ReleasePlace& place, const BootArtifact& artifact,
                                     const runtime::Call& call);

/// The file in the image under the tag of an artifact. Who may write to a repository may put another there: refused.
Result<oci::Descriptor> file_of_tag(const oci::ImageSource& source, const oci::Descriptor& entry, std::string_view tag,
                                    const codec::Digest& digest, const runtime::Call& call);

/// Which of them lie beside the release, and which do not.
struct ArtifactsBeside {
  std::vector<BootArtifact> beside;
  std::vector<BootArtifact> elsewhere;
};
Result<ArtifactsBeside> look_beside(const ReleasePlace& place, std::vector<BootArtifact> artifacts,
                                    const runtime::Call& call);

/// The descriptor of an artifact in the cache; nullopt when it is not there.
std::optional<oci::Descriptor> find_cached(const oci::BlobCache* cache, const BootArtifact& artifact);

/// Files by URL: http, https, or file for folders of this machine. What breaks off goes on where it ended, while
/// bytes come.
class ArtifactDownloads {
 public:
  /// With foreign_urls, as for everything a release names: those rules count for file URLs too.
  static Result<ArtifactDownloads> create(runtime::Runtime& runtime, net::ClientOptions options = {},
                                          oci::TransferHooks hooks = {}, oci::Patience patience = {});

  /// kUnsupported when the server does not tell.
  Result<std::uint64_t> size(const std::string& url, const runtime::Call& call) const;
  /// The bytes from `offset` on, in order, each once.
  Status stream(const std::string& url, std::uint64_t offset, const oci::ImageSource::OnData& on_data,
                const runtime::Call& call) const;

 private:
  struct Transfer;
  ArtifactDownloads(runtime::Runtime& runtime, net::HttpClient client, std::optional<net::ForeignUrlRules> foreign,
                    oci::TransferHooks hooks, oci::Patience patience)
      : runtime_(&runtime),
        client_(std::move(client)),
        foreign_(std::move(foreign)),
        hooks_(std::move(hooks)),
        patience_(patience) {}
  Status check(const std::string& url) const {
    return foreign_ ? net::check_foreign_url(url, *foreign_) : net::refuse_control_characters(url, "the URL");
  }
  Status stream_once(Transfer& transfer, const runtime::Call& call) const;

  runtime::Runtime* runtime_;
  net::HttpClient client_;
  std::optional<net::ForeignUrlRules> foreign_;
  oci::TransferHooks hooks_;
  oci::Patience patience_;
};

/// Reads the file to its end; kCorrupt when it is another. With a cache it is kept there, so that it is at hand later,
/// unless it is too large for it.
Status verify_download(const ArtifactDownloads& downloads, const BootArtifact& artifact, oci::BlobCache* cache,
                       runtime::Runtime& runtime, const runtime::Call& call);

enum class DownloadOutcome { kPresent, kFromRelease, kFromCache, kFromLocation };

/// Brings the file into a folder under its name: from beside the release where it lies there, else from the cache, else
/// from its location.
/// A file that is there already counts when its SHA-256 is right, and is replaced otherwise; a download that died goes
/// on.
Result<DownloadOutcome> download_artifact(const ReleasePlace& place, const ArtifactDownloads& downloads,
                                          const BootArtifact& artifact, const std::filesystem::path& folder,
                                          oci::BlobCache* cache, runtime::Runtime& runtime, const runtime::Call& call);

/// Whether the name of a file says that it is compressed (gz, xz, zst), and what remains of the name without that.
std::optional<std::string> unpacked_name(std::string_view file_name);

/// The same for what is in a compressed file: it is unpacked as it comes and never lies on disk as it was. Both
/// checksums count, the file's and, where the release has one, that of its content. What died begins anew.
Result<DownloadOutcome> download_unpacked(const ReleasePlace& place, const ArtifactDownloads& downloads,
                                          const BootArtifact& artifact, const std::filesystem::path& folder,
                                          oci::BlobCache* cache, runtime::Runtime& runtime, const runtime::Call& call);

/// Artifacts as images: what to copy from.
class ArtifactSource final : public oci::ImageSource {
 public:
  /// `downloads` must outlive the source.
  ArtifactSource(const ArtifactDownloads& downloads, std::vector<BootArtifact> artifacts, runtime::Runtime& runtime);

  std::string description() const override { return "the locations of boot artifacts"; }
  /// By tag.
  Result<std::vector<oci::Descriptor>> find_entries(std::string_view reference,
                                                    const runtime::Call& call = {}) const override;
  Result<std::unique_ptr<oci::BlobSource>> open_blob(const oci::Descriptor& descriptor,
                                                     const runtime::Call& call = {}) const override;
  Status stream_blob(const oci::Descriptor& descriptor, std::uint64_t offset, const OnData& on_data,
                     const runtime::Call& call = {}) const override;

 private:
  const ArtifactDownloads& downloads_;
  runtime::Runtime& runtime_;
  std::map<codec::Digest, BootArtifact> artifacts_;
  mutable std::mutex mutex_;
  mutable std::map<codec::Digest, std::string> documents_;  ///< manifests and configs made so far
};

}  // namespace strake::release
