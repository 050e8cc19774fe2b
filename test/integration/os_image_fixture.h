// What the suites about `strake os` share: the images, a folder and a cache for each test, judges.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/subprocess.h"
#include "support/layout_editor.h"
#include "support/lines.h"
#include "support/os_images.h"
#include "support/strake_command.h"
#include "support/temp_dir.h"

namespace strake::test {

/// The same lines in the same order; a failure shows those that only one side has.
void expect_same_lines(const Lines& ours, const Lines& theirs);

class OsImageFixture : public ::testing::Test {
 protected:
  void SetUp() override;

  /// `strake os VERB ...`, with the cache of this test.
  ProcessOutput os(Lines arguments) const;
  std::string os_checked(Lines arguments) const;
  /// What another program, run in the folder of the images, says about them.
  std::string judged(Lines argv) const;

  /// As `strake os` takes it: one of the layouts of OsImages.
  std::string layout(const std::string& name) const;
  /// A copy of it in the folder of this test.
  LayoutEditor editable(const std::string& name) const;
  static std::string name_of(const LayoutEditor& editor);

  /// Every form the commit itself comes in, as `strake os` takes it.
  Lines forms_of_the_commit() const;
  /// Those, the derived image and the plain one.
  Lines all_forms() const;

  const OsImages* images_ = nullptr;
  TempDir work_;
};

}  // namespace strake::test
