#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/release_input.h"
#include "cmd/input/text_input.h"
#include "cmd/output/format.h"
#include "release/chain.h"

namespace strake::cmd {

namespace {

constexpr std::size_t kMaxSigstoreKeyBytes = 64u << 10;

// In the order of release::LayerCheck and release::ArtifactCheck.
constexpr std::string_view kLayerCheckWords[] = {"all", "os", "none"};
constexpr std::string_view kArtifactCheckWords[] = {"none", "listed", "local", "all"};
constexpr ArgumentSpec kVerifiedRelease[] = {{"REF", kReleaseArgumentHelp}};
constexpr OptionSpec kReleaseVerifyOwnOptions[] = {
    kKeyringOption,
    kSignatureStoreOption,
    {"sigstore-key", "FILE", "PEM public key: a sigstore signature of this key has to lie beside the release image", "",
     kFileValue},
    {"sigstore-components", "", "with --sigstore-key: beside every component image too"},
    {"signed-as", "NAME", "with --sigstore-key: the name the release was signed under, where a mirror has another"},
    {"layers", "WHICH", "layers to hash: all, os (OS images, extensions, machine-os-images) or none", "all",
     one_of(kLayerCheckWords)},
    {"artifacts", "WHICH",
     "boot artifacts: none, listed (their checksums are part of the release), local (hash those beside the release "
     "or in the cache), all (hash, download where needed)",
     "listed", one_of(kArtifactCheckWords)},
    kOutputOption,
    kImageArchOption};
constexpr auto kReleaseVerifyOptions = join_options(kReleaseVerifyOwnOptions, kImageOptions);

Result<std::optional<release::SigstoreDemand>> sigstore_demand(const Invocation& invocation) {
  const std::string& file = invocation.value("sigstore-key");
  if (file.empty()) {
    if (invocation.is_set("sigstore-components") || !invocation.value("signed-as").empty()) {
      return error(Code::kInvalidArgument, "--sigstore-components and --signed-as go with --sigstore-key");
    }
    return std::optional<release::SigstoreDemand>();
  }
  STRAKE_TRY(const std::string pem, read_text_input(file, kMaxSigstoreKeyBytes));
  STRAKE_TRY_CONTEXT(oci::SigstoreKey key, oci::SigstoreKey::parse(pem), "--sigstore-key {}", shown_path(file));
  std::optional<release::SigstoreDemand> demand(std::in_place);
  demand->keys.push_back(std::move(key));
  demand->components = invocation.is_set("sigstore-components");
  demand->signed_as = invocation.value("signed-as");
  return demand;
}

void print_link(const release::ChainLink& link, Output& out) {
  out.text_in(Style::kGood, "ok");
  out.text(fmt::format("  {:<14}  {}  {}\n", link.kind, link.subject, link.proof));
}

json::Array texts(const std::vector<std::string>& list) { return json::Array(list.begin(), list.end()); }

json::Value chain_json(const release::ChainReport& report, const Status& outcome) {
  json::Array links;
  for (const release::ChainLink& link : report.links) {
    links.push_back(json::Object{{"kind", link.kind}, {"subject", link.subject}, {"proof", link.proof}});
  }
  json::Object object{{"version", report.version},
                      {"digest", report.digest},
                      {"verified", outcome.ok()},
                      {"ownKeyringOnly", report.by_own_keyring},
                      {"links", std::move(links)},
                      {"warnings", texts(report.warnings)},
                      {"notChecked", texts(report.not_checked)}};
  if (!outcome.ok()) object["broken"] = outcome.error().to_string();
  return object;
}

Result<int> run_release_verify(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  STRAKE_TRY(const std::unique_ptr<ImageAccess> access, ImageAccess::create(invocation));
  STRAKE_TRY(const auto place, open_release(*access, invocation.value("REF")));
  STRAKE_TRY(const release::UrlReader reader, release::UrlReader::create(download_client(invocation)));
  STRAKE_TRY(const release::ArtifactDownloads downloads,
             release::ArtifactDownloads::create(download_client(invocation)));
  STRAKE_TRY(const std::optional<release::SigstoreDemand> sigstore, sigstore_demand(invocation));
  release::ChainOptions options;
  options.platform = access->platform();
  options.layers = invocation.choice<release::LayerCheck>("layers");
  options.artifacts = invocation.choice<release::ArtifactCheck>("artifacts");
  STRAKE_TRY(options.signatures, signature_demand(invocation, reader));
  if (sigstore) options.sigstore = &*sigstore;
  options.downloads = &downloads;
  options.cache = access->cache();
  if (!as_json) options.on_link = [&](const release::ChainLink& link) { print_link(link, invocation.out()); };
  release::ChainReport report;
  const Status outcome = release::verify_chain(*place, options, report, access->runtime(), access->call());
  for (const std::string& warning : report.warnings) invocation.out().warn(warning);
  if (as_json) invocation.out().document(json::write_pretty(chain_json(report, outcome)));
  if (!outcome.ok()) return Error(outcome.error()).context("the chain breaks");
  if (!as_json) {
    for (const std::string& text : report.not_checked) {
      invocation.out().text(fmt::format("--  not checked     {}\n", text));
    }
    invocation.out().text(fmt::format("release {} {} is genuine as far as checked{}\n", report.version, report.digest,
                                      report.by_own_keyring ? ", by its own keyring only" : ""));
  }
  return report.by_own_keyring ? kExitOwnKeyring : kExitOk;
}

constexpr ExitMeaning kReleaseVerifyExits[] = {
    {kExitOk, "verified, by a keyring of yours"},
    {kExitOwnKeyring, "verified, but only by the keyrings the release itself brings"},
    kRegistryUnreachable,
    {kExitNotGenuine, "refused: the message names the link that broke"}};

}  // namespace

const CommandSpec kReleaseVerifyCommand{
    "release verify",
    "Check a release from its signature down to its boot images.",
    "The chain is: signature, release image, component images, their layers, boot artifacts. Each link is a digest "
    "that the one before it names; the first that breaks is named and nothing after it is looked at. What was not "
    "checked is said at the end.\n\n"
    "For every keyring there must be one good signature of the release image's digest, as clusters demand it before an "
    "upgrade. Keyrings and stores the release names itself are only as good as the place it came from: give --keyring "
    "when you have one. An expired key is a warning. Needs gpgv. Components are looked for where the release is, then "
    "where the release says (mirror sets and registries.conf count); those that a layout or archive does not have are "
    "reported and not fetched.\n\n"
    "  strake release verify registry.example.com/ocp/release:4.21.0-x86_64 --keyring release.asc\n"
    "  strake release verify ./mirror --keyring release.asc --artifacts local",
    kVerifiedRelease,
    kReleaseVerifyOptions,
    run_release_verify,
    kReleaseVerifyExits};

}  // namespace strake::cmd
