// Secrets by what stands before them: schemes, prefixes, names, options, URLs.
#include "base/secrets/secret_finder.h"

namespace strake {

namespace {

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

/// A PEM file in base64 that begins as a public key, and has no private one behind it: policies of images name keys so.
bool is_public_key(std::string_view value) {
  constexpr std::string_view kBeginPublic = "LS0tLS1CRUdJTiBQVUJMSUMg";  // "-----BEGIN PUBLIC "
  return value.starts_with(kBeginPublic) &&
         std::none_of(std::begin(kEncodedPrivateKeyTitles), std::end(kEncodedPrivateKeyTitles),
                      [&](std::string_view title) { return value.find(title) != value.npos; });
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

}  // namespace

void SecretFinder::schemes() {
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

void SecretFinder::web_tokens() {
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

void SecretFinder::prefixed_tokens() {
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

void SecretFinder::bootstrap_tokens() {
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

void SecretFinder::assignments() {
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
    // "reading '/etc/passwd': it is no keyring" assigns nothing: the name must be all that is quoted.
    if (form_ == TextForm::kMessage && text_[at] == ':' && (key_begin == 0 || text_[key_begin - 1] != text_[key_end]))
      continue;
    const std::string_view key = std::string_view(lower_).substr(key_begin, key_end - key_begin);
    if (!names_a_secret(key)) continue;
    const auto [begin, end] = value_after(at + 1);
    looked_until = end;
    const std::string_view value = text_.substr(begin, end - begin);
    if (is_harmless_value(value) || is_public_key(value)) continue;
    // The place of a key is no key; the kernel's is, for it may name one on a disk that others have.
    if (names_a_place(value) && key.find("luks") == key.npos &&
        (key.ends_with("key") || key.find("credential") != key.npos))
      continue;
    add(SecretKind::kPassword, begin, end);
  }
}

std::pair<std::size_t, std::size_t> SecretFinder::value_after(std::size_t at) const {
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

void SecretFinder::options() {
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

void SecretFinder::add_option_value(std::size_t at, bool is_user) {
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

void SecretFinder::credentials_in_urls() {
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

void SecretFinder::data_urls() {
  if (form_ == TextForm::kContents) return;
  for_each(lower_, "data:", [&](std::size_t after) {
    if (is_covered(after)) return;
    const std::size_t comma = after + run_of(text_.substr(after, 128), "/+.;=-_");
    if (comma >= text_.size() || text_[comma] != ',') return;
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n\"'`", comma), text_.size());
    if (end > comma + 1) add(SecretKind::kPassword, comma + 1, end);
  });
}

void SecretFinder::netrc_entries() {
  if (lower_.find("machine ") == lower_.npos && lower_.find("default") == lower_.npos) return;
  if (lower_.find("login ") == lower_.npos) return;
  for_each(lower_, "password ", [&](std::size_t after) {
    const std::size_t word = after - 9;
    if (word > 0 && !is_among(text_[word - 1], " \t\n")) return;
    const auto [begin, end] = value_after(after);
    if (begin < end) add(SecretKind::kPassword, begin, end);
  });
}

}  // namespace strake
