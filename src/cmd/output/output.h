// The one way out of every verb: what it prints, and what it says besides.
//
// Every write is checked. The first that fails (a full disk, a pipe nobody reads) is kept, told to whoever asked to be
// told, and returned by finish(); what is printed after it goes nowhere. What comes from outside cannot move the cursor
// or reorder text: see visible_text(). Any thread may call.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "codec/stream.h"

namespace strake::cmd {

enum class ColorChoice { kAuto, kAlways, kNever };
inline constexpr std::string_view kColorWords[] = {"auto", "always", "never"};

/// What a piece of text is about; colours follow from it.
enum class Style { kPlain, kGood, kNotice, kBad };

class Output {
 public:
  /// The descriptors stay the caller's; normally those of standard output and standard error.
  Output(int out, int err);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void set_color(ColorChoice choice);
  /// Wherever this text would stand in what people read, "[hidden]" will. What looks like a secret
  /// (without_secrets) is hidden anyway; documents and files are left as they are.
  void conceal(std::string secret);
  /// From now on what looks like a secret is shown, because it was asked for. What is to be concealed stays hidden.
  void show_secrets() { shows_secrets_ = true; }
  /// Called once, at the first write that fails.
  void on_failure(std::function<void()> told);

  /// For people, or for scripts that read lines.
  void text(std::string_view text) { text_in(Style::kPlain, text); }
  void text_in(Style style, std::string_view text);
  /// One line that is to be seen now.
  void line(std::string_view text);
  /// JSON, YAML and other formats: exactly these bytes, except on a terminal, where control characters are visible.
  void document(std::string_view text);
  /// JSON of ours that speaks of what others wrote, such as findings: no text in it shows a secret.
  void report(json::Value document);
  /// The content of a file: exactly these bytes. A terminal gets text only, made visible; anything else is refused.
  codec::Sink& file_sink() { return file_sink_; }

  /// A line about progress on standard error, so that it does not mix with the result.
  void progress(std::string_view text);
  /// The last line of the terminal behind standard error, drawn over again and again; "" takes it away. Nothing where
  /// there is no terminal.
  void status(std::string_view line);
  bool can_draw_status() const { return err_is_terminal_; }
  /// "strake: warning: ..." on standard error; not twice in a row the same.
  void warn(std::string_view text);
  /// "strake: ..." on standard error.
  void fail(std::string_view text);

  /// Sends out what is kept back.
  void flush();
  /// The same, and whether everything that was printed was taken.
  Status finish();

 private:
  class FileSink final : public codec::Sink {
   public:
    explicit FileSink(Output& output) : output_(output) {}
    Status write(std::span<const std::byte> bytes) override;

   private:
    Output& output_;
  };

  std::string for_people(std::string_view text) const;
  std::string painted(bool colored, Style style, std::string text) const;
  void add(std::string_view bytes);
  void flush_locked();
  void write_locked(std::string_view bytes);
  void clear_status_locked();
  void say(Style style, std::string_view head, std::string_view text);

  const int out_;
  const int err_;
  const bool out_is_terminal_;
  const bool err_is_terminal_;
  FileSink file_sink_{*this};

  std::mutex mutex_;
  bool color_out_ = false;
  bool color_err_ = false;
  std::string buffer_;
  std::string last_warning_;
  bool status_shown_ = false;
  std::atomic<bool> shows_secrets_ = false;
  std::vector<std::string> secrets_;
  std::optional<Error> failure_;
  std::function<void()> told_;
};

}  // namespace strake::cmd
