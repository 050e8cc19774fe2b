#include "cmd/commands.h"
#include "cmd/connection.h"
#include "cmd/text_io.h"
#include "oci/layout.h"
#include "release/payload_report.h"
#include "release/signature.h"

namespace strake::cmd {

namespace {

using namespace std::chrono_literals;

constexpr ArgumentSpec kReleaseLayout[] = {{"OCIDIR", "OCI image layout that holds the release image"}};
constexpr OptionSpec kReleaseReference{"reference", "NAME", "the release image's name in the layout's index.json",
                                       "release"};
constexpr OptionSpec kReleaseInfoOptions[] = {kReleaseReference, kOutputOption};
constexpr OptionSpec kReleaseImagesOptions[] = {
    kReleaseReference, {"image-for", "NAME", "only the pull spec of this component"}, kOutputOption};
constexpr OptionSpec kReleaseVerifyOptions[] = {
    kReleaseReference,
    {"keyring", "FILE", "OpenPGP public keys, armoured or not; default: the keyrings the release itself names"},
    {"signatures", "PLACE",
     "signature store (http, https or file URL or a folder), ConfigMap or signature file; default: the stores the "
     "release names"},
    {"ca", "FILE", "PEM certificates to trust besides those of this machine"},
    kOutputOption};

Result<release::ReleasePayload> read_release(const Invocation& invocation) {
  STRAKE_TRY(const oci::Layout layout, oci::Layout::open(invocation.value("OCIDIR")));
  return release::read_payload(layout, invocation.value("reference"));
}

Result<int> run_release_info(const Invocation& invocation) {
  STRAKE_TRY(const bool as_json, wants_json(invocation));
  STRAKE_TRY(const release::ReleasePayload payload, read_release(invocation));
  print(as_json ? json::write_pretty(release::release_json(payload)) : release::describe_release(payload));
  return kExitOk;
}

Result<int> run_release_images(const Invocation& invocation) {
  STRAKE_TRY(const bool as_json, wants_json(invocation));
  STRAKE_TRY(const release::ReleasePayload payload, read_release(invocation));
  const std::string& wanted = invocation.value("image-for");
  if (wanted.empty()) {
    print(as_json ? json::write_pretty(release::components_json(payload)) : release::describe_components(payload));
    return kExitOk;
  }
  const auto found = payload.components.find(wanted);
  if (found == payload.components.end()) {
    return error(Code::kNotFound, "release {} has no component {} (it has: {})", payload.version, wanted,
                 release::names_in(payload.components))
        .with_reason("Blocked");
  }
  print(found->second.pull_spec + "\n");
  return kExitOk;
}

Result<release::SignatureTrust> signature_trust(const Invocation& invocation, const release::ReleasePayload& payload) {
  const std::string& keyring_file = invocation.value("keyring");
  const std::string& place = invocation.value("signatures");
  release::SignatureTrust trust;
  if (keyring_file.empty() || place.empty()) {
    STRAKE_TRY(trust, release::trust_of_manifests(payload.manifests));
  }
  if (!keyring_file.empty()) {
    STRAKE_TRY(const std::string text, read_text_input(keyring_file, release::kMaxKeyringBytes));
    STRAKE_TRY(release::Keyring keyring, release::parse_keyring(shown_path(keyring_file), text));
    trust.keyrings.clear();
    trust.keyrings.push_back(std::move(keyring));
  }
  if (!place.empty()) trust.stores = {place};
  return trust;
}

Result<release::SignatureSearch> search_signatures(const Invocation& invocation, const std::vector<std::string>& places,
                                                   const codec::Digest& digest) {
  net::ClientOptions options;
  options.ca_file = invocation.value("ca");
  options.also_trust_system_roots = true;
  STRAKE_TRY(const release::UrlReader reader, release::UrlReader::create(std::move(options)));
  net::CallOptions call;
  call.timeout = 30s;
  call.stop = invocation.stop;
  release::SignatureSearch search;
  for (const std::string& place : places) {
    const bool is_url = place.find("://") != std::string::npos;
    STRAKE_TRY(release::SignatureSearch found, is_url ? release::search_store(reader, place, digest, call)
                                                      : release::search_path(reader, place, digest));
    search.append(std::move(found));
  }
  return search;
}

json::Value verdict_json(const release::ReleasePayload& payload, const release::SignatureVerdict& verdict) {
  json::Array signatures;
  for (const release::AcceptedSignature& accepted : verdict.accepted) {
    signatures.push_back(json::Object{{"keyring", accepted.keyring},
                                      {"source", accepted.source},
                                      {"key", accepted.key_fingerprint},
                                      {"keyExpired", accepted.key_expired},
                                      {"dockerReference", accepted.payload.docker_reference}});
  }
  return json::Object{{"version", payload.version},
                      {"digest", payload.digest.to_string()},
                      {"signatures", std::move(signatures)},
                      {"warnings", json::Array(verdict.warnings.begin(), verdict.warnings.end())}};
}

Result<int> run_release_verify(const Invocation& invocation) {
  STRAKE_TRY(const bool as_json, wants_json(invocation));
  STRAKE_TRY(const release::ReleasePayload payload, read_release(invocation));
  STRAKE_TRY(const release::SignatureTrust trust, signature_trust(invocation, payload));
  STRAKE_TRY(const release::SignatureSearch search, search_signatures(invocation, trust.stores, payload.digest));
  STRAKE_TRY(
      const release::SignatureVerdict verdict,
      release::verify_signatures(payload.digest, trust.keyrings, search, release::SignatureChecker(), invocation.stop));
  for (const std::string& warning : verdict.warnings) warn(warning);
  if (as_json) {
    print(json::write_pretty(verdict_json(payload, verdict)));
    return kExitOk;
  }
  print(fmt::format("release {} {}\n", payload.version, payload.digest.to_string()));
  for (const release::AcceptedSignature& accepted : verdict.accepted) {
    print(fmt::format("signed for keyring {} by key {}: {}\n", accepted.keyring, accepted.key_fingerprint,
                      accepted.source));
  }
  return kExitOk;
}

}  // namespace

const CommandSpec kReleaseInfoCommand{"release info",
                                      "Show a release: version, digest, OS images, boot images.",
                                      "Every layer of the release image, and of its OS images that lie in the same "
                                      "layout, is hashed to its end first. -o "
                                      "json has the members of\n"
                                      "`oc adm release info -o json` (image, digest, metadata, references, "
                                      "displayVersions) and defaultStream, osStreams and "
                                      "bootImages.\n\n"
                                      "  strake release info ./release -o json | jq -r .metadata.version\n\n"
                                      "Exit codes: 0 shown, 1 error.",
                                      kReleaseLayout,
                                      kReleaseInfoOptions,
                                      run_release_info};

const CommandSpec kReleaseImagesCommand{"release images",
                                        "List the component images of a release, by digest.",
                                        "  strake release images ./release --image-for rhel-coreos\n\n"
                                        "Exit codes: 0 listed, 3 there is no such component (the message names those "
                                        "there are), 1 error.",
                                        kReleaseLayout,
                                        kReleaseImagesOptions,
                                        run_release_images};

const CommandSpec kReleaseVerifyCommand{
    "release verify",
    "Check every byte of a release and its OpenPGP signatures.",
    "For every keyring there must be one good signature of the release image's digest, as clusters demand it before an "
    "upgrade. A release's own word\n"
    "about whose keyrings and stores count is only as good as the place it came from: give --keyring when you have "
    "one. "
    "An expired key is a warning.\n"
    "Needs the program gpgv.\n\n"
    "  strake release verify ./release --keyring release.asc --signatures ./signatures\n\n"
    "Exit codes: 0 verified, 1 refused (the message names the link that broke) or error.",
    kReleaseLayout,
    kReleaseVerifyOptions,
    run_release_verify};

}  // namespace strake::cmd
