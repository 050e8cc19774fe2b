#include <algorithm>

#include "base/text_table.h"
#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/release_input.h"
#include "cmd/input/sigstore_input.h"
#include "cmd/output/result_document.h"
#include "release/chain.h"

namespace strake::cmd {

namespace {

// In the order of release::LayerCheck and release::ArtifactCheck.
constexpr std::string_view kLayerCheckWords[] = {"all", "os", "none"};
constexpr std::string_view kArtifactCheckWords[] = {"none", "listed", "local", "all"};
enum class VerifyFormat { kText, kJson, kWide };
constexpr std::string_view kVerifyFormats[] = {"text", "json", "wide"};
constexpr std::string_view kVerificationKind = "ReleaseVerification";
constexpr ArgumentSpec kVerifiedRelease[] = {{"REF", kReleaseArgumentHelp}};
constexpr OptionSpec kReleaseVerifyOwnOptions[] = {
    kKeyringOption,
    kSignatureStoreOption,
    kAllowLocationOption,
    kFetchArtifactsOption,
    {"sigstore-key", "FILE", "PEM public key: a sigstore signature of this key has to lie beside the release image", "",
     kFileValue},
    {"sigstore-components", "", "with --sigstore-key: beside every component image too"},
    {"signed-as", "NAME", "with --sigstore-key: the name the release was signed under, where a mirror has another"},
    kSigstoreIdentityOption,
    {"layers", "WHICH", "layers to hash: all, os (OS images, extensions, machine-os-images) or none", "all",
     one_of(kLayerCheckWords)},
    {"artifacts", "WHICH",
     "boot artifacts: none, listed (their checksums are part of the release), local (hash those beside the release "
     "or in the cache), all (hash, download where needed)",
     "listed", one_of(kArtifactCheckWords)},
    {"o,output", "FORMAT", "text, json, or wide (text, and every image, layer and artifact with digest and size)",
     "text", one_of(kVerifyFormats)},
    kReleaseArchOption};
constexpr auto kReleaseVerifyOptions = join_options(kReleaseVerifyOwnOptions, kImageOptions);

Result<std::optional<release::SigstoreDemand>> sigstore_demand(const Invocation& invocation) {
  const std::string& file = invocation.value("sigstore-key");
  if (file.empty()) {
    if (invocation.is_set("sigstore-components") || invocation.has("signed-as") || invocation.has("identity")) {
      return error(Code::kInvalidArgument, "--sigstore-components, --signed-as and --identity go with --sigstore-key");
    }
    return std::optional<release::SigstoreDemand>();
  }
  STRAKE_TRY(oci::SigstoreKey key, read_sigstore_key(invocation));
  std::optional<release::SigstoreDemand> demand(std::in_place);
  demand->keys.push_back(std::move(key));
  STRAKE_TRY(demand->identity, read_sigstore_identity(invocation));
  demand->components = invocation.is_set("sigstore-components");
  demand->signed_as = invocation.value("signed-as");
  return demand;
}

void print_link(const release::ChainLink& link, Output& out) {
  out.text_in(Style::kGood, "ok");
  out.text(fmt::format("  {:<14}  {}  {}\n", link.kind, link.subject, link.proof));
}

json::Array texts(const std::vector<std::string>& list) { return json::Array(list.begin(), list.end()); }

json::Object item_json(const release::ChainItem& item) {
  json::Object object{{"link", item.link}, {"subject", item.subject}, {"digest", item.digest}};
  object["size"] = item.size ? json::Value(*item.size) : json::Value(nullptr);
  object["verdict"] = to_string(item.verdict);
  return object;
}

json::Object image_json(const release::ChainImage& image) {
  json::Array layers;
  for (const release::ChainItem& layer : image.layers) layers.push_back(item_json(layer));
  json::Object object = item_json(image.image);
  object["layers"] = std::move(layers);
  return object;
}

/// The chain as one architecture sees it.
struct SeenChain {
  std::string arch;
  release::ChainReport report;
  bool holds = false;
};

json::Object chain_body(const SeenChain& seen) {
  const release::ChainReport& report = seen.report;
  json::Array links, components, artifacts;
  for (const release::ChainLink& link : report.links) {
    links.push_back(json::Object{{"kind", link.kind}, {"subject", link.subject}, {"proof", link.proof}});
  }
  for (const release::ChainImage& component : report.components) components.push_back(image_json(component));
  for (const release::ChainItem& artifact : report.artifacts) artifacts.push_back(item_json(artifact));
  json::Object body{{"version", report.version},
                    {"digest", report.digest},
                    {"verified", seen.holds && !report.by_own_keyring},
                    {"trustedBy", !seen.holds ? "nobody" : (report.by_own_keyring ? "itself" : "keyring")},
                    {"ownKeyringOnly", report.by_own_keyring},
                    {"release", image_json(report.release)},
                    {"components", std::move(components)},
                    {"artifacts", std::move(artifacts)},
                    {"links", std::move(links)},
                    {"warnings", texts(report.warnings)},
                    {"notChecked", texts(report.not_checked)}};
  body["broken"] = report.broken ? json::Value(item_json(*report.broken)) : json::Value(nullptr);
  return body;
}

bool by_own_keyring_only(const std::vector<SeenChain>& all) {
  return std::any_of(all.begin(), all.end(), [](const SeenChain& seen) { return seen.report.by_own_keyring; });
}

json::Value chain_json(const std::vector<SeenChain>& all, bool several, const Status& outcome) {
  json::Object body;
  if (several) {
    json::Object architectures;
    for (const SeenChain& seen : all) architectures[seen.arch] = chain_body(seen);
    body["architectures"] = std::move(architectures);
  } else {
    body = chain_body(all.empty() ? SeenChain{} : all.front());
  }
  if (!outcome.ok()) return failure_document(kVerificationKind, outcome.error(), std::move(body));
  return result_document(kVerificationKind, by_own_keyring_only(all) ? kResultTrustedByItself : kResultOk,
                         std::move(body));
}

std::string wide_table(const release::ChainReport& report) {
  std::vector<std::vector<std::string>> rows{{"LINK", "SUBJECT", "DIGEST", "BYTES", "VERDICT"}};
  const auto add = [&](const release::ChainItem& item) {
    rows.push_back({item.link, item.subject, item.digest, item.size ? std::to_string(*item.size) : "-",
                    std::string(to_string(item.verdict))});
  };
  const auto add_image = [&](const release::ChainImage& image) {
    add(image.image);
    for (const release::ChainItem& layer : image.layers) add(layer);
  };
  add_image(report.release);
  for (const release::ChainImage& component : report.components) add_image(component);
  for (const release::ChainItem& artifact : report.artifacts) add(artifact);
  return align_columns(rows);
}

/// What could not be looked at does not break a chain.
std::string_view what_happened(const Error& failure) {
  constexpr std::string_view kMissing = "the chain cannot be followed to its end, as something is missing";
  if (failure.code() == Code::kCancelled) return "the chain was not followed to its end";
  switch (failure.verdict()) {
    case Verdict::kUnreachable: return "the chain cannot be followed to its end, as nobody answers";
    case Verdict::kAbsent:
    case Verdict::kBlocked: return kMissing;
    case Verdict::kNotGenuine:
    case Verdict::kNone: break;
  }
  return failure.code() == Code::kNotFound ? kMissing : "the chain breaks";
}

/// What was found out, for whoever asked; `outcome` says whether the chains hold.
Result<int> tell_chains(const Invocation& invocation, const std::vector<SeenChain>& all, const Status& outcome) {
  const auto format = invocation.choice<VerifyFormat>("output");
  const bool several = asks_for_every_arch(invocation);
  Output& out = invocation.out();
  for (const SeenChain& seen : all) {
    const release::ChainReport& report = seen.report;
    for (const std::string& warning : report.warnings) out.warn(warning);
    if (format == VerifyFormat::kJson) continue;
    if (format == VerifyFormat::kWide && !report.digest.empty()) out.text("\n" + wide_table(report) + "\n");
    if (!seen.holds) continue;
    for (const std::string& text : report.not_checked) out.text(fmt::format("--  not checked     {}\n", text));
    out.text(fmt::format("release {} {} {}is genuine as far as checked{}\n", report.version, report.digest,
                         several ? fmt::format("({}) ", seen.arch) : "",
                         report.by_own_keyring ? ", by its own keyring only" : ""));
  }
  if (format == VerifyFormat::kJson) out.document(json::write_pretty(chain_json(all, several, outcome)));
  if (!outcome.ok()) return outcome.error();
  return by_own_keyring_only(all) ? kExitOwnKeyring : kExitOk;
}

/// `all` has what is known, also when this fails.
Status verify_release(const Invocation& invocation, std::vector<SeenChain>& all) {
  STRAKE_TRY(const std::unique_ptr<ImageAccess> access, create_release_access(invocation));
  STRAKE_TRY(const auto place, open_release(*access, invocation.value("REF")));
  STRAKE_TRY(ReleaseDemand demand, signature_demand(invocation));
  STRAKE_TRY(net::ClientOptions client, foreign_client(invocation));
  STRAKE_TRY(const release::ArtifactDownloads downloads,
             release::ArtifactDownloads::create(access->runtime(), std::move(client), access->hooks()));
  STRAKE_TRY(const std::optional<release::SigstoreDemand> sigstore, sigstore_demand(invocation));
  release::ChainOptions options;
  options.layers = invocation.choice<release::LayerCheck>("layers");
  options.artifacts = invocation.choice<release::ArtifactCheck>("artifacts");
  options.signatures = demand.signatures;
  if (sigstore) options.sigstore = &*sigstore;
  if (may_fetch_artifacts(invocation, *place)) options.downloads = &downloads;
  options.cache = access->cache();
  if (invocation.choice<VerifyFormat>("output") != VerifyFormat::kJson) {
    options.on_link = [&](const release::ChainLink& link) { print_link(link, invocation.out()); };
  }
  STRAKE_TRY(const std::vector<oci::Platform> platforms, release_platforms_asked_for(invocation, *access, *place));
  options.other_platforms_too = asks_for_every_arch(invocation);
  for (const oci::Platform& platform : platforms) {
    SeenChain& seen = all.emplace_back(SeenChain{platform.architecture, {}, false});
    options.platform = platform;
    const Status outcome = release::verify_chain(*place, options, seen.report, access->runtime(), access->call());
    if (!outcome.ok()) return Error(outcome.error()).context(std::string(what_happened(outcome.error())));
    seen.holds = true;
  }
  return {};
}

Result<int> run_release_verify(const Invocation& invocation) {
  std::vector<SeenChain> all;
  const Status outcome = verify_release(invocation, all);
  return tell_chains(invocation, all, outcome);
}

constexpr ExitMeaning kReleaseVerifyExits[] = {
    {kExitOk, "verified, by a keyring of yours"},
    {kExitOwnKeyring, "verified, but only by the keyrings the release itself brings"},
    {kExitBlocked, "the release is not there, or no keyring was given and it brings none; the message says which"},
    kRegistryUnreachable,
    {kExitNotGenuine, "refused: the message names the link that broke"}};

}  // namespace

const CommandSpec kReleaseVerifyCommand{
    "release verify",
    "Check a release from its signature down to its boot images.",
    "The chain is: signature, release image, component images, their layers, boot artifacts. Each link is a digest "
    "that the one before it names; the first that breaks is named and nothing after it is looked at. What was not "
    "checked is said at the end. -o json has release, components, layers and artifacts with digest, size and verdict, "
    "also when the chain breaks, with --arch all one of them for each architecture; result is ok, trustedByItself, "
    "refused, absent, blocked, unreachable, interrupted or "
    "error.\n\n"
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
