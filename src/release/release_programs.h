// The programs a release brings (oc, openshift-install, ccoctl): in which component they lie, and what is written into
// them on the way out so that they know which release they belong to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codec/stream.h"
#include "release/payload.h"

namespace strake::release {

struct ProgramPlace {
  std::string component = {};
  std::string path = {};       ///< in its image
  std::string file_name = {};  ///< what it is called on disk: "oc", "oc.exe"
  bool names_release = false;  ///< the release image and architecture are written into it, not its version alone
  bool needs_signing = false;  ///< what is written into it breaks a signature its system demands
};

/// `os`: linux, mac (darwin) or windows; `arch` and `release_arch` as images name them (amd64). kNotFound says which
/// programs there are, or for which systems.
Result<ProgramPlace> find_program(std::string_view name, std::string_view os, std::string_view arch,
                                  std::string_view release_arch);
/// "oc, oc.rhel8, ..."
std::string program_names();

/// One text to write over its placeholder: a NUL, the name of the placeholder, NUL, many X, NUL. What is written ends
/// with a NUL; the length of the program stays.
struct ProgramStamp {
  std::string marker;
  std::string value;
};
std::vector<ProgramStamp> stamps_for(const ReleasePayload& payload, const ProgramPlace& program,
                                     std::string_view release_arch);

/// Passes a program on with its stamps set, each where its placeholder first is. Memory: the longest placeholder and
/// what is written at once.
class StampingSink final : public codec::Sink {
 public:
  StampingSink(codec::Sink& output, std::vector<ProgramStamp> stamps);
  /// kInvalidArgument when a value is longer than its placeholder.
  Status write(std::span<const std::byte> bytes) override;
  /// Passes on what was held back. True when every stamp found its place.
  Result<bool> finish();

 private:
  Status set_stamps();

  codec::Sink& output_;
  std::vector<ProgramStamp> stamps_;  ///< not yet set
  std::size_t longest_ = 0;
  std::string held_;
};

}  // namespace strake::release
