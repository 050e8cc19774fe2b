// The types of Kubernetes' own kinds: which fields they have, with their names in JSON and their numbers in protobuf.
//
// kubernetes_types.txt is the one definition, made from the Go types that clients are made of and compiled in.
// Three things read it: the decoder of protobuf bodies (rest/protobuf_body.h); strategic merge patches; and `shape_as`,
// which does to an object what decoding it into the Go type and writing it again does in kube-apiserver. The schemas in
// builtin/ are too short for that: they name the fields Strake reads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "codec/strategic_merge.h"

namespace strake::apistore {

enum class FieldType {
  kString,
  kBytes,  ///< base64 in JSON
  kInt32,
  kInt64,
  kBoolean,
  kTime,         ///< RFC 3339, whole seconds
  kMicroTime,    ///< RFC 3339, microseconds
  kFieldsV1,     ///< what managedFields say; not kept by this server
  kQuantity,     ///< "500m"; a number is accepted in JSON
  kIntOrString,  ///< 1 or "25%"
  kMessage,
};

enum class FieldShape { kSingle, kList, kMap };

enum class FieldPresence {
  kWhenNotZero,  ///< zero or empty is the same as absent
  kWhenSet,      ///< absent and zero or empty are two things
  kAlways,       ///< never absent
};

struct MessageType;

struct MessageField {
  std::uint32_t number = 0;
  std::string name;  ///< in JSON; "" when the members of this message belong to the message around it
  FieldType type = FieldType::kString;
  FieldShape shape = FieldShape::kSingle;
  FieldPresence presence = FieldPresence::kWhenNotZero;
  const MessageType* message = nullptr;            ///< of kMessage
  std::optional<json::MergeRule> merge_rule = {};  ///< how a strategic merge patch treats it, when not as others
  std::string merge_key = {};                      ///< of kMergeByKey
};

struct MessageType {
  std::string name;
  std::vector<MessageField> fields;

  const MessageField* by_number(std::uint64_t number) const;
  /// Looks into messages without a name of their own, too.
  const MessageField* by_name(std::string_view name) const;
};

class KubernetesTypes {
 public:
  /// From the notation of kubernetes_types.txt; kInvalidArgument names the line.
  static Result<KubernetesTypes> parse(std::string_view text);
  /// What the program carries.
  static const KubernetesTypes& standard();

  /// By the name in Go, which for a kind is the kind; nullptr when it is not known.
  const MessageType* find(std::string_view name) const;

 private:
  std::vector<std::unique_ptr<MessageType>> types_;  // fields point to them
};

/// What a strategic merge patch has to know about objects of this type.
json::MergeSchema merge_schema_of(const MessageType& type);

/// Zero, empty or null: what a field that nobody set has.
bool is_zero_value(const json::Value& value);

/// Brings an object into the form it has after being read into its type. Members the type does not have are removed,
/// and their paths returned ("spec.containers[0].imge"); what is absent but never absent in the type is added; empty
/// values that are the same as none are removed. A value of another type than its field's is kInvalidArgument, in the
/// words of Go's decoder. apiVersion, kind and metadata of the object itself are left alone.
Result<std::vector<std::string>> shape_as(const MessageType& type, json::Value& object);

}  // namespace strake::apistore
