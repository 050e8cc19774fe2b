// How the contents of one file or unit differ, with secrets withheld.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machineconfig/diff/redact.h"
#include "machineconfig/diff/text_diff.h"

namespace strake::machineconfig {

enum class ContentForm { kAny, kUnit };

struct ContentDiff {
  std::vector<std::string> details;
  std::optional<SecretKind> secret;  ///< one of the sides holds one
};

struct ContentDiffOptions {
  ContentForm form = ContentForm::kAny;
  std::optional<SecretKind> secret_by_place;  ///< whatever the contents look like (find_secret_place)
  bool show_secrets = false;
  TextDiffLimits limits;
};

/// `before` and `after` may be absent. Equal contents give no details.
ContentDiff diff_contents(const std::optional<std::string>& before, const std::optional<std::string>& after,
                          const ContentDiffOptions& options);

}  // namespace strake::machineconfig
