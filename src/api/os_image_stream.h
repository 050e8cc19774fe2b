// OSImageStream/cluster: the OS streams of the release, and which of them a pool runs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/field.h"
#include "base/result.h"

namespace strake::api {

inline constexpr FieldTable kOsImageStreamFields{
    "osimagestreams.machineconfiguration.openshift.io",
    "spec.defaultStream",
    "status.defaultStream",
    "status.availableStreams",
    "status.availableStreams[].name",
    "status.availableStreams[].osImage",
    "status.availableStreams[].osExtensionsImage",
};

struct OsStream {
  std::string name;
  std::string os_image;          ///< by digest
  std::string extensions_image;  ///< by digest

  bool operator==(const OsStream&) const = default;
};

/// Reads an object that outlives the view.
class OsImageStreamView {
 public:
  explicit OsImageStreamView(const json::Value& object) : object_(object) {}
  explicit OsImageStreamView(const json::Value&&) = delete;

  /// What the administrator wishes; "" leaves it to the release.
  std::string wished_default() const { return text_at(object_, kOsImageStreamFields["spec.defaultStream"]); }
  std::string default_stream() const { return text_at(object_, kOsImageStreamFields["status.defaultStream"]); }
  std::vector<OsStream> streams() const;

  /// The stream of a pool: its own choice, else the one it inherits (a custom pool: from the worker pool), else the
  /// default. Empty means no choice. kNotFound names the streams there are.
  Result<OsStream> resolve(std::string_view pool_choice, std::string_view inherited_choice = {}) const;

 private:
  const json::Value& object_;
};

/// Writes in place; everything else of the object stays as it is.
class OsImageStreamEdit : public OsImageStreamView {
 public:
  explicit OsImageStreamEdit(json::Value& object) : OsImageStreamView(object), object_(object) {}

  /// The schema wants a spec, and the publisher of a release has nothing to say in it.
  void ensure_spec();
  void set_status(std::string_view default_stream, std::span<const OsStream> streams);

 private:
  json::Value& object_;
};

}  // namespace strake::api
