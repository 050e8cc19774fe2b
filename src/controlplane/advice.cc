#include "controlplane/advice.h"

namespace strake::controlplane {

std::string_view advice_for(const Error& error) {
  switch (error.code()) {
    case Code::kUnavailable:
      return "check that the API server runs and that the server address in the kubeconfig is right";
    case Code::kTimeout: return "the API server does not answer in time: check its load and the network to it";
    case Code::kUnauthenticated:
      return "the API server does not accept these credentials: renew the certificate or token in the kubeconfig";
    case Code::kDenied:
      // An answer of the server carries its reason; without one nothing was answered, because TLS failed before.
      if (error.reason() == "Forbidden") return "this identity lacks rights: apply deploy/rbac, or bind the role to it";
      return "the API server's certificate is not trusted or has expired: check certificate-authority in the "
             "kubeconfig "
             "and renew the server's certificate";
    case Code::kNotFound: return "the API server does not know this kind: apply deploy/crds";
    case Code::kExhausted: return "the API server asks to slow down, or a disk or quota is full";
    case Code::kInternal:
    case Code::kCorrupt: return "the API server itself is in trouble: see its log";
    case Code::kInvalidArgument:
    case Code::kExists:
    case Code::kConflict:
    case Code::kExpired:
    case Code::kCancelled:
    case Code::kUnsupported:
    case Code::kIo: return "";
  }
  return "";
}

}  // namespace strake::controlplane
