#include "apistore/rest/reviews.h"

#include <algorithm>
#include <array>
#include <map>

#include "api/kinds.h"
#include "apistore/rest/discovery.h"
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

bool may_access(const Caller& caller, const json::Value& attributes) {
  const Access access{text_of(attributes, {"verb"}),      text_of(attributes, {"group"}),
                      text_of(attributes, {"resource"}),  text_of(attributes, {"subresource"}),
                      text_of(attributes, {"namespace"}), text_of(attributes, {"name"})};
  // "Everything" is for those without exceptions.
  if (!caller.is_admin() && (access.group == "*" || access.plural == "*" || access.verb == "*")) return false;
  return authorize(caller, access).ok();
}

json::Object rule(const std::vector<std::string_view>& verbs, std::string_view group, std::string_view plural,
                  const std::string& name) {
  json::Object made{{"verbs", strings(verbs)}, {"apiGroups", json::Array{group}}, {"resources", json::Array{plural}}};
  if (!name.empty()) made["resourceNames"] = json::Array{name};
  return made;
}

/// Each kind is asked about with every verb: first for all objects, then for the one an agent's rights are about.
json::Object rules_of(const Caller& caller, const Registry& registry, const std::string& ns) {
  json::Array resources;
  json::Array paths;
  if (caller.is_admin()) {
    resources.push_back(rule({"*"}, "*", "*", ""));
    paths.push_back(json::Object{{"verbs", json::Array{"*"}}, {"nonResourceURLs", json::Array{"*"}}});
  } else {
    const std::string own =
        caller.user.starts_with(api::kAgentUserPrefix) ? caller.user.substr(api::kAgentUserPrefix.size()) : "";
    for (const Kind& kind : registry.kinds()) {
      const auto allowed = [&](std::string_view verb, const std::string& name) {
        return authorize(caller, {std::string(verb), kind.group, kind.plural, "", kind.namespaced ? ns : "", name})
            .ok();
      };
      std::vector<std::string_view> all, one;
      for (const std::string_view verb : verbs_of(kind)) {
        if (allowed(verb, "")) {
          all.push_back(verb);
        } else if (!own.empty() && allowed(verb, own)) {
          one.push_back(verb);
        }
      }
      if (!all.empty()) resources.push_back(rule(all, kind.group, kind.plural, ""));
      if (!one.empty()) resources.push_back(rule(one, kind.group, kind.plural, own));
    }
    std::vector<std::string> open;
    for (const std::string_view path : kOpenPaths) {
      open.emplace_back(path);
      open.push_back(fmt::format("{}/*", path));
    }
    paths.push_back(json::Object{{"verbs", json::Array{"get"}}, {"nonResourceURLs", strings(open)}});
  }
  for (const ReviewKind& review : kReviews) {
    if (!caller.is_admin()) resources.push_back(rule({"create"}, review.group, review.plural, ""));
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

Result<json::Value> answer_review(const ReviewKind& review, json::Value body, const Registry& registry,
                                  const Caller& caller, kube::StatusDetails& details) {
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
    status["userInfo"] = json::Object{{"username", caller.user}, {"groups", strings(caller.groups)}};
  } else if (review.kind == "SelfSubjectRulesReview") {
    status = rules_of(caller, registry, text_of(body, {"spec", "namespace"}));
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
    status["allowed"] = about_resource ? may_access(caller, *resource)
                                       : may_read_path(caller, text_of(*path, {"path"}), text_of(*path, {"verb"}));
  }
  json::Object answer{
      {"kind", review.kind}, {"apiVersion", api_version}, {"metadata", json::Object{{"creationTimestamp", nullptr}}}};
  if (const json::Value* spec = json::find(body, {"spec"}); spec != nullptr) answer["spec"] = *spec;
  answer["status"] = std::move(status);
  return json::Value(std::move(answer));
}

}  // namespace strake::apistore::rest
