// RegistrySource: the images of one repository, fetched from its mirrors or from itself.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "oci/image_source.h"
#include "oci/mirrors.h"
#include "oci/registry/registry_client.h"

namespace strake::oci {

/// One client a registry, shared by all that speak to it, so that connections and tokens are too.
class Registries {
 public:
  Registries(RegistryOptions options, MirrorRules rules, runtime::Runtime& runtime)
      : options_(std::move(options)), rules_(std::move(rules)), runtime_(runtime) {}

  Result<std::shared_ptr<RegistryClient>> client(const std::string& registry, bool insecure = false);
  /// What went wrong when nobody answered there; nullopt as long as nobody knows. A registry that is down is tried once
  /// a run, not once a blob.
  std::optional<Error> known_down(const std::string& registry) const;
  void note_down(const std::string& registry, const Error& why);
  /// Says once who serves a repository.
  void note_answer(const Reference& wanted, const Reference& place);
  const MirrorRules& rules() const { return rules_; }
  runtime::Runtime& runtime() const { return runtime_; }

 private:
  const RegistryOptions options_;
  const MirrorRules rules_;
  runtime::Runtime& runtime_;
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, bool>, std::shared_ptr<RegistryClient>> clients_;
  std::map<std::string, Error> down_;  ///< by registry
  std::set<std::string> answers_;      ///< those that were told
};

/// Places are tried in their order. The one that had a manifest is the first asked for what belongs to it, as the
/// container tools do it: a mirror for tags serves the config and layers too, and signatures lie where their image
/// does. A blob that breaks off at one place goes on at the next. A place that delivered something other than the
/// digest says is not asked for that blob again, and last for others.
class RegistrySource final : public ImageSource {
 public:
  /// Contacts nobody. `registries` must outlive the source and what it opened.
  static Result<std::unique_ptr<RegistrySource>> open(Reference reference, Registries& registries);
  ~RegistrySource() override;

  const Reference& reference() const;

  std::string description() const override;
  bool is_remote() const override { return true; }
  /// "" stands for the reference itself; else a tag or a digest of the same repository.
  Result<std::vector<Descriptor>> find_entries(std::string_view reference,
                                               const runtime::Call& call = {}) const override;
  Result<std::optional<Descriptor>> find_companion(std::string_view tag, const runtime::Call& call = {}) const override;
  /// Of the first place that knows any.
  Result<std::vector<Descriptor>> find_referrers(const codec::Digest& digest,
                                                 const runtime::Call& call = {}) const override;
  Result<std::unique_ptr<BlobSource>> open_blob(const Descriptor& descriptor,
                                                const runtime::Call& call = {}) const override;
  Status stream_blob(const Descriptor& descriptor, std::uint64_t offset, const OnData& on_data,
                     const runtime::Call& call = {}) const override;

 private:
  class State;
  Status reject_content(const Descriptor& descriptor, Error why) const override;
  explicit RegistrySource(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace strake::oci
