#include "cmd/cli/command.h"

#include <algorithm>

namespace strake::cmd {

namespace {

constexpr OptionSpec kCommonOptions[] = {{"color", "WHEN",
                                          "colours: auto (on a terminal, unless $NO_COLOR is set), always or never",
                                          "auto", one_of(kColorWords)}};

}  // namespace

bool Invocation::is_set(std::string_view name) const {
  const auto found = switches_.find(name);
  STRAKE_INVARIANT(found != switches_.end());
  return found->second;
}

const std::string& Invocation::value(std::string_view name) const {
  static const std::string kNothing;
  const auto found = values_.find(name);
  return found == values_.end() ? kNothing : found->second.text;
}

const std::vector<std::string>& Invocation::list(std::string_view name) const {
  static const std::vector<std::string> kNothing;
  return has(name) ? typed<std::vector<std::string>>(name) : kNothing;
}

void Invocation::set_value(std::string_view name, OptionValue value, std::string text) {
  values_.insert_or_assign(std::string(name), Given{std::move(value), std::move(text)});
}

void Invocation::forget(std::string_view name) {
  if (const auto found = values_.find(name); found != values_.end()) values_.erase(found);
}

std::string_view long_name(const OptionSpec& option) {
  const std::size_t comma = option.name.find(',');
  return comma == std::string_view::npos ? option.name : option.name.substr(comma + 1);
}

std::string_view short_name(const OptionSpec& option) {
  const std::size_t comma = option.name.find(',');
  return comma == std::string_view::npos ? "" : option.name.substr(0, comma);
}

std::span<const OptionSpec> common_options() { return kCommonOptions; }

std::vector<ExitMeaning> exit_codes_of(const CommandSpec& spec) {
  std::vector<ExitMeaning> codes(spec.exit_codes.begin(), spec.exit_codes.end());
  const auto add = [&](ExitCode code, std::string_view meaning) {
    if (std::ranges::find(codes, code, &ExitMeaning::code) == codes.end()) codes.push_back({code, meaning});
  };
  add(kExitError, "error");
  add(kExitInterrupted,
      spec.lifetime == Lifetime::kDaemon ? "interrupted before it was up, or told twice" : "interrupted");
  std::ranges::sort(codes, {}, &ExitMeaning::code);
  return codes;
}

}  // namespace strake::cmd
