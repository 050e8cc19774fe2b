// One table over the backends of real machines: each works on a stand-in that keeps deployments and refuses what the
// real program does not know.
#include <gtest/gtest.h>

#include <memory>

#include "osbackend/bootc/bootc_backend.h"
#include "osbackend/choose_backend.h"
#include "osbackend/kernel_command_line.h"
#include "osbackend/rpm_ostree/rpm_ostree_backend.h"
#include "osbackend/testing/fake_ostree_host.h"

namespace strake::osbackend::real_backends_test {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;
using testing::FakeOstreeHost;

const runtime::Call kCall{};
const Words kMachine{"root=UUID=1", "rw", "console=tty0", "console=ttyS0,115200"};

std::string image_text(char digit) { return "registry.example/os@sha256:" + std::string(64, digit); }
ImageReference image(char digit) { return *ImageReference::parse(image_text(digit)); }
OsTarget target(char digit, Words arguments = {}) { return {image(digit), std::move(arguments), {}, {}}; }

/// Programs that die with the machine after so many calls.
class MortalPrograms final : public ProgramRunner {
 public:
  explicit MortalPrograms(ProgramRunner& programs) : programs_(programs) {}
  Result<ProcessOutput> run(const Command& command, const runtime::Call& call) override {
    if (left == 0) return error(Code::kCancelled, "the power is out");
    if (left > 0) --left;
    return programs_.run(command, call);
  }
  int left = -1;  ///< below 0: they live for ever

 private:
  ProgramRunner& programs_;
};

class RealBackend : public ::testing::TestWithParam<BackendKind> {
 protected:
  RealBackend() {
    host_.images = {image_text('1'), image_text('2'), image_text('3')};
    host_.packages = {"usbguard",       "krb5-workstation",  "libkadm5",
                      "kernel-rt-core", "kernel-rt-modules", "kernel-rt-modules-extra"};
    if (is_bootc()) {
      host_.install_bootc(programs_);
    } else {
      host_.install_rpm_ostree(programs_);
    }
    host_.install_restart(programs_);
  }

  bool is_bootc() const { return GetParam() == BackendKind::kBootc; }
  /// A new one each time: nothing may depend on what a process remembers.
  std::unique_ptr<OsBackend> backend() {
    const RetryPolicy quick{.attempts = 3, .first_pause = 1ms, .longest_pause = 2ms};
    if (is_bootc()) return std::make_unique<BootcBackend>(runtime_, mortal_, root_, quick);
    return std::make_unique<RpmOstreeBackend>(runtime_, mortal_, root_, quick);
  }
  OsStatus status() {
    const auto now = backend()->status(kCall);
    EXPECT_TRUE(now.ok()) << now.error().to_string();
    return now.ok() ? *now : OsStatus{};
  }
  void update_to(const OsTarget& wanted) {
    const Status staged = backend()->stage(wanted, {}, kCall);
    ASSERT_TRUE(staged.ok()) << staged.error().to_string();
    host_.boot();
    EXPECT_EQ(differences(status().booted, wanted), Words{});
  }
  std::size_t how_often(const std::string& argument) const {
    const Words& all = host_.deployments[host_.booted].arguments;
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), argument));
  }

  MemoryTree root_;
  runtime::ThreadRuntime runtime_;
  strake::testing::ScriptedPrograms programs_;
  MortalPrograms mortal_{programs_};
  FakeOstreeHost host_{root_, image_text('1'), kMachine};
};

