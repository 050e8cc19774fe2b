// What every server of a test needs: free ports and the end of a log.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace strake::test {

/// Numbers that were free a moment ago. All are held until the last is chosen, so that they differ.
Result<std::vector<std::uint16_t>> free_ports(std::size_t count);

std::string last_lines(const std::filesystem::path& file);

}  // namespace strake::test
