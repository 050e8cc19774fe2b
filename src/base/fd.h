// File descriptors that close themselves, and whole files read with a limit or replaced in one step.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace strake {

/// Owns one descriptor. Everything opened through this module is close-on-exec.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return number_; }
  bool valid() const { return number_ >= 0; }
  explicit operator bool() const { return valid(); }

  /// Gives the descriptor up without closing it.
  int release() { return std::exchange(number_, -1); }
  void reset(int number = -1);

 private:
  int number_ = -1;
};

/// An error for a failed system call: "MESSAGE: No such file or directory", with the code that fits `errno_value`.
[[nodiscard]] Error errno_error(int errno_value, std::string_view message);

/// Opens with O_CLOEXEC added; `mode` counts only with O_CREAT.
Result<Fd> open_file(const std::filesystem::path& path, int flags, mode_t mode = 0);

/// Writes every byte, through short writes and interruptions.
Status write_all(int fd, std::string_view bytes);

/// The whole file; kExhausted when it holds more than `limit_bytes`, kNotFound when there is none.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit_bytes);

/// The last bytes of a file, at most `limit_bytes`: for quoting a log in an error.
Result<std::string> read_file_tail(const std::filesystem::path& path, std::size_t limit_bytes);

/// Replaces `path` so that a reader, or a power loss, sees the old bytes or the new ones and nothing between. When this
/// returns success the new bytes are on disk. A symbolic link at `path` is replaced, not followed.
Status write_file_atomic(const std::filesystem::path& path, std::string_view bytes, mode_t mode);

}  // namespace strake
