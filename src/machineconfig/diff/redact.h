// What is secret by its place in an Ignition config. What is secret by its looks, or by the path of a file:
// base/secrets.h.
//
// Nothing derived from a secret is shown but its size: a digest of a weak one could be guessed.
#pragma once

#include "base/secrets.h"
#include "codec/json.h"

namespace strake::machineconfig {

/// Replaced are password hashes, HTTP headers, key files and anything else in a data URL. Returns whether there was
/// any.
bool hide_secret_members(json::Value& section);

}  // namespace strake::machineconfig
