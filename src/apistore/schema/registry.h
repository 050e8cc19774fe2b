// The kinds the embedded API server serves, read from CustomResourceDefinition documents compiled into the program.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/embedded_file.h"
#include "apistore/schema/kubernetes_types.h"
#include "apistore/schema/schema.h"
#include "base/result.h"
#include "codec/json.h"
#include "kube/resource.h"

namespace strake::apistore {

struct PrinterColumn {
  std::string name;
  std::string type;  ///< "string", "integer", "date", ...
  std::string format;
  std::string description;
  std::string json_path;
  std::int64_t priority = 0;  ///< above 0: shown by `-o wide` only
};

struct KindVersion {
  std::string name;
  bool served = true;
  bool storage = false;
  bool deprecated = false;
  std::string deprecation_warning;
  bool has_status = false;  ///< the status subresource
  std::vector<PrinterColumn> columns;
  std::vector<std::string> selectable_fields;  ///< "spec.channel"
  Schema schema;
  json::Value open_api;  ///< the openAPIV3Schema as written
};

struct Kind {
  std::string group;
  std::string kind;
  std::string list_kind;
  std::string plural;
  std::string singular;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  bool namespaced = false;
  bool builtin = false;                 ///< a kind of Kubernetes itself: the rules of its own type apply
  const MessageType* fields = nullptr;  ///< of a kind of Kubernetes itself: all it has, the schemas name only some
  std::optional<json::MergeSchema> merge_schema;  ///< of the same kinds: no others take strategic merge patches
  std::string table;  ///< annotation strake.dev/table: a hand-made table, "" for the printer columns
  std::vector<KindVersion> versions;
  json::Value definition;  ///< the whole CustomResourceDefinition

  const KindVersion* version(std::string_view name) const;
  const KindVersion& storage() const;
  kube::Resource resource(const KindVersion& in) const { return {group, in.name, kind, plural, namespaced}; }
  /// "machineconfigs.machineconfiguration.openshift.io": the resource of its StoreKey.
  std::string qualified_name() const { return group.empty() ? plural : plural + "." + group; }
  std::string api_version(const KindVersion& in) const { return group.empty() ? in.name : group + "/" + in.name; }
  ErrorSubject subject(std::string_view name) const { return {group, kind, plural, std::string(name)}; }
};

class Registry {
 public:
  /// Everything the program carries.
  static Result<Registry> standard();
  static Result<Registry> load(std::span<const api::EmbeddedFile> builtin, std::span<const api::EmbeddedFile> custom);

  const Kind* find(std::string_view group, std::string_view plural) const;
  const Kind* find_kind(std::string_view group, std::string_view kind) const;
  const Kind* find_qualified(std::string_view qualified_name) const;
  /// Sorted by group, then plural.
  const std::vector<Kind>& kinds() const { return kinds_; }

 private:
  std::vector<Kind> kinds_;
};

/// src/apistore/builtin, compiled in.
std::span<const api::EmbeddedFile> builtin_files();

}  // namespace strake::apistore
