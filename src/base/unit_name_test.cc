#include "base/unit_name.h"

#include <gtest/gtest.h>

namespace strake::unit_name_test {

/// What systemd-escape --path prints.
TEST(UnitName, PathsAreEscapedAsSystemdDoes) {
  const struct {
    std::string_view path, escaped;
  } cases[] = {
      {"/", "-"},
      {"/var", "var"},
      {"/var/lib/my-data/", "var-lib-my\\x2ddata"},
      {"//var///lib", "var-lib"},
      {"/.hidden/.x", "\\x2ehidden-.x"},
      {"/a b", "a\\x20b"},
      {"/a:b_c.d@e", "a:b_c.d\\x40e"},
      {"/\u00e9", "\\xc3\\xa9"},
      {"/a\\b", "a\\x5cb"},
  };
  for (const auto& test : cases) EXPECT_EQ(escaped_unit_path(test.path), test.escaped) << test.path;
}

}  // namespace strake::unit_name_test
