#include "machineconfig/render/rendered_name.h"

#include "codec/digest.h"
#include "codec/yaml.h"

namespace strake::machineconfig {

namespace {

// Part of the published naming scheme: without these 80 bytes in front no hash would match.
constexpr unsigned char kSalt[] = {16,  124, 206, 228, 139, 56,  175, 175, 79,  229, 134, 118, 157, 154, 211, 110,
                                   25,  93,  47,  253, 172, 106, 37,  7,   174, 13,  160, 185, 110, 17,  87,  52,
                                   219, 131, 12,  206, 218, 141, 116, 135, 188, 181, 192, 151, 233, 62,  126, 165,
                                   64,  83,  179, 119, 15,  168, 208, 197, 146, 107, 58,  227, 133, 188, 238, 26,
                                   33,  26,  235, 202, 32,  173, 31,  234, 41,  144, 148, 79,  6,   206, 23,  22};
static_assert(sizeof kSalt == 80);

}  // namespace

Result<std::string> spec_hash(const json::Value& spec) {
  codec::Hasher hasher(codec::HashAlgorithm::kMd5);
  hasher.update(std::as_bytes(std::span(kSalt)));
  STRAKE_CHECK_OK(
      yaml::emit_to(spec, [&](std::string_view part) { hasher.update(part); }).context("hashing a rendered spec"));
  return std::move(hasher).finish_hex();
}

Result<std::string> rendered_name(std::string_view pool, const json::Value& spec) {
  STRAKE_TRY(const std::string hash, spec_hash(spec));
  return fmt::format("rendered-{}-{}", pool, hash);
}

Result<bool> name_matches_spec(std::string_view name, const json::Value& spec) {
  STRAKE_TRY(const std::string hash, spec_hash(spec));
  return name.ends_with("-" + hash);
}

}  // namespace strake::machineconfig
