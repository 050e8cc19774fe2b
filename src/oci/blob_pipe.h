// A task that produces bytes and a reader that wants to pull them, with a bounded number of bytes in between.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/runtime.h"
#include "codec/stream.h"

namespace strake::oci {

using ProduceBytes =
    std::function<Status(const std::function<Status(std::string_view)>& on_data, const runtime::Call&)>;

/// Runs `produce` in a task of its own; the source answers what it delivers, and its error. Destroying the source stops
/// the task.
std::unique_ptr<codec::Source> make_pipe(runtime::Runtime& runtime, std::string name, ProduceBytes produce,
                                         const runtime::Call& call, std::size_t buffer_bytes = 1u << 20);

}  // namespace strake::oci
