// Bytes kept until somebody decides that they may be used: the first ones in memory, many of them in a temporary file
// that has no name, so that nothing is left behind whatever happens.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "codec/stream.h"

namespace strake::oci {

/// A file without a name in $TMPDIR, else in /var/tmp, which is on disk where /tmp may be memory.
Result<Fd> open_unnamed_file();

class Spool final : public codec::Sink {
 public:
  Status write(std::span<const std::byte> bytes) override;
  /// Everything written so far, from its start; call once.
  Status copy_to(codec::Sink& sink);

 private:
  std::string memory_;
  Fd file_;  ///< open once there is more than memory takes
};

}  // namespace strake::oci
