// The formats most verbs print in: text for people, JSON for programs.
#pragma once

#include "cmd/cli/command.h"

namespace strake::cmd {

enum class OutputFormat { kText, kJson };
inline constexpr std::string_view kOutputFormats[] = {"text", "json"};
inline constexpr OptionSpec kOutputOption{"o,output", "FORMAT", "text or json", "text", one_of(kOutputFormats)};

/// For verbs with kOutputOption.
inline bool wants_json(const Invocation& invocation) {
  return invocation.choice<OutputFormat>("output") == OutputFormat::kJson;
}

}  // namespace strake::cmd
