#include "release/release_place.h"

namespace strake::release {

namespace {

/// Several tools record the full name of an image here when they write a layout.
constexpr std::string_view kImageNameAnnotation = "io.containerd.image.name";
constexpr std::string_view kUnnamedRepository = "localhost/release";
/// What the release image is called in a layout that holds the OS images too.
constexpr std::string_view kReleaseName = "release";

/// "registry.example.com/a/b:tag" without the tag; a colon before the last slash is a port.
std::string without_tag(std::string_view image_name) {
  image_name = image_name.substr(0, image_name.find('@'));
  const std::size_t colon = image_name.rfind(':');
  const std::size_t slash = image_name.rfind('/');
  if (colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash)) {
    image_name = image_name.substr(0, colon);
  }
  return std::string(image_name);
}

/// One error for both places. Where one of them could not be asked, nobody can say that the image is absent.
Error nowhere(const Error& at_home, const Error& by_name) {
  const Error& decisive = at_home.verdict() == Verdict::kUnreachable ? at_home : by_name;
  return error(decisive.code(), "neither beside the release: {}; nor under its own name: {}", at_home.to_string(),
               by_name.to_string())
      .with_verdict(decisive.verdict());
}

}  // namespace

ReleasePlace::ReleasePlace(std::unique_ptr<oci::ImageSource> home, std::string reference, std::string repository,
                           OpenRepository open_repository)
    : home_(std::move(home)),
      reference_(std::move(reference)),
      repository_(std::move(repository)),
      open_repository_(std::move(open_repository)) {}

ReleasePlace::~ReleasePlace() = default;

Result<std::unique_ptr<ReleasePlace>> ReleasePlace::in_registry(const oci::Reference& reference,
                                                                oci::Registries& registries) {
  STRAKE_TRY(std::unique_ptr<oci::ImageSource> home, oci::RegistrySource::open(reference, registries));
  const auto open = [&registries](const oci::Reference& other) -> Result<std::unique_ptr<oci::ImageSource>> {
    STRAKE_TRY(std::unique_ptr<oci::ImageSource> source, oci::RegistrySource::open(other, registries));
    return source;
  };
  auto place = std::make_unique<ReleasePlace>(std::move(home), "", reference.name(), open);
  place->is_local_ = false;
  place->is_complete_ = true;
  return place;
}

std::string ReleasePlace::description() const {
  return reference_.empty() ? home_->description() : fmt::format("'{}' in {}", reference_, home_->description());
}

Result<PlacedImage> ReleasePlace::find_release(const runtime::Call& call) const {
  {
    const std::scoped_lock lock(mutex_);
    if (release_) return *release_;
  }
  STRAKE_TRY(PlacedImage found, look_up_release(call));
  const std::scoped_lock lock(mutex_);
  if (!release_) release_ = std::move(found);
  return *release_;
}

Result<PlacedImage> ReleasePlace::look_up_release(const runtime::Call& call) const {
  Result<std::vector<oci::Descriptor>> entries = home_->find_entries(reference_, call);
  if (entries.ok() && reference_.empty() && entries->size() > 1) {
    // Several images and no name given: the one that is called so. When there is none, say what there is.
    entries = home_->find_entries(kReleaseName, call);
  }
  if (!entries.ok()) return std::move(entries).error();
  if (entries->size() == 1) return PlacedImage{home_.get(), std::move(entries->front())};
  return error(Code::kInvalidArgument, "{} has {} images that fit '{}'; name one by digest (it has: {})",
               home_->description(), entries->size(), reference_, oci::entry_names(*entries));
}

Result<const oci::ImageSource*> ReleasePlace::repository(const oci::Reference& reference) const {
  const std::string name = reference.name();
  const std::scoped_lock lock(mutex_);
  const auto known = repositories_.find(name);
  if (known != repositories_.end()) return known->second.get();
  STRAKE_TRY(std::unique_ptr<oci::ImageSource> opened, open_repository_(reference));
  return repositories_.emplace(name, std::move(opened)).first->second.get();
}

Result<PlacedImage> ReleasePlace::find_image(const std::string& pull_spec, Search search,
                                             const runtime::Call& call) const {
  STRAKE_TRY(const oci::Reference reference, oci::parse_reference(pull_spec));
  if (!reference.digest) return error(Code::kInvalidArgument, "{} is not by digest", pull_spec);
  const std::string digest = reference.digest->to_string();
  Result<std::vector<oci::Descriptor>> at_home = home_->find_entries(digest, call);
  if (at_home.ok()) return PlacedImage{home_.get(), std::move(at_home->front())};
  const bool go_on = oci::may_be_elsewhere(at_home.error()) && search == Search::kEverywhere && open_repository_;
  if (!go_on) return std::move(at_home).error();
  Result<PlacedImage> by_name = find_by_name(reference, call);
  if (by_name.ok() || !oci::may_be_elsewhere(by_name.error())) return by_name;
  return nowhere(at_home.error(), by_name.error());
}

Result<PlacedImage> ReleasePlace::find_by_name(const oci::Reference& reference, const runtime::Call& call) const {
  STRAKE_TRY(const oci::ImageSource* elsewhere, repository(reference));
  STRAKE_TRY(std::vector<oci::Descriptor> entries, elsewhere->find_entries(reference.digest->to_string(), call));
  return PlacedImage{elsewhere, std::move(entries.front())};
}

std::string ReleasePlace::repository_of(const oci::Descriptor& release) const {
  if (!repository_.empty()) return repository_;
  const auto name = release.annotations.find(std::string(kImageNameAnnotation));
  return name == release.annotations.end() ? std::string(kUnnamedRepository) : without_tag(name->second);
}

}  // namespace strake::release
