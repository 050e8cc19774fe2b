// One list out of several: the mirrors that several mirror sets give for one source.
#pragma once

#include <string>
#include <vector>

namespace strake::machineconfig {

/// Every name once, no list's order turned round; where the lists leave it open, what is named first comes first. Lists
/// that contradict each other are taken in their order. `last` (the source itself) ends each list that does not name
/// it, and is left out when it comes last anyway.
std::vector<std::string> merge_mirrors(const std::vector<std::vector<std::string>>& lists, const std::string& last);

}  // namespace strake::machineconfig
