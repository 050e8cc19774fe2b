// Error: a value that says what failed, what was being done, and what class of failure it is.
// Branch on `code()`, never on text. Each hop adds what it was doing with `context()`.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace strake {

/// Closed set: a new class of failure is a design decision, not a convenience.
enum class Code {
  kInvalidArgument,  ///< the caller's input is wrong; retrying cannot help
  kNotFound,
  kExists,
  kConflict,  ///< somebody else changed it first; read again and retry
  kExpired,   ///< the asked-for version is no longer kept (HTTP 410); list again
  kUnauthenticated,
  kDenied,
  kUnavailable,  ///< the other side cannot answer now; retry with backoff
  kTimeout,
  kCancelled,
  kCorrupt,  ///< bytes do not match their digest or format
  kUnsupported,
  kExhausted,  ///< a limit was reached (size, rate, disk); see retry_after()
  kIo,
  kInternal,
};

std::string_view to_string(Code code);

/// What a failure means to whoever asked, where its code alone does not tell: it decides the exit code of a command.
/// Set where it is known for certain, by the code that compared, connected or looked.
enum class Verdict {
  kNone,
  kAbsent,       ///< what was asked for is not there; everybody who could have it was asked
  kBlocked,      ///< something stands in the way; the message says what to do
  kUnreachable,  ///< nobody answered: no name, no connection, no reply in time
  kNotGenuine,   ///< not the bytes that were promised, or not signed by who has to have signed
};

class Error {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  Code code() const { return code_; }

  /// The innermost message, without the chain of contexts.
  const std::string& message() const { return message_; }

  /// Outermost context first: "applying release: reading layer: digest mismatch".
  std::string to_string() const;

  Error&& context(std::string doing) && {
    contexts_.push_back(std::move(doing));
    return std::move(*this);
  }

  /// The first failure wins; what went wrong while cleaning up is appended, never lost.
  Error&& followed_by(const Error& cleanup) && {
    message_ += fmt::format(" (then, while cleaning up: {})", cleanup.to_string());
    return std::move(*this);
  }

  Error&& with_retry_after(std::chrono::milliseconds delay) && {
    retry_after_ = delay;
    return std::move(*this);
  }

  /// A machine-readable word within the code, such as a Kubernetes Status reason ("AlreadyExists").
  Error&& with_reason(std::string reason) && {
    reason_ = std::move(reason);
    return std::move(*this);
  }

  Error&& with_verdict(Verdict verdict) && {
    verdict_ = verdict;
    return std::move(*this);
  }

  std::optional<std::chrono::milliseconds> retry_after() const { return retry_after_; }
  const std::string& reason() const { return reason_; }
  Verdict verdict() const { return verdict_; }
  const std::vector<std::string>& contexts() const { return contexts_; }

 private:
  Code code_;
  Verdict verdict_ = Verdict::kNone;
  std::string message_;
  std::string reason_;
  std::vector<std::string> contexts_;
  std::optional<std::chrono::milliseconds> retry_after_;
};

template <typename... Args>
[[nodiscard]] Error error(Code code, fmt::format_string<Args...> text, Args&&... args) {
  return Error(code, fmt::format(text, std::forward<Args>(args)...));
}

/// kCorrupt with Verdict::kNotGenuine: bytes that are not those a digest, a checksum or a length promises.
template <typename... Args>
[[nodiscard]] Error not_genuine(fmt::format_string<Args...> text, Args&&... args) {
  return error(Code::kCorrupt, text, std::forward<Args>(args)...).with_verdict(Verdict::kNotGenuine);
}

}  // namespace strake
