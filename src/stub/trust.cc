#include "stub/trust.h"

#include <algorithm>

#include "codec/data_url.h"
#include "ignition/config.h"
#include "stub/stub.h"

namespace strake::stub {

namespace {

constexpr std::string_view kAuthorityMedia = "text/plain;charset=utf-8";

/// The object with one member replaced, each at its place.
json::Object with_member(const json::Object& object, std::string_view name, const json::Value& value) {
  json::Object result;
  for (const auto& member : object) {
    result.emplace(member.key(), member.key() == name ? value : member.value());
  }
  return result;
}

/// A hash or a compression was that of the old list.
json::Object with_source(const json::Object& entry, const std::string& source) {
  json::Object result;
  for (const auto& member : entry) {
    if (member.key() == "source") {
      result.emplace("source", source);
    } else if (member.key() == "verification" && json::find(member.value(), {"hash"}) != nullptr) {
      result.emplace("verification", json::Object{});
    } else if (member.key() != "compression") {
      result.emplace(member.key(), member.value());
    }
  }
  return result;
}

std::vector<net::Certificate> changed_list(const std::vector<net::Certificate>& present, const TrustChange& change) {
  std::vector<net::Certificate> list;
  list.reserve(present.size() + change.add.size());
  const auto add = [&](const net::Certificate& certificate) {
    const bool known = std::ranges::any_of(
        list, [&](const net::Certificate& one) { return one.info().sha256 == certificate.info().sha256; });
    if (!known && !change.drop.contains(certificate.info().sha256)) list.push_back(certificate);
  };
  for (const auto* certificates : {&change.add, &present}) {
    for (const net::Certificate& certificate : *certificates) add(certificate);
  }
  return list;
}

}  // namespace

Result<std::string> with_trust(std::string_view bytes, const TrustChange& change) {
  STRAKE_TRY(const Stub before, read_stub(bytes));
  if (before.authorities.size() != 1) {
    return error(Code::kUnsupported, "it has {} entries of authorities, not one; change it by hand",
                 before.authorities.size());
  }
  if (!before.authorities.front().problem.empty()) {
    return error(Code::kInvalidArgument, "its authorities: {}", before.authorities.front().problem);
  }
  const std::vector<net::Certificate> wanted = changed_list(before.trusted(), change);
  if (wanted.empty()) return error(Code::kInvalidArgument, "it would trust nobody");
  STRAKE_TRY(const std::string text, ignition::decode_config_bytes(bytes));
  STRAKE_TRY(const json::Value config, json::parse(text));
  const json::Value* ignition = json::find(config, {"ignition"});
  const json::Value* security = json::find(config, {"ignition", "security"});
  const json::Value* tls = json::find(config, {"ignition", "security", "tls"});
  const json::Value* entries = json::find(config, {"ignition", "security", "tls", "certificateAuthorities"});
  const json::Array list{with_source(entries->get_array().front().get_object(),
                                     codec::encode_base64_data_url(net::to_pem(wanted), kAuthorityMedia))};
  const json::Object new_tls = with_member(tls->get_object(), "certificateAuthorities", list);
  const json::Object new_security = with_member(security->get_object(), "tls", new_tls);
  const json::Object new_ignition = with_member(ignition->get_object(), "security", new_security);
  std::string result = json::write(with_member(config.get_object(), "ignition", new_ignition));
  STRAKE_TRY_CONTEXT(const Stub after, read_stub(result), "the changed stub");
  if (after.version != before.version || after.pointers != before.pointers || after.extras != before.extras ||
      net::to_pem(after.trusted()) != net::to_pem(wanted)) {
    return error(Code::kInternal, "the changed stub does not say what the old one does");
  }
  return result;
}

}  // namespace strake::stub
