// The failures every verb can give, in kube-apiserver's words, with the details a Status carries.
#pragma once

#include <string>

#include "apistore/schema/field_problem.h"
#include "base/error.h"
#include "kube/api_error.h"

namespace strake::apistore {

Error not_found(const ErrorSubject& subject, kube::StatusDetails& details);
/// `deleting`: what exists waits for its finalizers only.
Error already_exists(const ErrorSubject& subject, kube::StatusDetails& details, bool deleting);
Error conflict(const ErrorSubject& subject, kube::StatusDetails& details, std::string_view why);
/// The one every client retries on.
Error modified_meanwhile(const ErrorSubject& subject, kube::StatusDetails& details);
Error forbidden_object(const ErrorSubject& subject, kube::StatusDetails& details, std::string_view why);
Error too_large(const ErrorSubject& subject, kube::StatusDetails& details, std::size_t size_bytes,
                std::size_t limit_bytes);

template <typename... Args>
[[nodiscard]] Error bad_request(fmt::format_string<Args...> text, Args&&... args) {
  return Error(Code::kInvalidArgument, fmt::format(text, std::forward<Args>(args)...)).with_reason("BadRequest");
}

}  // namespace strake::apistore
