// Which Ignition version a machine that asks for its config can read, from the Accept field it sends.
#pragma once

#include <string_view>

#include "base/result.h"
#include "ignition/version.h"

namespace strake::configserver {

/// What clients get that do not say what they read: the oldest machines do not.
inline constexpr ignition::SpecVersion kOldestServed{2, 2};

/// "application/vnd.coreos.ignition+json;version=3.2.0, */*;q=0.1" asks for 3.2. Of several ranges with a version the
/// one with the highest q decides. 2.2 and later of spec 2 are served 2.2; a 3.x newer than we know is served our
/// newest, which its Ignition reads. Without a version, or when the field cannot be read: kOldestServed. kUnsupported
/// for what nobody here can write.
Result<ignition::SpecVersion> negotiate(std::string_view accept);

}  // namespace strake::configserver
