// Our reading of unit files beside that of systemd-analyze, which is systemd's own: the same units refused, the same
// lines ignored. And the units of our base configs, of which it must have nothing to say.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/subprocess.h"
#include "base/text.h"
#include "ignition/unit_syntax/unit_syntax.h"
#include "machineconfig/template/base_units.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

struct SampleUnit {
  std::string_view name;
  std::string_view text;
};

constexpr SampleUnit kSamples[] = {
    {"good.service",
     "[Unit]\nDescription=x\nAfter=network.target\n[Service]\nExecStart=/bin/"
     "true\n[Install]\nWantedBy=multi-user.target\n"},
    {"comments.service", "# a\n; b\n\n[Service]\n  # c\nExecStart=/bin/true\n"},
    {"blanks.service", "  [Service]  \n  ExecStart = /bin/true  \n\tType\t=\tsimple\n"},
    {"unknown-key.service", "[Unit]\nDescripton=x\n[Service]\nExecStart=/bin/true\nFoo=1\n"},
    {"other-case.service", "[unit]\nDescription=x\n[Service]\nExecStart=/bin/true\n[Unit]\ndescription=x\n"},
    {"vendor.service", "[Service]\nExecStart=/bin/true\nX-Foo=1\n[X-Bar]\nanything\na=b\n"},
    {"unknown-section.service", "[Sevice]\nExecStart=/bin/true\nno equals\n[Service]\nExecStart=/bin/true\n"},
    {"foreign-section.service", "[Socket]\nListenStream=1\n[Service]\nExecStart=/bin/true\n"},
    {"empty-section.service", "[Service]\nExecStart=/bin/true\n[]\na=b\n"},
    {"open-section.service", "[Service\nExecStart=/bin/true\n"},
    {"strange-section.service", "[Service]\nExecStart=/bin/true\n[a\"b]\nc=d\n"},
    {"install-key.service", "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=x.target\nFoo=1\n"},
    {"no-equals.service", "[Service]\nExecStart=/bin/true\nhello world\n"},
    {"no-key.service", "[Service]\nExecStart=/bin/true\n=x\n"},
    {"before.service", "a=b\nhello\n[Service]\nExecStart=/bin/true\n"},
    {"no-exec.service", "[Service]\nType=simple\n"},
    {"only-unit.service", "[Unit]\nDescription=x\n"},
    {"oneshot-nothing.service", "[Service]\nType=oneshot\n"},
    {"oneshot-many.service", "[Service]\nType=oneshot\nExecStart=/bin/true\nExecStart=/bin/true\n"},
    {"two-starts.service", "[Service]\nExecStart=/bin/true\nExecStart=/bin/true\n"},
    {"reset-start.service", "[Service]\nExecStart=/bin/true\nExecStart=\nExecStart=/bin/true\n"},
    {"reset-only.service", "[Service]\nExecStart=/bin/true\nExecStart=\n"},
    {"semicolon.service", "[Service]\nExecStart=/bin/true ; /bin/true\n"},
    {"stop-only.service", "[Service]\nExecStop=/bin/true\n"},
    {"stop-oneshot.service", "[Service]\nType=oneshot\nExecStop=/bin/true\n"},
    {"stop-remains.service", "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStop=/bin/true\n"},
    {"stop-remains-simple.service", "[Service]\nRemainAfterExit=yes\nExecStop=/bin/true\n"},
    {"stop-simple.service", "[Service]\nType=simple\nRemainAfterExit=yes\nExecStop=/bin/true\n"},
    {"success-action.service", "[Unit]\nSuccessAction=reboot\n[Service]\nType=oneshot\n"},
    {"dbus.service", "[Service]\nType=dbus\nExecStart=/bin/true\n"},
    {"dbus-named.service", "[Service]\nType=dbus\nBusName=a.b\nExecStart=/bin/true\n"},
    {"oneshot-restart.service", "[Service]\nType=oneshot\nExecStart=/bin/true\nRestart=always\n"},
    {"relative.service", "[Service]\nExecStart=bin/true x\nFoo=1\n"},
    {"marks.service",
     "[Service]\nExecStart=-@!!/bin/true x\nExecStartPre=-bin/x\nExecStartPost=--/bin/true\nExecReload=+:/bin/true\n"},
    {"bare-name.service", "[Service]\nExecStart=true\n"},
    {"folder.service", "[Service]\nExecStart=/bin/\n"},
    {"control.service", "[Service]\nExecStart=/bin/tr\x01ue\n"},
    {"quote.service", "[Service]\nExecStart=\"/bin/true\n"},
    {"quoted.service", "[Service]\nExecStart=\"/bin/true\" \"a b\" 'c'\n"},
    {"boolean.service",
     "[Service]\nExecStart=/bin/true\nRemainAfterExit=maybe\nPrivateTmp=YES\nGuessMainPID=t\nNoNewPrivileges=\n"},
    {"type.service", "[Service]\nType=foo\nExecStart=/bin/true\n"},
    {"restart.service", "[Service]\nExecStart=/bin/true\nRestart=sometimes\nRestartSec=5\n"},
    {"spans.service",
     "[Service]\nExecStart=/bin/true\nTimeoutSec=1h "
     "30min\nRestartSec=1.5s\nWatchdogSec=-5\nTimeoutStopSec=infinity\nRuntimeMaxSec=5M\n"},
    {"wrong-spans.service",
     "[Service]\nExecStart=/bin/true\nRestartSec=5 fortnights\nTimeoutStartSec=x\nWatchdogSec=\nTimeoutStopSec=1 min "
     "5\nRuntimeMaxSec=1.s\n"},
    {"signals.service",
     "[Service]\nExecStart=/bin/"
     "true\nKillSignal=SIGFOO\nKillSignal=TERM\nKillSignal=99\nFinalKillSignal=RTMIN+3\nRestartKillSignal=15\n"},
    {"modes.service",
     "[Service]\nExecStart=/bin/"
     "true\nUMask=999\nRuntimeDirectoryMode=0750\nStateDirectoryMode=99\nCacheDirectoryMode=17777\n"},
    {"kill-mode.service", "[Service]\nExecStart=/bin/true\nKillMode=everything\nKillMode=mixed\n"},
    {"protect.service",
     "[Service]\nExecStart=/bin/true\nProtectSystem=maybe\nProtectSystem=strict\nProtectHome=tmpfs\nProtectHome=x\n"},
    {"folder-working.service", "[Service]\nExecStart=/bin/true\nWorkingDirectory=foo\nFoo=1\n"},
    {"folder-optional.service",
     "[Service]\nExecStart=/bin/true\nWorkingDirectory=-foo\nWorkingDirectory=~\nWorkingDirectory=/x\n"},
    {"environment.service",
     "[Service]\nExecStart=/bin/true\nEnvironment=foo A=b \"C=d e\" 1=2\nEnvironment=A=\nEnvironment=\n"},
    {"conditions.service",
     "[Unit]\nConditionPathExists=foo\nConditionPathExists=|!/x\nConditionPathExists=!|/x\nConditionFileNotEmpty=/"
     "a\nAssertPathIsDirectory=b\n[Service]\nExecStart=/bin/true\n"},
    {"unit-values.service",
     "[Unit]\nOnFailureJobMode=foo\nStartLimitBurst=x\nFailureAction=boom\nStartLimitIntervalSec=5x\nJobTimeoutSec="
     "z\nDocumentation=foo man:x(1) https://x\nRequiresMountsFor=a "
     "/b\nCollectMode=x\n[Service]\nExecStart=/bin/true\n"},
    {"continued.service", "[Service]\nExecStart=/bin/true \\\n# comment\n  b c \\\n\nFoo=1\n"},
    {"continued-comment.service", "[Service]\nExecStart=/bin/true\n# a \\\nFoo=1\n"},
    {"continued-end.service", "[Service]\nExecStart=/bin/true\nFoo=1 \\"},
    {"escaped-backslash.service", "[Service]\nExecStart=/bin/true\nDescription=a \\\\\nFoo=1\n"},
    {"carriage.service", "[Service]\r\nExecStart=/bin/true\r\nFoo=1\r\n"},
    {"old-mac.service", "[Service]\rExecStart=/bin/true\rFoo=1\r"},
    {"mark.service", "\xEF\xBB\xBF[Service]\nExecStart=/bin/true\n"},
    {"latin.service", "[Service]\nExecStart=/bin/true\nEnvironment=\xFF\nFoo=1\n"},
    {"latin-comment.service", "[Service]\nExecStart=/bin/true\n# \xFF\n"},
    {"template@.service", "[Service]\nExecStart=/bin/true\nEnvironment=A=%i\n"},
    {"timer-good.timer", "[Timer]\nOnBootSec=5min\nUnit=good.service\n"},
    {"timer-none.timer", "[Unit]\nDescription=x\n"},
    {"timer-wrong.timer", "[Timer]\nOnBootSec=x\nOnUnitActiveSec=5m\nUnit=good.service\nPersistent=x\nAccuracySec=x\n"},
    {"timer-only-wrong.timer", "[Timer]\nOnBootSec=x\nUnit=good.service\n"},
    {"path-none.path", "[Path]\nUnit=good.service\n"},
    {"path-relative.path", "[Path]\nPathExists=foo\nUnit=good.service\n"},
    {"path-good.path", "[Path]\nPathExists=/foo\nMakeDirectory=x\nDirectoryMode=9\nUnit=good.service\n"},
    {"socket-none.socket", "[Socket]\nFoo=1\n"},
    {"socket-good.socket",
     "[Socket]\nListenStream=/run/x\nAccept=x\nSocketMode=0600\nPriority=x\nService=good.service\n"},
    {"var-x.mount", "[Mount]\nWhat=/dev/sda\nType=ext4\n"},
    {"var-y.mount", "[Mount]\nWhat=/dev/sda\nWhere=/var/z\n"},
    {"var-a\\x2db.mount", "[Mount]\nWhat=/dev/sda\nWhere=/var/a-b/\n"},
    {"var-none.mount", "[Mount]\nWhere=/var/none\n"},
    {"var-relative.mount", "[Mount]\nWhat=/dev/a\nWhere=srv\n"},
    {"srv.automount", "[Automount]\nWhere=/srv\nTimeoutIdleSec=x\n"},
    {"mnt.automount", "[Automount]\nWhere=/b\n"},
    {"dev-sda.swap", "[Swap]\nWhat=/dev/sdb\n"},
    {"dev-sdc.swap", "[Swap]\nWhat=/dev/sdc\nTimeoutSec=x\n"},
    {"a.slice", "[Slice]\nFoo=1\nCPUAccounting=x\n"},
    {"a.target", "[Unit]\nDescription=x\n[Target]\nFoo=1\n[Service]\nExecStart=/bin/true\n"},
    {"empty.service", ""},
};

