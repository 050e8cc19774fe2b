// OpenAPI v3: the schemas of everything served, for `kubectl explain` and for clients that ask what a server
// understands.
//
// Documents are made on first use, once. Strategic merge is left out of the PATCH media types on purpose: our schemas
// of Kubernetes' own kinds name only the fields Strake knows, and a client that computed such a patch from them would
// stumble over every other field. Without it clients fall back to the types compiled into them, which know all.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "apistore/schema/registry.h"

namespace strake::apistore::rest {

class OpenApi {
 public:
  /// The registry must outlive it.
  explicit OpenApi(const Registry& registry) : registry_(registry) {}

  struct Document {
    std::string text;
    std::string hash;  ///< changes with the text: goes into URLs and ETags
  };
  /// {"paths": {"api/v1": {"serverRelativeURL": ...}}}
  const Document& index() const;
  /// "api/v1", "apis/policy/v1"; nullptr when nothing of that name is served.
  const Document* find(std::string_view path) const;

 private:
  void make() const;

  const Registry& registry_;
  mutable std::once_flag made_;
  mutable Document index_;
  mutable std::map<std::string, Document, std::less<>> documents_;
};

}  // namespace strake::apistore::rest
