// A real sysroot in a folder, changed by us and read by ostree's own program, and the other way round.
#include "sysroot/sysroot.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "base/fd.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "support/temp_dir.h"

namespace strake::test::sysroot_test {

using std::filesystem::path;
using Words = std::vector<std::string>;

const runtime::Call kCall{};

class SysrootTest : public ::testing::Test {
 protected:
  SysrootTest() {
    // Deployments are made unchangeable where the system allows it, and then no test could clean up.
    ::setenv("OSTREE_SYSROOT_DEBUG", "mutable-deployments", 1);
    EXPECT_TRUE(sysroot::Sysroot::create(root_, "strake").ok());
  }

  std::string ostree(Words arguments) {
    Command command;
    command.argv = std::move(arguments);
    command.argv.insert(command.argv.begin(), "ostree");
    const auto output = run_checked(command);
    EXPECT_TRUE(output.ok()) << output.error().to_string();
    return output.ok() ? std::string(trimmed(output->stdout_bytes)) : "";
  }
  sysroot::Sysroot open() {
    auto opened = sysroot::Sysroot::open(root_, {.durable = false});
    EXPECT_TRUE(opened.ok()) << opened.error().to_string();
    return *std::move(opened);
  }
  /// A tree that can be deployed, in the sysroot's repository.
  std::string commit(const std::string& version, bool with_kernel = true) {
    const path tree = work_ / ("tree-" + version);
    for (const char* folder :
         {"usr/lib/modules/6.1", "usr/etc/app", "boot", "proc", "run", "sys", "tmp", "var", "sysroot"})
      std::filesystem::create_directories(tree / folder);
    std::filesystem::create_directory_symlink("sysroot/ostree", tree / "ostree");
    put(tree / "usr/lib/os-release", "PRETTY_NAME=\"Sample " + version + "\"\n");
    put(tree / "usr/etc/app/default.conf", "of image " + version + "\n");
    put(tree / "usr/etc/app/local.conf", "of image " + version + "\n");
    if (with_kernel) {
      put(tree / "usr/lib/modules/6.1/vmlinuz", "kernel " + version);
      put(tree / "usr/lib/modules/6.1/initramfs.img", "initramfs " + version);
    }
    return ostree({"--repo=" + (root_ / "ostree/repo").string(), "commit", "--branch=os/" + version,
                   "--tree=dir=" + tree.string(), "--no-xattrs"});
  }
  static void put(const path& file, const std::string& text) { std::ofstream(file) << text; }
  static std::string text_of(const path& file) { return read_file(file, 1 << 16).value_or("(nothing)"); }
  sysroot::NewDeployment of(const std::string& commit, Words arguments = {"root=UUID=1", "rw"}) {
    return {"strake", commit, "[origin]\nrefspec=os/x\n", std::move(arguments), {}, {}};
  }
  static Words ids(sysroot::Sysroot& sysroot) {
    Words found;
    const auto all = sysroot.deployments();
    EXPECT_TRUE(all.ok());
    for (const auto& each : *all) found.push_back(each.id);
    return found;
  }
  std::size_t checked_out() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(root_ / "ostree/deploy/strake/deploy"))
      count += entry.is_directory() ? 1 : 0;
    return count;
  }

  TempDir work_;
  path root_ = work_ / "sys";
};

TEST_F(SysrootTest, ADeploymentIsMadeFollowedAndRolledBack) {
  sysroot::Sysroot sysroot = open();
  EXPECT_TRUE(ids(sysroot).empty());
  const std::string first_commit = commit("1"), second_commit = commit("2");
  const auto first = sysroot.deploy(of(first_commit, {"root=UUID=1", "rw", "foo=\"a b\""}), kCall);
  ASSERT_TRUE(first.ok()) << first.error().to_string();
  EXPECT_EQ(*first, "strake-" + first_commit + ".0");
  // What somebody changed below /etc goes on, what nobody touched follows the image.
  const path etc = (*sysroot.deployments())[0].root / "etc/app";
  EXPECT_EQ(text_of(etc / "local.conf"), "of image 1\n");
  put(etc / "local.conf", "of the administrator\n");
  sysroot::NewDeployment next = of(second_commit, {"root=UUID=1", "rw", "nosmt"});
  next.merge_from = *first;
  next.keep = {*first};
  const auto second = sysroot.deploy(next, kCall);
  ASSERT_TRUE(second.ok()) << second.error().to_string();
  EXPECT_EQ(ids(sysroot), (Words{*second, *first}));
  const auto now = *sysroot.deployments();
  EXPECT_EQ(text_of(now[0].root / "etc/app/local.conf"), "of the administrator\n");
  EXPECT_EQ(text_of(now[0].root / "etc/app/default.conf"), "of image 2\n");
  EXPECT_TRUE(now[0].command_line.starts_with("root=UUID=1 rw nosmt ostree=/ostree/boot.")) << now[0].command_line;
  EXPECT_NE(now[1].command_line.find("foo=\"a b\""), std::string::npos) << now[1].command_line;
  EXPECT_NE(now[0].origin.find("refspec=os/x"), std::string::npos) << now[0].origin;
  // ostree's own program sees the same, in the same order.
  const std::string status = ostree({"admin", "status", "--sysroot=" + root_.string()});
  EXPECT_LT(status.find(second_commit), status.find(first_commit)) << status;
  EXPECT_NE(status.find(first_commit), std::string::npos) << status;
  ostree({"--repo=" + sysroot.repository().string(), "fsck", "--quiet"});
  EXPECT_NE(text_of(root_ / "boot/loader/entries/ostree-2-strake.conf").find("nosmt"), std::string::npos);

  ASSERT_TRUE(sysroot.set_order({*first, *second}, kCall).ok());
  EXPECT_EQ(ids(sysroot), (Words{*first, *second}));
  EXPECT_NE(text_of(root_ / "boot/loader/entries/ostree-2-strake.conf").find("foo=\"a b\""), std::string::npos);
}

