// JSON documents of our own: each says which form it has, and how the verb ended. docs/releases.md lists them.
#pragma once

#include <string_view>

#include "cmd/cli/command.h"
#include "codec/json.h"

namespace strake::cmd {

/// How a verb ended, for scripts; the exit code says the same.
inline constexpr std::string_view kResultOk = "ok";                            ///< 0
inline constexpr std::string_view kResultTrustedByItself = "trustedByItself";  ///< 5

/// "refused" (6), "absent" (3), "blocked" (3), "unreachable" (4), "interrupted" (130), else "error" (1).
std::string_view result_of(const Error& failure);

/// `body` behind apiVersion, kind and result.
json::Value result_document(std::string_view kind, std::string_view result, json::Object body);

/// The document of a verb that failed: what it knows so far, and the failure as "error".
json::Value failure_document(std::string_view kind, const Error& failure, json::Object body = {});

/// Runs a verb. When it fails where JSON was asked for, standard output gets a document that says so.
template <typename Run>
Result<int> run_with_result(const Invocation& invocation, std::string_view kind, bool as_json, Run run) {
  Result<int> outcome = run();
  if (!outcome.ok() && as_json) {
    invocation.out().document(json::write_pretty(failure_document(kind, outcome.error())));
  }
  return outcome;
}

}  // namespace strake::cmd