struct UnitVerdict {
  bool is_refused = false;
  std::set<std::size_t> lines;

  bool operator==(const UnitVerdict&) const = default;
};

std::ostream& operator<<(std::ostream& out, const UnitVerdict& verdict) {
  return out << (verdict.is_refused ? "refused" : "loaded")
             << fmt::format(", lines [{}]", fmt::join(verdict.lines, " "));
}

/// All units at once, in an empty root of their own: "/run/x/a.service:3: ..." and "Unit a.service has a bad unit file
/// setting."
std::map<std::string, UnitVerdict> verdicts_of_systemd(const std::filesystem::path& folder) {
  Command command;
  command.argv = {"systemd-analyze", "verify", "--man=no", "--recursive-errors=no"};
  for (const SampleUnit& sample : kSamples) command.argv.push_back((folder / sample.name).string());
  command.timeout = std::chrono::seconds(60);
  const auto output = run(command);
  EXPECT_TRUE(output.ok()) << "needs systemd-analyze (apt install systemd)";
  std::map<std::string, UnitVerdict> verdicts;
  for (const SampleUnit& sample : kSamples) verdicts[std::string(sample.name)];
  if (!output.ok()) return verdicts;
  const std::string prefix = folder.string() + "/";
  for (const std::string_view line : split(output->stderr_bytes, '\n')) {
    for (auto& [name, verdict] : verdicts) {
      if (line == fmt::format("Unit {} has a bad unit file setting.", name) ||
          line.starts_with(fmt::format("Unit {} failed to load properly", name))) {
        verdict.is_refused = true;
      }
      const std::string place = prefix + name + ":";
      if (line.starts_with(place)) verdict.lines.insert(std::strtoul(line.data() + place.size(), nullptr, 10));
    }
  }
  return verdicts;
}

