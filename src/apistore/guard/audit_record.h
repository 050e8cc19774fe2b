// One line of the audit log: who asked for what, as whom, from where, and what came of it. Pure.
//
// Never in it: bodies, query strings, credentials. Names are made visible and cut, so that a line is one line and a
// reader's terminal is safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace strake::apistore {

struct AuditRecord {
  std::chrono::system_clock::time_point time;
  std::string id;    ///< names this request; a summary has none
  std::string user;  ///< whom the credential proves; "" when nobody was proven
  std::vector<std::string> groups;
  std::string acting_as;  ///< the user an administrator acts as
  std::string source;     ///< address and port of the client
  std::string verb;       ///< as authorization names it; of other paths the method in lower case
  std::string resource;   ///< "nodes", "machineconfigs.machineconfiguration.openshift.io"
  std::string ns;
  std::string name;
  std::string subresource;
  std::string path;  ///< of a request for no resource, without its query
  int code = 0;
  std::uint64_t request_bytes = 0;
  std::uint64_t answer_bytes = 0;  ///< of a watch 0: it is told when it begins
  std::chrono::microseconds duration{0};

  /// Of a summary: so many more requests like this one (the same user or address, the same kind of result) were not
  /// written each for itself.
  std::uint64_t more = 0;

  bool is_refusal() const { return code == 401 || code == 403 || code == 429; }
  bool is_read() const { return verb == "get" || verb == "list" || verb == "watch" || verb == "head"; }
};

/// JSON and a line feed.
std::string audit_line(const AuditRecord& record);
/// So many lines were lost: the disk was full, or slower than the requests.
std::string audit_loss_line(std::chrono::system_clock::time_point time, std::uint64_t lost);

}  // namespace strake::apistore
