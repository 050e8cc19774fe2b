// How a Butane config becomes an Ignition config: a walk over the table of members, and what only Butane has. Internal
// to butane.cc.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ignition/butane/butane.h"
#include "ignition/butane/dialect.h"
#include "ignition/schema.h"

namespace strake::ignition {

using NodeKind = yaml::Node::Kind;

/// "sshAuthorizedKeys" as Butane spells it: "ssh_authorized_keys".
std::string snake_case(std::string_view name);

/// "a list": what was found, in words for messages.
std::string_view kind_name(const yaml::Node& node);

/// Where the members of a struct are read from, and whether anybody checks their names: not those an alias or a merge
/// brought in, because Butane does not see where they are written.
struct Place {
  const yaml::Node& node;
  json::Steps steps;
  bool is_quiet = false;

  Place member(const std::string& name, const yaml::Node& value) const {
    Place inner{value, steps, is_quiet || value.is_merged || node.is_alias};
    inner.steps.push_back(name);
    return inner;
  }
  Place item(std::size_t index) const {
    Place inner{node.children[index], steps, is_quiet || node.is_alias};
    inner.steps.push_back(fmt::format("[{}]", index));
    return inner;
  }
};

/// One config; used once.
class ButaneTranslator {
 public:
  ButaneTranslator(const yaml::Node& root, const Dialect& dialect, const ButaneOptions& options, ButaneResult& result)
      : root_(root), dialect_(dialect), files_(options.files), role_label_(options.role_label), result_(result) {}

  void translate();

 private:
  void add(Severity severity, json::Steps steps, std::string message, bool at_key = false);
  void fail(const Place& place, std::string message) { add(Severity::kError, place.steps, std::move(message)); }
  void warn(const Place& place, std::string message) { add(Severity::kWarning, place.steps, std::move(message)); }
  static json::Steps below(const Place& place, std::string_view name);
  /// The deepest step that is written; steps may be in Ignition's spelling.
  std::size_t line_of(const json::Steps& steps, bool at_key) const;

  // Members by the table of the spec.
  json::Object struct_of(const Place& place, const StructSchema& schema);
  void warn_of_unknown(const Place& place, const std::set<std::string, std::less<>>& known);
  /// Butane has no `ignition.version`: its own version decides.
  static bool is_left_out(const StructSchema& schema, const Member& member);
  /// The names of things are written out even when nobody gave one.
  void demand_names(const StructSchema& schema, json::Object& made) const;
  void take(json::Object& made, const Member& member, const Place& place);
  static std::string_view described(const yaml::Node& node);
  std::optional<std::string> text_of(const Place& place);
  /// Items that are null do not count. Objects when there is an element, else texts.
  json::Array list_of(const Place& place, const StructSchema* element);

  // Members that only Butane has (extras.cc).
  static bool is_resource(const StructSchema& schema) { return schema.find("verification") != nullptr; }
  /// In spec 3.0 only files have contents of their own; what configs and authorities come from is a URL.
  static bool is_file_resource(const StructSchema& schema);
  static bool is_unit_text(const StructSchema& schema);
  static bool is_user(const StructSchema& schema) { return schema.find("sshAuthorizedKeys") != nullptr; }
  static bool is_storage(const StructSchema& schema) { return schema.find("files") != nullptr; }
  static bool is_root(const StructSchema& schema) { return schema.find("ignition") != nullptr; }
  std::vector<std::string_view> extra_members(const StructSchema& schema) const;
  void take_extras(const Place& place, const StructSchema& schema, json::Object& made);
  void refuse(const Place& place, bool is_known, std::string_view name);
  void check_mode(const Place& place, bool of_directory, const json::Object& made);
  /// A member that is text; nullptr when it is absent or null.
  const yaml::Node* text_member(const Place& place, const std::string& name);
  void take_contents(const Place& place, bool has_local, json::Object& made);
  void embed(std::string_view contents, json::Object& resource);
  /// "a/../b" is "b"; nullopt for what leads out of the folder.
  static std::optional<std::string> local_path(std::string_view written);
  std::optional<std::string> read_local(const json::Steps& steps, std::string_view written);
  void take_local_text(const Place& place, json::Object& made);
  bool is_text(const json::Steps& steps, std::string_view contents);
  void take_local_keys(const Place& place, json::Object& made);

  // Trees (extras.cc).
  void take_trees(json::Value& config);
  void take_tree(const Place& place, json::Value& config);
  void add_entry(const Place& place, const std::string& path, const LocalEntry& entry, json::Value& config);

  void check_result(const json::Value& config);

  // The MachineConfig around it (openshift.cc).
  /// A section of the root that is a mapping; nullopt when it is absent or something else.
  std::optional<Place> section(const std::string& name, std::set<std::string, std::less<>> known);
  void take_metadata(json::Object& metadata);
  void take_openshift(json::Object& spec);
  /// What a node of OpenShift cannot follow, or could not undo, is not let into a MachineConfig at all.
  void check_openshift(const json::Value& config);
  static void for_each_of(const json::Value& config, std::string_view section, std::string_view list,
                          const std::function<void(const json::Steps&, const json::Value&)>& visit);
  void add_below(json::Steps steps, std::initializer_list<std::string_view> names, std::string message);
  void check_core(const json::Steps& steps, const json::Value& user, const std::string& whom);
  void check_node_file(const json::Steps& steps, const json::Value& file, const std::string& whom);

  const yaml::Node& root_;
  const Dialect& dialect_;
  LocalFiles* files_;
  std::string_view role_label_;
  ButaneResult& result_;
  std::map<std::pair<std::string_view, std::string>, std::size_t>
      nodes_;  ///< list and path to index, while trees are taken
};

}  // namespace strake::ignition
