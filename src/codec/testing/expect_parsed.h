// What a parser's table of cases expects: the value as JSON, or the error.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/json.h"

namespace strake::codec {

/// `expected`: JSON, or "error: " and the message; a trailing '*' matches any rest.
inline void expect_parsed(const Result<json::Value>& value, std::string_view expected, std::string_view name) {
  const std::string actual = value.ok() ? json::write(*value) : "error: " + value.error().to_string();
  if (expected.ends_with('*')) {
    expected.remove_suffix(1);
    EXPECT_EQ(actual.substr(0, expected.size()), expected) << name << ": " << actual;
  } else {
    EXPECT_EQ(actual, expected) << name;
  }
}

}  // namespace strake::codec
