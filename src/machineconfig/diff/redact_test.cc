#include "machineconfig/diff/redact.h"

#include <gtest/gtest.h>

#include "machineconfig/testing/spec_text.h"

namespace strake::machineconfig::redact_test {

TEST(Redact, MembersThatAreSecretByTheirPlace) {
  const struct {
    const char* name;
    const char* section;
    const char* shown;  ///< equal to `section` when there is nothing to hide
  } cases[] = {
      {"the key of an encrypted disk",
       R"j([{"name":"l","keyFile":{"source":"data:;base64,c2VjcmV0"},"clevis":{"tang":[{"url":"https://t"}]}}])j",
       R"j([{"name":"l","keyFile":{"source":"(hidden, 21 bytes)"},"clevis":{"tang":[{"url":"https://t"}]}}])j"},
      {"HTTP headers",
       R"j({"merge":[{"source":"https://c","httpHeaders":[{"name":"Authorization","value":"Bearer x"}]}]})j",
       R"j({"merge":[{"source":"https://c","httpHeaders":"(hidden)"}]})j"},
      {"a password", R"j({"name":"g","passwordHash":"hash"})j", R"j({"name":"g","passwordHash":"(hidden)"})j"},
      {"nothing", R"j({"timeouts":{"httpTotal":1},"list":["a"]})j", R"j({"timeouts":{"httpTotal":1},"list":["a"]})j"},
  };
  for (const auto& c : cases) {
    json::Value section = builders::from_text(c.section);
    EXPECT_EQ(hide_secret_members(section), std::string_view(c.section) != c.shown) << c.name;
    EXPECT_EQ(json::write(section), c.shown) << c.name;
  }
}

}  // namespace strake::machineconfig::redact_test
