#include "machineconfig/diff/redact.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "codec/base64.h"

namespace strake::machineconfig {

namespace {

bool is_one_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

/// Calls `matches(rest)` at every place where `marker` stands; true as soon as it says so.
template <typename Matches>
bool any_after(std::string_view text, std::string_view marker, Matches matches) {
  for (std::size_t at = text.find(marker); at != std::string_view::npos; at = text.find(marker, at + 1)) {
    if (matches(text.substr(at + marker.size()))) return true;
  }
  return false;
}

/// How many letters, digits and characters of `also` the text starts with; no more than the longest token has, so that
/// a hostile text is not walked again from each of its characters.
std::size_t run_of(std::string_view text, std::string_view also) {
  constexpr std::size_t kLongestRun = 2048;
  text = text.substr(0, kLongestRun);
  const auto end =
      std::find_if_not(text.begin(), text.end(), [also](char c) { return is_alphanumeric(c) || is_one_of(c, also); });
  return static_cast<std::size_t>(end - text.begin());
}

bool has_private_key(std::string_view text) {
  const auto names_private_key = [](std::string_view rest) {
    return rest.substr(0, 40).find("PRIVATE KEY") != std::string_view::npos;
  };
  if (any_after(text, "-----BEGIN ", names_private_key)) return true;
  // The same inside base64, as in kubeconfigs and Secrets: "-----BEGIN " with any of the three alignments a longer
  // text can give it; only the aligned one stands at the start of a value, which is where people put keys.
  constexpr std::string_view kEncodedBegin = "LS0tLS1CRUdJTi";
  return any_after(text, kEncodedBegin, [&](std::string_view rest) {
    constexpr std::size_t kEnoughForTheTitle = 42;  // with the marker a multiple of four
    if (rest.size() < kEnoughForTheTitle) return true;
    const auto decoded =
        codec::decode_base64(std::string(kEncodedBegin) + std::string(rest.substr(0, kEnoughForTheTitle)));
    return !decoded.ok() || decoded->find("PRIVATE KEY") != std::string::npos;
  });
}

/// crypt(5): "$id$...$...", and the forms other programs use.
bool has_password_hash(std::string_view text) {
  constexpr std::string_view kIds[] = {"1",
                                       "2",
                                       "2a",
                                       "2b",
                                       "2x",
                                       "2y",
                                       "3",
                                       "5",
                                       "6",
                                       "7",
                                       "y",
                                       "gy",
                                       "sm3",
                                       "sm3y",
                                       "md5",
                                       "sha1",
                                       "apr1",
                                       "argon2i",
                                       "argon2d",
                                       "argon2id",
                                       "scrypt",
                                       "pbkdf2",
                                       "pbkdf2-sha256",
                                       "pbkdf2-sha512",
                                       "bcrypt-sha256"};
  const auto is_crypt = [&](std::string_view rest) {
    const std::size_t id_end = rest.find('$');
    if (id_end == std::string_view::npos || id_end > 14) return false;
    if (std::find(std::begin(kIds), std::end(kIds), rest.substr(0, id_end)) == std::end(kIds)) return false;
    const std::string_view body = rest.substr(id_end + 1, run_of(rest.substr(id_end + 1), "./$=,+-"));
    // A shell's "$1$name" has no third dollar and is shorter than any hash.
    return body.size() >= 16 && body.find('$') != std::string_view::npos;
  };
  return any_after(text, "$", is_crypt) || text.find("grub.pbkdf2.") != std::string_view::npos ||
         text.find("{SHA}") != std::string_view::npos || text.find("{SSHA") != std::string_view::npos;
}

/// "name:hash:19000:0:99999:7:::", whatever the hash looks like.
bool has_shadow_line(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = take_until(text, '\n');
    if (line.size() > 1024 || std::count(line.begin(), line.end(), ':') != 8) continue;
    const std::size_t hash_at = line.find(':') + 1;
    const std::size_t days_at = line.find(':', hash_at) + 1;
    const std::string_view hash = line.substr(hash_at, days_at - hash_at - 1);
    const std::string_view days = line.substr(days_at, line.find(':', days_at) - days_at);
    const bool is_locked = hash.find_first_not_of("!*x") == std::string_view::npos;
    const bool is_days = days.find_first_not_of("0123456789") == std::string_view::npos;
    if (!is_locked && is_days) return true;
  }
  return false;
}

bool has_token(std::string_view text, std::string_view lower_text) {
  constexpr std::size_t kShortestToken = 8;
  for (const std::string_view scheme : {"bearer ", "basic "}) {
    if (any_after(lower_text, scheme, [](std::string_view rest) {
          const std::size_t length = run_of(rest, "-._~+/=");
          // A word of a sentence is followed by another; a token ends with its line or its quotes.
          return length >= kShortestToken &&
                 (length == rest.size() || is_one_of(rest[length], "\n\r\"'") || length >= 2 * kShortestToken);
        })) {
      return true;
    }
  }
  // A JSON web token: three parts of base64url, the first of which is an object.
  for (std::size_t at = text.find("eyJ"); at != std::string_view::npos;) {
    const std::size_t first_end = at + run_of(text.substr(at), "_-");
    const std::string_view second = text.substr(std::min(first_end + 1, text.size()));
    const std::size_t length = run_of(second, "_-");
    const bool dotted =
        first_end < text.size() && text[first_end] == '.' && length < second.size() && second[length] == '.';
    if (dotted && first_end - at >= kShortestToken && length >= kShortestToken / 2) return true;
    at = text.find("eyJ", first_end);  // another one inside the same run would end where this one did
  }
  return false;
}

/// Whether a key says that its value is secret: its last words, joined. "AWS_SECRET_ACCESS_KEY", "registry-password".
bool names_a_secret(std::string_view key) {
  std::string joined;
  for (const char c : key) {
    if (is_alphanumeric(c)) joined += lower_case(c);
  }
  constexpr std::string_view kEndings[] = {
      "password",   "passwd",      "passphrase", "secret",    "token",        "apikey",
      "secretkey",  "accesskey",   "privatekey", "psk",       "presharedkey", "clientkeydata",
      "credential", "credentials", "authtoken",  "signature", "pwd"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](std::string_view ending) { return joined.ends_with(ending); });
}

