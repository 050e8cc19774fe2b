// Specs for tests, written as JSON text.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "codec/json.h"
#include "machineconfig/comparable_spec.h"

namespace strake::machineconfig::testing {

inline json::Value spec_from(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.ok()) << (value.ok() ? "" : value.error().to_string()) << " in " << text;
  return value.ok() ? *std::move(value) : json::Value();
}

/// A spec whose Ignition config has these members besides the version: R"("storage":{...})".
inline json::Value spec_with(std::string_view members) {
  return spec_from(
      fmt::format(R"({{"config":{{"ignition":{{"version":"3.5.0"}}{}{}}}}})", members.empty() ? "" : ",", members));
}

inline ComparableSpec comparable_from(const json::Value& spec) {
  auto comparable = comparable_spec(spec);
  EXPECT_TRUE(comparable.ok()) << (comparable.ok() ? "" : comparable.error().to_string());
  return comparable.ok() ? *std::move(comparable) : ComparableSpec{};
}

/// One item of storage.files, its contents percent-encoded.
inline std::string file_text(std::string_view path, std::string_view contents, std::string_view more = "") {
  std::string source = "data:,";
  for (const char c : contents) source += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return fmt::format(R"({{"path":"{}","contents":{{"source":"{}"}}{}}})", path, source, more);
}

inline json::Value spec_with_files(std::initializer_list<std::string> files) {
  return spec_with(fmt::format(R"("storage":{{"files":[{}]}})", fmt::join(files, ",")));
}

}  // namespace strake::machineconfig::testing
