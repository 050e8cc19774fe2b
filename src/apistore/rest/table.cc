#include "apistore/rest/table.h"

#include <cmath>

#include "apistore/rest/human_duration.h"

namespace strake::apistore::rest {

namespace {

json::Object column_definition(std::string_view name, std::string_view type, std::string_view format,
                               std::string_view description, std::int64_t priority) {
  return {{"name", name}, {"type", type}, {"format", format}, {"description", description}, {"priority", priority}};
}

/// A value in a column of type "string": text as it is, everything else as JSON.
json::Value text_cell(const json::Value& value) {
  if (value.is_string() || value.is_null()) return value;
  return json::Value(json::write_canonical(value));
}

json::Value integer_cell(const json::Value& value) {
  if (value.is_int64() || value.is_uint64()) return value;
  const double* number = value.if_double();
  constexpr double kTooLarge = 9.2e18;
  if (number == nullptr || std::abs(*number) > kTooLarge || std::isnan(*number)) return nullptr;
  return static_cast<std::int64_t>(*number);
}

/// null where the value does not have the column's type: kubectl shows that as <none>.
json::Value typed_cell(std::string_view type, const json::Value& value, WallTime now) {
  if (type == "string") return text_cell(value);
  if (type == "integer") return integer_cell(value);
  if (type == "number") return value.is_number() ? value : json::Value();
  if (type == "boolean") return value.is_bool() ? value : json::Value();
  if (type == "date" && value.is_string()) return json::Value(human_age(json::as_view(value.get_string()), now));
  return nullptr;
}

std::string layout_key(const Kind& kind, const KindVersion& version) {
  return fmt::format("{}/{}", kind.qualified_name(), version.name);
}

}  // namespace

std::string_view to_string(IncludeObject include) {
  switch (include) {
    case IncludeObject::kNone: return "None";
    case IncludeObject::kMetadata: return "Metadata";
    case IncludeObject::kObject: return "Object";
  }
  return "unknown";
}

Result<IncludeObject> parse_include_object(std::string_view text) {
  if (text.empty()) return IncludeObject::kMetadata;
  for (const IncludeObject include : {IncludeObject::kNone, IncludeObject::kMetadata, IncludeObject::kObject}) {
    if (text == to_string(include)) return include;
  }
  return error(Code::kInvalidArgument,
               "Unable to convert to Table as requested: includeObject: Invalid value: \"{}\": must be 'Metadata', "
               "'Object', "
               "'None', or empty",
               text)
      .with_reason("BadRequest");
}

json::Object ListMetadata::to_json() const {
  json::Object metadata{{"resourceVersion", resource_version}};
  if (!continue_token.empty()) metadata["continue"] = continue_token;
  if (remaining_items) metadata["remainingItemCount"] = *remaining_items;
  return metadata;
}

json::Value partial_metadata(const json::Value& object, std::string_view meta_version) {
  const json::Value* metadata = json::find(object, {"metadata"});
  return json::Object{{"kind", "PartialObjectMetadata"},
                      {"apiVersion", fmt::format("meta.k8s.io/{}", meta_version)},
                      {"metadata", metadata == nullptr ? json::Value(json::Object{}) : *metadata}};
}

Result<TableLayout> TableLayout::make(const Kind& kind, const KindVersion& version) {
  TableLayout layout;
  if (!kind.table.empty()) {
    layout.builtin_ = find_builtin_table(kind.table);
    if (layout.builtin_ == nullptr) {
      return error(Code::kInvalidArgument, "annotation strake.dev/table: there is no table '{}'", kind.table);
    }
    for (const BuiltinColumn& column : layout.builtin_->columns) {
      layout.columns_.push_back(
          column_definition(column.name, column.type, column.format, column.description, column.priority));
    }
    return layout;
  }

  layout.columns_.push_back(
      column_definition("Name", "string", "name", "The object's name, unique within its kind and namespace.", 0));
  std::vector<PrinterColumn> columns = version.columns;
  if (columns.empty()) {
    columns.push_back({"Age", "date", "", "How long ago the object was created.", ".metadata.creationTimestamp", 0});
  }
  for (const PrinterColumn& column : columns) {
    STRAKE_TRY_CONTEXT(JsonPath path, JsonPath::parse(column.json_path), "printer column {}", column.name);
    layout.paths_.push_back({column.type, std::move(path)});
    const std::string description =
        column.description.empty() ? fmt::format("The field {} of the object.", column.json_path) : column.description;
    layout.columns_.push_back(column_definition(column.name, column.type, column.format, description, column.priority));
  }
  return layout;
}

json::Array TableLayout::cells(const json::Value& object, WallTime now) const {
  if (builtin_ != nullptr) return builtin_->cells(object, now);
  json::Array cells;
  cells.reserve(1 + paths_.size());
  cells.emplace_back(json::find_string(object, {"metadata", "name"}).value_or(""));
  for (const PathColumn& column : paths_) {
    const json::Value* value = column.path.first(object);
    cells.push_back(value == nullptr ? json::Value() : typed_cell(column.type, *value, now));
  }
  return cells;
}

json::Value TableLayout::row(const json::Value& object, const TableOptions& options) const {
  json::Object row{{"cells", cells(object, options.now)}};
  if (builtin_ != nullptr && builtin_->conditions != nullptr) {
    if (json::Array conditions = builtin_->conditions(object); !conditions.empty())
      row["conditions"] = std::move(conditions);
  }
  switch (options.include) {
    case IncludeObject::kNone: row["object"] = nullptr; break;
    case IncludeObject::kMetadata: row["object"] = partial_metadata(object, options.meta_version); break;
    case IncludeObject::kObject: row["object"] = object; break;
  }
  return row;
}

std::string TableLayout::begin_table(const json::Object& metadata, const TableOptions& options) const {
  return fmt::format(R"({{"kind":"Table","apiVersion":"meta.k8s.io/{}","metadata":{},"columnDefinitions":{},"rows":[)",
                     options.meta_version, json::write(metadata), options.headers ? json::write(columns_) : "null");
}

std::string TableLayout::table_of(const json::Value& object, const TableOptions& options) const {
  ListMetadata metadata;
  metadata.resource_version = json::find_string(object, {"metadata", "resourceVersion"}).value_or("");
  return begin_table(metadata.to_json(), options) + json::write(row(object, options)) + "]}";
}

Result<std::string> TableLayout::table_of_list(const std::vector<std::string>& items, const ListMetadata& metadata,
                                               const TableOptions& options) const {
  std::string text = begin_table(metadata.to_json(), options);
  bool first = true;
  for (const std::string& item : items) {
    const auto object = json::parse(item);
    if (!object.ok()) return error(Code::kCorrupt, "a stored object cannot be read: {}", object.error().to_string());
    if (!first) text += ',';
    first = false;
    text += json::write(row(*object, options));
  }
  text += "]}";
  return text;
}

Result<Tables> Tables::make(const Registry& registry) {
  Tables tables;
  for (const Kind& kind : registry.kinds()) {
    for (const KindVersion& version : kind.versions) {
      STRAKE_TRY_CONTEXT(TableLayout layout, TableLayout::make(kind, version), "{} {}", kind.qualified_name(),
                         version.name);
      tables.layouts_.emplace(layout_key(kind, version), std::move(layout));
    }
  }
  return tables;
}

const TableLayout& Tables::layout(const Kind& kind, const KindVersion& version) const {
  const auto found = layouts_.find(layout_key(kind, version));
  STRAKE_INVARIANT(found != layouts_.end());
  return found->second;
}

}  // namespace strake::apistore::rest
