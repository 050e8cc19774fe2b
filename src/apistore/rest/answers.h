// Answers as HTTP responses: JSON documents, Status objects, warnings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kube/api_error.h"
#include "net/http.h"

namespace strake::apistore::rest {

net::Response json_response(int status, std::string body);
net::Response text_response(int status, std::string body, std::string_view content_type = "text/plain; charset=utf-8");

/// The failure as a Status, with Retry-After where the error asks for it.
net::Response error_response(const Error& error, const kube::StatusDetails& details = {});
/// For failures that are not about a call of the API (a broken request line, a body that is too large).
net::Response plain_status_response(int status, std::string_view message);
/// "Success", about an object that is gone.
std::string success_status(const kube::StatusDetails& details);

/// One `Warning: 299 - "..."` each, as clients of Kubernetes show them.
void add_warnings(net::Headers& headers, const std::vector<std::string>& warnings);

}  // namespace strake::apistore::rest
