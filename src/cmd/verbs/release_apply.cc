#include "api/kinds.h"
#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/release_input.h"
#include "cmd/version.h"
#include "kube/events.h"
#include "release/publish.h"

namespace strake::cmd {

namespace {

constexpr ArgumentSpec kAppliedRelease[] = {{"REF", kReleaseArgumentHelp}};
constexpr OptionSpec kReleaseApplyOwnOptions[] = {
    {"keyring", "FILE",
     "OpenPGP public keys, one of which has to have signed; default: the keyrings the cluster keeps (release trust)",
     "", kFileValue},
    kSignatureStoreOption,
    kAllowLocationOption,
    {"unsigned", "", "take the release without a signature; this is recorded in the cluster"},
    {"allow-downgrade", "", "go back to a release older than the present one, not behind the one installed first"},
    kKubeconfigOption,
    kContextOption,
    kTimeoutOption,
    kImageArchOption};
constexpr auto kReleaseApplyOptions = join_options(kReleaseApplyOwnOptions, kImageOptions);

Result<release::ProvenRelease> read_applied(const Invocation& invocation, ImageAccess& access, kube::KubeApi& api,
                                            const kube::Call& call) {
  if (invocation.is_set("unsigned") && (invocation.has("keyring") || invocation.has("signature-store"))) {
    return error(Code::kInvalidArgument,
                 "--unsigned asks for no signature: it excludes --keyring and --signature-store");
  }
  STRAKE_TRY(ReleaseDemand whole, signature_demand(invocation));
  release::SignatureDemand& demand = whole.signatures;
  if (demand.keyrings.empty() && !invocation.is_set("unsigned")) {
    STRAKE_TRY(release::Keyring kept,
               kept_keyring_of(api, call,
                               "keep one with `strake release trust add NAME FILE`, give --keyring FILE, or take the "
                               "release as it is with --unsigned"));
    demand.keyrings.push_back(std::move(kept));
  }
  STRAKE_TRY(const auto place, open_release(access, invocation.value("REF")));
  if (invocation.is_set("unsigned")) {
    STRAKE_TRY(release::ReleasePayload payload, read_release(access, *place, release::OsImageCheck::kLayers));
    invocation.out().warn(
        fmt::format("release {} is taken unsigned: nobody vouches for what the nodes will run", payload.version));
    return release::ProvenRelease::accept_unsigned(std::move(payload));
  }
  return release::read_proven_release(*place, release_reading(access, *place, release::OsImageCheck::kLayers), demand,
                                      access.runtime(), access.call());
}

/// Told where administrators look for what happened; the condition on ControllerConfig stays.
void tell_unsigned(runtime::Runtime& runtime, kube::KubeApi& api, const std::string& version, const kube::Call& call) {
  const auto config = api.get(api::kControllerConfig, {"", std::string(api::kControllerConfigName)}, call);
  if (!config.ok()) return;
  kube::EventRecorderOptions options;
  options.component = "strake-release";
  kube::EventRecorder recorder(runtime, api, options);
  recorder.start();
  recorder.record(*config, kube::EventType::kWarning, "UnsignedRelease",
                  fmt::format("release {} was applied with --unsigned", version));
  (void)recorder.flush(call);
  recorder.stop();
}

Result<int> run_release_apply(const Invocation& invocation) {
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  STRAKE_TRY(const std::unique_ptr<ImageAccess> access, ImageAccess::create(invocation));
  STRAKE_TRY(const release::ProvenRelease proven,
             read_applied(invocation, *access, *api, cluster_call(runtime, invocation)));
  for (const std::string& warning : proven.warnings()) invocation.out().warn(warning);
  const std::string& version = proven.payload().version;
  const release::Publisher publisher{std::string(kVersion), runtime.wall_now(), invocation.is_set("allow-downgrade")};
  // Reading an image may take longer than the server is given for what is asked of it.
  const kube::Call call = cluster_call(runtime, invocation);
  STRAKE_TRY(const auto steps, release::publish(*api, proven, publisher, call));
  if (!proven.proof().is_signed()) tell_unsigned(runtime, *api, version, call);
  invocation.out().text(
      fmt::format("release {} applied, {}: {} objects written\n", version, proven.proof().record(), steps.size()));
  return kExitOk;
}

constexpr ExitMeaning kReleaseApplyExits[] = {
    {kExitOk, "applied"},
    {kExitBlocked,
     "no keyring is known, the release is older than the cluster may go, or it is not there; the message says which"},
    kServerOrRegistryUnreachable,
    {kExitNotGenuine, "refused: not signed as demanded, or content is not what its digest promises"}};

}  // namespace

const CommandSpec kReleaseApplyCommand{
    "release apply",
    "Publish a signed release to the cluster: OS image, base MachineConfigs, boot image data.",
    "The release has to be signed by a key of a keyring you gave: with --keyring, or with `strake release trust add` "
    "beforehand. Keyrings the release names itself do not count. A tag is looked up once, and what is published is the "
    "digest whose signature was checked. Who signed is kept in the annotation strake.dev/release-signature and the "
    "condition ReleaseSigned of the ControllerConfig, and `strake plan` shows it; so is that a release was taken with "
    "--unsigned. An older release than the present one needs --allow-downgrade; one older than the first is "
    "refused.\n\n"
    "Every layer of the release and of the OS images that lie beside it is hashed to its end before anything of it is "
    "used; a wrong byte stops the command and nothing is written. Repeating it is safe: what is already there is left "
    "alone. Pools are rendered and nodes follow by themselves; `strake plan` shows what will happen to each node.\n\n"
    "  strake release trust add vendor ./release-key.asc\n"
    "  strake release apply registry.example.com/ocp/release:4.21.0-x86_64\n"
    "  strake release apply ./release.tar --keyring ./release-key.asc",
    kAppliedRelease,
    kReleaseApplyOptions,
    run_release_apply,
    kReleaseApplyExits};

}  // namespace strake::cmd