TEST_P(RealBackend, AnImageIsStagedThenBooted) {
  const OsStatus first = status();
  EXPECT_EQ(first.booted.image, image('1'));
  EXPECT_EQ(first.booted.machine_arguments, kMachine);
  EXPECT_EQ(first.booted.kernel_arguments, Words{});
  std::vector<Progress> told;
  ASSERT_TRUE(backend()->stage(target('2'), [&](const Progress& p) { told.push_back(p); }, kCall).ok());
  ASSERT_GE(told.size(), 3u);
  EXPECT_EQ(told.back().done, told.back().total);
  const OsStatus staged = status();
  EXPECT_EQ(staged.booted.image, image('1'));
  ASSERT_TRUE(staged.staged.has_value());
  EXPECT_EQ(staged.staged->image, image('2'));
  ASSERT_TRUE(backend()->reboot("update", kCall).ok());
  EXPECT_EQ(host_.restarts, 1);
  EXPECT_NE(host_.last_restart.find("After=ostree-finalize-staged.service"), std::string::npos) << host_.last_restart;
  host_.boot();
  const OsStatus now = status();
  EXPECT_EQ(now.booted.image, image('2'));
  EXPECT_NE(now.boot_id, first.boot_id);
  ASSERT_TRUE(now.rollback.has_value());
  EXPECT_EQ(now.rollback->image, image('1'));
}

TEST_P(RealBackend, KernelArgumentsComeStayAndGoBesideTheMachinesOwn) {
  update_to(target('1', {"nosmt", "foo=\"a b\""}));
  EXPECT_EQ(host_.deployments[host_.booted].arguments,
            (Words{"root=UUID=1", "rw", "console=tty0", "console=ttyS0,115200", "nosmt", "foo=\"a b\""}));
  update_to(target('2', {"nosmt", "foo=\"a b\""}));
  update_to(target('2', {"nosmt", "console=tty1"}));
  EXPECT_EQ(status().booted.machine_arguments, kMachine);
  update_to(target('2'));
  EXPECT_EQ(host_.deployments[host_.booted].arguments, kMachine);
}

TEST_P(RealBackend, AnArgumentTheMachineHasItselfIsNeverTakenFromIt) {
  update_to(target('1', {"console=tty0"}));
  EXPECT_EQ(how_often("console=tty0"), 2u);
  update_to(target('1'));
  EXPECT_EQ(how_often("console=tty0"), 1u);
  EXPECT_EQ(status().booted.machine_arguments, kMachine);
}

TEST_P(RealBackend, WhatTheFirstBootPutThereIsTakenOverWithoutAChange) {
  host_.deployments[0].arguments.insert(host_.deployments[0].arguments.end(), {"nosmt", "audit=1"});
  host_.boot();
  ASSERT_TRUE(backend()->adopt_kernel_arguments({"nosmt", "audit=1", "quiet"}, kCall).ok());
  EXPECT_EQ(status().booted.kernel_arguments, (Words{"nosmt", "audit=1"}));
  // On a machine we know, nothing is taken over any more.
  ASSERT_TRUE(backend()->adopt_kernel_arguments({"rw"}, kCall).ok());
  EXPECT_EQ(status().booted.kernel_arguments, (Words{"nosmt", "audit=1"}));
}

TEST_P(RealBackend, StagingAgainChangesNothingAndStagingWhatRunsDropsIt) {
  ASSERT_TRUE(backend()->stage(target('2', {"nosmt"}), {}, kCall).ok());
  const std::string staged = host_.deployments.front().id();
  ASSERT_TRUE(backend()->stage(target('2', {"nosmt"}), {}, kCall).ok());
  EXPECT_EQ(host_.deployments.front().id(), staged);
  ASSERT_TRUE(backend()->stage(target('1'), {}, kCall).ok());
  EXPECT_FALSE(status().staged.has_value());
  ASSERT_TRUE(backend()->drop_staged(kCall).ok());
  EXPECT_EQ(host_.deployments.size(), 1u);
}

TEST_P(RealBackend, ARegistryThatIsAwayForAMomentIsAskedAgain) {
  host_.failing_fetches = 2;
  update_to(target('2'));
  host_.failing_fetches = 3;
  const Status staged = backend()->stage(target('3'), {}, kCall);
  ASSERT_FALSE(staged.ok());
  EXPECT_NE(staged.error().to_string().find("after 3 attempts"), std::string::npos) << staged.error().to_string();
  EXPECT_NE(staged.error().to_string().find("no such host"), std::string::npos) << staged.error().to_string();
  EXPECT_FALSE(status().staged.has_value());
}

