#include "oci/registry/registry_source.h"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include "oci/blob_pipe.h"

namespace strake::oci {

namespace {

/// Documents kept in memory, so that resolving and then reading costs one request.
constexpr std::size_t kMaxKeptDocuments = 64;

/// Whether another place may do better: not after a cancellation, nor when our own side failed.
bool may_try_elsewhere(const Error& error) {
  return error.code() != Code::kCancelled && error.code() != Code::kIo && error.code() != Code::kInternal;
}

bool is_document(const Descriptor& descriptor) {
  return is_index_type(descriptor.media_type) || is_manifest_type(descriptor.media_type);
}

/// One error for all places. Wrong content outweighs everything: what was tampered with must not look as if it were
/// merely absent. Else the class is that of the last, which is the source itself where that may be asked.
Error all_failed(std::vector<Error> failures, const Reference& reference) {
  if (failures.size() == 1) return std::move(failures.front());
  std::vector<std::string> texts;
  for (const Error& failure : failures) texts.push_back(failure.to_string());
  const bool wrong_content = std::any_of(failures.begin(), failures.end(),
                                         [](const Error& failure) { return failure.code() == Code::kCorrupt; });
  const bool not_genuine = std::any_of(failures.begin(), failures.end(),
                                       [](const Error& failure) { return failure.verdict() == Verdict::kNotGenuine; });
  return error(wrong_content ? Code::kCorrupt : failures.back().code(),
               "none of the {} places to fetch {} from has it: {}", failures.size(), reference.to_string(),
               fmt::join(texts, "; "))
      .with_verdict(not_genuine ? Verdict::kNotGenuine : failures.back().verdict());
}

}  // namespace

Result<std::shared_ptr<RegistryClient>> Registries::client(const std::string& registry, bool insecure) {
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<RegistryClient>& known = clients_[{registry, insecure}];
  if (!known) {
    STRAKE_TRY(known, RegistryClient::create(registry, insecure, options_, runtime_));
  }
  return known;
}

class RegistrySource::State {
 public:
  State(Reference reference, Registries& registries) : reference_(std::move(reference)), registries_(registries) {}

  const Reference& reference() const { return reference_; }
  runtime::Runtime& runtime() const { return registries_.runtime(); }

  Result<Descriptor> find(const Reference& wanted, const runtime::Call& call) {
    STRAKE_TRY(FetchedManifest fetched, fetch_document(wanted, call));
    const std::scoped_lock lock(mutex_);
    if (documents_.size() >= kMaxKeptDocuments) documents_.clear();
    documents_.insert_or_assign(fetched.descriptor.digest, std::move(fetched.bytes));
    return fetched.descriptor;
  }

  Result<std::string> document(const Descriptor& descriptor, const runtime::Call& call) {
    {
      const std::scoped_lock lock(mutex_);
      if (const auto kept = documents_.find(descriptor.digest); kept != documents_.end()) return kept->second;
    }
    STRAKE_TRY(FetchedManifest fetched, fetch_document(by_digest(descriptor.digest), call));
    return std::move(fetched.bytes);
  }

  Status stream(const Descriptor& descriptor, std::uint64_t offset, const OnData& on_data, const runtime::Call& call) {
    {
      const std::scoped_lock lock(mutex_);
      began_at_.erase(descriptor.digest);
    }
    return at_each_place(by_digest(descriptor.digest), [&](RegistryClient& client, const Reference& place) -> Status {
      const OnData count = [&](std::string_view data) -> Status {
        if (offset == 0) {
          const std::scoped_lock lock(mutex_);
          began_at_.insert_or_assign(descriptor.digest, place.name());
        }
        offset += data.size();
        return on_data(data);
      };
      return client.fetch_blob(place.repository, descriptor, offset, count, call);
    });
  }

  /// Of a blob that came from several places, as it broke off, the first is the suspect; the next attempt shows.
  Status reject(const Descriptor& descriptor, Error why) {
    const Reference wanted = by_digest(descriptor.digest);
    STRAKE_TRY(const std::vector<Place> places, places_to_try(registries_.rules(), wanted));
    const std::scoped_lock lock(mutex_);
    const auto began = began_at_.find(descriptor.digest);
    if (began == began_at_.end()) return why;
    Rejected& rejected = rejected_[descriptor.digest];
    rejected.insert_or_assign(began->second, std::move(why).context(fmt::format("from {}", began->second)));
    distrusted_.insert(began->second);
    began_at_.erase(began);
    if (rejected.size() < places.size()) return {};
    std::vector<Error> failures;
    for (auto& [place, failure] : rejected) failures.push_back(std::move(failure));
    rejected_.erase(descriptor.digest);  // whoever asks later asks anew
    return all_failed(std::move(failures), wanted);
  }

 private:
  Reference by_digest(const codec::Digest& digest) const {
    return Reference{reference_.registry, reference_.repository, reference_.tag, digest};
  }

