// Secret: text that reaches no log line and no message by accident.
#pragma once

#include <string>
#include <utility>

namespace strake {

/// Has no conversion to text, no formatter and no log field: only who asks by name sees it.
class Secret {
 public:
  explicit Secret(std::string text) : text_(std::move(text)) {}
  const std::string& reveal() const { return text_; }

 private:
  std::string text_;
};

}  // namespace strake
