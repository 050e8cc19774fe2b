// Searches for secrets in a text: one function for each way they look. Private to secrets.h.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/secrets.h"
#include "base/text.h"

namespace strake {

/// Where one stands; several may overlap.
struct SecretSpan {
  SecretKind kind = SecretKind::kPassword;
  std::size_t begin = 0;
  std::size_t end = 0;
};

enum class TextForm { kContents, kMessage };

inline constexpr std::size_t kShortestToken = 8;
/// No token is longer, so that a hostile text is not walked again from each of its characters.
inline constexpr std::size_t kLongestRun = 4096;

inline bool is_among(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }
inline bool is_word_character(char c) { return is_alphanumeric(c) || c == '_'; }

/// How many letters, digits and characters of `also` the text starts with.
std::size_t run_of(std::string_view text, std::string_view also);

/// "PRIVATE KEY" as it may stand in base64, wherever it begins.
inline constexpr std::string_view kEncodedPrivateKeyTitles[] = {"UFJJVkFURSBLRV", "BSSVZBVEUgS0VZ", "QUklWQVRFIEtFW"};

class SecretFinder {
 public:
  SecretFinder(std::string_view text, TextForm form) : text_(text), lower_(lower_case(text)), form_(form) {}

  /// In the order in which a kind is told; stops at the first find unless `all`.
  std::vector<SecretSpan> find(bool all);

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

  // Keys and hashes: src/base/secrets/secret_keys.cc
  void pull_secrets();
  void client_keys();
  void kubernetes_secrets();
  void private_keys();
  /// A key inside base64: "-----BEGIN " at the start of a value, then "PRIVATE KEY" in one of the three ways a longer
  /// text can give it; or DER: PKCS#8 of RSA, EC and Ed25519, PKCS#1, SEC1.
  void encoded_private_keys();
  void binary_keys();
  /// crypt(5): "$id$...$...", and the forms other programs use.
  void password_hashes();
  /// "name:hash:19000:0:99999:7:::", whatever the hash looks like; "name:hash" with a hash of the old crypt (htpasswd
  /// -d); "host:port:database:user:password" (.pgpass).
  void shadow_lines();
  /// 13 characters, mixed as only a hash mixes them.
  static bool is_old_crypt(std::string_view text);

  // Tokens, passwords and what leads to them: src/base/secrets/secret_values.cc
  /// "Bearer x", "Basic x", "Authorization: x y".
  void schemes();
  /// A JSON web token: three parts of base64url, the first of which is an object.
  void web_tokens();
  /// Tokens that say of themselves what they are.
  void prefixed_tokens();
  /// A bootstrap token of Kubernetes: six characters, a dot, sixteen; at least one digit, as a name of a host has
  /// seldom.
  void bootstrap_tokens();
  /// `key = value`, `key: value`, `"key": "value"`, anywhere in a line.
  void assignments();
  /// Up to the closing quote, or to the end of the word.
  std::pair<std::size_t, std::size_t> value_after(std::size_t at) const;
  /// `--password X`, `curl -u user:X`, `sshpass -p X`, `mysql -pX`.
  void options();
  void add_option_value(std::size_t at, bool is_user);
  /// "https://user:password@host", also where '/' or '@' of the password were not percent-encoded.
  void credentials_in_urls();
  /// What a data URL holds may be anything; its size is of use, its contents are not.
  void data_urls();
  /// "machine host login user password x", all in one line or one below the other.
  void netrc_entries();

  const std::string_view text_;
  const std::string lower_;
  const TextForm form_;
  std::vector<SecretSpan> found_;
};

}  // namespace strake