TEST_P(RealBackend, AnImageThatIsGoneLeavesTheMachineAsItWas) {
  update_to(target('1', {"nosmt"}));
  const Status staged = backend()->stage(target('9', {"quiet"}), {}, kCall);
  ASSERT_FALSE(staged.ok());
  EXPECT_FALSE(status().staged.has_value());
  EXPECT_EQ(status().booted.kernel_arguments, Words{"nosmt"});
  host_.boot();
  update_to(target('2', {"quiet"}));
  EXPECT_EQ(how_often("nosmt"), 0u);
}

TEST_P(RealBackend, APowerCutAfterAnyCallEndsInTheOldOrTheNewState) {
  const OsTarget old_target = target('1', {"nosmt", "audit=1"}), new_target = target('2', {"audit=1", "quiet", "rw"});
  for (int calls = 0; calls < 40; ++calls) {
    SCOPED_TRACE(calls);
    mortal_.left = -1;
    update_to(old_target);
    mortal_.left = calls;
    const Status cut = backend()->stage(new_target, {}, kCall);
    mortal_.left = -1;
    if (cut.ok()) {
      EXPECT_GT(calls, 4) << "the table is of no use";
      return;
    }
    // Either the machine goes on with what is staged, or it starts with it, half as it may be.
    if (calls % 2 == 0) host_.boot();
    update_to(new_target);
    EXPECT_EQ(host_.deployments[host_.booted].arguments,
              (Words{"root=UUID=1", "rw", "console=tty0", "console=ttyS0,115200", "audit=1", "quiet", "rw"}));
  }
  FAIL() << "staging never ended";
}

TEST_P(RealBackend, ADamagedRecordIsAnErrorAndNothingIsTouched) {
  for (const char* text : {"", "{", "[]", R"({"deployments":[]})", R"({"deployments":{"x":[1]}})"}) {
    ASSERT_TRUE(root_.write(KernelArgumentRecord::kPath, text, 0600, {}).ok());
    const Status staged = backend()->stage(target('2'), {}, kCall);
    ASSERT_FALSE(staged.ok()) << text;
    EXPECT_EQ(staged.error().code(), Code::kCorrupt);
    EXPECT_NE(staged.error().to_string().find(KernelArgumentRecord::kPath), std::string::npos);
    EXPECT_EQ(host_.deployments.size(), 1u);
  }
}

TEST_P(RealBackend, AStopBeforeItBeginsChangesNothing) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(backend()->stage(target('2'), {}, {stop.get_token(), {}}).error().code(), Code::kCancelled);
  EXPECT_EQ(host_.deployments.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Programs, RealBackend, ::testing::Values(BackendKind::kRpmOstree, BackendKind::kBootc),
                         [](const auto& each) { return each.param == BackendKind::kBootc ? "Bootc" : "RpmOstree"; });

class RpmOstree : public RealBackend {};
INSTANTIATE_TEST_SUITE_P(Program, RpmOstree, ::testing::Values(BackendKind::kRpmOstree));

TEST_P(RpmOstree, AnotherKernelComesStaysOverAnUpdateAndGoes) {
  OsTarget realtime = target('1');
  realtime.kernel_type = KernelType::kRealtime;
  update_to(realtime);
  EXPECT_EQ(host_.deployments[host_.booted].removed.size(), 5u);
  realtime.image = image('2');
  update_to(realtime);
  update_to(target('2'));
  EXPECT_TRUE(host_.deployments[host_.booted].removed.empty());
  EXPECT_TRUE(host_.deployments[host_.booted].layered.empty());
}

TEST_P(RpmOstree, ExtensionsComeAndGoAndOthersPackagesStay) {
  host_.deployments[0].layered = {"vim"};
  host_.packages.insert("vim");
  OsTarget with = target('1');
  with.extensions = {"usbguard", "kerberos"};
  update_to(with);
  EXPECT_EQ(host_.deployments[host_.booted].layered,
            (std::set<std::string>{"vim", "usbguard", "krb5-workstation", "libkadm5"}));
  with.extensions = {"kerberos"};
  with.image = image('2');
  update_to(with);
  update_to(target('2'));
  EXPECT_EQ(host_.deployments[host_.booted].layered, std::set<std::string>{"vim"});
}

