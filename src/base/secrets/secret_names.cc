// Secrets by name: of variables and options, and of files.
#include <algorithm>
#include <array>

#include "base/secrets.h"
#include "base/text.h"

namespace strake {

namespace {

/// "AWS_Secret-Key" -> "aws_secret_key", so that words can be told apart.
std::string in_words(std::string_view name) {
  std::string words;
  for (const char c : name) words += is_alphanumeric(c) ? lower_case(c) : '_';
  return words;
}

template <std::size_t Count>
bool ends_with_any(std::string_view text, const std::array<std::string_view, Count>& endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return text.ends_with(ending); });
}

template <std::size_t Count>
bool is_any(std::string_view text, const std::array<std::string_view, Count>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

template <std::size_t Count>
bool contains_any(std::string_view text, const std::array<std::string_view, Count>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return text.find(part) != text.npos; });
}

}  // namespace

bool names_a_secret(std::string_view name) {
  const std::string words = in_words(name);
  std::string joined = words;
  std::erase(joined, '_');
  static constexpr std::array<std::string_view, 26> kEndings = {
      "password",   "passwd",     "passphrase", "secret",     "token",        "apikey",       "secretkey",
      "accesskey",  "privatekey", "psk",        "accountkey", "sharedkey",    "presharedkey", "encryptionkey",
      "signingkey", "masterkey",  "keydata",    "credential", "credentials",  "signature",    "pwd",
      "rootpw",     "authkey",    "lukskey",    "clientkey",  "setcredential"};
  if (ends_with_any(joined, kEndings)) return true;
  static constexpr std::array<std::string_view, 3> kShortWords = {"_pass", "_pw", "_creds"};
  if (ends_with_any(words, kShortWords)) return true;
  static constexpr std::array<std::string_view, 4> kWholeNames = {"pass", "creds", "dbpass", "keypass"};
  if (is_any(words, kWholeNames)) return true;
  if (!words.ends_with("_key")) return false;
  // Keys that everybody may know, and keys of tables.
  static constexpr std::array<std::string_view, 12> kOpenKeys = {
      "public_key",  "pub_key", "gpg_key",      "host_key", "sort_key",      "primary_key",
      "foreign_key", "rpm_key", "registry_key", "map_key",  "partition_key", "sigstore_key"};
  return !ends_with_any(words, kOpenKeys);
}

std::optional<SecretKind> find_secret_place(std::string_view path, std::optional<std::uint32_t> mode) {
  const std::string lower = lower_case(path);
  const std::string_view whole = lower;
  const std::string_view file = whole.substr(whole.rfind('/') + 1);  // npos + 1 is 0
  if (file.ends_with(".pub") || file.ends_with(".crt") || file.ends_with(".cer")) {
    return mode && (*mode & 0777) != 0 && (*mode & 077) == 0 ? std::optional(SecretKind::kPrivateFile) : std::nullopt;
  }
  static constexpr std::array<std::string_view, 12> kKeyFiles = {
      "id_rsa",        "id_dsa",           "id_ecdsa",         "id_ed25519",         "id_ecdsa_sk",
      "id_ed25519_sk", "ssh_host_rsa_key", "ssh_host_dsa_key", "ssh_host_ecdsa_key", "ssh_host_ed25519_key",
      "secring.gpg",   "ipsec.secrets"};
  static constexpr std::array<std::string_view, 9> kKeyEndings = {".key", "-key.pem",  "_key.pem", ".p12",    ".pfx",
                                                                  ".jks", ".keystore", ".keytab",  ".keyring"};
  static constexpr std::array<std::string_view, 4> kKeyFolders = {"/etc/pki/tls/private/", "/etc/ssl/private/",
                                                                  "/etc/cryptsetup-keys.d/", "private-keys-v1.d/"};
  if (is_any(file, kKeyFiles) || ends_with_any(file, kKeyEndings) || contains_any(whole, kKeyFolders)) {
    return SecretKind::kPrivateKey;
  }
  static constexpr std::array<std::string_view, 17> kSecretFiles = {
      ".netrc",           "_netrc",       ".pgpass",     ".my.cnf",    "chap-secrets",  "pap-secrets",
      ".git-credentials", ".vault-token", "credentials", "token",      "password",      "secret",
      ".pypirc",          ".s3cfg",       ".boto",       "passphrase", ".erlang.cookie"};
  static constexpr std::array<std::string_view, 7> kSecretEndings = {".token",   ".password", ".secret",    ".secrets",
                                                                     "-secrets", ".psk",      ".passphrase"};
  // The URL of a proxy may hold a password.
  static constexpr std::array<std::string_view, 5> kSecretFolders = {
      "/run/secrets/", "/etc/credstore/", "/etc/wireguard/", "/.aws/credentials", "/etc/mco/proxy.env"};
  if (is_any(file, kSecretFiles) || ends_with_any(file, kSecretEndings) || contains_any(whole, kSecretFolders)) {
    return SecretKind::kPrivateFile;
  }
  static constexpr std::array<std::string_view, 6> kHashFiles = {"shadow",   "gshadow",   "shadow-",
                                                                 "gshadow-", ".htpasswd", "htpasswd"};
  if (is_any(file, kHashFiles)) return SecretKind::kPasswordHash;
  static constexpr std::array<std::string_view, 3> kPullSecretEndings = {
      "/.docker/config.json", "/containers/auth.json", "/kubelet/config.json"};
  if (file == ".dockerconfigjson" || file == ".dockercfg" || ends_with_any(whole, kPullSecretEndings)) {
    return SecretKind::kPullSecret;
  }
  if (file == "kubeconfig" || file.ends_with(".kubeconfig") || whole.ends_with("/.kube/config")) {
    return SecretKind::kKubeconfig;
  }
  // Whoever takes a file away from all others has a reason.
  if (mode && (*mode & 0777) != 0 && (*mode & 077) == 0) return SecretKind::kPrivateFile;
  return std::nullopt;
}

}  // namespace strake
