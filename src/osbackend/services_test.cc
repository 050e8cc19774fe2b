#include <gtest/gtest.h>

#include "base/unit_name.h"
#include "osbackend/sandbox_services.h"
#include "osbackend/systemctl_services.h"
#include "osbackend/testing/fake_systemctl.h"

namespace strake::osbackend::services_test {

const runtime::Call kCall{};

TEST(SystemctlServices, TellsTheManagerWithArgumentListsOnly) {
  strake::testing::ScriptedPrograms programs;
  testing::FakeSystemctl machine;
  machine.units = {{"crio.service", "active"}, {"getty@tty1.service", "inactive"}};
  machine.install_in(programs);
  SystemctlServices services(programs);
  ASSERT_TRUE(services.read_units(kCall).ok());
  ASSERT_TRUE(services.reload("crio.service", kCall).ok());
  ASSERT_TRUE(services.restart("getty@tty1.service", kCall).ok());
  EXPECT_EQ(*services.state("getty@tty1.service", kCall), ServiceState::kActive);
  EXPECT_EQ(programs.lines(),
            (std::vector<std::string>{"systemctl --no-pager --no-ask-password daemon-reload",
                                      "systemctl --no-pager --no-ask-password reload -- crio.service",
                                      "systemctl --no-pager --no-ask-password restart -- getty@tty1.service",
                                      "systemctl --no-pager --no-ask-password is-active -- getty@tty1.service"}));
  EXPECT_EQ(machine.units_read, 1);
  EXPECT_EQ(machine.reloads["crio.service"], 1);
  EXPECT_EQ(machine.starts["getty@tty1.service"], 1);
}

TEST(SystemctlServices, SaysWhichUnitFailedAndWhereToLook) {
  strake::testing::ScriptedPrograms programs;
  testing::FakeSystemctl machine;
  machine.units = {{"crio.service", "active"}, {"chronyd.service", "active"}};
  machine.broken = {"crio.service"};
  machine.without_reload = {"chronyd.service"};
  machine.install_in(programs);
  SystemctlServices services(programs);
  const Status restarted = services.restart("crio.service", kCall);
  ASSERT_FALSE(restarted.ok());
  EXPECT_NE(restarted.error().to_string().find("Job for crio.service failed"), std::string::npos)
      << restarted.error().to_string();
  EXPECT_NE(restarted.error().to_string().find("journalctl -u crio.service"), std::string::npos);
  EXPECT_EQ(*services.state("crio.service", kCall), ServiceState::kFailed);
  EXPECT_FALSE(services.reload("chronyd.service", kCall).ok());
  EXPECT_FALSE(services.restart("nobody.service", kCall).ok());
  EXPECT_EQ(*services.state("nobody.service", kCall), ServiceState::kInactive);
}

TEST(SystemctlServices, ANameThatIsNoUnitIsNeverRun) {
  strake::testing::ScriptedPrograms programs;
  testing::FakeSystemctl machine;
  machine.install_in(programs);
  SystemctlServices services(programs);
  for (const char* name :
       {"", "crio", "--now", "a b.service", "../x.service", "x.", ".service", "a;b.service", "a.exe"}) {
    EXPECT_FALSE(is_unit_name(name)) << name;
    EXPECT_EQ(services.restart(name, kCall).error().code(), Code::kInvalidArgument) << name;
    EXPECT_FALSE(services.state(name, kCall).ok()) << name;
  }
  EXPECT_TRUE(programs.lines().empty());
  for (const char* name : {"crio.service", "getty@tty1.service", "-.mount", "dev-disk-by\\x2dlabel.swap"})
    EXPECT_TRUE(is_unit_name(name)) << name;
}

TEST(SystemctlServices, AMachineWithoutSystemdSaysSo) {
  strake::testing::ScriptedPrograms programs;
  EXPECT_EQ(SystemctlServices(programs).read_units(kCall).error().code(), Code::kNotFound);
  programs.install("systemctl", [](const Command&) { return strake::testing::exits(1, "", "no bus\n"); });
  EXPECT_FALSE(SystemctlServices(programs).state("crio.service", kCall).ok());
}

TEST(SandboxServices, RemembersWhatWasAskedOfThem) {
  MemoryTree tree;
  SandboxServices services(tree);
  ASSERT_TRUE(services.read_units(kCall).ok());
  ASSERT_TRUE(services.reload("crio.service", kCall).ok());
  ASSERT_TRUE(services.restart("crio.service", kCall).ok());
  const ServiceRecord record = *SandboxServices(tree).record();
  EXPECT_EQ(record.units_read, 1u);
  EXPECT_EQ(record.units.at("crio.service"), (ServiceRecord::Unit{ServiceState::kActive, 1, 1}));
  EXPECT_EQ(*services.state("other.service", kCall), ServiceState::kActive);
}

TEST(SandboxServices, OneThatFailsStaysDownUntilItIsMended) {
  MemoryTree tree;
  SandboxServices services(tree);
  ASSERT_TRUE(services.set_failing({"crio.service"}).ok());
  EXPECT_FALSE(services.reload("crio.service", kCall).ok());
  EXPECT_EQ(*services.state("crio.service", kCall), ServiceState::kActive) << "a refused reload stops nobody";
  EXPECT_FALSE(services.restart("crio.service", kCall).ok());
  EXPECT_EQ(*services.state("crio.service", kCall), ServiceState::kFailed);
  ASSERT_TRUE(services.boot().ok());
  EXPECT_EQ(*services.state("crio.service", kCall), ServiceState::kFailed);
  ASSERT_TRUE(services.set_failing({}).ok());
  EXPECT_FALSE(services.reload("crio.service", kCall).ok()) << "what does not run cannot be reloaded";
  ASSERT_TRUE(services.boot().ok());
  EXPECT_TRUE(services.reload("crio.service", kCall).ok());
}

TEST(SandboxServices, ADamagedRecordIsNamed) {
  for (const char* text : {"{", "[]x", R"({"units":[]})", R"({"failing":"x"})", R"({"failing":[1]})"}) {
    MemoryTree tree;
    ASSERT_TRUE(tree.write(SandboxServices::kRecordPath, text, 0600, {}).ok());
    const auto record = SandboxServices(tree).record();
    ASSERT_FALSE(record.ok()) << text;
    EXPECT_EQ(record.error().code(), Code::kCorrupt);
    EXPECT_NE(record.error().to_string().find(SandboxServices::kRecordPath), std::string::npos);
  }
}

}  // namespace strake::osbackend::services_test
