// Whatever a protobuf body decodes to is an object that can be written as JSON, read again, and shaped by its own type.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "apistore/rest/protobuf_body.h"
#include "apistore/schema/kubernetes_types.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strake;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto decoded = apistore::rest::decode_protobuf_body(body);
  if (!decoded.ok()) return 0;
  const auto again = json::parse(json::write(*decoded));
  require(again.ok() && *again == *decoded);
  const auto* type = apistore::KubernetesTypes::standard().find(decoded->at("kind").as_string());
  require(type != nullptr);
  json::Value object = *decoded;
  const auto unknown = apistore::shape_as(*type, object);
  require(unknown.ok() && unknown->empty());
  return 0;
}
