// What kube-apiserver does to an object before it stores it: decoding rules, pruning, defaults, metadata only the
// server sets, the separation of spec and status, generation, validation. Pure: identifiers and time are given.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apistore/schema/registry.h"
#include "base/random.h"
#include "base/result.h"
#include "codec/json.h"
#include "kube/api_error.h"
#include "kube/kube_api.h"

namespace strake::apistore {

/// One write: to what, how, and what is said beside the answer.
struct WriteRequest {
  const Kind& kind;
  const KindVersion& version;  ///< the client's
  const kube::WriteOptions& options;
  std::string now;  ///< RFC 3339, for timestamps
  std::vector<std::string>& warnings;
  kube::StatusDetails& details;
};

struct NewIdentity {
  std::string ns;
  std::string name;
  std::string uid;
};

/// A name for an object that has only metadata.generateName.
std::string generated_name(const json::Value& object, Random& random);

/// The object as it will be stored, without resourceVersion.
Result<json::Value> prepare_create(WriteRequest& request, json::Value object, const NewIdentity& identity);

/// Whether a client sent the whole object, or what changes in it.
enum class UpdateSource { kReplacement, kPatch };

/// The object as it will be stored; equal to `old` when nothing changes. `old` has its resourceVersion.
Result<json::Value> prepare_update(WriteRequest& request, const json::Value& old, json::Value object,
                                   UpdateSource source);

/// Whether a deletion waits: for finalizers, or for the contents of a namespace.
bool has_finalizers(const Kind& kind, const json::Value& object);
/// Sets deletionTimestamp and what comes with it.
void mark_deleting(const Kind& kind, json::Value& object, const std::string& at, std::int64_t grace_seconds);

}  // namespace strake::apistore
