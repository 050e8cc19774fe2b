#include "cmd/input/image_access.h"

#include "cmd/input/text_input.h"
#include "codec/yaml.h"

namespace strake::cmd {

namespace {

constexpr std::size_t kMaxMirrorSetBytes = 8u << 20;
constexpr std::chrono::seconds kTagCheck{5};

Result<oci::MirrorRules> read_mirror_sets(const std::string& file) {
  STRAKE_TRY(const std::string text, read_text_input(file, kMaxMirrorSetBytes));
  STRAKE_TRY(const auto documents, yaml::parse_stream(text));
  std::vector<json::Value> objects;
  // `strake release mirror` prints a ConfigMap with them; what is no mirror set says nothing about mirrors.
  for (const yaml::Document& document : documents) {
    if (oci::is_mirror_set(document.value)) objects.push_back(document.value);
  }
  if (objects.empty()) {
    return error(Code::kInvalidArgument,
                 "no ImageDigestMirrorSet, ImageTagMirrorSet or ImageContentSourcePolicy is in it");
  }
  return oci::rules_from_mirror_sets(objects);
}

Result<oci::MirrorRules> mirror_rules(const Invocation& invocation) {
  oci::MirrorRules rules;
  if (const std::string& conf = invocation.value("registries-conf"); !conf.empty()) {
    // Not load_registries_conf(): a file the user names has to be there.
    STRAKE_TRY(const std::string text, read_text_input(conf, kMaxMirrorSetBytes));
    STRAKE_TRY_CONTEXT(rules, oci::parse_registries_conf(text), "--registries-conf {}", shown_path(conf));
  } else {
    STRAKE_TRY(rules, oci::load_registries_conf_of_process());
  }
  const std::string& sets = invocation.value("mirror-sets");
  if (!sets.empty()) {
    STRAKE_TRY_CONTEXT(oci::MirrorRules own, read_mirror_sets(sets), "--mirror-sets {}", shown_path(sets));
    rules.override_with(std::move(own));
  }
  return rules;
}

oci::RegistryOptions registry_options(const Invocation& invocation) {
  oci::RegistryOptions options = oci::registry_options_from_process();
  options.trust.certificate_authority = invocation.value("certificate-authority");
  if (const std::string& file = invocation.value("authfile"); !file.empty()) {
    options.credentials.files = {file};
    options.credentials.files_required = true;
  }
  return options;
}

}  // namespace

std::string go_architecture(std::string_view name) {
  if (name.empty() || name == "x86_64") return "amd64";
  if (name == "aarch64") return "arm64";
  return std::string(name);
}

Result<std::unique_ptr<ImageAccess>> ImageAccess::create(const Invocation& invocation) {
  std::unique_ptr<ImageAccess> access(new ImageAccess(invocation));
  STRAKE_TRY(oci::MirrorRules rules, mirror_rules(invocation));
  oci::RegistryOptions registry = registry_options(invocation);
  registry.hooks = access->hooks();
  access->registries_ = std::make_unique<oci::Registries>(std::move(registry), std::move(rules), access->runtime_);
  if (invocation.has("arch")) access->platform_.architecture = go_architecture(invocation.value("arch"));
  const std::string& directory = invocation.value("cache");
  if (invocation.is_set("no-cache")) {
    if (!directory.empty()) return error(Code::kInvalidArgument, "--cache and --no-cache exclude each other");
    return access;
  }
  oci::CacheOptions options{directory};
  if (directory.empty()) {
    STRAKE_TRY(options.directory, oci::default_cache_directory());
  }
  STRAKE_TRY_CONTEXT(access->cache_, oci::BlobCache::open(std::move(options), access->runtime_),
                     "opening the cache (--no-cache does without one)");
  return access;
}

oci::TransferHooks ImageAccess::hooks() {
  oci::TransferHooks hooks;
  hooks.on_bytes = [this](std::string_view item, std::uint64_t position, std::uint64_t size) {
    progress_.moved(item, position, size);
  };
  hooks.on_wait = [this](std::string_view text) { out_.progress(text); };
  if (verbose_) hooks.on_detail = [this](std::string_view text) { out_.progress(text); };
  return hooks;
}

Result<ImageAccess::Opened> ImageAccess::open(std::string_view image) {
  STRAKE_TRY(oci::ImageName name, oci::find_image_name(image));
  STRAKE_TRY(oci::OpenedImage opened, oci::open_image(name, *registries_));
  if (name.transport == oci::Transport::kRegistry) {
    STRAKE_TRY(const oci::Reference reference, oci::parse_reference(name.place));
    warn_about(image, reference, *opened.source);
  }
  opened_.push_back(std::move(opened.source));
  return Opened{opened_.back().get(), std::move(opened.reference), std::move(name)};
}

void ImageAccess::warn_about(std::string_view text, const oci::Reference& reference, const oci::ImageSource& source) {
  constexpr std::string_view kDockerTransport = "docker://";
  if (!text.starts_with(kDockerTransport) && !oci::names_its_registry(text)) {
    out_.warn(fmt::format("'{0}' names no registry: {1} is meant (a file or folder is written ./{0})", text,
                          reference.to_string()));
  }
  if (reference.tag.empty() || !reference.digest) return;
  // Nobody waits long for an answer that only leads to a warning.
  const runtime::Call call = runtime_.call_within(kTagCheck, stop_);
  const Result<oci::Descriptor> tagged = source.find_entry(reference.tag, call);
  if (!tagged.ok() || tagged->digest == *reference.digest) return;
  out_.warn(fmt::format("tag {} of {} is another image, {}; the digest counts: {}", reference.tag, reference.name(),
                        tagged->digest.to_string(), reference.digest->to_string()));
}

}  // namespace strake::cmd
