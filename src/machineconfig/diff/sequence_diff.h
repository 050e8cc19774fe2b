// The shortest way from one sequence to another (Myers 1986), within bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace strake::machineconfig {

enum class EditKind { kKeep, kRemove, kAdd };

struct Edit {
  EditKind kind = EditKind::kKeep;
  std::size_t before = 0;  ///< index into the old sequence; of kAdd: where it would stand
  std::size_t after = 0;   ///< index into the new sequence; of kRemove: where it would stand
};

/// Memory grows with the square of this, time with its product with the length: 1000 is 4 MB and well under a second
/// for the largest file a MachineConfig holds.
inline constexpr std::size_t kMaxEdits = 1000;

/// Every item of both sides once, in order. Beyond `max_edits` the part between the common ends is removed and added
/// whole: still true, no longer the shortest.
std::vector<Edit> diff_sequences(const std::vector<std::string_view>& before,
                                 const std::vector<std::string_view>& after, std::size_t max_edits = kMaxEdits);

}  // namespace strake::machineconfig
