#include "ignition/butane/embed.h"

#include <optional>

#include "codec/compress.h"
#include "codec/data_url.h"

namespace strake::ignition {

namespace {

constexpr int kBestCompression = 9;
constexpr std::string_view kPackedName = "gzip";
constexpr std::size_t kGoLastBlockBytes = 5;

std::optional<std::int64_t> digits_as_octal(std::int64_t mode) {
  if (mode < 0 || mode > 7777) return std::nullopt;
  std::int64_t octal = 0;
  for (std::int64_t divisor = 1000; divisor > 0; divisor /= 10) {
    const std::int64_t digit = (mode / divisor) % 10;
    if (digit > 7) return std::nullopt;
    octal = octal * 8 + digit;
  }
  return octal;
}

/// Whether somebody would choose these permissions: who is closer to the file may do at least what others may.
bool is_ordinary(std::int64_t mode, bool of_directory) {
  if (mode == 0) return true;
  constexpr int kRead = 4, kWrite = 2, kExecute = 1;
  int granted = 0;  // to everybody further away
  for (const int shift : {0, 3, 6}) {
    const int here = static_cast<int>(mode >> shift) & 7;
    if ((granted & ~here) != 0) return false;
    const bool closer_may_execute = (here & kExecute) != 0 && (granted & kRead) != 0 && (granted & kExecute) == 0;
    if (closer_may_execute) return false;
    if ((here & (kWrite | kExecute)) != 0 && (here & kRead) == 0) return false;
    granted |= here;
  }
  if ((granted & kRead) == 0) return false;
  const bool executable = (granted & kExecute) != 0, writable = (granted & kWrite) != 0;
  const std::int64_t setuid = mode & 04000, setgid = mode & 02000, sticky = mode & 01000;
  if (of_directory) return executable && setuid == 0 && ((setgid | sticky) == 0 || writable);
  if (sticky != 0) return false;
  return (setuid | setgid) == 0 || (executable && (mode & kWrite) == 0);
}

}  // namespace

std::string embed_escaped(std::string_view contents) { return codec::encode_data_url(contents); }

Embedded embed_contents(std::string_view contents, bool may_pack) {
  Embedded best{embed_escaped(contents)};
  if (std::string plain = codec::encode_base64_data_url(contents); plain.size() < best.source.size()) {
    best.source = std::move(plain);
  }
  if (!may_pack) return best;
  const std::string packed = codec::gzip(contents, kBestCompression);
  // Whether it pays is decided by the size Go's compressor gives, which ends with an empty block.
  const std::size_t decisive = codec::encode_base64_data_url(packed + std::string(kGoLastBlockBytes, '\0')).size();
  if (decisive + kPackedName.size() < best.source.size()) return {codec::encode_base64_data_url(packed), true};
  return best;
}

bool is_decimal_mode(std::int64_t mode, bool of_directory) {
  const auto meant = digits_as_octal(mode);
  return meant && !is_ordinary(mode, of_directory) && is_ordinary(*meant, of_directory);
}

}  // namespace strake::ignition
