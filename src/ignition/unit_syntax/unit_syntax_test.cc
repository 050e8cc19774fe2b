#include "ignition/unit_syntax/unit_syntax.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ignition/unit_syntax/unit_keys.h"
#include "ignition/unit_syntax/unit_values.h"

namespace strake::ignition::unit_syntax_test {

/// "error 3: ..." a problem.
std::vector<std::string> problems(std::string_view name, std::string_view text, UnitPart part = UnitPart::kWhole) {
  std::vector<std::string> lines;
  for (const UnitProblem& problem : check_unit_syntax(name, text, part)) {
    lines.push_back(fmt::format("{} {}: {}", to_string(problem.severity), problem.line, problem.message));
  }
  return lines;
}

using Problems = std::vector<std::string>;

TEST(UnitSyntax, GoodUnitsHaveNoProblems) {
  EXPECT_EQ(
      problems("a.service", "[Unit]\nDescription=x\n[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=a.target\n"),
      Problems{});
  EXPECT_EQ(problems("a@.service", "[Service]\nExecStart=/bin/x %i\n[X-Mine]\nanything\n"), Problems{});
  EXPECT_EQ(problems("a.service", ""), Problems{});
}

TEST(UnitSyntax, ProblemsNameTheirLineAndNoValue) {
  EXPECT_EQ(
      problems("a.service",
               "[Sevice]\nA=topsecret\n[Service]\nExecStart=/bin/true\nEnvironmnt=topsecret\nRestart=topsecret\n"
               "topsecret\n"),
      (Problems{
          "warning 1: section [Sevice] is not known here",
          "warning 5: key Environmnt is not known in section [Service]",
          "warning 6: Restart=: none of no, on-success, on-failure, on-abnormal, on-watchdog, on-abort and always",
          "warning 7: no '=' in the line"}));
  EXPECT_EQ(problems("a.service", "[Service]\nExecStart=bin/topsecret\nFoo=1\n"),
            Problems{"error 2: ExecStart=: the program is neither an absolute path nor a name without slashes"});
  EXPECT_EQ(problems("a.service", "[Unit]\n"),
            Problems{"error 0: a service needs ExecStart=, ExecStop= or SuccessAction="});
}

TEST(UnitSyntax, NothingIsMissingFromADropin) {
  EXPECT_EQ(problems("a.service", "[Service]\nRestart=always\n", UnitPart::kDropin), Problems{});
  EXPECT_EQ(problems("a.service", "[Service]\nFoo=1\n", UnitPart::kDropin),
            Problems{"warning 2: key Foo is not known in section [Service]"});
}

TEST(UnitSyntax, NamesThatSystemdDoesNotLoad) {
  for (const std::string_view name : {"a", "a.sevice", "a.scope", "a b.service", ".service"}) {
    EXPECT_EQ(problems(name, "[Unit]\n"), Problems{"error 0: systemd loads no unit of this name from a file"}) << name;
  }
}

TEST(UnitSyntax, ManyProblemsAreCutOff) {
  std::string text = "[Service]\nExecStart=/bin/true\n";
  for (int i = 0; i < 1000; ++i) text += "Foo=1\n";
  EXPECT_EQ(problems("a.service", text).size(), 200u);
}

TEST(UnitSyntax, TimeSpans) {
  for (const std::string_view span : {"5", "5s", "1h 30min", "1h30m", "1.5s", "infinity", "5 M", " 2 days ", "10us"}) {
    EXPECT_TRUE(is_time_span(span)) << span;
  }
  for (const std::string_view span : {"", "x", "-5", "5 fortnights", "1.", "5x", "infinity 5"}) {
    EXPECT_FALSE(is_time_span(span)) << span;
  }
}

TEST(UnitSyntax, KeysBelongToSections) {
  EXPECT_TRUE(is_unit_key("Service", "ExecStart"));
  EXPECT_TRUE(is_unit_key("Service", "MemoryMax"));
  EXPECT_TRUE(is_unit_key("Mount", "Environment"));
  EXPECT_TRUE(is_unit_key("Slice", "CPUWeight"));
  EXPECT_TRUE(is_unit_key("Install", "WantedBy"));
  EXPECT_FALSE(is_unit_key("Unit", "ExecStart"));
  EXPECT_FALSE(is_unit_key("Service", "execstart"));
  EXPECT_FALSE(is_unit_key("Nothing", "ExecStart"));
}

}  // namespace strake::ignition::unit_syntax_test
