#include "release/signature/signature_check.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/fd.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "release/signature/signature_payload.h"

namespace strake::release {

namespace {

using namespace std::chrono_literals;

constexpr auto kGpgvTimeout = 30s;
constexpr std::size_t kMaxStatusBytes = 256u << 10;
constexpr std::string_view kStatusPrefix = "[GNUPG:] ";

/// A folder only we can read, gone with this object.
class PrivateFolder {
 public:
  static Result<PrivateFolder> create() {
    std::error_code failure;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(failure);
    if (failure) return errno_error(failure.value(), "finding a folder for temporary files (TMPDIR)");
    std::string path = (parent / "strake-signature-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr)
      return errno_error(errno, fmt::format("making a folder in {}", parent.string()));
    return PrivateFolder(path);
  }
  PrivateFolder(PrivateFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  ~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit PrivateFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

std::vector<std::string_view> split_words(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::string_view word = take_until(line, ' ');
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

/// Lines that say nothing about whether the signature holds. NODATA comes after the verdict when bytes follow the
/// message.
bool is_status_without_weight(std::string_view keyword) {
  constexpr std::string_view kKeywords[] = {"PLAINTEXT_LENGTH",
                                            "KEY_CONSIDERED",
                                            "SIG_ID",
                                            "KEYEXPIRED",
                                            "NODATA",
                                            "NOTATION_NAME",
                                            "NOTATION_DATA",
                                            "NOTATION_FLAGS",
                                            "POLICY_URL",
                                            "SIG_SUBPACKET",
                                            "VERIFICATION_COMPLIANCE_MODE"};
  return std::find(std::begin(kKeywords), std::end(kKeywords), keyword) != std::end(kKeywords);
}

/// Why a line refuses the signature; empty for lines that do not.
std::string refusal_of(std::string_view keyword, const std::vector<std::string_view>& words, const Keyring& keyring) {
  const std::string key(words.size() > 1 ? words[1] : "unknown");
  if (keyword == "BADSIG") return fmt::format("signature: it does not match the signed text (key {})", key);
  if (keyword == "NO_PUBKEY")
    return fmt::format("key: {} made the signature and is not in keyring '{}'", key, keyring.name);
  if (keyword == "EXPSIG") return fmt::format("signature: its own lifetime is over (key {})", key);
  if (keyword == "REVKEYSIG") return fmt::format("key: {} is revoked", key);
  if (keyword == "ERRSIG") return "";  // NO_PUBKEY or an unusable algorithm; counted below as no good signature
  if (keyword == "ERROR") return "message: it is damaged";
  return fmt::format("message: gpgv reports {}", keyword);
}

}  // namespace

Result<CheckedMessage> judge_gpgv_status(const Keyring& keyring, std::string_view status_text) {
  // VALIDSIG fingerprint date time expires version reserved algorithm hash class primary-fingerprint
  constexpr std::size_t kFingerprintWord = 1, kAlgorithmWord = 7, kPrimaryWord = 10;
  constexpr std::string_view kEdDsa = "22";
  std::size_t texts = 0, signatures = 0, good = 0, valid = 0;
  CheckedMessage checked;
  std::string refusal;
  while (!status_text.empty()) {
    const std::string_view line = take_until(status_text, '\n');
    if (!line.starts_with(kStatusPrefix)) continue;  // what gpgv tells people
    const auto words = split_words(line.substr(kStatusPrefix.size()));
    const std::string_view keyword = words.empty() ? "" : words[0];
    if (keyword == "PLAINTEXT") {
      ++texts;
    } else if (keyword == "NEWSIG") {
      ++signatures;
    } else if (keyword == "GOODSIG" || keyword == "EXPKEYSIG") {
      ++good;
      checked.key_expired = keyword == "EXPKEYSIG";
    } else if (keyword == "VALIDSIG" && words.size() > kPrimaryWord) {
      ++valid;
      checked.key_fingerprint = words[kFingerprintWord];
      checked.primary_fingerprint = words[kPrimaryWord];
      if (words[kAlgorithmWord] == kEdDsa) {
        return error(Code::kDenied, "key: {} is an EdDSA key, which clusters cannot check", checked.key_fingerprint);
      }
    } else if (!is_status_without_weight(keyword) && refusal.empty()) {
      refusal = refusal_of(keyword, words, keyring);
    }
  }
  if (signatures > 1) return error(Code::kDenied, "message: it has {} signers, expected one", signatures);
  if (!refusal.empty()) return Error(Code::kDenied, refusal);
  if (texts != 1 || signatures != 1 || good != 1 || valid != 1) {
    return error(Code::kDenied, "message: it is not one signed text with its signature");
  }
  const OpenPgpEntity* entity = keyring.find_entity(checked.primary_fingerprint);
  if (entity == nullptr) {
    return error(Code::kDenied, "key: {} is not in keyring '{}'", checked.primary_fingerprint, keyring.name);
  }
  bool revoked = entity->primary.revoked;
  for (const OpenPgpKey& subkey : entity->subkeys) {
    revoked = revoked || (subkey.revoked && subkey.fingerprint == checked.key_fingerprint);
  }
  if (revoked) return error(Code::kDenied, "key: {} is revoked", checked.key_fingerprint);
  return checked;
}

Result<CheckedMessage> SignatureChecker::check(const Keyring& keyring, std::string_view message,
                                               std::stop_token stop) const {
  if (message.empty()) return error(Code::kDenied, "message: it is empty");
  if (message.size() > kMaxSignatureBytes) {
    return error(Code::kDenied, "message: {} bytes are more than the {} a signature may have", message.size(),
                 kMaxSignatureBytes);
  }
  if ((static_cast<unsigned char>(message.front()) & 0x80) == 0) {
    return error(Code::kDenied,
                 "message: it is armoured, clear-signed or no OpenPGP at all; expected a binary signed message");
  }
  STRAKE_TRY(const PrivateFolder folder, PrivateFolder::create());
  const std::filesystem::path keyring_file = folder.path() / "keyring.gpg";
  const std::filesystem::path message_file = folder.path() / "message";
  STRAKE_CHECK_OK(write_file_atomic(keyring_file, keyring.packets, 0600));
  STRAKE_CHECK_OK(write_file_atomic(message_file, message, 0600));

  Command command;
  command.argv = {
      gpgv_,      "--homedir", folder.path().string(), "--keyring", keyring_file.string(), "--status-fd", "2",
      "--output", "-",         message_file.string()};
  const char* path = getenv("PATH");
  command.env = std::vector<std::string>{"LC_ALL=C", fmt::format("PATH={}", path == nullptr ? "/usr/bin:/bin" : path)};
  command.timeout = kGpgvTimeout;
  // A few compressed bytes can stand for very many.
  command.stdout_limit_bytes = kMaxSignaturePayloadBytes;
  command.stderr_limit_bytes = kMaxStatusBytes;
  Result<ProcessOutput> output = run(command, stop);
  if (!output.ok() && output.error().code() == Code::kNotFound) {
    return error(Code::kUnsupported, "the program {} that checks OpenPGP signatures is not installed (package gpgv)",
                 gpgv_);
  }
  if (!output.ok() && output.error().code() == Code::kExhausted) {
    return error(Code::kDenied, "message: its text has more than {} bytes", kMaxSignaturePayloadBytes);
  }
  if (!output.ok()) return std::move(output).error().context("running gpgv");
  if (output->exit.signal != 0) return error(Code::kIo, "gpgv {}", to_string(output->exit));
  if (output->stderr_truncated) return error(Code::kDenied, "message: gpgv has too much to say about it");
  // The exit status is no help: bytes after a good message give 2, as does an unknown key.
  STRAKE_TRY(CheckedMessage checked, judge_gpgv_status(keyring, output->stderr_bytes));
  checked.content = std::move(output->stdout_bytes);
  return checked;
}

}  // namespace strake::release
