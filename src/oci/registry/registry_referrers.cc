// What refers to an image, as a registry lists it.
#include "net/url.h"
#include "oci/image_source.h"
#include "oci/registry/registry_client.h"
#include "oci/registry/registry_protocol.h"

namespace strake::oci {

namespace {

/// A list may come in parts; who attaches more than this is not attaching signatures.
constexpr int kMaxReferrerPages = 8;

/// How registries without the interface answer. The specification says 404; others were seen.
bool lacks_referrers(int status) { return status == 404 || status == 405 || status == 501; }

}  // namespace

Result<std::optional<std::vector<Descriptor>>> RegistryClient::list_referrers(const std::string& repository,
                                                                              const codec::Digest& digest,
                                                                              const runtime::Call& call) {
  net::Request request;
  STRAKE_TRY(request.url, url(repository, "referrers", digest.to_string(), call));
  request.headers.add("Accept", std::string(media_type::kOciIndex));
  request.headers.add("Accept-Encoding", "identity");
  std::vector<Descriptor> found;
  for (int page = 0; page < kMaxReferrerPages; ++page) {
    STRAKE_TRY(const net::Response answer, send_retrying(request, Scope{repository}, call));
    if (page == 0 && lacks_referrers(answer.status)) return std::optional<std::vector<Descriptor>>();
    if (answer.status != 200) return answer_error(answer);
    STRAKE_TRY(Index index, parse_index(answer.body));
    for (Descriptor& descriptor : index.manifests) found.push_back(std::move(descriptor));
    if (found.size() > kMaxIndexEntries) break;
    const std::optional<std::string> next = next_link(answer.headers.get("Link").value_or(""));
    if (!next) return std::optional(std::move(found));
    STRAKE_TRY(const net::Url here, net::parse_url(request.url));
    STRAKE_TRY(const net::Url there, net::resolve(here, *next));
    if (there.origin() != here.origin()) {
      return error(Code::kCorrupt, "the registry goes on with its list at another server ({})", there.redacted());
    }
    request.url = there.to_string();
  }
  return error(Code::kExhausted, "more than {} entries or {} pages refer to the image", kMaxIndexEntries,
               kMaxReferrerPages);
}

Result<std::vector<Descriptor>> RegistryClient::fetch_referrers(const std::string& repository,
                                                                const codec::Digest& digest,
                                                                const runtime::Call& call) {
  const auto fetch = [&]() -> Result<std::vector<Descriptor>> {
    STRAKE_TRY(std::optional<std::vector<Descriptor>> listed, list_referrers(repository, digest, call));
    if (!listed) {
      STRAKE_TRY(const FetchedManifest kept, fetch_manifest(repository, referrers_tag(digest), call));
      STRAKE_TRY(Index index, parse_index(kept.bytes, kept.descriptor.media_type));
      listed = std::move(index.manifests);
    }
    if (listed->empty()) {
      return error(Code::kNotFound, "nothing refers to the image").with_verdict(Verdict::kAbsent);
    }
    return *std::move(listed);
  };
  return fetch().context("what refers to {}/{}@{}", registry_, repository, digest.to_string());
}

Status RegistryClient::list_new_referrers(const std::string& repository, const codec::Digest& digest,
                                          std::vector<Descriptor> referrers, const runtime::Call& call) {
  const auto list = [&]() -> Status {
    STRAKE_TRY(const std::optional<std::vector<Descriptor>> known, list_referrers(repository, digest, call));
    if (known) return {};
    Index index;
    const Result<FetchedManifest> kept = fetch_manifest(repository, referrers_tag(digest), call);
    if (!kept.ok() && kept.error().code() != Code::kNotFound) return kept.error();
    if (kept.ok()) {
      STRAKE_TRY(index, parse_index(kept->bytes, kept->descriptor.media_type));
    }
    const std::size_t before = index.manifests.size();
    add_missing(index.manifests, std::move(referrers));
    if (index.manifests.size() == before) return {};
    return push_manifest(repository, referrers_tag(digest), media_type::kOciIndex, write_index(index.manifests), call);
  };
  return list().context("listing what refers to {}/{}@{}", registry_, repository, digest.to_string());
}

}  // namespace strake::oci
