#include "base/result.h"

#include <cstdio>
#include <cstdlib>

namespace strake {

void invariant_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: invariant broken: %s\n", file, line, condition);
  std::abort();
}

}  // namespace strake