/// Values that say nothing: absent, or a choice rather than a secret, or the start of something nested.
bool is_harmless_value(std::string_view value) {
  constexpr std::string_view kHarmless[] = {"",     "true", "false", "yes", "no", "null",
                                            "none", "~",    "{",     "[",   "{}", "[]"};
  return std::find(std::begin(kHarmless), std::end(kHarmless), value) != std::end(kHarmless);
}

/// `key = value`, `key: value`, `"key": "value"`, anywhere in a line.
bool has_assigned_secret(std::string_view lower_text) {
  for (std::size_t at = lower_text.find_first_of(":="); at != std::string_view::npos;
       at = lower_text.find_first_of(":=", at + 1)) {
    std::size_t key_end = at;
    while (key_end > 0 && is_one_of(lower_text[key_end - 1], " \t\"'")) --key_end;
    std::size_t key_begin = key_end;
    constexpr std::size_t kLongestKey = 100;
    while (key_begin > 0 && key_end - key_begin < kLongestKey &&
           (is_alphanumeric(lower_text[key_begin - 1]) || is_one_of(lower_text[key_begin - 1], "_-."))) {
      --key_begin;
    }
    if (key_begin == key_end || !names_a_secret(lower_text.substr(key_begin, key_end - key_begin))) continue;
    std::string_view value = lower_text.substr(at + 1);
    value.remove_prefix(std::min(value.find_first_not_of(" \t\"'"), value.size()));
    value = value.substr(0, value.find_first_of(" \t\r\n\"',;}"));
    if (!is_harmless_value(value)) return true;
  }
  return false;
}

