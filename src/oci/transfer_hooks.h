// What transfers tell whoever waits for them. Libraries report, the program shows. Any task may call.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace strake::oci {

struct TransferHooks {
  /// So far this blob or file is. Beginning again after a broken connection tells the same positions again.
  std::function<void(std::string_view item, std::uint64_t position, std::uint64_t size)> on_bytes;
  /// What failed and is tried again, when that takes more than a moment.
  std::function<void(std::string_view)> on_wait;
  /// For who asks for more than results: which mirror answered, whatever is tried again.
  std::function<void(std::string_view)> on_detail;

  void bytes(std::string_view item, std::uint64_t position, std::uint64_t size) const {
    if (on_bytes) on_bytes(item, position, size);
  }
  void wait(std::string_view text) const {
    if (on_wait) on_wait(text);
  }
  void detail(std::string_view text) const {
    if (on_detail) on_detail(text);
  }
};

}  // namespace strake::oci
