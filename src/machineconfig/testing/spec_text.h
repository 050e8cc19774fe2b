// Specs for tests of comparing them, written as JSON text.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "codec/json.h"
#include "machineconfig/merge/comparable_spec.h"
#include "machineconfig/testing/builders.h"

namespace strake::machineconfig::builders {

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
  return ignition_spec(fmt::format(R"("storage":{{"files":[{}]}})", fmt::join(files, ",")));
}

}  // namespace strake::machineconfig::builders
