#include "release/signature/signature_payload.h"

#include <span>

#include "base/text.h"
#include "codec/json.h"

namespace strake::release {

namespace {

constexpr std::string_view kPayloadType = "atomic container signature";
constexpr std::size_t kMaxPayloadDepth = 16;

constexpr std::string_view kRootMembers[] = {"critical", "optional"};
constexpr std::string_view kCriticalMembers[] = {"image", "type", "identity"};
constexpr std::string_view kImageMembers[] = {"docker-manifest-digest"};
constexpr std::string_view kIdentityMembers[] = {"docker-reference"};
constexpr std::string_view kOptionalMembers[] = {"creator", "timestamp"};

/// codec/json.h refuses repeated members and anything after the document, both of which clusters let pass.
Result<json::Value> parse_first_value(std::string_view text) {
  if (text.size() > kMaxSignaturePayloadBytes) {
    return error(Code::kExhausted, "{} bytes: more than the {} a signature's payload may have", text.size(),
                 kMaxSignaturePayloadBytes);
  }
  boost::json::parse_options options;
  options.max_depth = kMaxPayloadDepth;
  boost::json::stream_parser parser({}, options);
  boost::json::error_code failure;
  parser.write_some(text.data(), text.size(), failure);
  if (!failure && !parser.done()) parser.finish(failure);
  if (failure) return error(Code::kInvalidArgument, "the payload is not JSON: {}", failure.message());
  return parser.release();
}

/// One object whose members are all known beforehand.
class ClosedObject {
 public:
  ClosedObject(const json::Value* value, std::string_view path, std::span<const std::string_view> known)
      : value_(value), path_(path), known_(known) {}

  Status check() const {
    if (absent()) return {};
    if (!value_->is_object()) {
      return error(Code::kInvalidArgument, "payload: {} is {}, expected an object", path_, json::type_name(*value_));
    }
    for (const auto& [name, member] : value_->get_object()) {
      bool is_known = false;
      for (const std::string_view known : known_) is_known = is_known || equal_ignoring_case(name, known);
      if (!is_known)
        return error(Code::kInvalidArgument, "payload: {} has unknown member '{}'", path_, std::string_view(name));
    }
    return {};
  }

  /// The last member of that name; nullptr when absent or null.
  const json::Value* member(std::string_view name) const {
    if (absent()) return nullptr;
    const json::Value* found = nullptr;
    for (const auto& [key, value] : value_->get_object()) {
      if (equal_ignoring_case(key, name)) found = &value;
    }
    return found == nullptr || found->is_null() ? nullptr : found;
  }

  Result<std::string> text(std::string_view name) const {
    const json::Value* found = member(name);
    if (found == nullptr) return std::string();
    if (!found->is_string()) {
      return error(Code::kInvalidArgument, "payload: {}.{} is {}, expected a string", path_, name,
                   json::type_name(*found));
    }
    return std::string(json::as_view(found->get_string()));
  }

 private:
  bool absent() const { return value_ == nullptr || value_->is_null(); }

  const json::Value* value_;
  std::string_view path_;
  std::span<const std::string_view> known_;
};

Result<std::optional<std::int64_t>> read_timestamp(const json::Value* value) {
  if (value == nullptr) return std::optional<std::int64_t>();
  if (value->is_int64()) return std::optional(value->get_int64());
  return error(Code::kInvalidArgument, "payload: optional.timestamp is no whole number of seconds");
}

}  // namespace

Status SignaturePayload::require_digest(const codec::Digest& expected) const {
  if (manifest_digest == expected.to_string()) return {};
  return error(Code::kDenied, "digest: the signature is for {}, not for {}", manifest_digest, expected.to_string());
}

Result<SignaturePayload> parse_signature_payload(std::string_view text) {
  STRAKE_TRY(const json::Value document, parse_first_value(text));
  if (!document.is_object()) {
    return error(Code::kInvalidArgument, "payload: it is {}, expected an object", json::type_name(document));
  }
  const ClosedObject root(&document, "the object", kRootMembers);
  STRAKE_CHECK_OK(root.check());
  const ClosedObject critical(root.member("critical"), "critical", kCriticalMembers);
  STRAKE_CHECK_OK(critical.check());
  const ClosedObject image(critical.member("image"), "critical.image", kImageMembers);
  STRAKE_CHECK_OK(image.check());
  const ClosedObject identity(critical.member("identity"), "critical.identity", kIdentityMembers);
  STRAKE_CHECK_OK(identity.check());
  const ClosedObject optional(root.member("optional"), "optional", kOptionalMembers);
  STRAKE_CHECK_OK(optional.check());

  STRAKE_TRY(const std::string type, critical.text("type"));
  if (type != kPayloadType) {
    return error(Code::kInvalidArgument, "payload: critical.type is '{}', expected '{}'", type, kPayloadType);
  }
  SignaturePayload payload;
  STRAKE_TRY(payload.docker_reference, identity.text("docker-reference"));
  if (payload.docker_reference.empty()) {
    return error(Code::kInvalidArgument, "payload: critical.identity.docker-reference is missing");
  }
  STRAKE_TRY(payload.manifest_digest, image.text("docker-manifest-digest"));
  STRAKE_TRY(payload.creator, optional.text("creator"));
  STRAKE_TRY(payload.timestamp, read_timestamp(optional.member("timestamp")));
  return payload;
}

}  // namespace strake::release
