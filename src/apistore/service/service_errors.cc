#include "apistore/service/service_errors.h"

namespace strake::apistore {

namespace {

void describe(const ErrorSubject& subject, kube::StatusDetails& details) {
  details.name = subject.name;
  details.group = subject.group;
  details.kind = subject.plural;
}

}  // namespace

Error not_found(const ErrorSubject& subject, kube::StatusDetails& details) {
  describe(subject, details);
  return error(Code::kNotFound, "{} \"{}\" not found", subject.resource(), subject.name).with_reason("NotFound");
}

Error already_exists(const ErrorSubject& subject, kube::StatusDetails& details, bool deleting) {
  describe(subject, details);
  return error(Code::kExists, "{}{} \"{}\" already exists", deleting ? "object is being deleted: " : "",
               subject.resource(), subject.name)
      .with_reason("AlreadyExists");
}

Error conflict(const ErrorSubject& subject, kube::StatusDetails& details, std::string_view why) {
  describe(subject, details);
  return error(Code::kConflict, "Operation cannot be fulfilled on {} \"{}\": {}", subject.resource(), subject.name, why)
      .with_reason("Conflict");
}

Error modified_meanwhile(const ErrorSubject& subject, kube::StatusDetails& details) {
  return conflict(subject, details,
                  "the object has been modified; please apply your changes to the latest version and try again");
}

Error forbidden_object(const ErrorSubject& subject, kube::StatusDetails& details, std::string_view why) {
  describe(subject, details);
  return error(Code::kDenied, "{} \"{}\" is forbidden: {}", subject.resource(), subject.name, why)
      .with_reason("Forbidden");
}

Error too_large(const ErrorSubject& subject, kube::StatusDetails& details, std::size_t size_bytes,
                std::size_t limit_bytes) {
  describe(subject, details);
  return error(Code::kExhausted, "{} \"{}\" is too large: {} bytes, the limit is {}", subject.resource(), subject.name,
               size_bytes, limit_bytes)
      .with_reason("RequestEntityTooLarge");
}

}  // namespace strake::apistore
