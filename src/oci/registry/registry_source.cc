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

struct FailedPlace {
  Error why;
  bool is_mirror = true;
};

/// One error for all places. Wrong content outweighs everything: what was tampered with must not look as if it were
/// merely absent. Else the source has the last word, where it may be asked, or the last mirror.
Error all_failed(const std::vector<FailedPlace>& places, const Reference& reference) {
  const Error* decisive = &places.back().why;
  std::vector<Error> failures;
  for (const FailedPlace& place : places) {
    if (!place.is_mirror) decisive = &place.why;
    failures.push_back(place.why);
  }
  if (failures.size() == 1) return *decisive;
  std::vector<std::string> texts;
  texts.reserve(failures.size());
  for (const Error& failure : failures) texts.push_back(failure.to_string());
  const bool wrong_content = std::any_of(failures.begin(), failures.end(),
                                         [](const Error& failure) { return failure.code() == Code::kCorrupt; });
  const bool not_genuine = std::any_of(failures.begin(), failures.end(),
                                       [](const Error& failure) { return failure.verdict() == Verdict::kNotGenuine; });
  return error(wrong_content ? Code::kCorrupt : decisive->code(), "none of the {} places to fetch {} from has it: {}",
               failures.size(), reference.to_string(), fmt::join(texts, "; "))
      .with_verdict(not_genuine ? Verdict::kNotGenuine : decisive->verdict());
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

std::optional<Error> Registries::known_down(const std::string& registry) const {
  const std::scoped_lock lock(mutex_);
  const auto found = down_.find(registry);
  return found == down_.end() ? std::nullopt : std::optional(found->second);
}

void Registries::note_down(const std::string& registry, const Error& why) {
  const std::scoped_lock lock(mutex_);
  // Without what was being done then: it is the answer to other questions too.
  down_.try_emplace(registry, error(why.code(), "registry {} does not answer: {}", registry, why.message())
                                  .with_verdict(Verdict::kUnreachable));
}

void Registries::note_answer(const Reference& wanted, const Reference& place) {
  std::string text = wanted.name() == place.name() ? fmt::format("{} answers", place.name())
                                                   : fmt::format("{} answers for {}", place.name(), wanted.name());
  {
    const std::scoped_lock lock(mutex_);
    if (!answers_.insert(text).second) return;
  }
  options_.hooks.detail(text);
}

class RegistrySource::State {
 public:
  State(Reference reference, Registries& registries) : reference_(std::move(reference)), registries_(registries) {}

  const Reference& reference() const { return reference_; }
  runtime::Runtime& runtime() const { return registries_.runtime(); }

  Result<Descriptor> find(const Reference& wanted, const runtime::Call& call) {
    STRAKE_TRY(FetchedManifest fetched, fetch_document(wanted, call));
    return keep_document(std::move(fetched));
  }

  Result<std::optional<Descriptor>> find_companion(std::string_view tag, const runtime::Call& call) {
    const Reference wanted{reference_.registry, reference_.repository, std::string(tag)};
    const Result<std::vector<Place>> places = places_for(wanted, Proven::kAsked);
    if (!places.ok()) {
      if (places.error().code() == Code::kDenied) return std::optional<Descriptor>();  // nobody may be asked
      return places.error();
    }
    std::vector<FailedPlace> failures;
    bool somebody_answered = false;
    for (const Place& place : *places) {
      Result<FetchedManifest> fetched = fetch_document_at(place, call);
      if (fetched.ok()) return std::optional(keep_document(*std::move(fetched)));
      if (!may_be_elsewhere(fetched.error())) return std::move(fetched).error();
      somebody_answered |= fetched.error().verdict() == Verdict::kAbsent;
      failures.push_back({std::move(fetched).error(), place.is_mirror});
    }
    if (somebody_answered) return std::optional<Descriptor>();
    return all_failed(failures, wanted);
  }

  Result<std::string> document(const Descriptor& descriptor, const runtime::Call& call) {
    {
      const std::scoped_lock lock(mutex_);
      if (const auto kept = documents_.find(descriptor.digest); kept != documents_.end()) return kept->second;
    }
    STRAKE_TRY(FetchedManifest fetched, fetch_document(by_digest(descriptor.digest), call));
    return std::move(fetched.bytes);
  }

  /// As for find_companion(): a place that has none is an answer, one that cannot be asked is not.
  Result<std::vector<Descriptor>> referrers(const codec::Digest& digest, const runtime::Call& call) {
    STRAKE_TRY(const std::vector<Place> places, places_for(by_digest(digest), Proven::kAsked));
    std::vector<FailedPlace> failures;
    bool somebody_answered = false;
    for (const Place& place : places) {
      std::vector<Descriptor> found;
      const auto fetch = [&](RegistryClient& client, const Reference& here) -> Status {
        STRAKE_TRY(found, client.fetch_referrers(here.repository, digest, call));
        return {};
      };
      Status outcome = ask(place, fetch, call);
      if (outcome.ok()) return found;
      if (!may_be_elsewhere(outcome.error())) return std::move(outcome).error();
      somebody_answered |= outcome.error().verdict() == Verdict::kAbsent;
      failures.push_back({std::move(outcome).error(), place.is_mirror});
    }
    if (somebody_answered) return std::vector<Descriptor>();
    return all_failed(failures, by_digest(digest));
  }

  Status stream(const Descriptor& descriptor, std::uint64_t offset, const OnData& on_data, const runtime::Call& call) {
    {
      const std::scoped_lock lock(mutex_);
      began_at_.erase(descriptor.digest);
    }
    const auto fetch = [&](RegistryClient& client, const Reference& place) -> Status {
      const OnData count = [&](std::string_view data) -> Status {
        if (offset == 0) {
          const std::scoped_lock lock(mutex_);
          began_at_.insert_or_assign(descriptor.digest, place.name());
        }
        offset += data.size();
        return on_data(data);
      };
      return client.fetch_blob(place.repository, descriptor, offset, count, call);
    };
    return at_each_place(by_digest(descriptor.digest), [&](const Place& place) { return ask(place, fetch, call); });
  }

  /// Of a blob that came from several places, as it broke off, the first is the suspect; the next attempt shows.
  Status reject(const Descriptor& descriptor, Error why) {
    const Reference wanted = by_digest(descriptor.digest);
    STRAKE_TRY(const std::vector<Place> places, places_for(wanted, Proven::kAsked));
    const std::scoped_lock lock(mutex_);
    const auto began = began_at_.find(descriptor.digest);
    if (began == began_at_.end()) return why;
    Rejected& rejected = rejected_[descriptor.digest];
    rejected.insert_or_assign(began->second, std::move(why).context(fmt::format("from {}", began->second)));
    distrusted_.insert(began->second);
    began_at_.erase(began);
    if (rejected.size() < places.size()) return {};
    std::vector<FailedPlace> failures;
    failures.reserve(rejected.size());
    for (auto& [place, failure] : rejected) failures.push_back({std::move(failure)});
    rejected_.erase(descriptor.digest);  // whoever asks later asks anew
    return all_failed(failures, wanted);
  }

 private:
  Reference by_digest(const codec::Digest& digest) const {
    return Reference{reference_.registry, reference_.repository, reference_.tag, digest};
  }

  Descriptor keep_document(FetchedManifest fetched) {
    const std::scoped_lock lock(mutex_);
    if (documents_.size() >= kMaxKeptDocuments) documents_.clear();
    documents_.insert_or_assign(fetched.descriptor.digest, std::move(fetched.bytes));
    return std::move(fetched.descriptor);
  }

  /// Whether places that had a manifest are asked although the rules do not name them for this kind of reference.
  enum class Proven { kAsked, kNotAsked };

  /// The places for a reference, in the order in which they are asked.
  Result<std::vector<Place>> places_for(const Reference& wanted, Proven proven) {
    Result<std::vector<Place>> by_rules = places_to_try(registries_.rules(), wanted);
    if (!by_rules.ok() && by_rules.error().code() != Code::kDenied) return by_rules;
    std::vector<Place> places;
    if (by_rules.ok()) places = *by_rules;
    const std::scoped_lock lock(mutex_);
    if (proven == Proven::kAsked) {
      for (const auto& entry : proven_) {
        const std::string& name = entry.first;
        const auto same = [&name](const Place& other) { return other.reference.name() == name; };
        if (std::any_of(places.begin(), places.end(), same)) continue;
        Place also = entry.second;
        also.reference.tag = wanted.tag;
        also.reference.digest = wanted.digest;
        places.insert(places.begin(), std::move(also));
      }
    }
    if (places.empty()) return by_rules;
    std::stable_partition(places.begin(), places.end(),
                          [&](const Place& place) { return place.reference.name() == last_good_; });
    std::stable_partition(places.begin(), places.end(),
                          [&](const Place& place) { return !distrusted_.contains(place.reference.name()); });
    return places;
  }

  Result<FetchedManifest> fetch_document(const Reference& wanted, const runtime::Call& call) {
    std::optional<FetchedManifest> found;
    STRAKE_CHECK_OK(at_each_place(wanted, [&](const Place& place) -> Status {
      STRAKE_TRY(found, fetch_document_at(place, call));
      return {};
    }));
    return *std::move(found);
  }

  Result<FetchedManifest> fetch_document_at(const Place& place, const runtime::Call& call) {
    std::optional<FetchedManifest> found;
    const auto fetch = [&](RegistryClient& client, const Reference& here) -> Status {
      STRAKE_TRY(found, client.fetch_manifest(here.repository, here.tag_or_digest(), call));
      return {};
    };
    STRAKE_CHECK_OK(ask(place, fetch, call));
    const std::scoped_lock lock(mutex_);
    proven_.insert_or_assign(place.reference.name(), place);
    return *std::move(found);
  }

  using Attempt = std::function<Status(RegistryClient&, const Reference&)>;

  /// A registry that is down is not tried again; what went wrong the first time is the answer.
  Status ask(const Place& place, const Attempt& attempt, const runtime::Call& call) {
    if (std::optional<Error> down = registries_.known_down(place.reference.registry)) return *std::move(down);
    STRAKE_TRY(const std::shared_ptr<RegistryClient> client,
               registries_.client(place.reference.registry, place.insecure));
    Status outcome = attempt(*client, place.reference);
    if (outcome.ok()) {
      registries_.note_answer(reference_, place.reference);
      return {};
    }
    const bool ours_to_blame = call.deadline && runtime().now() >= *call.deadline;
    if (outcome.error().verdict() == Verdict::kUnreachable && !ours_to_blame) {
      registries_.note_down(place.reference.registry, outcome.error());
    }
    return outcome;
  }

  /// The place that had something last comes first, one that delivered wrong content last.
  Status at_each_place(const Reference& wanted, const std::function<Status(const Place&)>& attempt) {
    STRAKE_TRY(std::vector<Place> places, places_for(wanted, wanted.digest ? Proven::kAsked : Proven::kNotAsked));
    std::vector<FailedPlace> failures;
    if (wanted.digest) {
      const std::scoped_lock lock(mutex_);
      if (const auto rejected = rejected_.find(*wanted.digest); rejected != rejected_.end()) {
        std::erase_if(places, [&](const Place& place) { return rejected->second.contains(place.reference.name()); });
        for (const auto& [place, failure] : rejected->second) failures.push_back({failure});
      }
    }
    for (const Place& place : places) {
      Status outcome = attempt(place);
      if (outcome.ok()) {
        const std::scoped_lock lock(mutex_);
        last_good_ = place.reference.name();
        return {};
      }
      failures.push_back({std::move(outcome).error(), place.is_mirror});
      if (!may_try_elsewhere(failures.back().why)) return std::move(failures.back().why);
    }
    return all_failed(failures, wanted);
  }

  const Reference reference_;
  Registries& registries_;
  std::mutex mutex_;
  std::string last_good_;
  std::map<std::string, Place> proven_;           ///< places that had a manifest, by registry/repository
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

Result<std::optional<Descriptor>> RegistrySource::find_companion(std::string_view tag,
                                                                 const runtime::Call& call) const {
  if (!is_tag(tag)) return error(Code::kInvalidArgument, "'{}' is not a tag", tag);
  return state_->find_companion(tag, call);
}

Result<std::vector<Descriptor>> RegistrySource::find_referrers(const codec::Digest& digest,
                                                               const runtime::Call& call) const {
  return state_->referrers(digest, call);
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
