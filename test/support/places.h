// Where this build keeps what tests read and run.
#pragma once

#include <filesystem>

namespace strake::test {

/// The root of the source tree.
std::filesystem::path source_folder();

/// The `strake` program of the same build tree.
std::filesystem::path strake_program();

}  // namespace strake::test
