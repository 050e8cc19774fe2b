// Where a release lies, and where the images it names are looked for.
//
//   in a repository      in that repository first, as mirroring tools put everything into one; then under the name the
//                        release gives, by way of the mirror rules
//   a layout or archive  in it, and nowhere else: what was carried across an air gap must not reach out again
//   a mirror folder      in the layout of the repository the release names (mirror_folder.h)
//
// A place only says where; what is found is believed by digest alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "oci/registry/registry_source.h"

namespace strake::release {

struct PlacedImage {
  const oci::ImageSource* source = nullptr;  ///< valid as long as the place
  oci::Descriptor entry;                     ///< an index where the image has several platforms
};

/// How far to look: where the release itself lies, or also where its names point.
enum class Search { kHome, kEverywhere };

class ReleasePlace {
 public:
  /// Gives the source that holds a repository; kNotFound: there is none.
  using OpenRepository = std::function<Result<std::unique_ptr<oci::ImageSource>>(const oci::Reference& reference)>;

  /// `home` has the release image under `reference`. `repository`: what the release is called where it is pulled from;
  /// empty: what the entry says of itself. Without `open_repository` nothing is looked for outside of home.
  ReleasePlace(std::unique_ptr<oci::ImageSource> home, std::string reference, std::string repository = {},
               OpenRepository open_repository = {});
  ~ReleasePlace();

  /// `registries` must outlive the place.
  static Result<std::unique_ptr<ReleasePlace>> in_registry(const oci::Reference& reference,
                                                           oci::Registries& registries);

  const oci::ImageSource& home() const { return *home_; }
  const std::string& reference() const { return reference_; }
  std::string description() const;

  /// A name is looked up once: whoever asks again gets the image that was found first, wherever its tag points by then.
  /// So what is verified is what is read, copied and published.
  Result<PlacedImage> find_release(const runtime::Call& call) const;
  /// The image of a pull spec by digest. kNotFound when no place that may be asked has it; a place that cannot be
  /// reached or may not be asked does not end the search, and is named when the image is nowhere else either.
  Result<PlacedImage> find_image(const std::string& pull_spec, Search search, const runtime::Call& call) const;
  /// Whether reading everything costs no network.
  bool is_local() const { return is_local_; }
  /// Whether everything the release names has to be here: a mirror is not whole without.
  bool is_complete() const { return is_complete_; }
  void set_complete() { is_complete_ = true; }
  /// registry/repository by which the release image is pulled.
  std::string repository_of(const oci::Descriptor& release) const;

 private:
  Result<PlacedImage> look_up_release(const runtime::Call& call) const;
  Result<PlacedImage> find_by_name(const oci::Reference& reference, const runtime::Call& call) const;
  Result<const oci::ImageSource*> repository(const oci::Reference& reference) const;

  std::unique_ptr<oci::ImageSource> home_;
  std::string reference_;
  std::string repository_;
  OpenRepository open_repository_;
  bool is_local_ = true;
  bool is_complete_ = false;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::unique_ptr<oci::ImageSource>> repositories_;  ///< by registry/repository
  mutable std::optional<PlacedImage> release_;
};

}  // namespace strake::release