TEST(UnitSyntaxJudge, AgreesWithSystemd) {
  const TempDir folder;
  for (const SampleUnit& sample : kSamples) std::ofstream(folder / sample.name, std::ios::binary) << sample.text;
  const auto judged = verdicts_of_systemd(folder.path());
  int refused = 0, ignored = 0;
  for (const SampleUnit& sample : kSamples) {
    UnitVerdict ours;
    std::string messages;
    for (const ignition::UnitProblem& problem : ignition::check_unit_syntax(sample.name, sample.text)) {
      ours.is_refused = ours.is_refused || problem.severity == ignition::Severity::kError;
      if (problem.line != 0) ours.lines.insert(problem.line);
      messages += fmt::format("{}: {}\n", problem.line, problem.message);
    }
    const UnitVerdict& theirs = judged.at(std::string(sample.name));
    EXPECT_EQ(ours, theirs) << sample.name << "\n" << sample.text << "\n" << messages;
    refused += theirs.is_refused ? 1 : 0;
    ignored += !theirs.is_refused && !theirs.lines.empty() ? 1 : 0;
  }
  EXPECT_GT(refused, 20);
  EXPECT_GT(ignored, 20);
}

/// What systemd says of units in a folder, but for programs and units that only the machine has.
std::vector<std::string> complaints_of_systemd(const std::vector<machineconfig::BaseUnit>& units) {
  const TempDir folder;
  Command command;
  command.argv = {"systemd-analyze", "verify", "--man=no", "--recursive-errors=no"};
  command.timeout = std::chrono::seconds(60);
  for (const machineconfig::BaseUnit& unit : units) {
    // A unit of the OS image, which gets a drop-in only, is any unit here.
    const std::string contents = unit.contents.empty() ? "[Service]\nExecStart=/bin/true\n" : unit.contents;
    std::ofstream(folder / unit.name, std::ios::binary) << contents;
    if (!unit.dropin.empty()) {
      std::filesystem::create_directory(folder / (unit.name + ".d"));
      std::ofstream(folder / (unit.name + ".d") / unit.dropin, std::ios::binary) << unit.dropin_text;
    }
    command.argv.push_back((folder / unit.name).string());
  }
  const auto output = run(command);
  EXPECT_TRUE(output.ok()) << "needs systemd-analyze (apt install systemd)";
  std::vector<std::string> complaints;
  if (!output.ok()) return complaints;
  for (const std::string_view line : split(output->stderr_bytes, '\n')) {
    const bool names_program = line.find("is not executable") != std::string_view::npos;
    if (!line.empty() && !names_program) complaints.emplace_back(line);
  }
  return complaints;
}

TEST(UnitSyntaxJudge, SystemdHasNothingToSayOfOurBaseUnits) {
  const machineconfig::AgentSource sources[] = {{}, {"registry.example/strake@sha256:0", true}};
  for (const machineconfig::AgentSource& source : sources) {
    std::vector<machineconfig::BaseUnit> units = machineconfig::agent_units(source);
    units.push_back(machineconfig::runtime_hook("crio.service"));
    units.push_back(source.image.empty() ? machineconfig::kubelet_unit("/var/run/crio/crio.sock", "crio.service")
                                         : machineconfig::kubelet_hook());
    EXPECT_EQ(complaints_of_systemd(units), std::vector<std::string>{});
    // The judge reads drop-ins and units alike.
    units.front().contents += "Foo=1\n";
    units.back().dropin = "10-strake.conf";
    units.back().dropin_text = "[Service]\nRestartSec=soon\n";
    EXPECT_EQ(complaints_of_systemd(units).size(), 2u);
  }
}

}  // namespace
}  // namespace strake::test
