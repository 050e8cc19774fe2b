#include "base/secrets.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "base/visible_text.h"

namespace strake {

namespace {

/// Where one stands; several may overlap.
struct SecretSpan {
  SecretKind kind = SecretKind::kPassword;
  std::size_t begin = 0;
  std::size_t end = 0;
};

enum class TextForm { kContents, kMessage };

constexpr std::size_t kShortestToken = 8;
/// No token is longer, so that a hostile text is not walked again from each of its characters.
constexpr std::size_t kLongestRun = 4096;

bool is_among(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }
bool is_word_character(char c) { return is_alphanumeric(c) || c == '_'; }

/// How many letters, digits and characters of `also` the text starts with.
std::size_t run_of(std::string_view text, std::string_view also) {
  text = text.substr(0, kLongestRun);
  const auto end =
      std::find_if_not(text.begin(), text.end(), [also](char c) { return is_alphanumeric(c) || is_among(c, also); });
  return static_cast<std::size_t>(end - text.begin());
}

/// Absent, a choice rather than a secret, the start of something nested, a place holder, a reference to a variable.
bool is_harmless_value(std::string_view value) {
  constexpr std::string_view kHarmless[] = {"",    "true", "false",    "yes",      "no",    "on",
                                            "off", "null", "none",     "~",        "{",     "[",
                                            "{}",  "[]",   "(hidden)", "[hidden]", "files", "compat"};
  const std::string lower = lower_case(value.substr(0, 16));
  if (std::find(std::begin(kHarmless), std::end(kHarmless), lower) != std::end(kHarmless)) return true;
  if (value.starts_with("${") || value.starts_with("$(") || value.starts_with("%d/") || value.starts_with("<"))
    return true;
  if (value.front() == '$') {  // "$PASSWORD", but not "$6$salt$hash"
    return std::all_of(value.begin() + 1, value.end(), is_word_character) && value.size() > 1 && !is_digit(value[1]);
  }
  return false;
}

/// "FILE", "TOKEN": what a help text calls the value.
bool is_place_holder(std::string_view value) {
  return std::all_of(value.begin(), value.end(),
                     [](char c) { return (c >= 'A' && c <= 'Z') || is_among(c, "_|[]()."); });
}

/// "/etc/a.pem", "file:///etc/a.pem", and "name:/etc/a" as units load credentials.
bool names_a_place(std::string_view value) {
  return value.front() == '/' || value.starts_with("file:") ||
         (value.find(":/") != value.npos && value.find("://") == value.npos);
}

class SecretFinder {
 public:
  SecretFinder(std::string_view text, TextForm form) : text_(text), lower_(lower_case(text)), form_(form) {}

  /// In the order in which a kind is told; stops at the first find unless `all`.
  std::vector<SecretSpan> find(bool all) {
    using Search = void (SecretFinder::*)();
    constexpr Search kSearches[] = {&SecretFinder::pull_secrets,
                                    &SecretFinder::client_keys,
                                    &SecretFinder::kubernetes_secrets,
                                    &SecretFinder::private_keys,
                                    &SecretFinder::encoded_private_keys,
                                    &SecretFinder::binary_keys,
                                    &SecretFinder::password_hashes,
                                    &SecretFinder::shadow_lines,
                                    &SecretFinder::schemes,
                                    &SecretFinder::web_tokens,
                                    &SecretFinder::prefixed_tokens,
                                    &SecretFinder::bootstrap_tokens,
                                    &SecretFinder::assignments,
                                    &SecretFinder::options,
                                    &SecretFinder::credentials_in_urls,
                                    &SecretFinder::netrc_entries,
                                    &SecretFinder::data_urls};
    for (const Search search : kSearches) {
      (this->*search)();
      if (!all && !found_.empty()) break;
    }
    return std::move(found_);
  }

 private:
  void add(SecretKind kind, std::size_t begin, std::size_t end) {
    found_.push_back({kind, begin, std::min(end, text_.size())});
  }

