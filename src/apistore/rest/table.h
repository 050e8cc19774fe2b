// meta.k8s.io Tables: objects as rows that `kubectl get` prints. Columns come from the kind's printer columns, or are
// computed for Kubernetes' own kinds (builtin_tables.h).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "apistore/rest/builtin_tables.h"
#include "apistore/rest/json_path.h"
#include "apistore/schema/registry.h"
#include "base/result.h"
#include "codec/json.h"

namespace strake::apistore::rest {

/// How much of each object goes along with its row.
enum class IncludeObject { kNone, kMetadata, kObject };
std::string_view to_string(IncludeObject include);
/// "" is kMetadata.
Result<IncludeObject> parse_include_object(std::string_view text);

struct TableOptions {
  IncludeObject include = IncludeObject::kMetadata;
  std::string meta_version = "v1";  ///< of meta.k8s.io: "v1" or "v1beta1"
  bool headers = true;              ///< false: every event of a watch but the first
  WallTime now;
};

/// The metadata of a list, as an answer carries it.
struct ListMetadata {
  std::string resource_version;
  std::string continue_token;
  std::optional<std::int64_t> remaining_items;

  json::Object to_json() const;
};

/// {"kind":"PartialObjectMetadata", ...}: what a client gets that asked for metadata only.
json::Value partial_metadata(const json::Value& object, std::string_view meta_version);

/// The columns of one kind in one version, and how to fill them.
class TableLayout {
 public:
  static Result<TableLayout> make(const Kind& kind, const KindVersion& version);

  const json::Array& columns() const { return columns_; }
  json::Array cells(const json::Value& object, WallTime now) const;
  json::Value row(const json::Value& object, const TableOptions& options) const;

  /// A whole Table of one object.
  std::string table_of(const json::Value& object, const TableOptions& options) const;
  /// A whole Table of the objects of a list, given as text. kCorrupt when one cannot be parsed.
  Result<std::string> table_of_list(const std::vector<std::string>& items, const ListMetadata& metadata,
                                    const TableOptions& options) const;

 private:
  struct PathColumn {
    std::string type;
    JsonPath path;
  };
  std::string begin_table(const json::Object& metadata, const TableOptions& options) const;

  const BuiltinTable* builtin_ = nullptr;
  std::vector<PathColumn> paths_;  ///< behind the name column
  json::Array columns_;
};

/// The layouts of everything a registry serves.
class Tables {
 public:
  /// kInvalidArgument names the kind and the column that cannot be understood.
  static Result<Tables> make(const Registry& registry);
  const TableLayout& layout(const Kind& kind, const KindVersion& version) const;

 private:
  std::map<std::string, TableLayout> layouts_;  ///< by "plural.group/version"
};

}  // namespace strake::apistore::rest
