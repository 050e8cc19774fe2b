#include "apistore/service/continue_token.h"

#include "apistore/service/service_errors.h"
#include "codec/base64.h"
#include "codec/json.h"

namespace strake::apistore {

namespace {
constexpr std::size_t kMaxTokenBytes = 2048;  // two names and a number take less than half
}

std::string ContinueToken::encode() const {
  return codec::encode_base64(json::write(json::Object{{"rv", revision}, {"ns", ns}, {"name", name}}),
                              codec::kBase64UrlUnpadded);
}

Result<ContinueToken> ContinueToken::decode(std::string_view text) {
  if (text.size() > kMaxTokenBytes)
    return bad_request("continue key is not valid: longer than {} bytes", kMaxTokenBytes);
  auto bytes = codec::decode_base64(text, codec::kBase64UrlUnpadded);
  if (!bytes.ok()) return bad_request("continue key is not valid: {}", bytes.error().message());
  auto value = json::parse(*bytes);
  if (!value.ok()) return bad_request("continue key is not valid: {}", value.error().message());
  const auto revision = json::find_int(*value, {"rv"});
  const auto ns = json::find_string(*value, {"ns"});
  const auto name = json::find_string(*value, {"name"});
  if (!revision || *revision < 1 || !ns || !name) return bad_request("continue key is not valid: fields are missing");
  return ContinueToken{*revision, *ns, *name};
}

}  // namespace strake::apistore
