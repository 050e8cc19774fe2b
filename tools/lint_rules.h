// The rules of the code base that a compiler does not check. Pure functions over file contents, so that they are tested
// like the rest.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace strake::lint {

struct SourceFile {
  std::string path;  ///< relative to the repository root, with slashes
  std::string text;
};

struct Finding {
  std::string path;
  std::size_t line = 0;  ///< 0 when the whole file is meant
  std::string message;

  std::string to_string() const;
};

/// module -> modules it may include, read from the table under "## Edges" in docs/ARCHITECTURE.md.
using EdgeTable = std::map<std::string, std::set<std::string>>;
EdgeTable parse_edge_table(std::string_view architecture_markdown, std::vector<Finding>& findings);

void check_includes(const SourceFile& file, const EdgeTable& edges, std::vector<Finding>& findings);
/// The table lists exactly the edges used: one that no file of a module takes any more is a finding.
void check_unused_edges(const std::vector<SourceFile>& sources, const EdgeTable& edges, std::vector<Finding>& findings);
/// A folder under src that holds more than 60 sources needs rooms.
void check_folders(const std::vector<SourceFile>& sources, std::vector<Finding>& findings);
/// Waiting outside base/runtime and the few files design allows; `co_await` anywhere.
void check_waiting(const SourceFile& file, std::vector<Finding>& findings);
/// Third-party types must not leak across modules; heavy headers stay inside one .cc.
void check_public_headers(const SourceFile& file, std::vector<Finding>& findings);
/// Libraries return, programs log: base/log and the standard error stream belong to src/cmd and the daemons' loops.
void check_logging(const SourceFile& file, std::vector<Finding>& findings);
/// Verbs print through cmd/output alone, where every write is checked.
void check_printing(const SourceFile& file, std::vector<Finding>& findings);
/// Fields and marks of our own kinds are spelled in src/api alone, where the tests look each one up in its CRD:
/// whatever a FieldTable there names is a finding elsewhere, and so is one of the platform's annotations or labels.
void check_own_kinds(const std::vector<SourceFile>& sources, std::vector<Finding>& findings);
void check_size(const SourceFile& file, std::vector<Finding>& findings);

/// Every metric the program exports is a row of the table in docs/metrics.md, and the other way round.
void check_metrics(std::string_view metrics_markdown, const std::vector<SourceFile>& sources,
                   std::vector<Finding>& findings);

/// Every row of docs/behaviours.md names tests as `Suite.Name`; each must exist in some TEST, TEST_F or TEST_P.
void check_behaviours(std::string_view behaviours_markdown, const std::vector<SourceFile>& sources,
                      std::vector<Finding>& findings);

}  // namespace strake::lint
