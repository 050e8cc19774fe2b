// Kubernetes Status objects and strake::Error: the same failure, on the wire and in the code.
//
// The HTTPS client reads Status, the embedded API server writes it; one table in the .cc ties reason words, HTTP codes
// and error codes together, so that an error survives the trip between the two.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace strake::kube {

/// One field that is wrong, as `details.causes` of a Status lists it.
struct StatusCause {
  std::string reason;  ///< "FieldValueInvalid", "FieldValueRequired", ...
  std::string message;
  std::string field;  ///< "spec.replicas", "metadata.labels[a/b]"
};

/// Which object the failure is about; everything is optional.
struct StatusDetails {
  std::string name;
  std::string group;
  std::string kind;  ///< the plural resource name, as API servers write it
  std::string uid;
  std::vector<StatusCause> causes;
};

struct ApiStatus {
  int http_code = 500;
  json::Value body;  ///< kind Status, apiVersion v1
};

/// What a server's answer means. `status` is its body: a Status object, or a string when the body was something else (a
/// proxy's page), or null when it was empty. `http_code` 0 takes the code from the body, as in the ERROR event of a
/// watch.
Error error_from_status(int http_code, const json::Value& status);

/// What a server answers. The message is the whole chain (Error::to_string()); the reason is Error::reason() or the
/// code's usual word.
ApiStatus status_from_error(const Error& error, const StatusDetails& details = {});

std::vector<StatusCause> causes_of_status(const json::Value& status);

}  // namespace strake::kube
