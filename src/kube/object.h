// A Kubernetes object: its JSON kept whole, so that fields we do not know survive, with accessors for the metadata
// everyone uses.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/json.h"
#include "kube/resource.h"

namespace strake::kube {

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
  bool block_owner_deletion = false;
};

class Object {
 public:
  Object() : json_(json::Object{}) {}
  explicit Object(json::Value json) : json_(std::move(json)) {}
  /// apiVersion, kind and metadata filled in.
  Object(const Resource& resource, const ObjectKey& key);

  const json::Value& json() const { return json_; }
  json::Value& json() { return json_; }

  std::string api_version() const { return text({"apiVersion"}); }
  std::string kind() const { return text({"kind"}); }
  std::string name() const { return text({"metadata", "name"}); }
  std::string ns() const { return text({"metadata", "namespace"}); }
  ObjectKey key() const { return {ns(), name()}; }
  std::string uid() const { return text({"metadata", "uid"}); }
  std::string resource_version() const { return text({"metadata", "resourceVersion"}); }
  std::int64_t generation() const { return json::find_int(json_, {"metadata", "generation"}).value_or(0); }
  std::string creation_timestamp() const { return text({"metadata", "creationTimestamp"}); }
  bool deleting() const { return json::find(json_, {"metadata", "deletionTimestamp"}) != nullptr; }

  std::optional<std::string> annotation(std::string_view name) const;
  std::optional<std::string> label(std::string_view name) const;
  std::map<std::string, std::string> labels() const;
  std::map<std::string, std::string> annotations() const;
  std::vector<std::string> finalizers() const;
  std::vector<OwnerReference> owners() const;

  void set_annotation(std::string_view name, std::string_view value);
  void set_label(std::string_view name, std::string_view value);
  void add_owner(const OwnerReference& owner);

  /// The string at a path, or "".
  std::string text(std::initializer_list<std::string_view> path) const {
    return json::find_string(json_, path).value_or("");
  }

 private:
  json::Value json_;
};

/// Versions are decimal numbers that grow with every write, on every server we know. False when one of them is not.
bool is_older_version(std::string_view version, std::string_view than);

/// Whether a server could have an object of this name: a DNS subdomain. What others wrote into an annotation may be
/// anything, and asking for ".." would ask for something else.
bool is_object_name(std::string_view name);

/// Informers and watches hand out shared, unchangeable objects.
using ObjectPtr = std::shared_ptr<const Object>;

}  // namespace strake::kube
