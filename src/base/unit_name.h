// Names of systemd's units, as they appear in policies and on command lines.
#pragma once

#include <string>
#include <string_view>

namespace strake {

/// "crio.service", "getty@tty1.service": at most 255 characters that no path or shell gives a meaning to, with one of
/// systemd's suffixes. It may start with '-' ("-.mount"): put "--" before it.
bool is_unit_name(std::string_view name);

/// A path as systemd-escape --path prints it: "/var/lib/my-data" -> "var-lib-my\\x2ddata", "/" -> "-".
std::string escaped_unit_path(std::string_view path);

}  // namespace strake
