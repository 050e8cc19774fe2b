// The findings of a set of files: each with its line, those left out that a comment in the file silences.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "cmd/input/config_input.h"
#include "cmd/output/lint_report.h"

namespace strake::cmd {

/// `ignored`: names of rules.
LintReport lint_files(const ConfigFiles& files, const std::set<std::string, std::less<>>& ignored = {});

/// "there is no rule 'x'; did you mean 'y'?"
std::string unknown_lint_rule(std::string_view rule);

}  // namespace strake::cmd