  Result<FetchedManifest> fetch_document(const Reference& wanted, const runtime::Call& call) {
    std::optional<FetchedManifest> found;
    STRAKE_CHECK_OK(at_each_place(wanted, [&](RegistryClient& client, const Reference& place) -> Status {
      STRAKE_TRY(found, client.fetch_manifest(place.repository, place.tag_or_digest(), call));
      return {};
    }));
    return *std::move(found);
  }

  /// The place that had something last comes first, one that delivered wrong content last.
  Status at_each_place(const Reference& wanted,
                       const std::function<Status(RegistryClient&, const Reference&)>& attempt) {
    STRAKE_TRY(std::vector<Place> places, places_to_try(registries_.rules(), wanted));
    std::vector<Error> failures;
    {
      const std::scoped_lock lock(mutex_);
      std::stable_partition(places.begin(), places.end(),
                            [&](const Place& place) { return place.reference.name() == last_good_; });
      std::stable_partition(places.begin(), places.end(),
                            [&](const Place& place) { return !distrusted_.contains(place.reference.name()); });
      if (const auto rejected = wanted.digest ? rejected_.find(*wanted.digest) : rejected_.end();
          rejected != rejected_.end()) {
        std::erase_if(places, [&](const Place& place) { return rejected->second.contains(place.reference.name()); });
        for (const auto& [place, failure] : rejected->second) failures.push_back(failure);
      }
    }
    for (const Place& place : places) {
      STRAKE_TRY(const std::shared_ptr<RegistryClient> client,
                 registries_.client(place.reference.registry, place.insecure));
      Status outcome = attempt(*client, place.reference);
      if (outcome.ok()) {
        const std::scoped_lock lock(mutex_);
        last_good_ = place.reference.name();
        return {};
      }
      failures.push_back(std::move(outcome).error());
      if (!may_try_elsewhere(failures.back())) return std::move(failures.back());
    }
    return all_failed(std::move(failures), wanted);
  }

  const Reference reference_;
  Registries& registries_;
  std::mutex mutex_;
  std::string last_good_;
  using Rejected = std::map<std::string, Error>;  ///< what was wrong, by place
  std::map<codec::Digest, Rejected> rejected_;
  std::set<std::string> distrusted_;
  std::map<codec::Digest, std::string> began_at_;  ///< the place that delivered the first bytes of a blob
  std::map<codec::Digest, std::string> documents_;
};

Result<std::unique_ptr<RegistrySource>> RegistrySource::open(Reference reference, Registries& registries) {
  // What the rules forbid is said now, not at the first read.
  STRAKE_TRY([[maybe_unused]] const auto places, places_to_try(registries.rules(), reference));
  return std::unique_ptr<RegistrySource>(new RegistrySource(std::make_shared<State>(std::move(reference), registries)));
}

RegistrySource::~RegistrySource() = default;

const Reference& RegistrySource::reference() const { return state_->reference(); }

std::string RegistrySource::description() const { return fmt::format("repository {}", state_->reference().name()); }

Result<std::vector<Descriptor>> RegistrySource::find_entries(std::string_view reference,
                                                             const runtime::Call& call) const {
  Reference wanted = state_->reference();
  if (!reference.empty()) {
    wanted.tag.clear();
    wanted.digest.reset();
    if (Result<codec::Digest> digest = codec::Digest::parse(reference); digest.ok()) {
      wanted.digest = *std::move(digest);
    } else if (is_tag(reference)) {
      wanted.tag = reference;
    } else {
      return error(Code::kInvalidArgument, "'{}' is neither a tag nor a digest", reference);
    }
  }
  STRAKE_TRY(Descriptor found, state_->find(wanted, call));
  return std::vector<Descriptor>{std::move(found)};
}

Result<std::unique_ptr<BlobSource>> RegistrySource::open_blob(const Descriptor& descriptor,
                                                              const runtime::Call& call) const {
  std::string name = fmt::format("blob {} of {}", descriptor.digest.to_string(), state_->reference().name());
  if (is_document(descriptor)) {
    STRAKE_TRY(std::string text, state_->document(descriptor, call));
    return std::make_unique<BlobSource>(make_text_source(std::move(text)), std::move(name), descriptor);
  }
  const auto produce = [state = state_, descriptor](const OnData& on_data, const runtime::Call& own) {
    return state->stream(descriptor, 0, on_data, own);
  };
  auto content = make_pipe(state_->runtime(), "fetch blob", produce, call);
  return std::make_unique<BlobSource>(std::move(content), std::move(name), descriptor);
}

Status RegistrySource::reject_content(const Descriptor& descriptor, Error why) const {
  return state_->reject(descriptor, std::move(why));
}

Status RegistrySource::stream_blob(const Descriptor& descriptor, std::uint64_t offset, const OnData& on_data,
                                   const runtime::Call& call) const {
  if (is_document(descriptor)) return ImageSource::stream_blob(descriptor, offset, on_data, call);
  return state_->stream(descriptor, offset, on_data, call);
}

}  // namespace strake::oci
