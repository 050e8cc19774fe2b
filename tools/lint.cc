// lint ROOT FILE...: checks the files (paths relative to ROOT) against the rules in lint_rules.h; exit 1 when one is
// broken.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "lint_rules.h"

namespace {

bool read_text(const std::string& path, std::string& text) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace strake::lint;
  if (argc < 3) {
    std::fputs("usage: lint ROOT FILE...\n", stderr);
    return 1;
  }
  const std::string root = std::string(argv[1]) + "/";
  std::vector<Finding> findings;
  std::vector<SourceFile> sources;
  for (int i = 2; i < argc; ++i) {
    SourceFile file{argv[i], {}};
    if (!read_text(root + file.path, file.text)) findings.push_back({file.path, 0, "cannot be read"});
    sources.push_back(std::move(file));
  }
  std::string architecture, behaviours;
  if (!read_text(root + "docs/ARCHITECTURE.md", architecture))
    findings.push_back({"docs/ARCHITECTURE.md", 0, "is missing"});
  if (!read_text(root + "docs/behaviours.md", behaviours)) findings.push_back({"docs/behaviours.md", 0, "is missing"});
  const EdgeTable edges = parse_edge_table(architecture, findings);
  for (const SourceFile& file : sources) {
    check_includes(file, edges, findings);
    check_waiting(file, findings);
    check_public_headers(file, findings);
    check_size(file, findings);
  }
  check_behaviours(behaviours, sources, findings);
  for (const Finding& finding : findings) std::fprintf(stderr, "%s\n", finding.to_string().c_str());
  std::printf("lint: %zu files, %zu findings\n", sources.size(), findings.size());
  return findings.empty() ? 0 : 1;
}
