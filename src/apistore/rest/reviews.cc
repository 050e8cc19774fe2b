#include "apistore/rest/reviews.h"

#include <algorithm>
#include <array>

#include "apistore/service/service_errors.h"

namespace strake::apistore::rest {

namespace {

constexpr std::array kReviews = {
    ReviewKind{"authentication.k8s.io", "v1", "selfsubjectreviews", "selfsubjectreview", "SelfSubjectReview"},
    ReviewKind{"authorization.k8s.io", "v1", "selfsubjectaccessreviews", "selfsubjectaccessreview",
               "SelfSubjectAccessReview"},
    ReviewKind{"authorization.k8s.io", "v1", "selfsubjectrulesreviews", "selfsubjectrulesreview",
               "SelfSubjectRulesReview"},
};

/// What everybody who is somebody may read beside resources (router.h).
constexpr std::array<std::string_view, 7> kOpenPaths = {"/api",     "/apis",   "/healthz", "/livez",
                                                        "/openapi", "/readyz", "/version"};

std::string text_of(const json::Value& object, std::initializer_list<std::string_view> path) {
  return json::find_string(object, path).value_or("");
}

json::Array strings(const auto& texts) {
  json::Array array;
  for (const auto& text : texts) array.emplace_back(json::Value(std::string_view(text)));
  return array;
}

bool may_read_path(const Caller& caller, std::string_view path, std::string_view verb) {
  if (caller.is_admin()) return true;
  if (verb != "get") return false;
  return std::any_of(kOpenPaths.begin(), kOpenPaths.end(), [&](std::string_view open) {
    return path == open || (path.starts_with(open) && path[open.size()] == '/');
  });
}

bool may_access(const Asking& asking, const json::Value& attributes) {
  const Access access{text_of(attributes, {"verb"}),      text_of(attributes, {"group"}),
                      text_of(attributes, {"resource"}),  text_of(attributes, {"subresource"}),
                      text_of(attributes, {"namespace"}), text_of(attributes, {"name"})};
  return authorize(asking.caller, access, Evidence{nullptr, nullptr, asking.named_configs}).ok();
}

json::Object rule_object(const Grant& grant) {
  json::Object made{{"verbs", strings(grant.verbs)},
                    {"apiGroups", json::Array{grant.group}},
                    {"resources", json::Array{grant.resource}}};
  if (grant.names) made["resourceNames"] = strings(*grant.names);
  return made;
}

json::Object rules_of(const Asking& asking) {
  json::Array resources;
  json::Array paths;
  if (asking.caller.is_admin()) {
    resources.push_back(rule_object({{"*"}, "*", "*"}));
    paths.push_back(json::Object{{"verbs", json::Array{"*"}}, {"nonResourceURLs", json::Array{"*"}}});
  } else {
    for (const Grant& grant : grants_of(asking.caller, asking.named_configs)) resources.push_back(rule_object(grant));
    for (const ReviewKind& review : kReviews) {
      resources.push_back(rule_object({{"create"}, review.group, review.plural}));
    }
    std::vector<std::string> open;
    for (const std::string_view path : kOpenPaths) {
      open.emplace_back(path);
      open.push_back(fmt::format("{}/*", path));
    }
    paths.push_back(json::Object{{"verbs", json::Array{"get"}}, {"nonResourceURLs", strings(open)}});
  }
  return {{"resourceRules", std::move(resources)}, {"nonResourceRules", std::move(paths)}, {"incomplete", false}};
}

}  // namespace

std::span<const ReviewKind> review_kinds() { return kReviews; }

const ReviewKind* find_review(const std::vector<std::string>& segments) {
  if (segments.size() != 4 || segments[0] != "apis") return nullptr;
  const auto found = std::find_if(kReviews.begin(), kReviews.end(), [&](const ReviewKind& review) {
    return review.group == segments[1] && review.version == segments[2] && review.plural == segments[3];
  });
  return found == kReviews.end() ? nullptr : &*found;
}

Result<json::Value> answer_review(const ReviewKind& review, json::Value body, const Asking& asking,
                                  kube::StatusDetails& details) {
  if (!body.is_object()) return bad_request("the body is {}, not an object", json::type_name(body));
  const std::string api_version = fmt::format("{}/{}", review.group, review.version);
  const std::string given_kind = json::find_string(body, {"kind"}).value_or(std::string(review.kind));
  const std::string given_version = json::find_string(body, {"apiVersion"}).value_or(api_version);
  if (given_kind != review.kind || given_version != api_version) {
    return bad_request("the body must be a {} of {}, not a {} of {}", review.kind, api_version, given_kind,
                       given_version);
  }
  json::Object status;
  if (review.kind == "SelfSubjectReview") {
    status["userInfo"] = json::Object{{"username", asking.caller.user}, {"groups", strings(asking.caller.groups)}};
  } else if (review.kind == "SelfSubjectRulesReview") {
    status = rules_of(asking);
  } else {
    const json::Value* resource = json::find(body, {"spec", "resourceAttributes"});
    const json::Value* path = json::find(body, {"spec", "nonResourceAttributes"});
    const bool about_resource = resource != nullptr && resource->is_object();
    const bool about_path = path != nullptr && path->is_object();
    if (about_resource == about_path) {
      const FieldProblem problem =
          about_resource ? FieldProblem::invalid("spec.nonResourceAttributes", *path,
                                                 "cannot be specified in combination with resourceAttributes")
                         : FieldProblem::invalid("spec.resourceAttributes", json::Value(nullptr),
                                                 "exactly one of nonResourceAttributes or resourceAttributes must be "
                                                 "specified");
      // Without a kind, as kube-apiserver has it.
      return invalid_object({std::string(review.group), "", "", ""}, {problem}, details);
    }
    status["allowed"] = about_resource
                            ? may_access(asking, *resource)
                            : may_read_path(asking.caller, text_of(*path, {"path"}), text_of(*path, {"verb"}));
  }
  json::Object answer{
      {"kind", review.kind}, {"apiVersion", api_version}, {"metadata", json::Object{{"creationTimestamp", nullptr}}}};
  if (const json::Value* spec = json::find(body, {"spec"}); spec != nullptr) answer["spec"] = *spec;
  answer["status"] = std::move(status);
  return json::Value(std::move(answer));
}

}  // namespace strake::apistore::rest
