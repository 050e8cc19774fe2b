// The version of this program; objects it generates carry it.
#pragma once

#include <string_view>

namespace strake::cmd {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace strake::cmd
