// Several tasks working off one list.
#pragma once

#include <cstddef>
#include <functional>

#include "base/runtime.h"

namespace strake::oci {

/// Runs `work` for 0..count-1 in at most `tasks` tasks. The first failure stops the others and is returned.
Status for_each_in_parallel(runtime::Runtime& runtime, unsigned tasks, std::size_t count, const runtime::Call& call,
                            const std::function<Status(std::size_t, const runtime::Call&)>& work);

}  // namespace strake::oci
