// Whatever a machine holds as its aleph must be read or refused; versions that are read compare with themselves and
// with each other the same both ways.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "stream/aleph.h"
#include "stream/os_version.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strake::stream;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto aleph = parse_aleph(text);
  if (aleph.ok() && aleph->version.empty()) std::abort();
  // An aleph's version, or two lines of which each may be one.
  const std::string first(aleph.ok() ? std::string_view(aleph->version) : text.substr(0, text.find('\n')));
  const auto version = OsVersion::parse(first);
  if (!version.ok()) return 0;
  if (!(*version == *version) || version->describe().empty()) std::abort();
  const std::size_t line_end = text.find('\n');
  if (line_end == std::string_view::npos) return 0;
  const auto other = OsVersion::parse(text.substr(line_end + 1));
  if (!other.ok()) return 0;
  const auto order = *version <=> *other;
  const auto reversed = *other <=> *version;
  if ((order < 0) != (reversed > 0) || (order == 0) != (reversed == 0)) std::abort();
  return 0;
}
