// A structural schema (the openAPIV3Schema of a CustomResourceDefinition): pruning, defaults, validation.
//
// Objects go through three steps, as in kube-apiserver: unknown fields are removed, absent fields with a default are
// filled in (and nulls that are not allowed are dropped), then everything is validated. Error texts are those
// kube-apiserver gives.
//
// Not evaluated here: CEL rules (x-kubernetes-validations), except four shapes the product relies on:
//   self.metadata.name == 'literal'      at the root: a singleton
//   self.metadata.name == self.a.b.c     at the root: an object named after what it is about
//   self == oldSelf                      on a field reached through properties: immutable once set
//   self.all(x, x.matches('pattern'))    on a map: what its keys look like; on a list: its items
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apistore/schema/field_problem.h"
#include "base/result.h"
#include "codec/json.h"

namespace strake::apistore {

class Schema {
 public:
  struct Node;

  /// Accepts everything and knows nothing.
  Schema();
  /// From the JSON of an openAPIV3Schema. kInvalidArgument names the place that cannot be understood.
  static Result<Schema> compile(const json::Value& open_api);

  /// Removes what the schema does not know and returns the paths of what was removed. apiVersion, kind and metadata of
  /// the root stay.
  std::vector<std::string> prune(json::Value& object) const;
  void apply_defaults(json::Value& object) const;
  /// `old` is the present state on updates, null on creation.
  std::vector<FieldProblem> validate(const json::Value& object, const json::Value* old) const;

 private:
  std::shared_ptr<const Node> root_;
};

}  // namespace strake::apistore
