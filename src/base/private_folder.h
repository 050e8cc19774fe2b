// Folders for keys, databases and whatever else nobody but their owner may read.
//
// A folder that others could write to may hold what they put there: an authority, a list of tokens, a database. So a
// folder is claimed as a whole before anything in it is believed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace strake {

/// Makes the folder, mode 0700 whatever the umask, or takes the one that is there: with looser rights they are taken
/// away; owned by another user it is refused (kDenied, Verdict::kBlocked). A link is followed only when
/// this user or root made it. Returns what was changed, in words for people.
Result<std::vector<std::string>> claim_private_folder(const std::filesystem::path& folder);

/// The same for every folder and file in it, given by their paths below it: files become mode 0600. Refused are files
/// of other owners, links, and files with a second name elsewhere. Those that do not exist are none of its business.
Result<std::vector<std::string>> claim_private_files(const std::filesystem::path& folder,
                                                     const std::vector<std::string>& subfolders);

}  // namespace strake
