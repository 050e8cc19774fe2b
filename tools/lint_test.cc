#include <gtest/gtest.h>

#include "lint_rules.h"

namespace strake::lint::lint_test {

constexpr std::string_view kArchitecture =
    "## Edges\n| module | may include |\n|---|---|\n| base | |\n| codec | base |\n| net | base codec |\n## Other\n| x "
    "| y |\n";

EdgeTable sample_edges() {
  std::vector<Finding> findings;
  EdgeTable edges = parse_edge_table(kArchitecture, findings);
  EXPECT_TRUE(findings.empty());
  return edges;
}

template <typename Check>
std::vector<std::string> findings_of(const std::string& path, const std::string& text, Check check) {
  std::vector<Finding> findings;
  check(SourceFile{path, text}, findings);
  std::vector<std::string> texts;
  for (const Finding& finding : findings) texts.push_back(finding.to_string());
  return texts;
}

TEST(Lint, ReadsOnlyTheEdgeSection) {
  EXPECT_EQ(sample_edges(), (EdgeTable{{"base", {}}, {"codec", {"base"}}, {"net", {"base", "codec"}}}));
}

TEST(Lint, AMissingOrCircularEdgeTableIsAFinding) {
  std::vector<Finding> findings;
  (void)parse_edge_table("# nothing", findings);
  EXPECT_EQ(findings.size(), 1u);
  findings.clear();
  (void)parse_edge_table("## Edges\n| a | b |\n| b | a |\n| c | nowhere |\n", findings);
  EXPECT_EQ(findings.size(), 3u);
}

TEST(Lint, AnIncludeAgainstTheLawIsAFinding) {
  const EdgeTable edges = sample_edges();
  const auto check = [&](const SourceFile& file, std::vector<Finding>& findings) {
    check_includes(file, edges, findings);
  };
  EXPECT_TRUE(findings_of("src/net/a.cc", "#include \"codec/json.h\"\n#include \"net/a.h\"\n", check).empty());
  EXPECT_EQ(findings_of("src/codec/a.cc", "\n#include \"net/http.h\"\n", check),
            std::vector<std::string>{
                "src/codec/a.cc:2: 'codec' may not include 'net': the edge is not in docs/ARCHITECTURE.md"});
  EXPECT_EQ(findings_of("src/new/a.cc", "", check).size(), 1u);
  EXPECT_TRUE(findings_of("src/codec/a_test.cc", "#include \"support/temp_dir.h\"\n", check).empty());
  EXPECT_EQ(findings_of("src/codec/a.cc", "#include \"support/temp_dir.h\"\n", check).size(), 1u);
}

TEST(Lint, WaitingOutsideTheSeamIsAFindingTestsIncluded) {
  for (const char* bad : {"std::thread t;", "std::this_thread::sleep_for(1s);", "std::condition_variable c;",
                          "auto f = std::async(g);", "poll(fds, 1, 0);", "epoll_wait(e);", "sleep(1);"}) {
    EXPECT_EQ(findings_of("src/kube/a_test.cc", bad, check_waiting).size(), 1u) << bad;
    EXPECT_TRUE(findings_of("src/net/a.cc", bad, check_waiting).empty()) << bad;
  }
  EXPECT_EQ(findings_of("src/net/a.cc", "co_await x;", check_waiting).size(), 1u);
  for (const char* good : {"runtime.sleep(1s, stop);", "runtime_->sleep(1s, stop);", "// std::thread in a comment",
                           "log(\"std::thread in a string\");", "std::thread_local_thing x;"}) {
    EXPECT_TRUE(findings_of("src/kube/a.cc", good, check_waiting).empty()) << good;
  }
}

TEST(Lint, ThirdPartyTypesStayOutOfHeaders) {
  EXPECT_EQ(findings_of("src/net/a.h", "#include <openssl/ssl.h>\n", check_public_headers).size(), 1u);
  EXPECT_EQ(findings_of("src/net/a.h", "#include <boost/json.hpp>\n", check_public_headers).size(), 1u);
  EXPECT_TRUE(findings_of("src/net/a.cc", "#include <openssl/ssl.h>\n", check_public_headers).empty());
}

TEST(Lint, ABehaviourMustNameATestThatExists) {
  const std::vector<SourceFile> sources{{"a_test.cc", "TEST(Suite, Name) {\n"}};
  std::vector<Finding> findings;
  check_behaviours("| row | what we do | tests |\n|---|---|---|\n| S0-01 | x | `Suite.Name` |\n", sources, findings);
  EXPECT_TRUE(findings.empty());
  check_behaviours("| S0-02 | x | `Suite.Gone` |\n| S0-03 | y | none |\n", sources, findings);
  EXPECT_EQ(findings.size(), 2u);
}

}  // namespace strake::lint::lint_test
