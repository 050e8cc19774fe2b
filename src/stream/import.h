// Boot image metadata in any of its shapes, read into streams.
//
//   a stream                RHCOS, SCOS and FCOS stream files, print-stream-json
//   streams by name         an object of streams
//   ConfigMap               coreos-bootimages as JSON or YAML: data.stream (the default one) and data.streams (by name)
//   build record            rhcos.json of 4.1 to 4.9, meta.json of coreos-assembler
//   marketplace             Azure marketplace images by architecture, to be merged into a stream or to be read alone
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "stream/metadata.h"

namespace strake::stream {

/// What one source says: a default stream, named ones, or both.
struct StreamSet {
  std::optional<Stream> default_stream;
  std::map<std::string, Stream> by_name;  ///< the key may be empty: some releases name their only stream so

  /// "" asks for the default, or for the only one. kNotFound lists the names.
  Result<const Stream*> find(std::string_view name) const;
};

struct ImportOptions {
  std::string base_url;     ///< where the document came from, for shapes that name files relative to themselves
  std::string marketplace;  ///< text of a marketplace file, merged into every stream; empty: none
};

Result<StreamSet> read_streams(std::string_view text, const ImportOptions& options = {});

/// ConfigMap openshift-machine-config-operator/coreos-bootimages as the cluster has it.
Result<StreamSet> streams_of_config_map(const json::Value& config_map);

/// The two texts of that ConfigMap; `by_name` may be empty.
Result<StreamSet> streams_of_texts(std::string_view default_stream, std::string_view by_name);

}  // namespace strake::stream
