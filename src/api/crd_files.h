// The CustomResourceDefinitions of deploy/crds, compiled in: what the embedded store serves and `kubectl create -f`
// installs are the same files.
#pragma once

#include <span>

#include "api/embedded_file.h"

namespace strake::api {

/// One CustomResourceDefinition in YAML each, sorted by file name "<group>_<plural>.yaml".
std::span<const EmbeddedFile> crd_files();

}  // namespace strake::api
