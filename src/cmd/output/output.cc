#include "cmd/output/output.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/log.h"
#include "base/secrets.h"
#include "base/text.h"
#include "base/visible_text.h"

namespace strake::cmd {

namespace {

/// Kept back until there is so much, so that a listing does not cost a system call a line.
constexpr std::size_t kKeptBackBytes = 64 * 1024;
constexpr std::string_view kHidden = "[hidden]";
/// Shorter ones would turn ordinary words into riddles.
constexpr std::size_t kShortestSecret = 6;

std::string_view color_of(Style style) {
  switch (style) {
    case Style::kPlain: return "";
    case Style::kGood: return "\x1b[32m";
    case Style::kNotice: return "\x1b[33m";
    case Style::kBad: return "\x1b[1;31m";
  }
  return "";
}

bool environment_allows_color() {
  const char* no_color = secure_getenv("NO_COLOR");
  const char* terminal = secure_getenv("TERM");
  return (no_color == nullptr || *no_color == '\0') && (terminal == nullptr || std::string_view(terminal) != "dumb");
}

void hide_secrets(json::Value& value) {
  if (json::Object* object = value.if_object()) {
    for (auto& member : *object) hide_secrets(member.value());
  } else if (json::Array* array = value.if_array()) {
    for (json::Value& item : *array) hide_secrets(item);
  } else if (const auto* text = value.if_string()) {
    value = without_secrets(*text);
  }
}

}  // namespace

Output::Output(int out, int err)
    : out_(out), err_(err), out_is_terminal_(::isatty(out) == 1), err_is_terminal_(::isatty(err) == 1) {
  set_color(ColorChoice::kAuto);
}

Output::~Output() { flush(); }

void Output::set_color(ColorChoice choice) {
  const std::scoped_lock lock(mutex_);
  const bool automatic = choice == ColorChoice::kAuto && environment_allows_color();
  color_out_ = choice == ColorChoice::kAlways || (automatic && out_is_terminal_);
  color_err_ = choice == ColorChoice::kAlways || (automatic && err_is_terminal_);
}

void Output::conceal(std::string secret) {
  if (secret.size() < kShortestSecret) return;
  const std::scoped_lock lock(mutex_);
  secrets_.push_back(std::move(secret));
}

void Output::on_failure(std::function<void()> told) {
  const std::scoped_lock lock(mutex_);
  told_ = std::move(told);
}

std::string Output::for_people(std::string_view text) const {
  std::string shown(text);
  for (const std::string& secret : secrets_) {
    for (std::size_t at = shown.find(secret); at != std::string::npos; at = shown.find(secret, at + kHidden.size())) {
      shown.replace(at, secret.size(), kHidden);
    }
  }
  return visible_text(shows_secrets_ ? shown : without_secrets(shown));
}

std::string Output::painted(bool colored, Style style, std::string text) const {
  if (!colored || style == Style::kPlain || text.empty()) return text;
  return fmt::format("{}{}\x1b[0m", color_of(style), text);
}

void Output::text_in(Style style, std::string_view text) {
  const std::scoped_lock lock(mutex_);
  add(painted(color_out_, style, for_people(text)));
}

void Output::line(std::string_view text) {
  const std::scoped_lock lock(mutex_);
  add(for_people(text) + "\n");
  flush_locked();
}

void Output::document(std::string_view text) {
  const std::scoped_lock lock(mutex_);
  if (out_is_terminal_) {
    add(visible_text(text));
  } else {
    add(text);
  }
}

void Output::report(json::Value value) {
  if (!shows_secrets_) hide_secrets(value);
  document(json::write_pretty(value));
}

Status Output::FileSink::write(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::scoped_lock lock(output_.mutex_);
  if (output_.failure_) return *output_.failure_;
  if (!output_.out_is_terminal_) {
    output_.add(text);
  } else if (text.find('\0') != std::string_view::npos) {
    return error(Code::kInvalidArgument,
                 "the file is not text and would garble the terminal; send it to a file: > FILE");
  } else {
    output_.add(visible_text(text));
  }
  return output_.failure_ ? Status(*output_.failure_) : Status();
}

void Output::progress(std::string_view text) { say(Style::kPlain, "", text); }

void Output::status(std::string_view line) {
  if (!err_is_terminal_) return;
  constexpr std::size_t kWidth = 100;
  const std::scoped_lock lock(mutex_);
  clear_status_locked();
  if (line.empty()) return;
  (void)write_all(err_, clip_utf8(visible_line(line), kWidth));
  status_shown_ = true;
}

void Output::clear_status_locked() {
  if (std::exchange(status_shown_, false)) (void)write_all(err_, "\r\x1b[K");
}

void Output::warn(std::string_view text) {
  {
    const std::lock_guard lock(mutex_);
    if (text == last_warning_) return;
    last_warning_ = text;
  }
  say(Style::kNotice, "strake: warning: ", text);
}

void Output::fail(std::string_view text) { say(Style::kBad, "strake: ", text); }

/// Nothing is left to be done where standard error itself fails: the exit code says the rest.
void Output::say(Style style, std::string_view head, std::string_view text) {
  const std::scoped_lock lock(mutex_);
  clear_status_locked();
  flush_locked();  // on a terminal both appear in the order in which they were said
  (void)write_all(err_, painted(color_err_, style, std::string(head)) + for_people(text) + "\n");
}

void Output::add(std::string_view bytes) {
  if (failure_) return;
  if (bytes.size() < kKeptBackBytes) {
    buffer_ += bytes;
    if (buffer_.size() >= kKeptBackBytes) flush_locked();
    return;
  }
  flush_locked();
  write_locked(bytes);  // not through the buffer: a large document would be there twice
}

void Output::flush_locked() {
  if (buffer_.empty()) return;
  write_locked(buffer_);
  buffer_.clear();
}

void Output::write_locked(std::string_view bytes) {
  if (failure_) return;
  if (out_is_terminal_) clear_status_locked();
  const Status written = write_all(out_, bytes);
  if (written.ok()) return;
  failure_ = Error(written.error()).context("printing to standard output");
  if (told_) std::exchange(told_, nullptr)();
}

void Output::flush() {
  const std::scoped_lock lock(mutex_);
  flush_locked();
}

Status Output::finish() {
  const std::scoped_lock lock(mutex_);
  flush_locked();
  return failure_ ? Status(*failure_) : Status();
}

}  // namespace strake::cmd
