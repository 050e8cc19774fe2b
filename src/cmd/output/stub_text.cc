#include "cmd/output/stub_text.h"

#include "base/text.h"
#include "base/text_table.h"
#include "base/time.h"
#include "base/visible_text.h"

namespace strake::cmd {

namespace {

std::string users_text(const stub::FoundStub& found) {
  std::vector<std::string> users;
  users.reserve(found.users.size());
  for (const stub::StubUser& user : found.users) users.push_back(user.to_string());
  return users.empty() ? "-" : fmt::format("{}", fmt::join(users, ", "));
}

std::string authorities_text(const NamedStub& named) {
  if (!named.stub.ok()) return "-";
  const auto trusted = named.stub->trusted();
  if (trusted.empty()) return "-";
  const net::CertificateInfo& first = trusted.front().info();
  const std::string more = trusted.size() > 1 ? fmt::format(" and {} more", trusted.size() - 1) : "";
  return fmt::format("{} {}{}", first.common_name, first.sha256.substr(0, 12), more);
}

const stub::TokenRecord* record_of(const stub::Pointer& pointer, const stub::AccessBook* access) {
  return access == nullptr ? nullptr : access->find_by_hash(pointer.token_sha256);
}

/// "no", "yes", or the id; the day it ends as well where there is room.
std::string token_text(const CheckedStub& checked, bool wide) {
  if (!checked.stub->stub.ok()) return "no";
  for (const stub::Pointer& pointer : checked.stub->stub->pointers) {
    if (!pointer.has_token) continue;
    const stub::TokenRecord* record = record_of(pointer, checked.access);
    if (record == nullptr) return checked.access == nullptr ? "yes" : "unknown";
    return wide ? fmt::format("{} until {}", record->id, format_rfc3339(record->expires)) : record->id;
  }
  return "no";
}

std::string pointer_token_text(const stub::Pointer& pointer, const stub::AccessBook* access) {
  if (!pointer.has_token) return "";
  const stub::TokenRecord* record = record_of(pointer, access);
  if (record == nullptr) return access == nullptr ? ", with a token" : ", with a token that is not on record";
  return fmt::format(", with token {} until {}", record->id, format_rfc3339(record->expires));
}

json::Value authority_json(const net::Certificate& certificate) {
  const net::CertificateInfo& info = certificate.info();
  return json::Object{
      {"subject", info.common_name}, {"sha256", info.sha256}, {"notAfter", format_rfc3339(info.not_after)}};
}

json::Value stub_finding_json(const stub::StubFinding& finding) {
  return json::Object{{"severity", to_string(finding.severity)},
                      {"rule", finding.rule},
                      {"message", finding.what},
                      {"next", finding.next}};
}

}  // namespace

std::string spec_text(const NamedStub& named) {
  return named.stub.ok() ? ignition::to_string(named.stub->version) : "unreadable";
}

std::string pointer_text(const NamedStub& named) {
  if (!named.stub.ok() || named.stub->pointers.empty()) return "-";
  const stub::Pointer& pointer = named.stub->pointers.front();
  if (pointer.host.empty()) return pointer.scheme + ":...";
  return fmt::format("{}/{}", net::Endpoint{pointer.host, pointer.port}.to_string(), pointer.pool);
}

std::string stub_table(std::span<const CheckedStub> stubs, bool wide) {
  std::vector<std::vector<std::string>> rows{{"STUB", "SPEC", "SERVER/POOL", "TOKEN", "STATE", "USED BY"}};
  if (wide) rows.front().insert(rows.front().begin() + 3, {"AUTHORITY", "BYTES", "WRITTEN BY"});
  for (const CheckedStub& checked : stubs) {
    const NamedStub& named = *checked.stub;
    std::vector<std::string> row{named.name,
                                 spec_text(named),
                                 pointer_text(named),
                                 token_text(checked, wide),
                                 std::string(to_string(worst_of(checked.findings))),
                                 users_text(named.found)};
    if (wide) {
      const std::string bytes = std::to_string(named.stub.ok() ? named.stub->bytes : named.found.bytes.size());
      row.insert(row.begin() + 3, {authorities_text(named), bytes, named.found.managed ? "controllers" : "you"});
    }
    for (std::string& cell : row) cell = visible_line(cell);
    rows.push_back(std::move(row));
  }
  return align_columns(rows);
}

std::string findings_text(std::span<const CheckedStub> stubs) {
  std::string text;
  for (const CheckedStub& checked : stubs) {
    if (checked.findings.empty()) continue;
    text += visible_line(checked.stub->name) + "\n";
    for (const stub::StubFinding& finding : checked.findings) {
      text += fmt::format("  {}: {} [{}]\n    {}\n", to_string(finding.severity), visible_line(finding.what),
                          finding.rule, finding.next);
    }
  }
  return text;
}

std::string stub_details(const CheckedStub& checked) {
  const NamedStub& named = *checked.stub;
  std::string text = fmt::format("stub       {}\n", named.name);
  if (!named.stub.ok()) return text + fmt::format("unreadable {}\n", named.stub.error().to_string());
  const stub::Stub& stub = *named.stub;
  text += fmt::format("spec       {}, read by Ignition {}{}\n", ignition::to_string(stub.version),
                      stub::oldest_ignition(stub.version), stub.version.major == 2 ? " only" : " and later");
  text += fmt::format("size       {}\n", human_bytes(stub.bytes));
  for (const stub::Pointer& pointer : stub.pointers) {
    text += fmt::format("fetches    {}{}\n", pointer.host.empty() ? pointer.scheme + ":..." : pointer_text(named),
                        pointer_token_text(pointer, checked.access));
  }
  for (const net::Certificate& certificate : stub.trusted()) {
    const net::CertificateInfo& info = certificate.info();
    text += fmt::format("trusts     {}, SHA-256 {}, until {}\n", info.common_name, info.sha256,
                        format_rfc3339(info.not_after));
  }
  for (const std::string& extra : stub.extras) text += fmt::format("also has   {}\n", extra);
  if (!named.found.secret.empty()) text += fmt::format("used by    {}\n", users_text(named.found));
  if (!named.found.converted_from.empty()) text += fmt::format("made from  {}\n", named.found.converted_from);
  return visible_text(text);
}

std::string callers_table(std::span<const stub::Caller> callers) {
  std::vector<std::vector<std::string>> rows{{"LAST", "ADDRESS", "POOL", "RESULT", "SHOWED", "IGNITION", "TIMES"}};
  rows.reserve(callers.size() + 1);
  for (const stub::Caller& caller : callers) {
    const std::string showed = caller.credential.empty()   ? caller.standing
                               : caller.standing == "good" ? caller.credential
                                                           : fmt::format("{} ({})", caller.standing, caller.credential);
    std::vector<std::string> row{format_rfc3339(caller.last),
                                 caller.address,
                                 caller.known_pool ? caller.pool : fmt::format("'{}'?", caller.pool),
                                 caller.reason,
                                 showed.empty() ? "-" : showed,
                                 caller.version.empty() ? "-" : caller.version,
                                 std::to_string(caller.times)};
    for (std::string& cell : row) cell = visible_line(cell);
    rows.push_back(std::move(row));
  }
  return align_columns(rows);
}

json::Value caller_json(const stub::Caller& caller) {
  return json::Object{{"last", format_rfc3339(caller.last)}, {"address", caller.address},  {"pool", caller.pool},
                      {"knownPool", caller.known_pool},      {"reason", caller.reason},    {"showed", caller.standing},
                      {"credential", caller.credential},     {"ignition", caller.version}, {"times", caller.times}};
}

std::string server_text(const stub::ServerIdentity& server, std::span<const stub::StubFinding> findings) {
  std::string text;
  if (!server.chain.empty()) {
    const net::CertificateInfo& info = server.chain.front().info();
    std::vector<std::string> names = info.dns_names;
    names.insert(names.end(), info.ip_addresses.begin(), info.ip_addresses.end());
    text += fmt::format("server     {}, SHA-256 {}, issued by {}, until {}\n", info.common_name, info.sha256,
                        info.issuer, format_rfc3339(info.not_after));
    text += fmt::format("names      {}\n", names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
  }
  for (const stub::StubFinding& finding : findings) {
    text += fmt::format("{}: {} [{}]\n  {}\n", to_string(finding.severity), finding.what, finding.rule, finding.next);
  }
  return visible_text(text);
}

json::Value server_json(const stub::ServerIdentity& server, std::span<const stub::StubFinding> findings) {
  json::Array list;
  for (const stub::StubFinding& finding : findings) list.push_back(stub_finding_json(finding));
  json::Object object{{"state", to_string(worst_of(findings))}, {"findings", std::move(list)}};
  if (server.chain.empty()) return object;
  const net::CertificateInfo& info = server.chain.front().info();
  json::Array names;
  for (const auto& texts : {info.dns_names, info.ip_addresses}) {
    for (const std::string& name : texts) names.emplace_back(name);
  }
  object["certificate"] = authority_json(server.chain.front());
  object["names"] = std::move(names);
  return object;
}

json::Value stub_json(const CheckedStub& checked) {
  const NamedStub& named = *checked.stub;
  json::Array users, findings;
  for (const stub::StubUser& user : named.found.users) {
    users.push_back(json::Object{{"kind", user.kind}, {"namespace", user.ns}, {"name", user.name}});
  }
  for (const stub::StubFinding& finding : checked.findings) findings.push_back(stub_finding_json(finding));
  json::Object object{{"name", named.name},
                      {"managed", named.found.managed},
                      {"state", to_string(worst_of(checked.findings))},
                      {"usedBy", std::move(users)},
                      {"findings", std::move(findings)}};
  if (!named.stub.ok()) {
    object["problem"] = named.stub.error().to_string();
    return object;
  }
  const stub::Stub& stub = *named.stub;
  json::Array pointers, authorities;
  for (const stub::Pointer& pointer : stub.pointers) {
    json::Object item{{"scheme", pointer.scheme},
                      {"host", pointer.host},
                      {"port", pointer.port},
                      {"pool", pointer.pool},
                      {"token", pointer.has_token}};
    if (const stub::TokenRecord* record = record_of(pointer, checked.access)) {
      item["tokenId"] = record->id;
      item["tokenEnds"] = format_rfc3339(record->expires);
    }
    pointers.push_back(std::move(item));
  }
  for (const net::Certificate& certificate : stub.trusted()) authorities.push_back(authority_json(certificate));
  object["spec"] = ignition::to_string(stub.version);
  object["bytes"] = stub.bytes;
  object["pointers"] = std::move(pointers);
  object["authorities"] = std::move(authorities);
  return object;
}

}  // namespace strake::cmd
