#include "pki/issued.h"

#include <algorithm>

#include "base/fd.h"
#include "base/time.h"
#include "codec/json.h"

namespace strake::pki {

namespace {

constexpr std::size_t kMaxIssuedFileBytes = 16u << 20;
constexpr std::size_t kMaxIssuedCredentials = 10'000;
/// For the list: what ended last week is still worth seeing.
constexpr std::chrono::hours kKeepEnded{24 * 30};

json::Object certificate_json(const IssuedCertificate& certificate) {
  return {{"serial", certificate.serial},
          {"expires", format_rfc3339(certificate.expires)},
          {"signer", certificate.signer},
          {"trust", certificate.trust}};
}

Result<IssuedCertificate> parse_certificate(const json::Value& value) {
  IssuedCertificate certificate;
  certificate.serial = json::find_string(value, {"serial"}).value_or("");
  if (certificate.serial.empty()) return error(Code::kCorrupt, "serial is missing");
  STRAKE_TRY_CONTEXT(certificate.expires, parse_rfc3339(json::find_string(value, {"expires"}).value_or("")), "expires");
  certificate.signer = json::find_string(value, {"signer"}).value_or("");
  certificate.trust = json::find_string(value, {"trust"}).value_or("");
  return certificate;
}

json::Object credential_json(const IssuedCredential& credential) {
  json::Array groups;
  for (const std::string& group : credential.groups) groups.emplace_back(json::Value(group));
  json::Object item{{"id", credential.id},
                    {"user", credential.user},
                    {"groups", std::move(groups)},
                    {"issued", format_rfc3339(credential.issued)},
                    {"current", certificate_json(credential.current)}};
  if (!credential.node.empty()) item["node"] = credential.node;
  if (!credential.join_token.empty()) item["joinToken"] = credential.join_token;
  if (credential.renewed) item["renewed"] = format_rfc3339(*credential.renewed);
  if (credential.previous) item["previous"] = certificate_json(*credential.previous);
  if (!credential.revoked.empty()) item["revoked"] = credential.revoked;
  return item;
}

Result<IssuedCredential> parse_credential(const json::Value& item) {
  IssuedCredential credential;
  credential.id = json::find_string(item, {"id"}).value_or("");
  credential.user = json::find_string(item, {"user"}).value_or("");
  if (credential.id.empty() || credential.user.empty()) return error(Code::kCorrupt, "id or user is missing");
  if (const json::Value* groups = json::find(item, {"groups"}); groups != nullptr && groups->is_array()) {
    for (const json::Value& group : groups->get_array()) {
      if (!group.is_string()) return error(Code::kCorrupt, "groups has an element that is no string");
      credential.groups.emplace_back(json::as_view(group.get_string()));
    }
  }
  credential.node = json::find_string(item, {"node"}).value_or("");
  credential.join_token = json::find_string(item, {"joinToken"}).value_or("");
  credential.revoked = json::find_string(item, {"revoked"}).value_or("");
  STRAKE_TRY_CONTEXT(credential.issued, parse_rfc3339(json::find_string(item, {"issued"}).value_or("")), "issued");
  if (const auto renewed = json::find_string(item, {"renewed"})) {
    STRAKE_TRY_CONTEXT(credential.renewed, parse_rfc3339(*renewed), "renewed");
  }
  const json::Value* current = json::find(item, {"current"});
  if (current == nullptr) return error(Code::kCorrupt, "current is missing");
  STRAKE_TRY_CONTEXT(credential.current, parse_certificate(*current), "current");
  if (const json::Value* previous = json::find(item, {"previous"})) {
    STRAKE_TRY_CONTEXT(credential.previous, parse_certificate(*previous), "previous");
  }
  return credential;
}

}  // namespace

Status IssuedCredentials::read_if_changed() {
  STRAKE_TRY(const std::optional<FileVersion> version, file_version(path_));
  if (!version) {
    credentials_.clear();
    version_.reset();
    return {};
  }
  if (version_ == version) return {};
  STRAKE_TRY(const std::string text, read_file(path_, kMaxIssuedFileBytes));
  STRAKE_TRY_CONTEXT(const json::Value document, json::parse(text), "{}", path_.string());
  const json::Value* list = json::find(document, {"credentials"});
  if (list == nullptr || !list->is_array())
    return error(Code::kCorrupt, "{}: credentials is missing or no list", path_.string());
  std::vector<IssuedCredential> credentials;
  for (std::size_t i = 0; i < list->get_array().size(); ++i) {
    STRAKE_TRY_CONTEXT(IssuedCredential credential, parse_credential(list->get_array()[i]), "{}: credentials[{}]",
                       path_.string(), i);
    credentials.push_back(std::move(credential));
  }
  credentials_ = std::move(credentials);
  version_ = version;
  return {};
}

Status IssuedCredentials::write() {
  json::Array list;
  for (const IssuedCredential& credential : credentials_) list.push_back(credential_json(credential));
  version_.reset();  // the next reader sees what is on disk
  return write_file_atomic(path_, json::write_pretty(json::Object{{"credentials", std::move(list)}}), 0600);
}

Result<IssuedCredential> IssuedCredentials::add(IssuedCredential credential, Random& random, WallTime now) {
  const std::lock_guard lock(mutex_);
  STRAKE_TRY(const FileLock writers, lock_for_change(path_));
  STRAKE_CHECK_OK(read_if_changed());
  std::erase_if(credentials_, [&](const IssuedCredential& old) { return old.current.expires + kKeepEnded <= now; });
  if (credentials_.size() >= kMaxIssuedCredentials) {
    return error(Code::kExhausted, "{} holds {} credentials already", path_.string(), credentials_.size());
  }
  credential.id = random.name_suffix(10);
  credentials_.push_back(credential);
  STRAKE_CHECK_OK(write());
  return credential;
}

Status IssuedCredentials::update(const IssuedCredential& credential) {
  const std::lock_guard lock(mutex_);
  STRAKE_TRY(const FileLock writers, lock_for_change(path_));
  STRAKE_CHECK_OK(read_if_changed());
  const auto found = std::ranges::find(credentials_, credential.id, &IssuedCredential::id);
  if (found == credentials_.end())
    return error(Code::kNotFound, "{} has no credential {}", path_.string(), credential.id);
  *found = credential;
  return write();
}

Result<std::vector<IssuedCredential>> IssuedCredentials::list() {
  const std::lock_guard lock(mutex_);
  STRAKE_CHECK_OK(read_if_changed());
  return credentials_;
}

Result<std::optional<IssuedCredential>> IssuedCredentials::by_serial(std::string_view serial) {
  const std::lock_guard lock(mutex_);
  STRAKE_CHECK_OK(read_if_changed());
  const auto found = std::ranges::find_if(credentials_, [&](const IssuedCredential& credential) {
    return credential.current.serial == serial || (credential.previous && credential.previous->serial == serial);
  });
  return found == credentials_.end() ? std::nullopt : std::optional(*found);
}

}  // namespace strake::pki
