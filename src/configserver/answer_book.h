// AnswerBook: every answer the config server can give at a moment, made before anybody asks.
//
// A book is never changed: when objects change, the next book takes its place as a whole, and whoever reads the old one
// reads it to its end.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/runtime.h"
#include "configserver/assembly.h"

namespace strake::configserver {

/// Why a request for a config ends as it does: a closed list, for metrics and logs.
enum class Outcome {
  kServed,
  kUnsupportedVersion,  ///< 400: the machine reads nothing we can write
  kNoBootstrapConfig,   ///< 404: bootstrap, and there is no file for the pool
  kNotReady,            ///< 500: the API was not reached yet
  kNoPool,              ///< 500
  kNotRendered,         ///< 500: the pool has no rendered config, or it is gone
  kNotConvertible,      ///< 500: the config says what the version asked for cannot
  kNotReadable,         ///< 500: an object is not what it should be
  kAccessUnknown,       ///< 500: nobody could say yet who may ask
  kNoToken,             ///< 401: neither token nor certificate, as the next four
  kBadToken,
  kTokenExpired,
  kTokenRevoked,
  kTokenUsedUp,
  kBadCertificate,
  kWrongPool,       ///< 403: good, for another pool
  kTooManyRefused,  ///< 429: this address was refused too often
};
inline constexpr std::array kOutcomes{Outcome::kServed,
                                      Outcome::kUnsupportedVersion,
                                      Outcome::kNoBootstrapConfig,
                                      Outcome::kNotReady,
                                      Outcome::kNoPool,
                                      Outcome::kNotRendered,
                                      Outcome::kNotConvertible,
                                      Outcome::kNotReadable,
                                      Outcome::kAccessUnknown,
                                      Outcome::kNoToken,
                                      Outcome::kBadToken,
                                      Outcome::kTokenExpired,
                                      Outcome::kTokenRevoked,
                                      Outcome::kTokenUsedUp,
                                      Outcome::kBadCertificate,
                                      Outcome::kWrongPool,
                                      Outcome::kTooManyRefused};
std::string_view to_string(Outcome outcome);
int status_of(Outcome outcome);

struct Answer {
  Outcome outcome = Outcome::kServed;
  std::shared_ptr<const std::string> body;  ///< only of what is served
  std::string problem;                      ///< for the log, of what is not: never part of a config
};

/// Of one pool.
struct PoolAnswers {
  std::string config;                                  ///< name of the rendered config; "" when there is none
  std::string layered_image;                           ///< "" when machines boot the config's own
  std::string inputs;                                  ///< what it was made of: equal inputs give equal bytes
  std::map<ignition::SpecVersion, Answer> by_version;  ///< every version of kKnownVersions from kOldestServed on
};

/// In every version, whether or not that can be done.
std::shared_ptr<const PoolAnswers> answer_in_every_version(const AssemblyInput& input);
/// The same answer whatever is asked.
std::shared_ptr<const PoolAnswers> answer_with_problem(Outcome outcome, std::string problem);

struct AnswerBook {
  std::map<std::string, std::shared_ptr<const PoolAnswers>, std::less<>> pools;
  Answer unknown_pool{Outcome::kNoPool, nullptr, "there is no such pool"};

  const Answer& find(std::string_view pool, ignition::SpecVersion version) const;
};

/// The present book. Thread safe.
class AnswerShelf {
 public:
  /// nullptr before the first.
  std::shared_ptr<const AnswerBook> current() const;
  void put(std::shared_ptr<const AnswerBook> book);
  /// One pool's answers in place of what was there; nullptr: the pool is gone.
  void put_pool(const std::string& pool, std::shared_ptr<const PoolAnswers> answers);

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const AnswerBook> book_;
};

}  // namespace strake::configserver
