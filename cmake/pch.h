// Precompiled in every tree. Only headers that most files use; never a heavy one that a single module owns.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <boost/json.hpp>
#include <fmt/core.h>
#include <fmt/format.h>
#include <tl/expected.hpp>
