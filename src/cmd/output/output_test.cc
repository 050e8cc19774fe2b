#include "cmd/output/output.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "cmd/output/shell_words.h"
#include "support/temp_dir.h"

namespace strake::cmd::output_test {
namespace {

/// An output whose two streams are files.
struct Written {
  test::TempDir folder;
  Fd out = *open_file(folder / "out", O_RDWR | O_CREAT, 0600);
  Fd err = *open_file(folder / "err", O_RDWR | O_CREAT, 0600);
  Output output{out.get(), err.get()};

  std::string to_out() const { return *read_file(folder / "out", 1 << 20); }
  std::string to_err() const { return *read_file(folder / "err", 1 << 20); }
};

/// A terminal, as a program inside one sees it.
struct Terminal {
  Fd outside{::posix_openpt(O_RDWR | O_NOCTTY)};
  Fd inside;

  Terminal() {
    EXPECT_TRUE(outside.valid());
    EXPECT_EQ(::grantpt(outside.get()), 0);
    EXPECT_EQ(::unlockpt(outside.get()), 0);
    inside = *open_file(::ptsname(outside.get()), O_RDWR | O_NOCTTY);
  }
  /// What was shown; the terminal ends lines with two characters.
  std::string shown() const {
    std::string text(65536, '\0');
    const ssize_t got = ::read(outside.get(), text.data(), text.size());
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    std::erase(text, '\r');
    return text;
  }
};

TEST(Output, TextCannotSteerATerminalAndDocumentsStayAsTheyAre) {
  Written written;
  written.output.text("pool \x1b[31mworker\n");
  written.output.document("{\"a\":\"\xe2\x80\xae\"}\n");
  written.output.warn("name\x1b]0;x\a");
  written.output.warn("name\x1b]0;x\a");  // said already
  written.output.fail("cannot read \x9b");
  ASSERT_TRUE(written.output.finish().ok());
  EXPECT_EQ(written.to_out(), "pool \\u001b[31mworker\n{\"a\":\"\xe2\x80\xae\"}\n");
  EXPECT_EQ(written.to_err(), "strake: warning: name\\u001b]0;x\\u0007\nstrake: cannot read \\x9b\n");
}

TEST(Output, OnATerminalDocumentsAreMadeVisibleAndBinaryFilesRefused) {
  Terminal terminal;
  Output output(terminal.inside.get(), terminal.inside.get());
  output.set_color(ColorChoice::kNever);
  output.document("{\"a\":\"\xc2\x9b\"}\n");
  EXPECT_TRUE(output.file_sink().write(std::as_bytes(std::span("text\x1b\n", 6))).ok());
  const Status refused =
      output.file_sink().write(std::as_bytes(std::span("\x7f"
                                                       "ELF\0",
                                                       5)));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("> FILE"), std::string::npos);
  ASSERT_TRUE(output.finish().ok());
  EXPECT_EQ(terminal.shown(), "{\"a\":\"\\u009b\"}\ntext\\u001b\n");
}

TEST(Output, FilesAreBytesWhereNobodyLooks) {
  Written written;
  const std::string bytes("\0\x1b\xff\n", 4);
  ASSERT_TRUE(written.output.file_sink().write(std::as_bytes(std::span(bytes))).ok());
  ASSERT_TRUE(written.output.finish().ok());
  EXPECT_EQ(written.to_out(), bytes);
}

TEST(Output, AFullDiskIsNoticedAndToldOnce) {
  const Fd full = *open_file("/dev/full", O_WRONLY);
  test::TempDir folder;
  const Fd err = *open_file(folder / "err", O_RDWR | O_CREAT, 0600);
  int told = 0;
  Output output(full.get(), err.get());
  output.on_failure([&] { ++told; });
  output.text("short");
  EXPECT_EQ(told, 0) << "kept back";
  output.text(std::string(100000, 'x'));
  output.line("more");
  EXPECT_EQ(told, 1);
  const Status finished = output.finish();
  ASSERT_FALSE(finished.ok());
  EXPECT_NE(finished.error().to_string().find("printing to standard output"), std::string::npos);
  EXPECT_NE(finished.error().to_string().find("No space left"), std::string::npos) << finished.error().to_string();
  EXPECT_FALSE(output.file_sink().write(std::as_bytes(std::span("x", 1))).ok());
}

TEST(Output, APipeNobodyReadsIsAnErrorNotADeath) {
  ::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const Fd writing(ends[1]);
  Output output(writing.get(), writing.get());
  output.text("x");
  output.warn("goes nowhere, and that is all right");
  EXPECT_FALSE(output.finish().ok());
}

TEST(Output, SecretsAreHiddenFromPeopleAndKeptInDocuments) {
  Written written;
  written.output.conceal("s3cr3t-token");
  written.output.conceal("a");
  written.output.text("token s3cr3t-token, again s3cr3t-token\n");
  written.output.fail("refused s3cr3t-token at a door");
  written.output.document("s3cr3t-token\n");
  ASSERT_TRUE(written.output.finish().ok());
  EXPECT_EQ(written.to_out(), "token [hidden], again [hidden]\ns3cr3t-token\n");
  EXPECT_EQ(written.to_err(), "strake: refused [hidden] at a door\n");
}

TEST(Output, ReportsShowNoSecretUnlessAsked) {
  Written written;
  const json::Value report = json::Object{
      {"findings", json::Array{json::Object{{"message", "no URL: 'https://u:pa55word@h/x'"}, {"line", 3}}}},
      {"argument", "rd.luks.key=pa55word"}};
  written.output.report(report);
  written.output.show_secrets();
  written.output.text("rd.luks.key=pa55word\n");
  ASSERT_TRUE(written.output.finish().ok());
  const std::string out = written.to_out();
  const std::size_t end = out.find("\n}\n") + 3;
  EXPECT_EQ(out.substr(0, end).find("pa55word"), std::string::npos) << out;
  EXPECT_NE(out.find("\"line\": 3"), std::string::npos) << out;
  EXPECT_EQ(out.substr(end), "rd.luks.key=pa55word\n");
}

TEST(Output, ColoursOnlyOnATerminalAndNeverAgainstNoColor) {
  const auto warned = [](ColorChoice choice, bool on_terminal) {
    Terminal terminal;
    test::TempDir folder;
    const Fd file = *open_file(folder / "err", O_RDWR | O_CREAT, 0600);
    const int err = on_terminal ? terminal.inside.get() : file.get();
    Output output(err, err);
    output.set_color(choice);
    output.warn("x");
    return (on_terminal ? terminal.shown() : *read_file(folder / "err", 4096)).find('\x1b') != std::string::npos;
  };
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "xterm", 1);
  EXPECT_TRUE(warned(ColorChoice::kAuto, true));
  EXPECT_FALSE(warned(ColorChoice::kAuto, false));
  EXPECT_FALSE(warned(ColorChoice::kNever, true));
  EXPECT_TRUE(warned(ColorChoice::kAlways, false));
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(warned(ColorChoice::kAuto, true));
  ::setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(warned(ColorChoice::kAuto, true)) << "empty means not set";
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(warned(ColorChoice::kAuto, true));
  ::unsetenv("NO_COLOR");
}

TEST(Output, SuggestedCommandsCanBePasted) {
  EXPECT_EQ(shell_word("/srv/strake/kubeconfig"), "/srv/strake/kubeconfig");
  EXPECT_EQ(shell_word("my cluster's"), "'my cluster'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("$(reboot)"), "'$(reboot)'");
  EXPECT_EQ(program_to_paste("strake"), "strake");
  EXPECT_EQ(program_to_paste("/opt/x/../strake"), "/opt/strake");
  EXPECT_TRUE(program_to_paste("build/strake").starts_with('/'));
}

}  // namespace
}  // namespace strake::cmd::output_test
