// Secrets by the form they have: keys, pull secrets, hashes of passwords.
#include "base/secrets/secret_finder.h"

namespace strake {

void SecretFinder::pull_secrets() {
  for (const std::string_view key : {"\"auth\"", "\"auths\"", "\"identitytoken\"", "\"registrytoken\""}) {
    for_each(lower_, key, [&](std::size_t after) {
      std::size_t value = text_.find_first_not_of(" \t\r\n", after);
      if (value == text_.npos || text_[value] != ':') return;
      if (form_ == TextForm::kContents) return add(SecretKind::kPullSecret, after, value + 1);
      value = text_.find_first_not_of(" \t\r\n", value + 1);
      if (value == text_.npos || text_[value] != '"') return;  // an object: its members are looked at themselves
      add(SecretKind::kPullSecret, value + 1, std::min(text_.find('"', value + 1), text_.size()));
    });
  }
  if (form_ == TextForm::kMessage) return;
  for_each(lower_, ".dockerconfigjson", [&](std::size_t after) { add(SecretKind::kPullSecret, after, after); });
}

void SecretFinder::client_keys() {
  if (form_ == TextForm::kMessage) return;  // the assignment is found there
  for_each(lower_, "client-key-data", [&](std::size_t after) { add(SecretKind::kKubeconfig, after, after); });
}

void SecretFinder::kubernetes_secrets() {
  if (form_ == TextForm::kMessage) return;  // "kind: Secret" is no secret itself
  for_each(lower_, "kind", [&](std::size_t after) {
    const std::size_t value = std::min(text_.find_first_not_of(" \t\"':", after), text_.size());
    if (text_.substr(after, value - after).find(':') == text_.npos) return;
    const std::string_view rest = std::string_view(lower_).substr(value);
    if (rest.starts_with("secret") && (rest.size() == 6 || !is_alphanumeric(rest[6]))) {
      add(SecretKind::kKubernetesSecret, value, value + 6);
    }
  });
}

void SecretFinder::private_keys() {
  constexpr std::string_view kBegin = "-----BEGIN ", kEnd = "-----END ";
  std::size_t looked_until = 0;
  for_each(text_, kBegin, [&](std::size_t after) {
    if (after < looked_until) return;
    const std::string_view title = text_.substr(after, 40);
    if (title.find("PRIVATE KEY") == title.npos && !title.starts_with("OpenVPN Static key")) return;
    std::size_t end = text_.find(kEnd, after);
    if (end != text_.npos) end = text_.find("-----", end + kEnd.size());
    looked_until = end == text_.npos ? text_.size() : end + 5;
    add(SecretKind::kPrivateKey, after - kBegin.size(), looked_until);
  });
  for_each(text_, "AGE-SECRET-KEY-1",
           [&](std::size_t after) { add(SecretKind::kPrivateKey, after, after + run_of(text_.substr(after), "")); });
}

void SecretFinder::encoded_private_keys() {
  constexpr std::string_view kBase64 = "+/=";
  std::size_t looked_until = 0;
  const auto add_run = [&](std::size_t begin) {
    looked_until = begin + run_of(text_.substr(begin), kBase64);
    add(SecretKind::kPrivateKey, begin, looked_until);
  };
  constexpr std::string_view kBegin = "LS0tLS1CRUdJTi";
  for_each(text_, kBegin, [&](std::size_t after) {
    if (after < looked_until) return;
    const std::string_view rest = text_.substr(after, 48);
    const bool cut_off = rest.size() < 24;
    if (cut_off || std::any_of(std::begin(kEncodedPrivateKeyTitles), std::end(kEncodedPrivateKeyTitles),
                               [&](std::string_view title) { return rest.find(title) != rest.npos; })) {
      add_run(after - kBegin.size());
    }
  });
  for (const std::string_view marker :
       {"ADANBgkqhkiG9w0BAQEFAASC", "AgEAMBMGByqGSM49AgEG", "MC4CAQAwBQYDK2VwBCIEI", "MHcCAQEEI", "MIGkAgEBBDA"}) {
    for_each(text_, marker, [&](std::size_t after) {
      if (after >= looked_until) add_run(after - marker.size());
    });
  }
  for_each(text_, "IBAAKCA", [&](std::size_t after) {  // "MIIEpAIBAAKCAQEA", of every size
    constexpr std::size_t kBefore = 13;
    if (after < kBefore || after < looked_until) return;
    if (text_.substr(after - kBefore, 3) == "MII") add_run(after - kBefore);
  });
}

void SecretFinder::binary_keys() {
  const auto byte = [&](std::size_t at) -> unsigned {
    return at < text_.size() ? static_cast<unsigned char>(text_[at]) : 0x100u;
  };
  bool is_key = false;
  if (byte(0) == 0x30) {  // a DER sequence, and what follows its length
    const std::size_t body = byte(1) == 0x82 ? 4 : byte(1) == 0x81 ? 3 : 2;
    const bool version_0 = byte(body) == 0x02 && byte(body + 1) == 0x01 && byte(body + 2) == 0x00;
    const bool version_1 = byte(body) == 0x02 && byte(body + 1) == 0x01 && byte(body + 2) == 0x01;
    const bool version_3 = byte(body) == 0x02 && byte(body + 1) == 0x01 && byte(body + 2) == 0x03;
    is_key = (version_0 && (byte(body + 3) == 0x30 || byte(body + 3) == 0x02)) ||  // PKCS#8, PKCS#1
             (version_1 && byte(body + 3) == 0x04) ||                              // SEC1
             (version_3 && byte(body + 3) == 0x30);                                // PKCS#12
  }
  is_key = is_key || (byte(0) == 0xfe && byte(1) == 0xed && byte(2) == 0xfe && byte(3) == 0xed);  // Java
  is_key = is_key || (byte(0) == 0x05 && byte(1) == 0x02 && byte(2) == 0x00 && byte(3) == 0x00);  // a Kerberos keytab
  if (is_key) add(SecretKind::kPrivateKey, 0, text_.size());
}

void SecretFinder::password_hashes() {
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
  for_each(text_, "$", [&](std::size_t after) {
    if (is_covered(after)) return;
    const std::string_view rest = text_.substr(after);
    const std::size_t id_end = rest.substr(0, 16).find('$');
    if (id_end == rest.npos) return;
    if (std::find(std::begin(kIds), std::end(kIds), rest.substr(0, id_end)) == std::end(kIds)) return;
    const std::string_view body = rest.substr(id_end + 1, run_of(rest.substr(id_end + 1), "./$=,+-"));
    // A shell's "$1$name" has no third dollar and is shorter than any hash.
    if (body.size() < 16 || body.find('$') == body.npos) return;
    add(SecretKind::kPasswordHash, after - 1, after + id_end + 1 + body.size());
  });
  for (const std::string_view marker : {"grub.pbkdf2.", "{SHA}", "{SSHA", "{SHA256}", "{CRYPT}"}) {
    for_each(text_, marker, [&](std::size_t after) {
      const std::size_t run = run_of(text_.substr(after), "./+=}{$");
      if (run >= kShortestToken || form_ == TextForm::kContents) {
        add(SecretKind::kPasswordHash, after - marker.size(), after + run);
      }
    });
  }
}

void SecretFinder::shadow_lines() {
  if (form_ == TextForm::kMessage) return;
  std::string_view rest = text_;
  while (!rest.empty()) {
    const auto begin = static_cast<std::size_t>(rest.data() - text_.data());
    const std::string_view line = trimmed(take_until(rest, '\n'));
    if (line.empty() || line.size() > 1024 || line.front() == '#') continue;
    const std::vector<std::string_view> fields = split(line, ':');
    if (fields.size() == 9 && fields[1].find_first_not_of("!*x") != line.npos &&
        fields[2].find_first_not_of("0123456789") == line.npos) {
      return add(SecretKind::kPasswordHash, begin, begin + line.size());
    }
    if (fields.size() == 2 && is_old_crypt(fields[1]) && run_of(fields[0], "._-@") == fields[0].size()) {
      return add(SecretKind::kPasswordHash, begin, begin + line.size());
    }
    const bool is_port = fields.size() == 5 && !fields[1].empty() && (fields[1] == "*" || is_all_digits(fields[1]));
    if (is_port && !fields[0].empty() && !fields[3].empty() && !fields[4].empty() && fields[4].front() != '/' &&
        line.find(' ') == line.npos && fields[0] != "x") {
      return add(SecretKind::kPassword, begin, begin + line.size());
    }
  }
}

bool SecretFinder::is_old_crypt(std::string_view text) {
  if (text.size() != 13 || run_of(text, "./") != text.size()) return false;
  const auto count = [&](auto is) { return std::count_if(text.begin() + 1, text.end(), is); };
  return count([](char c) { return c >= 'A' && c <= 'Z'; }) >= 2 &&
         count([](char c) { return c >= 'a' && c <= 'z'; }) >= 2;
}

}  // namespace strake
