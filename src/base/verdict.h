// What a failure means to whoever asked, where its code alone does not tell. It decides the exit code of a command.
#pragma once

#include "base/error.h"

namespace strake {

/// Set where it is known for certain: by the code that compared, connected or looked.
enum class Verdict {
  kNone,
  kBlocked,      ///< something stands in the way, or what was asked for is not there; the message says what to do
  kUnreachable,  ///< nobody answered: no name, no connection, no reply in time
  kNotGenuine,   ///< not the bytes that were promised, or not signed by who has to have signed
};

/// The verdict takes the place of the error's reason, and like it survives added contexts.
Error with_verdict(Error error, Verdict verdict);

Verdict verdict_of(const Error& error);

/// kCorrupt with Verdict::kNotGenuine: bytes that are not those a digest, a checksum or a length promises.
template <typename... Args>
[[nodiscard]] Error not_genuine(fmt::format_string<Args...> text, Args&&... args) {
  return with_verdict(error(Code::kCorrupt, text, std::forward<Args>(args)...), Verdict::kNotGenuine);
}

}  // namespace strake
