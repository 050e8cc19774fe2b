#include "cmd/cli/command_line.h"

#include <gtest/gtest.h>

#include <fcntl.h>

#include "base/fd.h"
#include "support/temp_dir.h"

namespace strake::cmd::command_line_test {
namespace {

enum class Format { kText, kJson };
constexpr std::string_view kFormats[] = {"text", "json"};
constexpr OptionSpec kOptions[] = {{"o,output", "FORMAT", "x", "text", one_of(kFormats)},
                                   {"count", "N", "x", "", integer_from(0, 9)},
                                   {"force", "", "x"}};
constexpr ArgumentSpec kArguments[] = {{"FILE", "x"}, {"MORE", "x", false}};

Result<int> describe(const Invocation& invocation) {
  invocation.out().text(fmt::format("{} {} {} {} {}\n", invocation.value("FILE"), invocation.value("MORE"),
                                    invocation.choice<Format>("output") == Format::kJson ? "json" : "text",
                                    invocation.has("count") ? invocation.integer("count") : -1,
                                    invocation.is_set("force")));
  return 2;
}

Result<int> fail(const Invocation&) { return error(Code::kNotFound, "nothing there").with_verdict(Verdict::kAbsent); }

const CommandSpec kDescribe{"show one", "Shows.", "x", kArguments, kOptions, describe};
constexpr ArgumentSpec kShared[] = {{"IMAGE", "x"}, {"PATH", "x", true, true}, {"DIR", "x"}};
constexpr OptionSpec kSharedOptions[] = {{"force", "", "x"}};

Result<int> list(const Invocation& invocation) {
  std::string text = invocation.value("IMAGE") + " |";
  for (const std::string& path : invocation.list("PATH")) text += " " + path;
  invocation.out().text(fmt::format("{} | {} {}\n", text, invocation.value("DIR"), invocation.is_set("force")));
  return 0;
}

const CommandSpec kList{"list", "Lists.", "x", kShared, kSharedOptions, list};
const CommandSpec kFail{"fail", "Fails.", "x", {}, {}, fail};
constexpr const CommandSpec* kTable[] = {&kDescribe, &kFail, &kList};
constexpr VerbGroup kGroups[] = {{"show", "Shows things."}};

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

Ran run(std::vector<const char*> words, const char* out_path = nullptr) {
  words.insert(words.begin(), "strake");
  test::TempDir folder;
  const Fd out = *open_file(out_path != nullptr ? out_path : (folder / "out").string(), O_RDWR | O_CREAT, 0600);
  const Fd err = *open_file(folder / "err", O_RDWR | O_CREAT, 0600);
  SignalStop signals;
  Ran ran;
  {
    Output output(out.get(), err.get());
    ran.code = run_command_line({kTable, kGroups}, words, output, signals);
  }
  if (out_path == nullptr) ran.out = *read_file(folder / "out", 1 << 20);
  ran.err = *read_file(folder / "err", 1 << 20);
  return ran;
}

TEST(CommandLine, GivesTheVerbItsValuesAndItsExitCodeBack) {
  const Ran plain = run({"show", "one", "file"});
  EXPECT_EQ(plain.code, 2) << plain.err;
  EXPECT_EQ(plain.out, "file  text -1 false\n");
  EXPECT_EQ(run({"show", "one", "file", "more", "-o", "json", "--count=3", "--force"}).out, "file more json 3 true\n");
}

TEST(CommandLine, NamesWhatIsWrongAndTheNearest) {
  struct Case {
    std::vector<const char*> words;
    std::string says;
  };
  const Case cases[] = {
      {{}, "strake: a verb is missing; there are show, fail, list"},
      {{"shwo"}, "strake: there is no verb 'shwo'; did you mean 'show'?"},
      {{"frobnicate"}, "strake: there is no verb 'frobnicate'; see `strake --help`"},
      {{"show"}, "strake: the verb behind 'show' is missing; there are one"},
      {{"show", "oen"}, "strake: there is no verb 'show oen'; did you mean 'one'?"},
      {{"show", "one"}, "FILE"},
      {{"show", "one", "f", "--cuont", "3"}, "has no option '--cuont'; did you mean '--count'?"},
      {{"show", "one", "f", "--count", "10"}, "strake: --count 10: expected a whole number from 0 to 9"},
      {{"show", "one", "f", "-o", "xml"}, "strake: -o xml: expected text, json"},
      {{"show", "one", "f", "g", "h"}, "'h' is one argument too many for `strake show one`"},
      {{"show", "one", "f", "--color", "sometimes"}, "--color sometimes: expected auto, always, never"},
      {{"--verison"}, "there is no option '--verison'"},
  };
  for (const Case& c : cases) {
    const Ran ran = run(c.words);
    EXPECT_EQ(ran.code, 1) << ran.err;
    EXPECT_EQ(ran.out, "") << c.says;
    EXPECT_NE(ran.err.find(c.says), std::string::npos) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << "once: " << ran.err;
  }
}

TEST(CommandLine, AnArgumentThatMayBeRepeatedLeavesTheLastOneItsWord) {
  EXPECT_EQ(run({"list", "image", "/a", "dir"}).out, "image | /a | dir false\n");
  EXPECT_EQ(run({"list", "image", "/a", "/b", "/c", "dir"}).out, "image | /a /b /c | dir false\n");
  EXPECT_EQ(run({"list", "image", "/a", "--force", "/b", "dir"}).out, "image | /a /b | dir true\n");
  EXPECT_EQ(run({"list", "image", "--", "-a", "dir"}).out, "image | -a | dir false\n");
  for (const std::vector<const char*>& words :
       {std::vector<const char*>{"list"}, {"list", "image"}, {"list", "image", "/a"}, {"list", "--force"}}) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 1);
    EXPECT_EQ(ran.err, "strake: IMAGE, PATH and DIR are required; see `strake list --help`\n");
  }
  EXPECT_NE(run({"list", "image", "/a", "dir", "--forse"}).err.find("did you mean '--force'"), std::string::npos);
  EXPECT_NE(run({"list", "--help"}).out.find("strake list [OPTIONS] IMAGE PATH... DIR"), std::string::npos);
}

TEST(CommandLine, PrintsHelpOfProgramGroupAndVerb) {
  EXPECT_NE(run({"--help"}).out.find("Usage: strake VERB"), std::string::npos);
  EXPECT_NE(run({"show", "-h"}).out.find("Shows things."), std::string::npos);
  const Ran verb = run({"show", "one", "--help"});
  EXPECT_EQ(verb.code, 0);
  EXPECT_NE(verb.out.find("Usage: strake show one [OPTIONS] FILE [MORE]"), std::string::npos) << verb.out;
}

TEST(CommandLine, AnErrorIsPrintedOnceAndBecomesItsCode) {
  const Ran ran = run({"fail"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(ran.err, "strake: nothing there\n");
}

TEST(CommandLine, WhatCannotBePrintedIsAnError) {
  const Ran ran = run({"show", "one", "file"}, "/dev/full");
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.err, "strake: printing to standard output: write: No space left on device\n");
  EXPECT_EQ(run({"--help"}, "/dev/full").code, 1);
}

}  // namespace
}  // namespace strake::cmd::command_line_test
