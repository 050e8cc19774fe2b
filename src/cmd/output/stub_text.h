// Stubs and what is wrong with them, as text and as JSON.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cmd/input/stub_input.h"

namespace strake::cmd {

/// A stub with what was found.
struct CheckedStub {
  const NamedStub* stub = nullptr;
  std::vector<stub::StubFinding> findings{};
  const stub::AccessBook* access = nullptr;  ///< what is known of tokens
};

/// "3.1.0", or "unreadable".
std::string spec_text(const NamedStub& named);
/// The first pointer as "HOST:PORT/POOL"; "-" when there is none.
std::string pointer_text(const NamedStub& named);

std::string stub_table(std::span<const CheckedStub> stubs, bool wide);
/// Every finding with what to do, below the name of its stub.
std::string findings_text(std::span<const CheckedStub> stubs);
std::string stub_details(const CheckedStub& checked);
json::Value stub_json(const CheckedStub& checked);

/// The newest callers, one a line.
std::string callers_table(std::span<const stub::Caller> callers);
json::Value caller_json(const stub::Caller& caller);

std::string server_text(const stub::ServerIdentity& server, std::span<const stub::StubFinding> findings);
json::Value server_json(const stub::ServerIdentity& server, std::span<const stub::StubFinding> findings);

}  // namespace strake::cmd
