#include "support/temp_dir.h"

#include <stdlib.h>

#include <string>
#include <system_error>

#include "base/result.h"

namespace strake::test {

TempDir::TempDir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "strake-test-XXXXXX").string();
  STRAKE_INVARIANT(mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;  // a leftover temporary folder must not fail the test that used it
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace strake::test
