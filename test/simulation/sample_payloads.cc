#include "simulation/sample_payloads.h"

#include <map>

#include "support/temp_dir.h"

namespace strake::simulation {

release::ReleasePayload sample_payload(release::SampleRelease sample) {
  static const std::map<release::SampleRelease, release::ReleasePayload> payloads = [] {
    std::map<release::SampleRelease, release::ReleasePayload> read;
    for (const release::SampleRelease each : {release::SampleRelease::kA, release::SampleRelease::kB}) {
      test::TempDir folder;
      STRAKE_INVARIANT(release::write_sample_release(folder / "layout", each).ok());
      auto payload = release::read_payload_of_layout(folder / "layout", release::kSampleReleaseReference);
      STRAKE_INVARIANT(payload.ok());
      read.emplace(each, *std::move(payload));
    }
    return read;
  }();
  return payloads.at(sample);
}

}  // namespace strake::simulation
