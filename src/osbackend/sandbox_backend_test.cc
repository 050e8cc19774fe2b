#include "osbackend/sandbox_backend.h"

#include <gtest/gtest.h>

namespace strake::osbackend::sandbox_backend_test {

const runtime::Call kCall{};

ImageReference image(char digit) {
  return *ImageReference::parse("registry.example/os@sha256:" + std::string(64, digit));
}

TEST(SandboxBackend, WhatIsStagedBootsNext) {
  MemoryTree tree;
  SandboxBackend backend(tree);
  ASSERT_TRUE(backend.boot().ok());
  const OsStatus first = *backend.status(kCall);
  const OsTarget next{image('1'), {"nosmt"}, {}, {}};
  ASSERT_TRUE(backend.stage(next, {}, kCall).ok());
  ASSERT_TRUE(backend.reboot("update", kCall).ok());
  EXPECT_EQ(backend.status(kCall)->booted, first.booted);
  // The record survives the process: another backend on the same tree sees it.
  SandboxBackend restarted(tree);
  ASSERT_TRUE(restarted.status(kCall)->staged.has_value());
  EXPECT_TRUE(differences(*restarted.status(kCall)->staged, next).empty());
  ASSERT_TRUE(restarted.boot().ok());
  const OsStatus now = *restarted.status(kCall);
  EXPECT_TRUE(differences(now.booted, next).empty());
  EXPECT_FALSE(now.staged.has_value());
  EXPECT_EQ(now.rollback, first.booted);
  EXPECT_NE(now.boot_id, first.boot_id);
  // The machine's own arguments are still there, and are nobody's difference.
  EXPECT_EQ(now.booted.machine_arguments, first.booted.machine_arguments);
  EXPECT_FALSE(now.booted.machine_arguments.empty());
}

TEST(SandboxBackend, AFailedBootFallsBack) {
  MemoryTree tree;
  SandboxBackend backend(tree);
  const OsTarget good{image('1'), {}, {}, {}}, bad{image('2'), {}, {}, {}};
  ASSERT_TRUE(backend.stage(good, {}, kCall).ok());
  ASSERT_TRUE(backend.boot().ok());
  ASSERT_TRUE(backend.stage(bad, {}, kCall).ok());
  ASSERT_TRUE(backend.boot(BootEnd::kFellBack).ok());
  const OsStatus os = *backend.status(kCall);
  EXPECT_TRUE(differences(os.booted, good).empty());
  ASSERT_TRUE(os.rollback.has_value());
  EXPECT_EQ(os.rollback->image, bad.image);
  EXPECT_FALSE(os.staged.has_value());
}

TEST(SandboxBackend, StagingWhatIsBootedDropsWhatWasStaged) {
  MemoryTree tree;
  SandboxBackend backend(tree);
  int steps = 0;
  const auto count = [&](const Progress&) { ++steps; };
  ASSERT_TRUE(backend.stage({image('a'), {}, {}, {}}, count, kCall).ok());
  EXPECT_EQ(steps, 2);
  ASSERT_TRUE(backend.boot().ok());
  ASSERT_TRUE(backend.stage({image('b'), {}, {}, {}}, {}, kCall).ok());
  ASSERT_TRUE(backend.stage({image('a'), {}, {}, {}}, {}, kCall).ok());
  EXPECT_FALSE(backend.status(kCall)->staged.has_value());
  ASSERT_TRUE(backend.stage({std::nullopt, {"nosmt"}, {}, {}}, {}, kCall).ok());
  EXPECT_EQ(backend.status(kCall)->staged->image, image('a'));
  ASSERT_TRUE(backend.drop_staged(kCall).ok());
  EXPECT_FALSE(backend.status(kCall)->staged.has_value());
}

TEST(SandboxBackend, ACancelledCallChangesNothing) {
  MemoryTree tree;
  SandboxBackend backend(tree);
  std::stop_source stop;
  stop.request_stop();
  const Status staged = backend.stage({image('a'), {}, {}, {}}, {}, {stop.get_token(), {}});
  ASSERT_FALSE(staged.ok());
  EXPECT_EQ(staged.error().code(), Code::kCancelled);
  EXPECT_FALSE(backend.status(kCall)->staged.has_value());
}

TEST(SandboxBackend, ADamagedRecordIsAnErrorNotAnEmptyMachine) {
  for (const char* damaged :
       {"", "{", "{}", "[]", R"({"booted":{},"boots":1})", R"({"booted":{"image":"x"},"boots":1})",
        R"({"booted":{"image":"","kernelArguments":[1]},"boots":1})"}) {
    MemoryTree tree;
    ASSERT_TRUE(tree.write("/var/lib/strake/sandbox-os.json", damaged, 0600, {}).ok());
    SandboxBackend backend(tree);
    const auto status = backend.status(kCall);
    ASSERT_FALSE(status.ok()) << damaged;
    EXPECT_EQ(status.error().code(), Code::kCorrupt);
    EXPECT_FALSE(backend.boot().ok()) << damaged;
  }
}

TEST(KernelArguments, ItemsSplitAtBlanksOutsideQuotes) {
  EXPECT_EQ(split_kernel_arguments({"nosmt", " a=1  b=2 ", "k=\"x y\" c"}),
            (std::vector<std::string>{"nosmt", "a=1", "b=2", "k=\"x y\"", "c"}));
}

TEST(Deployment, OnlyWhatWeOwnIsCompared) {
  const Deployment booted{image('1'), {"b", "a"}, {"root=/dev/vda", "a"}, KernelType::kDefault, {"usbguard"}};
  EXPECT_TRUE(differences(booted, {image('1'), {"a", "b"}, KernelType::kDefault, {"usbguard"}}).empty());
  EXPECT_TRUE(differences(booted, {std::nullopt, {"a", "b"}, KernelType::kDefault, {"usbguard"}}).empty());
  EXPECT_EQ(differences(booted, {image('2'), {"a"}, KernelType::kRealtime, {}}).size(), 4u);
  EXPECT_EQ(differences(booted, {image('1'), {"a", "a", "b"}, KernelType::kDefault, {"usbguard"}}),
            std::vector<std::string>{"kernel arguments [b a] instead of [a a b]"});
}

TEST(ImageReference, IsByDigestAndEqualWhateverItsName) {
  const std::string digest = "sha256:" + std::string(64, '1');
  const auto here = ImageReference::parse("quay.io/org/os:4.20@" + digest);
  ASSERT_TRUE(here.ok()) << here.error().to_string();
  EXPECT_EQ(here->to_string(), "quay.io/org/os:4.20@" + digest);
  EXPECT_EQ(*here, *ImageReference::parse("mirror.example:5000/os@" + digest));
  EXPECT_NE(*here, image('2'));
  for (const std::string& bad :
       {std::string(), std::string("os:latest"), "@" + digest, std::string("os@sha256:12"), "-o@" + digest,
        "os x@" + digest, "os\n@" + digest, std::string(2000, 'x') + "@" + digest}) {
    EXPECT_FALSE(ImageReference::parse(bad).ok()) << bad;
  }
}

TEST(KernelType, TextAndBack) {
  EXPECT_EQ(*parse_kernel_type(""), KernelType::kDefault);
  for (const KernelType type : {KernelType::kDefault, KernelType::kRealtime, KernelType::k64kPages})
    EXPECT_EQ(*parse_kernel_type(to_string(type)), type);
  EXPECT_FALSE(parse_kernel_type("fast").ok());
}

}  // namespace strake::osbackend::sandbox_backend_test
