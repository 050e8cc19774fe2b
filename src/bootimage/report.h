// The verdicts on all machine sets of a cluster, for people and for programs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bootimage/check.h"

namespace strake::bootimage {

struct BootImageReport {
  std::vector<BootImageCheck> items;  ///< control plane sets first, then machine sets, each by namespace and name
  std::size_t count(BootImageState state) const;
  /// 2 when something is behind; else 3 when the release publishes no image for the region or architecture of a set;
  /// else 0.
  int exit_code() const;
};

BootImageReport check_all(std::span<const kube::Object> machine_sets, std::span<const kube::Object> control_plane_sets,
                          const stream::Stream& stream, const CheckPolicy& policy);

/// A table with aligned columns and a last line of totals.
std::string render_text(const BootImageReport& report);
json::Value render_json(const BootImageReport& report);

}  // namespace strake::bootimage
