// Objects of strangers' repositories: read or refused, and what was read is written back to the same bytes. The first
// byte says which kind follows.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ostree/objects.h"

namespace {

template <typename T>
void require_same(const strake::Result<T>& read, std::string (*serialize)(const T&), std::string_view bytes) {
  if (read.ok() && serialize(*read) != bytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strake::ostree;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'c': require_same<Commit>(parse_commit(bytes), serialize_commit, bytes); break;
    case 't': require_same<DirTree>(parse_dirtree(bytes), serialize_dirtree, bytes); break;
    case 'm': require_same<DirMeta>(parse_dirmeta(bytes), serialize_dirmeta, bytes); break;
    case 'x': require_same<Xattrs>(parse_xattrs(bytes), serialize_xattrs, bytes); break;
    case 'u': (void)parse_user_metadata(bytes); break;
    case 'f': {
      strake::codec::MemorySource source(bytes);
      const auto info = read_archived_header(source);
      if (!info.ok()) break;
      if (!bytes.starts_with(serialize_archived_header(*info))) std::abort();
      strake::codec::StringSink content(1u << 20);
      (void)copy_archived(*info, source, Checksum::of(""), content);
      break;
    }
    default: break;
  }
  return 0;
}
