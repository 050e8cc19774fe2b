#include "release/signature/openpgp_keyring.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/text.h"
#include "codec/base64.h"
#include "codec/digest.h"
#include "codec/hex.h"

namespace strake::release {

namespace {

constexpr std::string_view kArmourBegin = "-----BEGIN PGP PUBLIC KEY BLOCK-----";
constexpr std::string_view kArmourEnd = "-----END PGP PUBLIC KEY BLOCK-----";

// RFC 4880, sections 4.3 and 5.2.1.
constexpr unsigned kTagSignature = 2;
constexpr unsigned kTagPublicKey = 6;
constexpr unsigned kTagPublicSubkey = 14;
constexpr unsigned kKeyRevocation = 0x20;
constexpr unsigned kSubkeyRevocation = 0x28;
constexpr unsigned kAlgorithmElgamal = 16;
constexpr unsigned kAlgorithmEcdsa = 19;

unsigned byte_at(std::string_view bytes, std::size_t at) { return static_cast<unsigned char>(bytes[at]); }

/// RFC 4880, section 6.1.
std::uint32_t crc24(std::string_view bytes) {
  std::uint32_t crc = 0xB704CE;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    crc ^= byte_at(bytes, i) << 16;
    for (int bit = 0; bit < 8; ++bit) {
      crc <<= 1;
      if ((crc & 0x1000000) != 0) crc ^= 0x1864CFB;
    }
  }
  return crc & 0xFFFFFF;
}

std::string checksum_bytes(std::string_view packets) {
  const std::uint32_t crc = crc24(packets);
  return {static_cast<char>(crc >> 16), static_cast<char>(crc >> 8), static_cast<char>(crc)};
}

/// The packets of the first armour block.
Result<std::string> remove_armour(std::string_view text) {
  const std::size_t begin = text.find(kArmourBegin);
  if (begin == std::string_view::npos)
    return error(Code::kInvalidArgument, "it is neither armoured nor OpenPGP packets");
  text.remove_prefix(begin + kArmourBegin.size());
  const std::size_t end = text.find(kArmourEnd);
  if (end == std::string_view::npos) return error(Code::kInvalidArgument, "the armour has no '{}'", kArmourEnd);
  text = text.substr(0, end);

  std::string base64, checksum;
  bool in_headers = true;  // "Version: ...", up to a blank line
  std::size_t number = 0;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    if (in_headers) {
      // The rest of the BEGIN line comes first and is empty, too.
      if (number++ > 0 && line.empty()) in_headers = false;
      continue;
    }
    if (line.starts_with('=')) {
      checksum = line.substr(1);
    } else {
      base64 += line;
    }
  }
  STRAKE_TRY_CONTEXT(std::string packets, codec::decode_base64(base64), "the armour");
  if (!checksum.empty()) {
    STRAKE_TRY_CONTEXT(const std::string sum, codec::decode_base64(checksum), "the armour's checksum");
    if (sum != checksum_bytes(packets)) {
      return error(Code::kCorrupt, "the armour's checksum does not match: the text was changed");
    }
  }
  return packets;
}

struct OpenPgpPacket {
  unsigned tag = 0;
  std::string_view body;
};

/// Takes one packet off the front. Partial lengths do not occur in keys and are refused.
Result<OpenPgpPacket> take_packet(std::string_view& rest) {
  const auto truncated = [] { return error(Code::kInvalidArgument, "a packet is cut short"); };
  const unsigned head = byte_at(rest, 0);
  if ((head & 0x80) == 0) return error(Code::kInvalidArgument, "these are not OpenPGP packets");
  OpenPgpPacket packet;
  std::size_t length_bytes = 0;  // big-endian, after `start`
  std::size_t start = 1;
  std::size_t length = 0;
  if ((head & 0x40) != 0) {
    packet.tag = head & 0x3F;
    if (rest.size() < 2) return truncated();
    const unsigned first = byte_at(rest, 1);
    start = 2;
    if (first < 192) {
      length = first;
    } else if (first < 224) {
      if (rest.size() < 3) return truncated();
      length = ((first - 192) << 8) + byte_at(rest, 2) + 192;
      start = 3;
    } else if (first == 255) {
      length_bytes = 4;
    } else {
      return error(Code::kInvalidArgument, "a packet of a key has a partial length");
    }
  } else {
    packet.tag = (head >> 2) & 0x0F;
    if ((head & 3) == 3) return error(Code::kInvalidArgument, "a packet of a key has no length");
    length_bytes = std::size_t{1} << (head & 3);
  }
  if (rest.size() < start + length_bytes) return truncated();
  for (std::size_t i = 0; i < length_bytes; ++i) length = (length << 8) | byte_at(rest, start + i);
  start += length_bytes;
  if (rest.size() - start < length) return truncated();
  packet.body = rest.substr(start, length);
  rest.remove_prefix(start + length);
  return packet;
}

