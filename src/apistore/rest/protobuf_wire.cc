#include "apistore/rest/protobuf_wire.h"

namespace strake::apistore::rest {

Result<std::uint64_t> WireReader::take_varint() {
  constexpr int kMaxBytes = 10;  // 64 bits, seven at a time
  std::uint64_t number = 0;
  for (int i = 0; i < kMaxBytes; ++i) {
    if (rest_.empty()) return error(Code::kInvalidArgument, "ends in the middle of a number");
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    const std::uint64_t bits = byte & 0x7fu;
    if (i == kMaxBytes - 1 && bits > 1) break;  // only one bit is left for the last byte
    number |= bits << (7 * i);
    if ((byte & 0x80u) == 0) return number;
  }
  return error(Code::kInvalidArgument, "has a number of more than 64 bits");
}

Result<WireField> WireReader::next() {
  constexpr std::uint64_t kWireVarint = 0, kWireBytes = 2;
  STRAKE_TRY(const std::uint64_t key, take_varint());
  WireField field;
  field.id = key >> 3u;
  if (field.id == 0) return error(Code::kInvalidArgument, "has a field with the number 0");
  switch (key & 7u) {
    case kWireVarint: {
      STRAKE_TRY(field.number, take_varint());
      return field;
    }
    case kWireBytes: {
      field.type = WireType::kBytes;
      STRAKE_TRY(const std::uint64_t size, take_varint());
      if (size > rest_.size()) return error(Code::kInvalidArgument, "ends in the middle of field {}", field.id);
      field.bytes = rest_.substr(0, static_cast<std::size_t>(size));
      rest_.remove_prefix(field.bytes.size());
      return field;
    }
    default:
      return error(Code::kInvalidArgument, "field {} has the wire type {}, which Kubernetes does not use", field.id,
                   key & 7u);
  }
}

}  // namespace strake::apistore::rest
