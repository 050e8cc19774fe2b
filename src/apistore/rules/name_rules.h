// What names, label keys and label values may look like, and what is wrong with one in kube-apiserver's words. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strake::apistore {

/// nullopt, or what is wrong with it.
std::optional<std::string> dns1123_label_problem(std::string_view text);
std::optional<std::string> dns1123_subdomain_problem(std::string_view text);

/// Of a label key, an annotation key (in lower case) or a finalizer: "name" or "example.com/name".
std::vector<std::string> qualified_name_problems(std::string_view text);
std::vector<std::string> label_value_problems(std::string_view text);

/// Of a key in the data of a ConfigMap or Secret, which becomes a file name.
std::vector<std::string> data_key_problems(std::string_view text);

}  // namespace strake::apistore