/// nullopt for keys the cluster's reader passes over: other versions than 4, and newer algorithms than ECDSA.
std::optional<OpenPgpKey> read_key(std::string_view body) {
  constexpr std::size_t kAlgorithmOffset = 5;
  if (body.size() <= kAlgorithmOffset || body.size() > 0xFFFF || byte_at(body, 0) != 4) return std::nullopt;
  const unsigned algorithm = byte_at(body, kAlgorithmOffset);
  const bool is_rsa = algorithm >= 1 && algorithm <= 3;
  if (!is_rsa && (algorithm < kAlgorithmElgamal || algorithm > kAlgorithmEcdsa)) return std::nullopt;
  // RFC 4880, section 12.2.
  codec::Hasher hasher(codec::HashAlgorithm::kSha1);
  const char head[] = {'\x99', static_cast<char>(body.size() >> 8), static_cast<char>(body.size())};
  hasher.update(std::string_view(head, sizeof head));
  hasher.update(body);
  std::string fingerprint = std::move(hasher).finish_hex();
  std::transform(fingerprint.begin(), fingerprint.end(), fingerprint.begin(),
                 [](char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c; });
  return OpenPgpKey{std::move(fingerprint), false};
}

std::optional<unsigned> signature_type(std::string_view body) {
  if (body.size() < 3) return std::nullopt;
  if (byte_at(body, 0) == 4 || byte_at(body, 0) == 5) return byte_at(body, 1);
  return byte_at(body, 0) == 3 ? std::optional(byte_at(body, 2)) : std::nullopt;
}

/// Revocations count without being checked: the keyring is trusted, and a revocation only takes trust away.
Result<std::vector<OpenPgpEntity>> read_entities(std::string_view packets) {
  std::vector<OpenPgpEntity> entities;
  bool entity_open = false;
  OpenPgpKey* subkey = nullptr;
  while (!packets.empty()) {
    STRAKE_TRY(const OpenPgpPacket packet, take_packet(packets));
    if (packet.tag == kTagPublicKey) {
      subkey = nullptr;
      auto key = read_key(packet.body);
      entity_open = key.has_value();
      if (key) entities.push_back({*std::move(key), {}});
    } else if (!entity_open) {
      continue;
    } else if (packet.tag == kTagPublicSubkey) {
      subkey = nullptr;
      if (auto key = read_key(packet.body)) subkey = &entities.back().subkeys.emplace_back(*std::move(key));
    } else if (packet.tag == kTagSignature) {
      const auto type = signature_type(packet.body);
      if (type == kKeyRevocation) entities.back().primary.revoked = true;
      if (type == kSubkeyRevocation && subkey != nullptr) subkey->revoked = true;
    }
  }
  return entities;
}

}  // namespace

const OpenPgpEntity* Keyring::find_entity(std::string_view primary_fingerprint) const {
  const auto found = std::find_if(entities.begin(), entities.end(), [&](const OpenPgpEntity& entity) {
    return entity.primary.fingerprint == primary_fingerprint;
  });
  return found == entities.end() ? nullptr : &*found;
}

std::string armour_keyring(std::string_view packets) {
  constexpr std::size_t kLineLength = 64;
  const std::string base64 = codec::encode_base64(packets);
  std::string text = fmt::format("{}\n\n", kArmourBegin);
  for (std::size_t at = 0; at < base64.size(); at += kLineLength) text += base64.substr(at, kLineLength) + "\n";
  return fmt::format("{}={}\n{}\n", text, codec::encode_base64(checksum_bytes(packets)), kArmourEnd);
}

Result<Keyring> parse_keyring(std::string name, std::string_view bytes) {
  const auto read = [&]() -> Result<Keyring> {
    if (bytes.empty()) return error(Code::kInvalidArgument, "it is empty");
    if (bytes.size() > kMaxKeyringBytes) {
      return error(Code::kExhausted, "{} bytes: more than the {} a keyring may have", bytes.size(), kMaxKeyringBytes);
    }
    Keyring keyring{name, std::string(bytes), {}};
    if ((byte_at(bytes, 0) & 0x80) == 0) {
      STRAKE_TRY(keyring.packets, remove_armour(bytes));
    }
    STRAKE_TRY(keyring.entities, read_entities(keyring.packets));
    if (keyring.entities.empty()) {
      return error(Code::kInvalidArgument, "it holds no RSA, DSA or ECDSA key, which is what clusters can check");
    }
    return keyring;
  };
  return read().context("keyring '{}'", name);
}

}  // namespace strake::release
