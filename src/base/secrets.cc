#include "base/secrets.h"

#include <algorithm>
#include <vector>

#include "base/secrets/secret_finder.h"
#include "base/visible_text.h"

namespace strake {

std::size_t run_of(std::string_view text, std::string_view also) {
  text = text.substr(0, kLongestRun);
  const auto end =
      std::find_if_not(text.begin(), text.end(), [also](char c) { return is_alphanumeric(c) || is_among(c, also); });
  return static_cast<std::size_t>(end - text.begin());
}

std::vector<SecretSpan> SecretFinder::find(bool all) {
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
