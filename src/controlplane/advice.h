// What to do about an error of the API server: the sentence that follows the cause in logs and messages.
#pragma once

#include <string_view>

#include "base/error.h"

namespace strake::controlplane {

/// For errors of calls to an API server; empty when the message itself is all there is to say.
std::string_view advice_for(const Error& error);

}  // namespace strake::controlplane
