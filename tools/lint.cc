// lint ROOT FILE...: checks the files (paths relative to ROOT) against the rules in lint_rules.h; exit 1 when one is
// broken.
// lint --compile-cost TREE DEPS: checks what `ninja -t deps` printed for that build tree against the budget of
// compile_cost.h.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compile_cost.h"
#include "lint_rules.h"

namespace {

bool read_text(const std::string& path, std::string& text) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  return true;
}

int report(const std::vector<strake::lint::Finding>& findings, std::size_t looked_at, const char* what) {
  for (const strake::lint::Finding& finding : findings) std::fprintf(stderr, "%s\n", finding.to_string().c_str());
  std::printf("lint: %zu %s, %zu findings\n", looked_at, what, findings.size());
  return findings.empty() ? 0 : 1;
}

int lint_compile_cost(const std::string& tree, const std::string& deps_path) {
  std::vector<strake::lint::Finding> findings;
  std::string deps;
  if (!read_text(deps_path, deps)) findings.push_back({deps_path, 0, "cannot be read"});
  std::map<std::string, std::size_t> known;
  const auto lines_of = [&](const std::string& file) -> std::size_t {
    const auto [entry, is_new] = known.emplace(file, 0);
    if (!is_new || file.ends_with(".gch")) return entry->second;
    std::string text;
    if (read_text(file.starts_with('/') ? file : tree + "/" + file, text)) {
      entry->second = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    }
    return entry->second;
  };
  const auto units = strake::lint::parse_ninja_deps(deps);
  strake::lint::check_compile_cost(units, {}, lines_of, findings);
  return report(findings, units.size(), "units");
}

}  // namespace

int main(int argc, char** argv) {
  using namespace strake::lint;
  if (argc < 3) {
    std::fputs("usage: lint ROOT FILE...\n       lint --compile-cost TREE DEPS\n", stderr);
    return 1;
  }
  if (std::string_view(argv[1]) == "--compile-cost") return argc == 4 ? lint_compile_cost(argv[2], argv[3]) : 1;
  const std::string root = std::string(argv[1]) + "/";
  std::vector<Finding> findings;
  std::vector<SourceFile> sources;
  for (int i = 2; i < argc; ++i) {
    SourceFile file{argv[i], {}};
    if (!read_text(root + file.path, file.text)) findings.push_back({file.path, 0, "cannot be read"});
    sources.push_back(std::move(file));
  }
  std::string architecture, behaviours, metrics;
  if (!read_text(root + "docs/ARCHITECTURE.md", architecture))
    findings.push_back({"docs/ARCHITECTURE.md", 0, "is missing"});
  if (!read_text(root + "docs/behaviours.md", behaviours)) findings.push_back({"docs/behaviours.md", 0, "is missing"});
  if (!read_text(root + "docs/metrics.md", metrics)) findings.push_back({"docs/metrics.md", 0, "is missing"});
  const EdgeTable edges = parse_edge_table(architecture, findings);
  for (const SourceFile& file : sources) {
    check_includes(file, edges, findings);
    check_waiting(file, findings);
    check_public_headers(file, findings);
    check_printing(file, findings);
    check_size(file, findings);
    check_logging(file, findings);
  }
  check_unused_edges(sources, edges, findings);
  check_folders(sources, findings);
  check_own_kinds(sources, findings);
  check_behaviours(behaviours, sources, findings);
  check_metrics(metrics, sources, findings);
  return report(findings, sources.size(), "files");
}
