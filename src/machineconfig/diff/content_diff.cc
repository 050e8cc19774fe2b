#include "machineconfig/diff/content_diff.h"

#include <fmt/format.h>

#include "codec/digest.h"
#include "machineconfig/diff/spec_diff.h"

namespace strake::machineconfig {

namespace {

std::optional<SecretKind> secret_in(const std::optional<std::string>& contents) {
  // Larger contents are shown by their digest alone, and nothing that large can be guessed from it.
  if (!contents || contents->size() > kMaxDiffedFileBytes) return std::nullopt;
  return find_secret(*contents);
}

std::string size_of(const std::optional<std::string>& contents) {
  return contents ? fmt::format("{} bytes", contents->size()) : "absent";
}

std::string digest_of(const std::optional<std::string>& contents) {
  return contents ? fmt::format("{} bytes, {}", contents->size(), codec::Digest::sha256_of(*contents).to_string())
                  : "absent";
}

bool is_shown_as_text(const std::optional<std::string>& contents) {
  return !contents || (contents->size() <= kMaxDiffedFileBytes && is_text(*contents));
}

bool has_unit_form(const std::optional<std::string>& contents) { return !contents || is_unit_text(*contents); }

}  // namespace

ContentDiff diff_contents(const std::optional<std::string>& before, const std::optional<std::string>& after,
                          const ContentDiffOptions& options) {
  ContentDiff diff;
  diff.secret = secret_in(before);
  if (!diff.secret) diff.secret = secret_in(after);
  if (!diff.secret) diff.secret = options.secret_by_place;
  if (before == after) return diff;
  if (diff.secret && !options.show_secrets) {
    diff.details.push_back(fmt::format("contents differ, {} -> {}; hidden, as they hold {} (--show-secrets shows them)",
                                       size_of(before), size_of(after), to_string(*diff.secret)));
  } else if (!is_shown_as_text(before) || !is_shown_as_text(after)) {
    diff.details.push_back(fmt::format("contents: {} -> {}", digest_of(before), digest_of(after)));
  } else if (options.form == ContentForm::kUnit && has_unit_form(before) && has_unit_form(after)) {
    diff.details = unit_diff(before.value_or(""), after.value_or(""), options.limits);
  } else {
    diff.details = unified_diff(before.value_or(""), after.value_or(""), options.limits);
  }
  return diff;
}

}  // namespace strake::machineconfig
