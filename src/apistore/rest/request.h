// An HTTP request read as an API request: which verb on which object, in what shape the answer is wanted, with which
// options. Pure.
//
// Errors are those kube-apiserver gives: 404 and 405 for paths and methods, 406 and 415 for media types, 400 and 422
// for options.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apistore/schema/registry.h"
#include "apistore/service/watch.h"
#include "base/result.h"
#include "codec/json.h"
#include "kube/api_error.h"
#include "kube/kube_api.h"
#include "net/http.h"
#include "net/url.h"

namespace strake::apistore::rest {

enum class Verb { kGet, kList, kWatch, kCreate, kUpdate, kPatch, kDelete, kDeleteCollection };
/// As authorization and metrics name it: "deletecollection".
std::string_view to_string(Verb verb);

/// /apis/GROUP/VERSION/[namespaces/NS/]PLURAL[/NAME[/SUBRESOURCE]]
struct ResourcePath {
  const Kind* kind = nullptr;
  const KindVersion* version = nullptr;
  std::string ns;
  std::string name;
  std::string subresource;  ///< "", "status" or "eviction"

  kube::Resource resource() const { return kind->resource(*version); }
  kube::ObjectKey key() const { return {ns, name}; }
};

/// kNotFound for everything this server has nothing at; `details` gets what a Status says about it.
Result<ResourcePath> resolve_path(const Registry& registry, const std::vector<std::string>& segments,
                                  kube::StatusDetails& details);

/// kUnsupported (405) when the method does not fit the path; `allowed` gets the methods that do.
Result<Verb> verb_for(const ResourcePath& path, std::string_view method, const net::Query& query,
                      std::vector<std::string>& allowed);

enum class Shape { kObject, kTable, kMetadata };

/// What the client wants to read.
struct Output {
  Shape shape = Shape::kObject;
  std::string meta_version = "v1";  ///< of meta.k8s.io, for tables and metadata
  bool pretty = false;
};

/// From the Accept field; kUnsupported (406) when nothing in it can be served. JSON is all there is.
Result<Output> negotiate_output(const net::Headers& headers, const net::Query& query);
/// For documents that come as JSON whatever else was wished for (discovery).
Status accepts_json(const net::Headers& headers);

/// The body, JSON or Kubernetes' protobuf, as JSON; kUnsupported (415) when it is neither, kInvalidArgument (400) when
/// it cannot be read.
Result<json::Value> read_body(const net::Headers& headers, std::string_view body);
/// From the Content-Type of a PATCH; kUnsupported (415), with a word of its own for server-side apply.
Result<kube::PatchType> patch_type(const net::Headers& headers, const Kind& kind);
/// The body of a PATCH; kInvalidArgument (400) when it is not JSON.
Result<json::Value> parse_json_body(std::string_view body);

/// Of a GET for many, or a DELETE of many. `details` gets what a Status says about wrong options.
Result<kube::ListOptions> parse_list_options(const net::Query& query, kube::StatusDetails& details);
Result<WatchQuery> parse_watch_options(const net::Query& query, kube::StatusDetails& details);
/// `kind` names the options in messages: "CreateOptions", "PatchOptions", ...
Result<kube::WriteOptions> parse_write_options(const net::Query& query, std::string_view kind,
                                               kube::StatusDetails& details);
/// The body, when there is one, counts; else the query.
Result<kube::DeleteOptions> parse_delete_options(const net::Query& query, const net::Headers& headers,
                                                 std::string_view body, kube::StatusDetails& details);
/// From an object of kind DeleteOptions, as a body or inside an Eviction.
Result<kube::DeleteOptions> delete_options_from_json(const json::Value& value, kube::StatusDetails& details);

}  // namespace strake::apistore::rest
