// Raw deflate data, written: the other way round of make_inflater().
#pragma once

#include <memory>

#include "codec/compress.h"

namespace strake::codec {

/// One stream without header or checksum, as ostree archives hold it. Same input, same bytes. `output` must outlive the
/// result.
std::unique_ptr<CompressingSink> make_deflater(Sink& output, int level = kDefaultGzipLevel);

}  // namespace strake::codec