/// "https://user:password@host"
bool has_credentials_in_url(std::string_view text) {
  return any_after(text, "://", [](std::string_view rest) {
    const std::string_view authority = rest.substr(0, rest.find_first_of("/ \t\r\n\"'?#"));
    const std::size_t at = authority.rfind('@');
    return at != std::string_view::npos && authority.substr(0, at).find(':') != std::string_view::npos;
  });
}

bool has_pull_secret(std::string_view lower_text) {
  for (const std::string_view key : {"\"auth\"", "\"auths\"", "\"identitytoken\"", "\"registrytoken\""}) {
    const bool is_key = any_after(lower_text, key, [](std::string_view rest) {
      const std::size_t next = rest.find_first_not_of(" \t\r\n");
      return next != std::string_view::npos && rest[next] == ':';
    });
    if (is_key) return true;
  }
  return lower_text.find(".dockerconfigjson") != std::string_view::npos;
}

bool has_kubernetes_secret(std::string_view lower_text) {
  return any_after(lower_text, "kind", [](std::string_view rest) {
    std::size_t next = std::min(rest.find_first_not_of(" \t\"':"), rest.size());
    if (rest.substr(0, next).find(':') == std::string_view::npos) return false;
    rest.remove_prefix(next);
    return rest.starts_with("secret") && (rest.size() == 6 || !is_alphanumeric(rest[6]));
  });
}

bool hide_members_of(json::Object& object) {
  bool hidden = false;
  for (auto& [name, member] : object) {
    const std::string_view key = name;
    if (key == "passwordHash" || key == "httpHeaders") {
      member = "(hidden)";  // not even a size: that of a hash tells its kind
      hidden = true;
    } else if (key == "source" && member.is_string() && json::as_view(member.get_string()).starts_with("data:")) {
      member = fmt::format("(hidden, {} bytes)", member.get_string().size());
      hidden = true;
    } else if (hide_secret_members(member)) {
      hidden = true;
    }
  }
  return hidden;
}

}  // namespace

std::string_view to_string(SecretKind kind) {
  switch (kind) {
    case SecretKind::kPrivateKey: return "a private key";
    case SecretKind::kKubeconfig: return "a kubeconfig with credentials";
    case SecretKind::kPullSecret: return "a pull secret";
    case SecretKind::kPasswordHash: return "a password hash";
    case SecretKind::kToken: return "a token";
    case SecretKind::kPassword: return "a password or key";
    case SecretKind::kKubernetesSecret: return "a Kubernetes Secret";
  }
  return "a secret";
}

std::optional<SecretKind> find_secret(std::string_view contents) {
  const std::string lower_text = lower_case(contents);
  if (has_pull_secret(lower_text)) return SecretKind::kPullSecret;
  if (lower_text.find("client-key-data") != std::string_view::npos) return SecretKind::kKubeconfig;
  if (has_kubernetes_secret(lower_text)) return SecretKind::kKubernetesSecret;
  if (has_private_key(contents)) return SecretKind::kPrivateKey;
  if (has_password_hash(contents) || has_shadow_line(contents)) return SecretKind::kPasswordHash;
  const bool is_kubeconfig = lower_text.find("current-context") != std::string::npos;
  if (has_token(contents, lower_text)) return is_kubeconfig ? SecretKind::kKubeconfig : SecretKind::kToken;
  if (has_assigned_secret(lower_text)) return is_kubeconfig ? SecretKind::kKubeconfig : SecretKind::kPassword;
  if (has_credentials_in_url(contents)) return SecretKind::kPassword;
  return std::nullopt;
}

bool hide_secret_members(json::Value& section) {
  if (json::Object* object = section.if_object()) return hide_members_of(*object);
  bool hidden = false;
  if (json::Array* array = section.if_array()) {
    for (json::Value& element : *array) hidden = hide_secret_members(element) || hidden;
  }
  return hidden;
}

}  // namespace strake::machineconfig
