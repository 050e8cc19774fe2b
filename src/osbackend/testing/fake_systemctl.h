// A systemctl with services of its own, for ScriptedPrograms: it answers as systemd's does, and its services fail when
// the test says so.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/testing/scripted_programs.h"

namespace strake::osbackend::testing {

struct FakeSystemctl {
  std::map<std::string, std::string> units;  ///< by name: "active", "inactive", "failed"
  std::set<std::string> broken;              ///< do not come up
  std::set<std::string> without_reload;
  int units_read = 0;
  std::map<std::string, int> reloads;
  std::map<std::string, int> starts;

  /// This object must outlive the programs.
  void install_in(strake::testing::ScriptedPrograms& programs) {
    programs.install("systemctl", [this](const Command& command) { return answer(command); });
  }

 private:
  Result<ProcessOutput> answer(const Command& command) {
    using strake::testing::exits;
    std::vector<std::string> words;
    for (std::size_t i = 1; i < command.argv.size(); ++i) {
      if (!command.argv[i].starts_with("--")) words.push_back(command.argv[i]);
    }
    if (words.empty()) return exits(1, "", "Too few arguments.\n");
    if (words.front() == "daemon-reload") {
      ++units_read;
      return exits(0);
    }
    if (words.size() != 2) return exits(1, "", "Too few arguments.\n");
    const std::string& unit = words[1];
    const auto known = units.find(unit);
    if (words.front() == "is-active") {
      const std::string state = known == units.end() ? "inactive" : known->second;
      return exits(state == "active" ? 0 : (known == units.end() ? 4 : 3), state + "\n");
    }
    if (known == units.end()) return exits(5, "", "Unit " + unit + " not found.\n");
    if (words.front() == "reload") {
      if (without_reload.contains(unit) || known->second != "active")
        return exits(3, "",
                     "Failed to reload " + unit + ": Job type reload is not applicable for unit " + unit + ".\n");
      ++reloads[unit];
      return exits(0);
    }
    if (words.front() != "restart") return exits(1, "", "Unknown command verb '" + words.front() + "'.\n");
    ++starts[unit];
    known->second = broken.contains(unit) ? "failed" : "active";
    if (known->second == "active") return exits(0);
    return exits(1, "", "Job for " + unit + " failed because the control process exited with error code.\n");
  }
};

}  // namespace strake::osbackend::testing
