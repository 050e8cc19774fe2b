#include <gtest/gtest.h>

#include "compile_cost.h"
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

TEST(Lint, AFieldOfOurKindsIsSpelledInTheApiAlone) {
  const SourceFile table{"src/api/pool.h",
                         "inline constexpr FieldTable kFields{\"pools.example\", \"spec.paused\",\n"
                         "    \"status.conditions[].type\"};\n"};
  const auto findings_in = [&](const std::string& path, const std::string& text) {
    std::vector<Finding> findings;
    check_own_kinds({table, {path, text}}, findings);
    std::vector<std::string> texts;
    for (const Finding& finding : findings) texts.push_back(finding.to_string());
    return texts;
  };
  EXPECT_EQ(findings_in("src/agent/a.cc", "\n  json::find(pool, {\"spec\", \"paused\"});\n"),
            std::vector<std::string>{"src/agent/a.cc:2: spec.paused is a field of ours: use its view in src/api"});
  EXPECT_EQ(findings_in("src/agent/a.cc", "{\"spec\", json::Object{{\"paused\", true}}}").size(), 1u);
  EXPECT_EQ(findings_in("src/agent/a.cc", "{\"status\", \"conditions\"}").size(), 1u);
  EXPECT_EQ(findings_in("src/agent/a.cc", "set(\"machineconfiguration.openshift.io/state\");").size(), 1u);
  EXPECT_TRUE(findings_in("src/agent/a.cc", "kind(\"machineconfiguration.openshift.io/v1\");").empty());
  EXPECT_TRUE(findings_in("src/agent/a.cc", "json::find(stream, {\"spec\", \"tags\"});").empty());
  for (const char* path : {"src/api/a.cc", "src/kube/a.cc", "src/agent/a_test.cc", "test/simulation/a.cc"}) {
    EXPECT_TRUE(findings_in(path, "json::find(pool, {\"spec\", \"paused\"});").empty()) << path;
  }
}

TEST(Lint, AnEdgeNobodyTakesIsAFinding) {
  std::vector<SourceFile> sources{{"src/codec/a.cc", "#include \"base/result.h\"\n"},
                                  {"src/net/a.cc", "#include \"base/result.h\"\n"}};
  std::vector<Finding> findings;
  check_unused_edges(sources, sample_edges(), findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message, "'net' includes nothing of 'codec': take the edge out");
  sources.push_back({"src/net/b.h", "#include \"codec/json.h\"\n"});
  findings.clear();
  check_unused_edges(sources, sample_edges(), findings);
  EXPECT_TRUE(findings.empty());
}

TEST(Lint, AFolderWithTooManySourcesIsAFinding) {
  std::vector<SourceFile> sources;
  for (int i = 0; i < 60; ++i) sources.push_back({"src/net/f" + std::to_string(i) + ".cc", ""});
  sources.push_back({"src/net/tls/one_more.cc", ""});
  std::vector<Finding> findings;
  check_folders(sources, findings);
  EXPECT_TRUE(findings.empty());
  sources.push_back({"src/net/last.cc", ""});
  check_folders(sources, findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].to_string(), "src/net: 61 sources: make sub-folders (60 is the limit)");
}

TEST(CompileCost, CountsWhatIsReadForEachUnit) {
  const auto units = parse_ninja_deps(
      "a.o: #deps 2, deps mtime 1 (VALID)\n    a.cc\n    heavy.h\n\nb.o: #deps 1, deps mtime 1 (VALID)\n    b.cc\n");
  ASSERT_EQ(units.size(), 2u);
  EXPECT_EQ(units[0].files, (std::vector<std::string>{"a.cc", "heavy.h"}));
  const auto lines_of = [](const std::string& file) -> std::size_t { return file == "heavy.h" ? 100 : 10; };
  const auto findings_with = [&](CompileBudget budget) {
    std::vector<Finding> findings;
    check_compile_cost(units, budget, lines_of, findings);
    return findings;
  };
  EXPECT_TRUE(findings_with({110, 60}).empty());
  const auto heavy = findings_with({109, 60});
  ASSERT_EQ(heavy.size(), 1u);
  EXPECT_EQ(heavy[0].path, "a.o");
  EXPECT_EQ(findings_with({110, 59}).size(), 1u);
  std::vector<Finding> none;
  check_compile_cost({}, {}, lines_of, none);
  EXPECT_EQ(none.size(), 1u);
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

TEST(Lint, OnlyProgramsLog) {
  const auto findings_in = [](std::string path, std::string text) {
    std::vector<Finding> findings;
    check_logging({std::move(path), std::move(text)}, findings);
    return findings.size();
  };
  EXPECT_EQ(findings_in("src/kube/informer.cc", "#include \"base/log.h\"\n"), 1u);
  EXPECT_EQ(findings_in("src/controlplane/controllers.cc", "#include \"base/log.h\"\n"), 0u);
  EXPECT_EQ(findings_in("src/cmd/up.cc", "#include \"base/log.h\"\n"), 0u);
  EXPECT_EQ(findings_in("src/agent/agent.cc", "  std::fprintf(stderr, \"x\");\n"), 1u);
  EXPECT_EQ(findings_in("src/controlplane/controllers.cc", "  std::cerr << 1;\n"), 1u) << "through the log only";
  EXPECT_EQ(findings_in("src/cmd/main.cc", "  std::fprintf(stderr, \"x\");\n"), 0u);
  EXPECT_EQ(findings_in("src/agent/agent.cc", "  return output.stderr_bytes;  // stderr\n"), 0u);
  EXPECT_EQ(findings_in("src/agent/agent_test.cc", "  std::fprintf(stderr, \"x\");\n"), 0u);
}

TEST(Lint, EveryMetricIsDocumentedAndEveryDocumentedOneExists) {
  const std::vector<SourceFile> sources{
      {"src/net/metrics.h", "//   registry.counter(\"strake_example_total\", \"...\")\n"},
      {"src/a/a.cc", "metrics_\n  .counter(\n \"strake_a_total\", \"A.\");\nmetrics_.gauge(\"strake_b\", \"B.\");\n"},
      {"src/a/a_test.cc", "metrics_.gauge(\"strake_test\", \"T.\");\n"}};
  std::vector<Finding> findings;
  check_metrics("| name |\n|---|\n| `strake_a_total` | x |\n| `strake_gone` | x |\n", sources, findings);
  std::vector<std::string> messages;
  for (const Finding& finding : findings) messages.push_back(finding.to_string());
  EXPECT_EQ(messages, (std::vector<std::string>{"src/a/a.cc: metric 'strake_b' has no row in docs/metrics.md",
                                                "docs/metrics.md: metric 'strake_gone' is exported by nothing"}));
}

TEST(Lint, VerbsPrintThroughTheOutputAlone) {
  for (const char* bad : {"std::cout << x;", "std::fwrite(p, 1, n, f);", "std::printf(\"x\");", "fmt::print(\"x\");",
                          "codec::FdSink sink(1, name);", "std::fputs(text, file);"}) {
    EXPECT_EQ(findings_of("src/cmd/verbs/a.cc", bad, check_printing).size(), 1u) << bad;
    EXPECT_TRUE(findings_of("src/cmd/output/output.cc", bad, check_printing).empty()) << bad;
    EXPECT_TRUE(findings_of("src/net/a.cc", bad, check_printing).empty()) << bad;
  }
  EXPECT_TRUE(findings_of("src/cmd/verbs/a.cc", "invocation.out().text(x);", check_printing).empty());
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
