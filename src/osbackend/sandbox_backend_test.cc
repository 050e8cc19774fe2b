#include "osbackend/sandbox_backend.h"

#include <gtest/gtest.h>

namespace strake::osbackend::sandbox_backend_test {

TEST(SandboxBackend, WhatIsStagedBootsNext) {
  MemoryTree tree;
  SandboxBackend backend(tree);
  ASSERT_TRUE(backend.boot().ok());
  const std::string first_boot = backend.status()->boot_id;
  const Deployment next{"registry.example/os@sha256:1", {"nosmt"}};
  ASSERT_TRUE(backend.stage(next).ok());
  ASSERT_TRUE(backend.reboot("update").ok());
  EXPECT_EQ(backend.status()->booted, Deployment{});
  // The record survives the process: another backend on the same tree sees it.
  SandboxBackend restarted(tree);
  EXPECT_EQ(restarted.status()->staged, next);
  ASSERT_TRUE(restarted.boot().ok());
  EXPECT_EQ(restarted.status()->booted, next);
  EXPECT_FALSE(restarted.status()->staged.has_value());
  EXPECT_NE(restarted.status()->boot_id, first_boot);
}

TEST(SandboxBackend, StagingWhatIsBootedDropsWhatWasStaged) {
  MemoryTree tree;
  SandboxBackend backend(tree);
  ASSERT_TRUE(backend.stage({"a", {}}).ok());
  ASSERT_TRUE(backend.boot().ok());
  ASSERT_TRUE(backend.stage({"b", {}}).ok());
  ASSERT_TRUE(backend.stage({"a", {}}).ok());
  EXPECT_FALSE(backend.status()->staged.has_value());
}

TEST(SandboxBackend, ADamagedRecordIsAnErrorNotAnEmptyMachine) {
  MemoryTree tree;
  ASSERT_TRUE(tree.write("/var/lib/strake/sandbox-os.json", "{", 0600, {}).ok());
  SandboxBackend backend(tree);
  EXPECT_FALSE(backend.status().ok());
}

TEST(KernelArguments, ItemsSplitAtBlanksOutsideQuotes) {
  EXPECT_EQ(split_kernel_arguments({"nosmt", " a=1  b=2 ", "k=\"x y\" c"}),
            (std::vector<std::string>{"nosmt", "a=1", "b=2", "k=\"x y\"", "c"}));
}

}  // namespace strake::osbackend::sandbox_backend_test
