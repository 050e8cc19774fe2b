#include "machineconfig/render/rendered_size.h"

#include <gtest/gtest.h>

#include "machineconfig/testing/builders.h"

namespace strake::machineconfig::rendered_size_test {

TEST(RenderedSize, CountsWhatGoWrites) {
  struct Case {
    json::Value value;
    std::string_view go_text;
  };
  const Case cases[] = {
      {nullptr, "null"},
      {true, "true"},
      {false, "false"},
      {-17, "-17"},
      {json::Array{}, "[]"},
      {json::Object{}, "{}"},
      {json::Array{1, "a"}, R"([1,"a"])"},
      {json::Object{{"a", 1}, {"b", json::Array{}}}, R"({"a":1,"b":[]})"},
      {"a<b>&c", R"("a\u003cb\u003e\u0026c")"},
      {"\"\\\n\r\t\x01\x7F", "\"\\\"\\\\\\n\\r\\t\\u0001\x7F\""},
      {"\xE2\x80\xA8|\xE2\x80\xA9|\xE2\x80\xA7|\xC3\xA9", "\"\\u2028|\\u2029|\xE2\x80\xA7|\xC3\xA9\""},
  };
  for (const Case& test : cases) EXPECT_EQ(go_json_size(test.value), test.go_text.size()) << test.go_text;
}

TEST(RenderedSize, LeavesOutApiVersionAndKind) {
  const json::Value object = builders::from_text(
      R"({"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfig","metadata":{"name":"x"},"spec":{"fips":true}})");
  EXPECT_EQ(rendered_size(object, *json::find(object, {"spec"})),
            std::string_view(R"({"metadata":{"name":"x"},"spec":{"fips":true}})").size());
}

}  // namespace strake::machineconfig::rendered_size_test
