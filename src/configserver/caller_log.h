// CallerLog: the newest thousand callers, kept in memory. What strangers can vary at will (ports, names of pools that
// are not there, addresses within a /64) makes no new entry, so that a flood does not wash the others out.
#pragma once

#include <list>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "configserver/config_server.h"
#include "stub/callers.h"

namespace strake::configserver {

/// Thread safe.
class CallerLog {
 public:
  void record(const ConfigRequest& request, std::chrono::sys_seconds now);
  /// Newest first.
  std::vector<stub::Caller> newest() const;
  /// Grows with each record.
  std::uint64_t changes() const;

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  mutable std::mutex mutex_;
  std::list<std::pair<Key, stub::Caller>> entries_;  ///< newest first
  std::map<Key, std::list<std::pair<Key, stub::Caller>>::iterator> by_key_;
  std::uint64_t changes_ = 0;
};

}  // namespace strake::configserver
