#include "oci/registry/challenge.h"

#include <algorithm>

#include "base/text.h"
#include "net/http.h"

namespace strake::oci {

namespace {

bool is_token68_char(char c) {
  return is_alphanumeric(c) || std::string_view("-._~+/").find(c) != std::string_view::npos;
}

class ChallengeReader {
 public:
  explicit ChallengeReader(std::string_view header) : text_(header) {}

  Result<std::vector<Challenge>> read() {
    std::vector<Challenge> challenges;
    skip_separators();
    while (!at_end()) {
      STRAKE_TRY(const std::string_view word, token("a scheme or a parameter name"));
      const bool is_parameter = peek_after_space() == '=' && !challenges.empty() && accepts_parameters_;
      if (is_parameter) {
        skip_space();
        ++at_;
        STRAKE_CHECK_OK(read_value(challenges.back(), word));
      } else {
        if (challenges.size() == kMaxChallengeParts) return problem("too many challenges");
        STRAKE_TRY(Challenge challenge, start_challenge(word));
        challenges.push_back(std::move(challenge));
      }
      if (!at_end() && !in_challenge_head_ && peek() != ',') return problem("expected a comma");
      in_challenge_head_ = false;
      skip_separators();
    }
    return challenges;
  }

 private:
  /// After the scheme come its first parameter, or credentials in the short form, or nothing.
  Result<Challenge> start_challenge(std::string_view scheme) {
    Challenge challenge{lower_case(scheme), {}};
    accepts_parameters_ = true;
    if (at_end() || peek() == ',') return challenge;
    if (peek() != ' ' && peek() != '\t') return problem("expected a blank after the scheme");
    skip_space();
    if (at_end() || peek() == ',') return challenge;
    if (const std::size_t length = token68_length(); length > 0) {
      challenge.parameters.emplace("", text_.substr(at_, length));
      at_ += length;
      accepts_parameters_ = false;
      return challenge;
    }
    in_challenge_head_ = true;
    return challenge;
  }

  /// How much of what follows is the short form: it fills the place up to the next comma.
  std::size_t token68_length() const {
    std::size_t end = at_;
    while (end < text_.size() && is_token68_char(text_[end])) ++end;
    if (end == at_) return 0;
    while (end < text_.size() && text_[end] == '=') ++end;
    const std::size_t next = text_.find_first_not_of(" \t", end);
    return next == std::string_view::npos || text_[next] == ',' ? end - at_ : 0;
  }

  Status read_value(Challenge& challenge, std::string_view name) {
    skip_space();
    std::string value;
    if (!at_end() && peek() == '"') {
      STRAKE_TRY(value, quoted());
    } else {
      STRAKE_TRY(const std::string_view word, token("a value"));
      value = word;
    }
    skip_space();
    if (challenge.parameters.size() == kMaxChallengeParts) return problem("too many parameters");
    if (!challenge.parameters.emplace(lower_case(name), std::move(value)).second) {
      return problem(fmt::format("parameter '{}' is given twice", name));
    }
    return {};
  }

  Result<std::string> quoted() {
    std::string value;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        return value;
      }
      if (text_[at_] == '\\' && ++at_ == text_.size()) break;
      const auto byte = static_cast<unsigned char>(text_[at_]);
      if ((byte < 0x20 && byte != '\t') || byte == 0x7f) return problem("a control character in a quoted value");
      value += text_[at_];
    }
    return problem("a quoted value does not end");
  }

  Result<std::string_view> token(std::string_view what) {
    std::size_t end = at_;
    while (end < text_.size() && net::is_http_token(text_.substr(end, 1))) ++end;
    if (end == at_) return problem(fmt::format("expected {}", what));
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end;
    return word;
  }

  Error problem(std::string_view what) const {
    return error(Code::kCorrupt, "WWW-Authenticate: {} at position {}", what, at_ + 1);
  }

  bool at_end() const { return at_ >= text_.size(); }
  char peek() const { return text_[at_]; }
  char peek_after_space() const {
    const std::size_t next = text_.find_first_not_of(" \t", at_);
    return next == std::string_view::npos ? '\0' : text_[next];
  }
  void skip_space() {
    while (!at_end() && (peek() == ' ' || peek() == '\t')) ++at_;
  }
  void skip_separators() {
    while (!at_end() && (peek() == ' ' || peek() == '\t' || peek() == ',')) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool accepts_parameters_ = false;
  bool in_challenge_head_ = false;  ///< a scheme was read and its first parameter follows without a comma
};

}  // namespace

Result<std::vector<Challenge>> parse_challenges(std::string_view header) {
  if (header.size() > kMaxChallengeBytes) {
    return error(Code::kExhausted, "WWW-Authenticate has {} bytes, more than {}", header.size(), kMaxChallengeBytes);
  }
  return ChallengeReader(header).read();
}

}  // namespace strake::oci