TEST_F(SysrootTest, WhatIsNotKeptGoesAndWhatIsPinnedStays) {
  sysroot::Sysroot sysroot = open();
  const auto first = sysroot.deploy(of(commit("1")), kCall);
  ASSERT_TRUE(first.ok()) << first.error().to_string();
  ASSERT_TRUE(sysroot.set_pinned(*first, true, kCall).ok());
  const auto second = sysroot.deploy(of(commit("2")), kCall);
  ASSERT_TRUE(second.ok()) << second.error().to_string();
  const auto third = sysroot.deploy(of(commit("3")), kCall);
  ASSERT_TRUE(third.ok()) << third.error().to_string();
  EXPECT_EQ(ids(sysroot), (Words{*third, *first}));
  ASSERT_TRUE(sysroot.set_pinned(*first, false, kCall).ok());
  ASSERT_TRUE(sysroot.set_order({*third}, kCall).ok());
  const std::string repository = "--repo=" + sysroot.repository().string();
  ostree({repository, "refs", "--delete", "os"});
  ASSERT_TRUE(sysroot.clean(kCall).ok());
  EXPECT_EQ(checked_out(), 1u);
  Command show;
  show.argv = {"ostree", repository, "show", first->substr(std::string("strake-").size(), 64)};
  EXPECT_FALSE(run_checked(show).ok()) << "the objects of what was removed are still there";
  EXPECT_EQ(ids(sysroot), Words{*third});
  ostree({repository, "fsck", "--quiet"});
}

TEST_F(SysrootTest, ATreeThatCannotBootIsRefusedAndLeavesNothing) {
  sysroot::Sysroot sysroot = open();
  const auto good = sysroot.deploy(of(commit("1")), kCall);
  ASSERT_TRUE(good.ok()) << good.error().to_string();
  const auto without_kernel = sysroot.deploy(of(commit("2", false)), kCall);
  ASSERT_FALSE(without_kernel.ok());
  const auto unknown = sysroot.deploy(of(std::string(64, '0')), kCall);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().to_string().find(std::string(64, '0')), std::string::npos);
  EXPECT_EQ(sysroot
                .deploy(of(commit("3"), {}), {[] {
                                                std::stop_source stop;
                                                stop.request_stop();
                                                return stop.get_token();
                                              }(),
                                              {}})
                .error()
                .code(),
            Code::kCancelled);
  EXPECT_EQ(ids(sysroot), Words{*good});
  EXPECT_EQ(checked_out(), 1u);
  EXPECT_EQ(sysroot.set_order({"strake-nothing.0"}, kCall).error().code(), Code::kNotFound);
  EXPECT_EQ(sysroot::Sysroot::open(work_ / "nowhere").error().code(), Code::kNotFound);
}

TEST_F(SysrootTest, WhatOstreeDeployedIsGoneOnFrom) {
  const std::string first = commit("1");
  ostree({"admin", "deploy", "--sysroot=" + root_.string(), "--os=strake", "--karg=root=UUID=7", "os/1"});
  sysroot::Sysroot sysroot = open();
  const auto theirs = *sysroot.deployments();
  ASSERT_EQ(theirs.size(), 1u);
  EXPECT_EQ(theirs[0].commit, first);
  sysroot::NewDeployment next = of(commit("2"));
  next.merge_from = theirs[0].id;
  next.keep = {theirs[0].id};
  ASSERT_TRUE(sysroot.deploy(next, kCall).ok());
  // And theirs from ours.
  commit("3");
  ostree({"admin", "deploy", "--sysroot=" + root_.string(), "--os=strake", "--retain", "os/3"});
  EXPECT_EQ(ids(sysroot).size(), 3u);
}

}  // namespace strake::test::sysroot_test