TEST_P(RpmOstree, APackageThatIsNowhereLeavesNothingPending) {
  OsTarget with = target('2');
  with.extensions = {"sysstat"};
  const Status staged = backend()->stage(with, {}, kCall);
  ASSERT_FALSE(staged.ok());
  EXPECT_NE(staged.error().to_string().find("Packages not found: sysstat"), std::string::npos);
  EXPECT_FALSE(status().staged.has_value());
}

TEST_P(RpmOstree, ABusyDaemonIsWaitedFor) {
  ASSERT_TRUE(backend()->stage(target('1', {"nosmt"}), {}, kCall).ok());
  host_.busy = 2;
  ASSERT_TRUE(backend()->drop_staged(kCall).ok());
  EXPECT_EQ(host_.busy, 0);
  EXPECT_FALSE(status().staged.has_value());
}

class Bootc : public RealBackend {};
INSTANTIATE_TEST_SUITE_P(Program, Bootc, ::testing::Values(BackendKind::kBootc));

TEST_P(Bootc, WhatItCannotDoIsRefusedByName) {
  host_.knows_sources = false;
  EXPECT_FALSE(status().capabilities.kernel_arguments);
  EXPECT_EQ(beyond_backend(status(), target('1', {"nosmt"})), Words{"kernel arguments [nosmt]"});
  const Status staged = backend()->stage(target('2', {"nosmt"}), {}, kCall);
  ASSERT_FALSE(staged.ok());
  EXPECT_NE(staged.error().to_string().find("kargs.d"), std::string::npos) << staged.error().to_string();
  EXPECT_EQ(host_.deployments.size(), 1u);
  update_to(target('2'));
  OsTarget with = target('2');
  with.extensions = {"usbguard"};
  EXPECT_EQ(backend()->stage(with, {}, kCall).error().code(), Code::kUnsupported);
  host_.incompatible = true;
  EXPECT_NE(backend()->stage(target('3'), {}, kCall).error().to_string().find("rpm-ostree reset"), std::string::npos);
}

TEST(KernelArguments, TheSmallestChangeKeepsTheOrder) {
  struct Case {
    Words ours, wanted, remove, append;
  };
  const Case cases[] = {
      {{}, {"a"}, {}, {"a"}},
      {{"a"}, {}, {"a"}, {}},
      {{"a", "b"}, {"b", "a"}, {}, {}},
      {{"a", "b"}, {"a", "c"}, {"b"}, {"c"}},
      {{"a", "b"}, {"b"}, {"a", "b"}, {"b"}},
      {{"a"}, {"a", "a"}, {}, {"a"}},
      {{"a", "b", "c"}, {"a", "b", "c", "d"}, {}, {"d"}},
  };
  for (const Case& each : cases)
    EXPECT_EQ(change_arguments(each.ours, each.wanted), (ArgumentChange{each.remove, each.append}));
}

TEST(KernelArguments, ALineIsDividedByCounting) {
  EXPECT_EQ(divide_arguments({"a", "b", "a"}, {"a"}), (DividedArguments{{"a"}, {"a", "b"}}));
  EXPECT_EQ(divide_arguments({"a"}, {"a", "a", "x"}), (DividedArguments{{"a"}, {}}));
  EXPECT_EQ(either_of({"a", "b"}, {"b", "b", "c"}), (Words{"a", "b", "b", "c"}));
  EXPECT_EQ(split_command_line("a  \"b c\" d=\"e f\" -- init\n"), (Words{"a", "\"b c\"", "d=\"e f\"", "--", "init"}));
}

