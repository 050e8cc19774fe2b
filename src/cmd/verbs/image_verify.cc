#include <set>

#include "base/text.h"
#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/image_access.h"
#include "cmd/input/sigstore_input.h"
#include "cmd/output/format.h"
#include "cmd/output/result_document.h"
#include "oci/parallel.h"
#include "oci/sigstore/sigstore_check.h"

namespace strake::cmd {

namespace {

constexpr unsigned kParallelBlobs = 4;
constexpr std::string_view kImageVerifyKind = "ImageVerification";

constexpr ArgumentSpec kVerifiedImage[] = {{"REF", kImageArgumentHelp}};
enum class ImageLayers { kAll, kNone };
constexpr std::string_view kImageLayerWords[] = {"all", "none"};
constexpr OptionSpec kImageVerifyOwnOptions[] = {
    {"sigstore-key", "FILE", "PEM public key: a sigstore signature of this key has to be attached to the image", "",
     kFileValue},
    kSigstoreIdentityOption,
    {"signed-as", "NAME", "the name the image was signed under; needed for folders and archives, which give it none"},
    {"arch", "NAME",
     "of an image for several architectures: the signature of this one (amd64, arm64, ...), not that of the whole"},
    {"layers", "WHICH", "layers to hash: all or none", "all", one_of(kImageLayerWords)},
    kOutputOption};
constexpr auto kImageVerifyOptions = join_options(kImageVerifyOwnOptions, kImageOptions);

/// The name a signature has to fit.
Result<std::string> signed_name(const Invocation& invocation, const oci::ImageName& name,
                                const oci::SigstoreIdentity& identity) {
  if (const std::string& given = invocation.value("signed-as"); !given.empty()) {
    STRAKE_TRY_CONTEXT(const oci::Reference reference, oci::parse_reference(given), "--signed-as");
    return reference.to_string();
  }
  if (name.transport == oci::Transport::kRegistry) {
    STRAKE_TRY(oci::Reference reference, oci::parse_reference(name.place));
    if (reference.tag.empty() && !reference.digest) reference.tag = reference.tag_or_digest();
    return reference.to_string();
  }
  if (!identity.depends_on_name()) return std::string();
  return error(Code::kInvalidArgument,
               "{} does not say what its images are called: give --signed-as NAME, or --identity exactRepository=NAME",
               name.place);
}

struct ImageBlobs {
  std::set<codec::Digest> seen{};
  std::vector<oci::Descriptor> layers{};
  std::size_t images = 0;
};

/// The layers of an image, or of all images of an index; configs are checked on the way.
Status collect_blobs(const oci::ImageSource& source, const oci::Descriptor& entry, const runtime::Call& call,
                     ImageBlobs& blobs) {
  if (oci::is_index_type(entry.media_type)) {
    STRAKE_TRY(const std::string text, source.read_blob(entry, oci::kMaxManifestBytes, call));
    STRAKE_TRY(const oci::Index index, oci::parse_index(text, entry.media_type));
    for (const oci::Descriptor& inner : index.manifests) {
      if (oci::is_index_type(inner.media_type)) {
        return error(Code::kUnsupported, "index {} lists another index, {}; verify that one by its digest",
                     entry.digest.to_string(), inner.digest.to_string());
      }
      STRAKE_CHECK_OK(collect_blobs(source, inner, call, blobs).context("image {}", inner.digest.to_string()));
    }
    return {};
  }
  STRAKE_TRY(const oci::Manifest manifest, source.read_manifest(entry, call));
  STRAKE_CHECK_OK(source.verify_blob(manifest.config, call).context("config"));
  ++blobs.images;
  for (const oci::Descriptor& layer : manifest.layers) {
    if (blobs.seen.insert(layer.digest).second) blobs.layers.push_back(layer);
  }
  return {};
}

struct ImageVerdict {
  std::string name;
  std::optional<codec::Digest> digest = {};
  std::optional<oci::SigstoreProof> proof = {};
  ImageBlobs blobs = {};
};

Status verify_image(const Invocation& invocation, ImageAccess& access, ImageVerdict& verdict) {
  STRAKE_TRY(const oci::SigstoreIdentity identity, read_sigstore_identity(invocation));
  std::vector<oci::SigstoreKey> keys;
  STRAKE_TRY(oci::SigstoreKey key, read_sigstore_key(invocation));
  keys.push_back(std::move(key));
  STRAKE_TRY(const ImageAccess::Opened opened, access.open(invocation.value("REF")));
  STRAKE_TRY(verdict.name, signed_name(invocation, opened.name, identity));
  // A tag is asked for once: whatever it means later, what is verified is this.
  STRAKE_TRY(oci::Descriptor entry, blocked_when_absent(opened.source->find_entry(opened.reference, access.call())));
  if (invocation.has("arch")) {
    STRAKE_TRY(entry,
               blocked_when_absent(opened.source->resolve(entry.digest.to_string(), access.platform(), access.call())));
  }
  verdict.digest = entry.digest;
  STRAKE_TRY(verdict.proof,
             oci::check_sigstore(*opened.source, entry.digest, verdict.name, keys, identity, access.call()));
  STRAKE_CHECK_OK(collect_blobs(*opened.source, entry, access.call(), verdict.blobs));
  if (invocation.choice<ImageLayers>("layers") == ImageLayers::kNone) return {};
  return oci::for_each_in_parallel(
      access.runtime(), kParallelBlobs, verdict.blobs.layers.size(), access.call(),
      [&](std::size_t i, const runtime::Call& own) -> Status {
        const oci::Descriptor& layer = verdict.blobs.layers[i];
        return opened.source->verify_blob(layer, own).context("layer {}", layer.digest.to_string());
      });
}

json::Value verdict_json(const Invocation& invocation, const ImageVerdict& verdict, const Status& outcome) {
  json::Object body{{"image", invocation.value("REF")}};
  if (verdict.digest) body["digest"] = verdict.digest->to_string();
  if (verdict.proof) {
    body["signature"] =
        json::Object{{"signedAs", verdict.proof->statement.docker_reference}, {"foundAt", verdict.proof->found_at}};
  }
  if (!outcome.ok()) return failure_document(kImageVerifyKind, outcome.error(), std::move(body));
  json::Array layers;
  for (const oci::Descriptor& layer : verdict.blobs.layers) layers.push_back(layer.to_json());
  body["layers"] = std::move(layers);
  body["layersHashed"] = invocation.choice<ImageLayers>("layers") == ImageLayers::kAll;
  return result_document(kImageVerifyKind, kResultOk, std::move(body));
}

std::string verdict_text(const Invocation& invocation, const ImageVerdict& verdict) {
  std::uint64_t bytes = 0;
  for (const oci::Descriptor& layer : verdict.blobs.layers) bytes += layer.size;
  std::string text = fmt::format("ok  signature  signed as {}, {}\n", verdict.proof->statement.docker_reference,
                                 verdict.proof->found_at);
  const std::string layers =
      fmt::format("{} layers of {}{}", verdict.blobs.layers.size(), human_bytes(bytes),
                  verdict.blobs.images == 1 ? "" : fmt::format(" in {} images", verdict.blobs.images));
  text += invocation.choice<ImageLayers>("layers") == ImageLayers::kAll
              ? fmt::format("ok  content    manifest, config, {}\n", layers)
              : fmt::format("ok  content    manifest, config\n--  not hashed {}: --layers all does\n", layers);
  return text + fmt::format("{} is genuine\n", verdict.digest->to_string());
}

Result<int> run_image_verify(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  if (!invocation.has("sigstore-key")) {
    return error(Code::kInvalidArgument, "--sigstore-key FILE is missing: whose signature has the image to have?");
  }
  STRAKE_TRY(const std::unique_ptr<ImageAccess> access, ImageAccess::create(invocation));
  ImageVerdict verdict;
  const Status outcome = verify_image(invocation, *access, verdict);
  if (as_json) {
    invocation.out().document(json::write_pretty(verdict_json(invocation, verdict, outcome)));
  }
  if (!outcome.ok()) return outcome.error();
  if (!as_json) invocation.out().text(verdict_text(invocation, verdict));
  return kExitOk;
}

constexpr ExitMeaning kImageVerifyExits[] = {
    {kExitOk, "signed as demanded, and what was read is what was signed"},
    {kExitBlocked, "there is no such image or architecture"},
    kRegistryUnreachable,
    {kExitNotGenuine, "refused: no signature of this key for this name, or content that was changed"}};

}  // namespace

const CommandSpec kImageVerifyCommand{
    "image verify",
    "Check who signed a container image, and that it is what was signed.",
    "Looks for a sigstore signature of the key under the tag sha256-HEX.sig and among the image's referrers, checks "
    "that it is about this digest and this name, and hashes manifest, config and layers. A tag is read once: what was "
    "verified is the digest that is printed; use the image by it. Of an image for several architectures the signature "
    "of the whole counts; --arch asks for the one podman would demand on that architecture. Keys alone: no Fulcio, no "
    "Rekor.\n\n"
    "  strake image verify quay.io/org/os:4.20 --sigstore-key release.pub\n"
    "  strake image verify mirror.lan/org/os:4.20 --sigstore-key release.pub \\\n"
    "      --identity remapIdentity=mirror.lan=quay.io\n"
    "  strake image verify ./os.tar --sigstore-key release.pub --signed-as quay.io/org/os:4.20",
    kVerifiedImage,
    kImageVerifyOptions,
    run_image_verify,
    kImageVerifyExits};

}  // namespace strake::cmd
