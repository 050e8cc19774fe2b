// The 512-byte header block shared by the tar reader and the tar writer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace strake::codec {

inline constexpr std::size_t kTarBlockBytes = 512;

struct TarField {
  std::size_t offset;
  std::size_t size;
};

inline constexpr TarField kTarName{0, 100};
inline constexpr TarField kTarMode{100, 8};
inline constexpr TarField kTarUid{108, 8};
inline constexpr TarField kTarGid{116, 8};
inline constexpr TarField kTarSize{124, 12};
inline constexpr TarField kTarMtime{136, 12};
inline constexpr TarField kTarChecksum{148, 8};
inline constexpr TarField kTarType{156, 1};
inline constexpr TarField kTarLink{157, 100};
inline constexpr TarField kTarMagic{257, 8};  ///< magic and version together
inline constexpr TarField kTarUser{265, 32};
inline constexpr TarField kTarGroup{297, 32};
inline constexpr TarField kTarDeviceMajor{329, 8};
inline constexpr TarField kTarDeviceMinor{337, 8};
inline constexpr TarField kTarPrefix{345, 155};

inline constexpr std::string_view kTarMagicUstar{
    "ustar\0"
    "00",
    8};
inline constexpr std::string_view kTarMagicGnu{"ustar  \0", 8};

class TarHeader {
 public:
  TarHeader() { block_.fill('\0'); }

  char* data() { return block_.data(); }
  std::string_view bytes() const { return {block_.data(), block_.size()}; }

  std::string_view raw(TarField field) const { return bytes().substr(field.offset, field.size); }
  /// Up to the first NUL.
  std::string_view text(TarField field) const;
  /// Octal text, or base-256 when the first bit is set; nullopt when it is neither or does not fit.
  std::optional<std::int64_t> number(TarField field) const;
  char type() const { return block_[kTarType.offset]; }
  bool is_zero() const;
  bool checksum_matches() const;

  /// False when the text does not fit, or holds a NUL.
  bool set_text(TarField field, std::string_view value);
  /// False when the value does not fit in the octal digits of the field.
  bool set_octal(TarField field, std::uint64_t value);
  void set_type(char type) { block_[kTarType.offset] = type; }
  void set_checksum();

 private:
  std::array<char, kTarBlockBytes> block_;
};

/// The zero bytes that fill the last block of `size` bytes.
constexpr std::uint64_t tar_padding(std::uint64_t size) {
  return (kTarBlockBytes - size % kTarBlockBytes) % kTarBlockBytes;
}

}  // namespace strake::codec
