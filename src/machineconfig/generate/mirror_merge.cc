#include "machineconfig/generate/mirror_merge.h"

#include <algorithm>
#include <map>
#include <set>

namespace strake::machineconfig {

std::vector<std::string> merge_mirrors(const std::vector<std::vector<std::string>>& lists, const std::string& last) {
  std::vector<std::string> waiting;  // in the order they are first named; the source at the end
  std::map<std::string, std::set<std::string>> before;
  const auto note = [&](const std::string& name) {
    if (name != last && std::ranges::find(waiting, name) == waiting.end()) waiting.push_back(name);
  };
  for (const std::vector<std::string>& list : lists) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      note(list[i]);
      if (i > 0 && list[i - 1] != list[i]) before[list[i]].insert(list[i - 1]);
    }
    if (!list.empty() && std::ranges::find(list, last) == list.end()) before[last].insert(list.back());
  }
  waiting.push_back(last);
  std::vector<std::string> merged;
  while (!waiting.empty()) {
    auto next = std::ranges::find_if(waiting, [&](const std::string& name) { return before[name].empty(); });
    if (next == waiting.end()) next = waiting.begin();  // a circle: somebody's order has to give way
    const std::string chosen = *next;
    waiting.erase(next);
    for (auto& [name, earlier] : before) earlier.erase(chosen);
    merged.push_back(chosen);
  }
  if (merged.back() == last) merged.pop_back();
  return merged;
}

}  // namespace strake::machineconfig
