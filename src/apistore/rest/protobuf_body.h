// Bodies of requests in Kubernetes' protobuf form, turned into the JSON the rest of the server works with. Pure.
//
// Typed clients prefer this form for Kubernetes' own kinds (`kubectl create configmap`, `kubectl drain`, kubelets):
// the magic "k8s\0", then a message runtime.Unknown with apiVersion and kind, and inside it the object as a message of
// its own type. Nothing is ever dropped silently: a field without a number in kubernetes_types.txt refuses the
// request.
#pragma once

#include <string_view>

#include "base/result.h"
#include "codec/json.h"
#include "net/http.h"

namespace strake::apistore::rest {

inline constexpr std::string_view kProtobufMediaType = "application/vnd.kubernetes.protobuf";

/// kInvalidArgument (400) when the bytes are no such body; kUnsupported (415) when they are, but of a kind or with a
/// field this server cannot read.
Result<json::Value> decode_protobuf_body(std::string_view body);

}  // namespace strake::apistore::rest
