// A file tree whose changes can be made to fail: a machine without power, a disk that is read-only, full or broken.
#pragma once

#include <functional>

#include "base/file_tree.h"

namespace strake::testing {

class FencedTree final : public FileTree {
 public:
  /// `before_change` is asked before every change; an error stops it without effect.
  FencedTree(FileTree& disk, std::function<Status()> before_change)
      : disk_(disk), before_change_(std::move(before_change)) {}

  Result<std::optional<FileState>> read(const std::string& path) override { return disk_.read(path); }
  Result<std::vector<std::string>> list(const std::string& path) override { return disk_.list(path); }

  Status write(const std::string& path, std::string_view contents, std::uint32_t mode,
               const FileOwner& owner) override {
    STRAKE_CHECK_OK(before_change_());
    return disk_.write(path, contents, mode, owner);
  }
  Status write_link(const std::string& path, const std::string& target) override {
    STRAKE_CHECK_OK(before_change_());
    return disk_.write_link(path, target);
  }
  Status remove(const std::string& path) override {
    STRAKE_CHECK_OK(before_change_());
    return disk_.remove(path);
  }
  Status make_folder(const std::string& path) override {
    STRAKE_CHECK_OK(before_change_());
    return disk_.make_folder(path);
  }
  Status remove_folder(const std::string& path) override {
    STRAKE_CHECK_OK(before_change_());
    return disk_.remove_folder(path);
  }

 private:
  FileTree& disk_;
  std::function<Status()> before_change_;
};

}  // namespace strake::testing
