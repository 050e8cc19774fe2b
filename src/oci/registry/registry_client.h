// RegistryClient: one registry's API (OCI distribution v2). Any number of tasks may use one client.
//
// Every call authenticates as the registry asks, follows redirects without credentials, and tries again what may pass
// (a broken connection, 5xx, a rate limit) with growing pauses. A blob that breaks off goes on where it ended. Sizes
// are enforced here; digests by whoever reads (BlobSource, BlobCache), because only they see the whole content.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/runtime.h"
#include "codec/stream.h"
#include "net/http_client.h"
#include "oci/manifest.h"
#include "oci/patience.h"
#include "oci/registry/credentials.h"
#include "oci/registry/registry_trust.h"

namespace strake::oci {

struct RegistryOptions {
  CredentialOptions credentials;
  TrustOptions trust;
  std::optional<net::ProxySettings> proxy;         ///< absent: from the environment
  std::chrono::milliseconds idle_timeout{20'000};  ///< of one attempt
  Patience patience;
  /// A body slower than this on average is given up: a registry must not hold us for ever one byte at a time.
  std::uint64_t slowest_bytes_per_second = 16u << 10;
  std::size_t upload_chunk_bytes = 16u << 20;
  TransferHooks hooks;
};

/// What this process knows: auth files, certs.d folders, proxy variables.
RegistryOptions registry_options_from_process();

struct FetchedManifest {
  Descriptor descriptor;
  std::string bytes;
};

enum class BlobPush { kPresent, kMounted, kUploaded };
std::string_view to_string(BlobPush outcome);

class RegistryAuth;
struct Scope;

class RegistryClient {
 public:
  using OnData = net::HttpClient::OnData;
  using OpenBlob = std::function<Result<std::unique_ptr<codec::Source>>()>;

  /// `insecure`: plain http is accepted where https does not answer; credentials never travel that way.
  static Result<std::shared_ptr<RegistryClient>> create(std::string registry, bool insecure,
                                                        const RegistryOptions& options, runtime::Runtime& runtime);
  ~RegistryClient();

  const std::string& registry() const { return registry_; }

  Result<FetchedManifest> fetch_manifest(const std::string& repository, const std::string& tag_or_digest,
                                         const runtime::Call& call);
  /// What refers to an image; kNotFound: the registry knows of nothing. One without an interface for it is asked for
  /// the tag that stands in.
  Result<std::vector<Descriptor>> fetch_referrers(const std::string& repository, const codec::Digest& digest,
                                                  const runtime::Call& call);
  /// Makes referrers that were pushed findable, where the registry does not do that by itself.
  Status list_new_referrers(const std::string& repository, const codec::Digest& digest,
                            std::vector<Descriptor> referrers, const runtime::Call& call);
  /// The bytes of a blob from `offset` on, in order, each once; success means exactly as many as the descriptor says.
  Status fetch_blob(const std::string& repository, const Descriptor& descriptor, std::uint64_t offset,
                    const OnData& on_data, const runtime::Call& call);

  Result<bool> has_blob(const std::string& repository, const Descriptor& descriptor, const runtime::Call& call);
  /// Nothing is read when the registry has the blob, or can take it from `mount_from`, another of its repositories.
  Result<BlobPush> push_blob(const std::string& repository, const Descriptor& descriptor, const OpenBlob& open,
                             const std::string& mount_from, const runtime::Call& call);
  Status push_manifest(const std::string& repository, const std::string& tag_or_digest, std::string_view type,
                       std::string_view bytes, const runtime::Call& call);

 private:
  struct Transfer;
  struct Upload;
  RegistryClient(std::string registry, bool insecure, const RegistryOptions& options, net::HttpClient direct,
                 net::HttpClient following, runtime::Runtime& runtime);

  /// `progressed` says whether the last attempt got further.
  Status retry(const std::function<Status()>& attempt, const std::function<bool()>& progressed,
               const runtime::Call& call) {
    return try_patiently(options_.patience, registry_, options_.hooks, runtime_, call, attempt, progressed);
  }
  /// A request below /v2/, with authorization; a 401 is answered once with a new token. Any status is a success.
  Result<net::Response> send(net::Request request, const Scope& scope, const runtime::Call& call,
                             std::uint64_t body_bytes = 0);
  Result<net::Response> send_retrying(const net::Request& request, const Scope& scope, const runtime::Call& call);
  /// nullopt: the registry has no such interface.
  Result<std::optional<std::vector<Descriptor>>> list_referrers(const std::string& repository,
                                                                const codec::Digest& digest, const runtime::Call& call);
  Result<std::string> url(std::string_view repository, std::string_view kind, std::string_view name,
                          const runtime::Call& call);
  Status authorize(net::Request& request, const Scope& scope, const runtime::Call& call);
  Status fetch_once(const std::string& blob_url, const Scope& scope, Transfer& transfer, const runtime::Call& call);
  Result<Upload> start_upload(const std::string& repository, const Descriptor& descriptor,
                              const std::string& mount_from, const runtime::Call& call);
  Status upload(Upload& upload, const Descriptor& descriptor, codec::Source& content, const runtime::Call& call);
  Status upload_chunk(Upload& upload, std::string_view chunk, const runtime::Call& call);
  Status finish_upload(Upload& upload, const Descriptor& descriptor, std::string chunk, const runtime::Call& call);
  Error answer_error(const net::Response& response);
  net::CallOptions transfer_limits(std::uint64_t bytes, const runtime::Call& call);

  const std::string registry_;
  const RegistryOptions options_;
  const net::HttpClient direct_;     ///< follows no redirects: for what must be said by the registry itself
  const net::HttpClient following_;  ///< for manifests, blobs and uploads
  runtime::Runtime& runtime_;
  std::unique_ptr<RegistryAuth> auth_;
};

}  // namespace strake::oci