TEST(ImageOrigin, EveryShapeNamesTheImage) {
  const std::string digest = "sha256:" + std::string(64, '1');
  const std::string pinned = "registry.example:5000/os@" + digest;
  for (const std::string& origin :
       {"ostree-unverified-registry:" + pinned, "ostree-unverified-image:docker://" + pinned,
        "ostree-unverified-image:containers-storage:" + pinned, "ostree-image-signed:docker://" + pinned,
        "ostree-remote-registry:fedora:" + pinned, "ostree-remote-image:fedora:docker://" + pinned,
        "pivot://" + pinned}) {
    const auto image = ImageReference::of_origin(origin);
    ASSERT_TRUE(image.ok()) << origin << image.error().to_string();
    EXPECT_EQ(image->to_string(), pinned) << origin;
  }
  EXPECT_EQ(ImageReference::of_origin("ostree-unverified-registry:registry.example/os:tag", digest)->to_string(),
            "registry.example/os:tag@" + digest);
  for (const char* origin :
       {"", "ostree-unverified-registry:", "ostree-remote-registry:", "ostree-unverified-registry:x",
        "ostree-unverified-image:oci:/srv/layout", "fedora:fedora/x86_64/coreos/stable"})
    EXPECT_FALSE(ImageReference::of_origin(origin).ok()) << origin;
}

TEST(ProgramAnswers, NonsenseIsAnErrorNotAState) {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"deployments":{}})", R"({"deployments":[]})", R"({"deployments":[{"booted":true}]})",
        R"({"deployments":[{"id":"a"}]})", R"({"deployments":[{"id":"a","booted":true,"requested-packages":"x"}]})"})
    EXPECT_FALSE(parse_rpm_ostree_status(text).ok()) << text;
  EXPECT_TRUE(parse_rpm_ostree_status(R"({"deployments":[{"id":"a","booted":true}],"new":1})").ok());
  for (const char* text : {"", "{}", "[]", R"({"kind":"Other"})", R"({"kind":"BootcHost","status":{"booted":1}})"})
    EXPECT_FALSE(parse_bootc_status(text).ok()) << text;
  const auto old =
      parse_bootc_status(R"({"apiVersion":"org.containers.bootc/v1alpha1","kind":"BootcHost","status":{}})");
  ASSERT_TRUE(old.ok());
  EXPECT_FALSE(old->is_bootc_host);
}

TEST(ChooseBackend, ByWhatStartedTheMachineAndWhatIsWished) {
  HostFacts host;
  EXPECT_EQ(choose_backend(host, false).kind, BackendKind::kNone);
  host.started_by_ostree = true;
  EXPECT_EQ(choose_backend(host, false).reason, "rpm-ostree is not installed, and bootc is not installed");
  host.has_rpm_ostree = true;
  EXPECT_EQ(choose_backend(host, false), (BackendChoice{BackendKind::kRpmOstree, ""}));
  EXPECT_EQ(choose_backend(host, true),
            (BackendChoice{BackendKind::kRpmOstree, "rpm-ostree instead of bootc: bootc is not installed"}));
  host.has_bootc = host.bootc_can_go_on = true;
  EXPECT_EQ(choose_backend(host, false).kind, BackendKind::kRpmOstree);
  EXPECT_EQ(choose_backend(host, true), (BackendChoice{BackendKind::kBootc, ""}));
  host.has_rpm_ostree = false;
  EXPECT_EQ(choose_backend(host, false).kind, BackendKind::kBootc);
}

TEST(ChooseBackend, AskedOfTheMachineItself) {
  MemoryTree root;
  strake::testing::ScriptedPrograms programs;
  EXPECT_EQ(*look_at_host(root, programs, kCall), HostFacts{});
  FakeOstreeHost host(root, image_text('1'), kMachine);
  host.install_rpm_ostree(programs);
  host.install_bootc(programs);
  EXPECT_EQ(choose_backend(*look_at_host(root, programs, kCall), true).kind, BackendKind::kBootc);
  host.incompatible = true;
  const BackendChoice fallback = choose_backend(*look_at_host(root, programs, kCall), true);
  EXPECT_EQ(fallback.kind, BackendKind::kRpmOstree);
  EXPECT_NE(fallback.reason.find("rpm-ostree has changed"), std::string::npos) << fallback.reason;
  host.incompatible = false;
  host.not_started_from_image = true;
  EXPECT_NE(choose_backend(*look_at_host(root, programs, kCall), true).reason.find("one of its own"),
            std::string::npos);
}

}  // namespace strake::osbackend::real_backends_test
