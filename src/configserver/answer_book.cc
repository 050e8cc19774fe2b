#include "configserver/answer_book.h"

#include "configserver/accept.h"

namespace strake::configserver {

namespace {

Outcome outcome_of(const Error& error) {
  return error.code() == Code::kUnsupported ? Outcome::kNotConvertible : Outcome::kNotReadable;
}

Answer answer_in(const AssemblyInput& input, ignition::SpecVersion version) {
  auto body = assemble(input, version);
  if (!body.ok()) return {outcome_of(body.error()), nullptr, body.error().to_string()};
  return {Outcome::kServed, std::make_shared<const std::string>(*std::move(body)), ""};
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kServed: return "served";
    case Outcome::kUnsupportedVersion: return "unsupported-version";
    case Outcome::kNoBootstrapConfig: return "no-bootstrap-config";
    case Outcome::kNotReady: return "not-ready";
    case Outcome::kNoPool: return "no-pool";
    case Outcome::kNotRendered: return "not-rendered";
    case Outcome::kNotConvertible: return "not-convertible";
    case Outcome::kNotReadable: return "not-readable";
    case Outcome::kAccessUnknown: return "access-unknown";
    case Outcome::kNoToken: return "no-token";
    case Outcome::kBadToken: return "bad-token";
    case Outcome::kTokenExpired: return "token-expired";
    case Outcome::kTokenRevoked: return "token-revoked";
    case Outcome::kTokenUsedUp: return "token-used-up";
    case Outcome::kBadCertificate: return "bad-certificate";
    case Outcome::kWrongPool: return "wrong-pool";
    case Outcome::kTooManyRefused: return "too-many-refused";
  }
  return "unknown";
}

int status_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kServed: return 200;
    case Outcome::kUnsupportedVersion: return 400;
    case Outcome::kNoBootstrapConfig: return 404;
    case Outcome::kNotReady:
    case Outcome::kNoPool:
    case Outcome::kNotRendered:
    case Outcome::kNotConvertible:
    case Outcome::kNotReadable:
    case Outcome::kAccessUnknown: return 500;
    case Outcome::kNoToken:
    case Outcome::kBadToken:
    case Outcome::kTokenExpired:
    case Outcome::kTokenRevoked:
    case Outcome::kTokenUsedUp:
    case Outcome::kBadCertificate: return 401;
    case Outcome::kWrongPool: return 403;
    case Outcome::kTooManyRefused: return 429;
  }
  return 500;
}

std::shared_ptr<const PoolAnswers> answer_in_every_version(const AssemblyInput& input) {
  auto answers = std::make_shared<PoolAnswers>();
  answers->config = input.config->name();
  answers->layered_image = input.layered_image;
  for (const ignition::SpecVersion version : ignition::kKnownVersions) {
    if (version >= kOldestServed) answers->by_version.emplace(version, answer_in(input, version));
  }
  return answers;
}

std::shared_ptr<const PoolAnswers> answer_with_problem(Outcome outcome, std::string problem) {
  auto answers = std::make_shared<PoolAnswers>();
  for (const ignition::SpecVersion version : ignition::kKnownVersions) {
    if (version >= kOldestServed) answers->by_version.emplace(version, Answer{outcome, nullptr, problem});
  }
  return answers;
}

const Answer& AnswerBook::find(std::string_view pool, ignition::SpecVersion version) const {
  const auto found = pools.find(pool);
  if (found == pools.end()) return unknown_pool;
  return found->second->by_version.at(version);
}

std::shared_ptr<const AnswerBook> AnswerShelf::current() const {
  const std::scoped_lock lock(mutex_);
  return book_;
}

void AnswerShelf::put(std::shared_ptr<const AnswerBook> book) {
  const std::scoped_lock lock(mutex_);
  book_.swap(book);
}

void AnswerShelf::put_pool(const std::string& pool, std::shared_ptr<const PoolAnswers> answers) {
  std::shared_ptr<const AnswerBook> old;  // let go without the lock: megabytes may go with it
  const std::scoped_lock lock(mutex_);
  auto next = book_ ? std::make_shared<AnswerBook>(*book_) : std::make_shared<AnswerBook>();
  if (answers) {
    next->pools.insert_or_assign(pool, std::move(answers));
  } else {
    next->pools.erase(pool);
  }
  old = std::exchange(book_, std::move(next));
}

}  // namespace strake::configserver
