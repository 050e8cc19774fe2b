// The fields of one protobuf message, one after the other. Pure; nothing is copied.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace strake::apistore::rest {

/// The two ways of Kubernetes' types; the others (fixed32, fixed64, groups) are refused.
enum class WireType { kVarint, kBytes };

struct WireField {
  std::uint64_t id = 0;
  WireType type = WireType::kVarint;
  std::uint64_t number = 0;  ///< of kVarint
  std::string_view bytes;    ///< of kBytes
};

class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}

  bool at_end() const { return rest_.empty(); }
  /// kInvalidArgument when the message ends too early or has what Kubernetes never writes.
  Result<WireField> next();

 private:
  Result<std::uint64_t> take_varint();

  std::string_view rest_;
};

}  // namespace strake::apistore::rest