  /// Calls `see(place after the marker)` wherever `marker` stands in the text in lower case.
  template <typename See>
  void for_each(std::string_view text, std::string_view marker, See see) {
    for (std::size_t at = text.find(marker); at != text.npos; at = text.find(marker, at + 1)) see(at + marker.size());
  }

  /// Inside what was found last: looking again would make hostile texts expensive.
  bool is_covered(std::size_t at) const {
    return !found_.empty() && at >= found_.back().begin && at < found_.back().end;
  }

  std::size_t end_of_line(std::size_t at) const { return std::min(text_.find('\n', at), text_.size()); }

  void pull_secrets() {
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

  void client_keys() {
    if (form_ == TextForm::kMessage) return;  // the assignment is found there
    for_each(lower_, "client-key-data", [&](std::size_t after) { add(SecretKind::kKubeconfig, after, after); });
  }

  void kubernetes_secrets() {
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

  void private_keys() {
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

  /// A key inside base64: "-----BEGIN " at the start of a value, then "PRIVATE KEY" in one of the three ways a longer
  /// text can give it; or DER: PKCS#8 of RSA, EC and Ed25519, PKCS#1, SEC1.
  void encoded_private_keys() {
    constexpr std::string_view kBase64 = "+/=";
    constexpr std::string_view kTitles[] = {"UFJJVkFURSBLRV", "BSSVZBVEUgS0VZ", "QUklWQVRFIEtFW"};
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
      if (cut_off || std::any_of(std::begin(kTitles), std::end(kTitles),
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

  void binary_keys() {
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

  /// crypt(5): "$id$...$...", and the forms other programs use.
  void password_hashes() {
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

  /// "name:hash:19000:0:99999:7:::", whatever the hash looks like; "name:hash" with a hash of the old crypt (htpasswd
  /// -d); "host:port:database:user:password" (.pgpass).
  void shadow_lines() {
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

  /// 13 characters, mixed as only a hash mixes them.
  static bool is_old_crypt(std::string_view text) {
    if (text.size() != 13 || run_of(text, "./") != text.size()) return false;
    const auto count = [&](auto is) { return std::count_if(text.begin() + 1, text.end(), is); };
    return count([](char c) { return c >= 'A' && c <= 'Z'; }) >= 2 &&
           count([](char c) { return c >= 'a' && c <= 'z'; }) >= 2;
  }

  /// "Bearer x", "Basic x", "Authorization: x y".
  void schemes() {
    for (const std::string_view scheme : {"bearer ", "basic "}) {
      for_each(lower_, scheme, [&](std::size_t after) {
        if (after > scheme.size() && is_word_character(text_[after - scheme.size() - 1])) return;
        const std::string_view rest = text_.substr(after);
        const std::size_t length = run_of(rest, "-._~+/=");
        // A word of a sentence is followed by another; a token ends with its line or its quotes. Where the word is
        // spelled as in a header, it is one.
        const bool as_in_a_header = form_ == TextForm::kMessage && text_[after - scheme.size()] == 'B';
        if (as_in_a_header ? length > 0
                           : length >= kShortestToken && (length == rest.size() || is_among(rest[length], "\n\r\"'") ||
                                                          length >= 2 * kShortestToken)) {
          add(SecretKind::kToken, after, after + length);
        }
      });
    }
    for_each(lower_, "authorization:", [&](std::size_t after) {
      if (is_covered(after)) return;
      std::size_t begin = std::min(text_.find_first_not_of(" \t", after), text_.size());
      for (const std::string_view scheme : {"bearer ", "basic ", "token ", "digest ", "negotiate "}) {
        if (std::string_view(lower_).substr(begin).starts_with(scheme)) begin += scheme.size();
      }
      const std::size_t end = std::min(text_.find_first_of(" \t\r\n\"'", begin), text_.size());
      if (end - begin >= kShortestToken) add(SecretKind::kToken, begin, end);
    });
  }

  /// A JSON web token: three parts of base64url, the first of which is an object.
  void web_tokens() {
    for (std::size_t at = text_.find("eyJ"); at != text_.npos;) {
      const std::size_t first_end = at + run_of(text_.substr(at), "_-");
      const std::string_view second = text_.substr(std::min(first_end + 1, text_.size()));
      const std::size_t length = run_of(second, "_-");
      const bool dotted =
          first_end < text_.size() && text_[first_end] == '.' && length < second.size() && second[length] == '.';
      if (dotted && first_end - at >= kShortestToken && length >= kShortestToken / 2) {
        add(SecretKind::kToken, at, at + run_of(text_.substr(at), "_-."));
      }
      at = text_.find("eyJ", first_end);  // another one inside the same run would end where this one did
    }
  }

  /// Tokens that say of themselves what they are.
  void prefixed_tokens() {
    struct Prefix {
      std::string_view text;
      std::size_t shortest;  ///< of what follows
    };
    constexpr Prefix kPrefixes[] = {
        {"ghp_", 20},   {"gho_", 20},     {"ghu_", 20},      {"ghs_", 20},     {"ghr_", 20},    {"github_pat_", 20},
        {"glpat-", 16}, {"gldt-", 16},    {"glrt-", 16},     {"xoxb-", 16},    {"xoxp-", 16},   {"xoxa-", 16},
        {"npm_", 30},   {"pypi-AgE", 16}, {"dckr_pat_", 16}, {"hvs.", 20},     {"sha256~", 40}, {"AKIA", 16},
        {"ASIA", 16},   {"AIza", 30},     {"ya29.", 20},     {"sk_live_", 16}, {"SG.", 30},     {"tskey-", 16}};
    for (const Prefix& prefix : kPrefixes) {
      for_each(text_, prefix.text, [&](std::size_t after) {
        const std::size_t begin = after - prefix.text.size();
        if (is_covered(begin) || (begin > 0 && is_alphanumeric(text_[begin - 1]))) return;
        const std::size_t run = run_of(text_.substr(after), "_-.");
        if (run >= prefix.shortest) add(SecretKind::kToken, begin, after + run);
      });
    }
  }

  /// A bootstrap token of Kubernetes: six characters, a dot, sixteen; at least one digit, as a name of a host has
  /// seldom.
  void bootstrap_tokens() {
    for_each(text_, ".", [&](std::size_t after) {
      if (after < 7 || after + 16 > text_.size()) return;
      const std::size_t begin = after - 7;
      const auto fits = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'z'); };
      if (begin > 0 && (is_word_character(text_[begin - 1]) || is_among(text_[begin - 1], ".-/"))) return;
      if (after + 16 < text_.size() && (is_word_character(text_[after + 16]) || is_among(text_[after + 16], ".-")))
        return;
      const std::string_view id = text_.substr(begin, 6), secret = text_.substr(after, 16);
      if (!std::all_of(id.begin(), id.end(), fits) || !std::all_of(secret.begin(), secret.end(), fits)) return;
      if (std::none_of(secret.begin(), secret.end(), is_digit)) return;
      add(SecretKind::kToken, begin, after + 16);
    });
  }

  /// `key = value`, `key: value`, `"key": "value"`, anywhere in a line.
  void assignments() {
    std::size_t looked_until = 0;
    for (std::size_t at = text_.find_first_of(":="); at != text_.npos; at = text_.find_first_of(":=", at + 1)) {
      if (at < looked_until) continue;
      std::size_t key_end = at;
      while (key_end > 0 && is_among(text_[key_end - 1], " \t\"'") && at - key_end < 16) --key_end;
      const bool quoted_key = key_end < at && is_among(text_[key_end], "\"'");
      if (form_ == TextForm::kMessage && text_[at] == ':' && !quoted_key) continue;
      std::size_t key_begin = key_end;
      constexpr std::size_t kLongestKey = 100;
      while (key_begin > 0 && key_end - key_begin < kLongestKey &&
             (is_alphanumeric(text_[key_begin - 1]) || is_among(text_[key_begin - 1], "_-."))) {
        --key_begin;
      }
      if (key_begin == key_end) continue;
      const std::string_view key = std::string_view(lower_).substr(key_begin, key_end - key_begin);
      if (!names_a_secret(key)) continue;
      const auto [begin, end] = value_after(at + 1);
      looked_until = end;
      const std::string_view value = text_.substr(begin, end - begin);
      if (is_harmless_value(value)) continue;
      // The place of a key is no key; the kernel's is, for it may name one on a disk that others have.
      if (names_a_place(value) && key.find("luks") == key.npos &&
          (key.ends_with("key") || key.find("credential") != key.npos))
        continue;
      add(SecretKind::kPassword, begin, end);
    }
  }

  /// Up to the closing quote, or to the end of the word.
  std::pair<std::size_t, std::size_t> value_after(std::size_t at) const {
    std::size_t begin = at;
    while (begin < text_.size() && is_among(text_[begin], " \t")) ++begin;
    if (begin < text_.size() && is_among(text_[begin], "\"'")) {
      const char quote = text_[begin++];
      const std::size_t end = text_.substr(begin, kLongestRun).find(quote);
      return {begin, end == text_.npos ? std::min(begin + kLongestRun, text_.size()) : begin + end};
    }
    const std::size_t end = text_.substr(begin, kLongestRun).find_first_of(" \t\r\n\"',;}");
    return {begin, end == text_.npos ? std::min(begin + kLongestRun, text_.size()) : begin + end};
  }

  /// `--password X`, `curl -u user:X`, `sshpass -p X`, `mysql -pX`.
  void options() {
    for_each(text_, "--", [&](std::size_t after) {
      if (after > 2 && !is_among(text_[after - 3], " \t\"'=[(`,\n")) return;
      const std::size_t length = run_of(text_.substr(after, 100), "-_");
      const std::size_t next = after + length;
      if (length == 0 || next >= text_.size() || !is_among(text_[next], " \t")) return;  // '=' is an assignment
      const std::string_view name = std::string_view(lower_).substr(after, length);
      const bool takes_user = name == "user" || name == "proxy-user" || name == "creds" || name.ends_with("-creds");
      if (!takes_user && !names_a_secret(name)) return;
      add_option_value(next, takes_user);
    });
    struct ShortOption {
      std::string_view program, option;
      bool is_user, joined;
    };
    constexpr ShortOption kShort[] = {{"curl ", " -u ", true, false},     {"wget ", " -u ", true, false},
                                      {"sshpass ", " -p ", false, false}, {"mysql ", " -p", false, true},
                                      {"mysqldump ", " -p", false, true}, {"smbclient ", " -U ", true, false}};
    for (const ShortOption& option : kShort) {
      std::size_t looked_until = 0;
      for_each(text_, option.program, [&](std::size_t after) {
        if (after < looked_until) return;
        looked_until = end_of_line(after);
        const std::string_view line = text_.substr(after - 1, looked_until - after + 1);
        for_each(line, option.option, [&](std::size_t in_line) {
          const std::size_t value = after - 1 + in_line;
          if (option.joined && (value >= text_.size() || is_among(text_[value], " \t\n"))) return;
          add_option_value(option.joined ? value : value - 1, option.is_user);
        });
      });
    }
  }

  void add_option_value(std::size_t at, bool is_user) {
    auto [begin, end] = value_after(at);
    const std::string_view value = text_.substr(begin, end - begin);
    if (value.empty() || value.front() == '-' || is_harmless_value(value) || is_place_holder(value)) return;
    if (is_user) {
      const std::size_t colon = value.find_first_of(":%");
      if (colon == value.npos || colon + 1 == value.size() || is_harmless_value(value.substr(colon + 1))) return;
      begin += colon + 1;
    }
    if (form_ == TextForm::kMessage && text_[begin] == '/') return;  // "give --token /a/file"
    add(SecretKind::kPassword, begin, end);
  }

  /// "https://user:password@host", also where '/' or '@' of the password were not percent-encoded.
  void credentials_in_urls() {
    std::size_t url_end = 0;
    for_each(text_, "://", [&](std::size_t after) {
      if (after >= url_end) {  // one URL may hold another, which ends where it does
        constexpr std::size_t kLongestUrl = 1024;
        const std::string_view rest = text_.substr(after, kLongestUrl);
        url_end = after + std::min(rest.find_first_of(" \t\r\n\"'<>`"), rest.size());
      }
      const std::string_view url = text_.substr(after, url_end - after);
      const std::string_view authority = url.substr(0, url.find_first_of("/?#"));
      std::size_t sign = authority.rfind('@');
      if (sign != url.npos) {
        const std::string_view user = authority.substr(0, sign);
        constexpr std::size_t kNoNameOfAUser = 20;
        if (form_ == TextForm::kMessage || user.find(':') != user.npos || user.size() >= kNoNameOfAUser) {
          add(SecretKind::kPassword, after, after + sign);
        }
        return;
      }
      sign = url.rfind('@');
      const std::size_t colon = authority.find(':');
      if (sign == url.npos || colon == url.npos) return;
      const std::string_view host = url.substr(sign + 1);
      const bool is_digest = host.starts_with("sha256:") || host.starts_with("sha512:");
      const bool is_port = is_all_digits(authority.substr(colon + 1)) || authority.substr(colon + 1).empty();
      const bool is_address = authority.starts_with('[');
      if (is_digest || is_address || (is_port && host.find_first_of(".:") == host.npos)) return;
      add(SecretKind::kPassword, after, after + sign);
    });
  }

  /// What a data URL holds may be anything; its size is of use, its contents are not.
  void data_urls() {
    if (form_ == TextForm::kContents) return;
    for_each(lower_, "data:", [&](std::size_t after) {
      if (is_covered(after)) return;
      const std::size_t comma = after + run_of(text_.substr(after, 128), "/+.;=-_");
      if (comma >= text_.size() || text_[comma] != ',') return;
      const std::size_t end = std::min(text_.find_first_of(" \t\r\n\"'`", comma), text_.size());
      if (end > comma + 1) add(SecretKind::kPassword, comma + 1, end);
    });
  }

  /// "machine host login user password x", all in one line or one below the other.
  void netrc_entries() {
    if (lower_.find("machine ") == lower_.npos && lower_.find("default") == lower_.npos) return;
    if (lower_.find("login ") == lower_.npos) return;
    for_each(lower_, "password ", [&](std::size_t after) {
      const std::size_t word = after - 9;
      if (word > 0 && !is_among(text_[word - 1], " \t\n")) return;
      const auto [begin, end] = value_after(after);
      if (begin < end) add(SecretKind::kPassword, begin, end);
    });
  }

  const std::string_view text_;
  const std::string lower_;
  const TextForm form_;
  std::vector<SecretSpan> found_;
};

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
    case SecretKind::kPrivateFile: return "a file for its owner only";
  }
  return "a secret";
}

std::optional<SecretKind> find_secret(std::string_view contents) {
  const std::vector<SecretSpan> found = SecretFinder(contents, TextForm::kContents).find(false);
  if (found.empty()) return std::nullopt;
  const bool may_be_a_credential =
      found.front().kind == SecretKind::kToken || found.front().kind == SecretKind::kPassword;
  const bool is_kubeconfig = may_be_a_credential && lower_case(contents).find("current-context") != std::string::npos;
  return is_kubeconfig ? SecretKind::kKubeconfig : found.front().kind;
}

std::string without_secrets(std::string_view text) {
  std::vector<SecretSpan> found = SecretFinder(text, TextForm::kMessage).find(true);
  if (found.empty()) return std::string(text);
  std::sort(found.begin(), found.end(), [](const SecretSpan& a, const SecretSpan& b) { return a.begin < b.begin; });
  std::string shown;
  std::size_t copied = 0;
  for (const SecretSpan& secret : found) {
    if (secret.end <= copied) continue;
    if (secret.begin >= copied) {
      shown += text.substr(copied, secret.begin - copied);
      shown += kHiddenSecret;
    }
    copied = secret.end;
  }
  shown += text.substr(copied);
  return shown;
}

std::string public_text(std::string_view text, std::size_t limit) {
  // Cut twice: what is hidden must not depend on where the cut falls, and hostile texts must not be searched whole.
  constexpr std::size_t kRoomForEscapes = 4;
  return clip_utf8(visible_text(without_secrets(text.substr(0, kRoomForEscapes * limit))), limit);
}

}  // namespace strake
