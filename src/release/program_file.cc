#include "release/program_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace strake::release {

namespace {

constexpr mode_t kProgramMode = 0755;

}  // namespace

ProgramFile::ProgramFile(const std::filesystem::path& folder, const std::string& name, bool overwrite)
    : target_(folder / name),
      partial_(folder / fmt::format(".{}.partial-{}", name, ::getpid())),
      overwrite_(overwrite) {}

ProgramFile::~ProgramFile() {
  std::error_code ignored;
  std::filesystem::remove(partial_, ignored);
}

Status ProgramFile::check_free() const {
  std::error_code ignored;
  if (overwrite_ || !std::filesystem::exists(std::filesystem::symlink_status(target_, ignored))) return {};
  return error(Code::kExists, "{} exists; --overwrite replaces it", target_.string());
}

Result<codec::Sink*> ProgramFile::open(std::vector<ProgramStamp> stamps) {
  std::error_code failure;
  std::filesystem::create_directories(target_.parent_path(), failure);
  if (failure) return errno_error(failure.value(), target_.parent_path().string());
  std::filesystem::remove(partial_, failure);
  STRAKE_TRY(fd_, open_file(partial_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  plain_.emplace(fd_.get(), target_.string());
  return &stamping_.emplace(*plain_, std::move(stamps));
}

Status ProgramFile::finish() {
  STRAKE_INVARIANT(stamping_.has_value());
  // A program without room for one of them is as its builder wanted it.
  STRAKE_TRY([[maybe_unused]] const bool all_set, stamping_->finish());
  if (::fchmod(fd_.get(), kProgramMode) != 0 || ::fsync(fd_.get()) != 0) return errno_error(errno, target_.string());
  // Unlike a rename, a link fails when the name was taken meanwhile.
  const int named =
      overwrite_ ? ::rename(partial_.c_str(), target_.c_str()) : ::link(partial_.c_str(), target_.c_str());
  return named == 0 ? Status() : Status(errno_error(errno, target_.string()));
}

}  // namespace strake::release
