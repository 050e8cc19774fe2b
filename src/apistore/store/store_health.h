// Whether the store's file can still be trusted. The first sign of damage is kept for the life of the process: from
// then on nothing is written, so that what is left can be saved.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace strake::apistore {

/// The reason word of errors that mean the file itself is bad: unreadable pages, contradictions between them, objects
/// that are no JSON.
inline constexpr std::string_view kStorageDamaged = "StorageDamaged";

struct StoreDamage {
  std::filesystem::path file;
  std::optional<std::int64_t> page;  ///< counted from 1; of pages SQLite names, the first
  std::string what;

  /// One line for a log: file, page, what, and what to do.
  std::string to_string() const;
};

/// The first page a verdict of SQLite's integrity check names.
std::optional<std::int64_t> page_in_verdict(std::string_view verdict);

class StoreHealth {
 public:
  using Hook = std::function<void(const StoreDamage&)>;

  explicit StoreHealth(std::filesystem::path file) : file_(std::move(file)) {}

  /// Called at the first sign, and once more when a check has found the page. Set before others use the store.
  void on_damage(Hook hook) { hook_ = std::move(hook); }

  /// Takes notice of errors with reason kStorageDamaged; others say nothing about the file.
  void note(const Error& error);
  /// What a check of the whole file found.
  void note_verdict(std::string_view verdict);

  std::optional<StoreDamage> damage() const;
  /// kUnavailable, naming the file and what to do, once there is damage.
  Status check_writable() const;
  /// True once after the first sign: somebody should look at the whole file now.
  bool take_check_request();

 private:
  const std::filesystem::path file_;
  Hook hook_;
  mutable std::mutex mutex_;
  std::optional<StoreDamage> damage_;
  bool check_requested_ = false;
};

}  // namespace strake::apistore
