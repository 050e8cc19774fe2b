// How rpm and dpkg order versions. Both read a version as words and numbers in turn; they differ in nearly everything
// else.
#pragma once

#include <string_view>

namespace strake::packages {

/// One version or one release. `~` sorts before the end (1.0~rc1 < 1.0), `^` behind it but before more
/// (1.0 < 1.0^git1 < 1.0.1). Returns less than, equal to or greater than 0.
int compare_rpm_text(std::string_view left, std::string_view right);

/// One upstream version or one Debian revision; `~` sorts before the end.
int compare_dpkg_text(std::string_view left, std::string_view right);

/// Decimal numbers of any length; an empty one is 0.
int compare_decimal(std::string_view left, std::string_view right);

}  // namespace strake::packages
