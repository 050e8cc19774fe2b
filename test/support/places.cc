// The only file compiled with absolute paths of this clone, so that every other result can be shared between clones by
// a compiler cache.
#include "support/places.h"

namespace strake::test {

std::filesystem::path source_folder() { return STRAKE_SOURCE_DIR; }

std::filesystem::path strake_program() { return STRAKE_BINARY_DIR "/src/cmd/strake"; }

}  // namespace strake::test
