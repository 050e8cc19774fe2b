#include "machineconfig/generate/image_policy.h"

#include <gtest/gtest.h>

#include "api/kinds.h"
#include "codec/base64.h"
#include "codec/yaml.h"
#include "machineconfig/generate/registries.h"
#include "machineconfig/testing/builders.h"

namespace strake::machineconfig::image_policy_test {

using builders::from_text;
using builders::shared;

std::string pem(std::string_view body) {
  return codec::encode_base64(fmt::format("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", body));
}

/// A policy with the key `key`; `ns` "" makes it the cluster's.
kube::ObjectPtr policy(const std::string& name, const std::vector<std::string>& scopes, std::string_view key,
                       const std::string& ns = "", const std::string& identity = "") {
  kube::Object object(ns.empty() ? api::kClusterImagePolicy : api::kImagePolicy, {ns, name});
  json::Array list;
  for (const std::string& scope : scopes) list.emplace_back(scope);
  json::ensure(object.json(), {"spec", "scopes"}) = std::move(list);
  json::ensure(object.json(), {"spec", "policy", "rootOfTrust"}) =
      json::Object{{"policyType", "PublicKey"}, {"publicKey", json::Object{{"keyData", pem(key)}}}};
  if (!identity.empty()) json::ensure(object.json(), {"spec", "policy", "signedIdentity"}) = from_text(identity);
  return shared(std::move(object));
}

kube::ObjectPtr object_of(const kube::Resource& resource, const std::string& name, const std::string& spec) {
  kube::Object object(resource, {"", name});
  json::ensure(object.json(), {"spec"}) = from_text(spec);
  return shared(std::move(object));
}

/// The files by path, or the refusal under "".
std::map<std::string, std::string> files_of(std::vector<kube::ObjectPtr> objects, std::string base_policy = "") {
  RegistriesInput input;
  input.policies = std::move(objects);
  input.base_policy = std::move(base_policy);
  const auto files = generate_registries(input);
  if (!files.ok()) return {{"", files.error().to_string()}};
  std::map<std::string, std::string> by_path;
  for (const GeneratedFile& file : *files) by_path[file.path] = file.contents;
  return by_path;
}

/// Keys asked for by scope of the docker transport: "a.example=k1+k2 b.example=reject".
std::string asked(const std::string& text) {
  const auto policy = json::parse(text);
  STRAKE_INVARIANT(policy.ok());
  std::string said;
  for (const auto& member : json::find(*policy, {"transports", "docker"})->get_object()) {
    std::string rules;
    for (const json::Value& rule : member.value().get_array()) {
      std::string one = json::find_string(rule, {"type"}).value_or("?");
      if (const auto key = json::find_string(rule, {"keyData"})) {
        const std::string plain = codec::decode_base64(*key).value_or("");
        one = plain.substr(27, plain.find('\n', 27) - 27);
      }
      rules += (rules.empty() ? "" : "+") + one;
    }
    said += fmt::format("{}{}={}", said.empty() ? "" : " ", std::string_view(member.key()), rules);
  }
  return said;
}

constexpr const char* kClusterFile = "/etc/containers/policy.json";
constexpr const char* kSigstoreFile = "/etc/containers/registries.d/sigstore-registries.yaml";

TEST(ImagePolicy, TheFilesAreWrittenAsThePlatformWritesThem) {
  const auto files = files_of({policy("one", {"a.example/team", "*.lab.example"}, "k1")});
  ASSERT_EQ(files.size(), 2u) << files.begin()->second;
  const auto written = json::parse(files.at(kClusterFile));
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(json::write(*json::find(*written, {"default"})), R"([{"type":"insecureAcceptAnything"}])")
      << "who asks for signatures of some images does not refuse the others";
  EXPECT_EQ(json::write(*json::find(*written, {"transports", "docker", "a.example/team"})),
            fmt::format(
                R"([{{"type":"sigstoreSigned","keyData":"{}","signedIdentity":{{"type":"matchRepoDigestOrExact"}}}}])",
                pem("k1")));
  EXPECT_NE(json::find(*written, {"transports", "atomic", "*.lab.example"}), nullptr);
  EXPECT_NE(json::find(*written, {"transports", "docker-daemon", ""}), nullptr) << "the base's own stays";
  const auto places = yaml::parse(files.at(kSigstoreFile));
  ASSERT_TRUE(places.ok());
  EXPECT_EQ(
      json::write(*places),
      R"({"docker":{"*.lab.example":{"use-sigstore-attachments":true},"a.example/team":{"use-sigstore-attachments":true}}})");
}

TEST(ImagePolicy, PoliciesAboutOneScopeAllHaveToBeMet) {
  const auto said = [](std::vector<kube::ObjectPtr> objects) {
    return asked(files_of(std::move(objects)).at(kClusterFile));
  };
  const auto first = policy("a", {"a.example", "b.example"}, "k1");
  const auto second = policy("b", {"a.example"}, "k2");
  EXPECT_EQ(said({first, second}), "a.example=k1+k2 b.example=k1");
  EXPECT_EQ(said({second, first}), "a.example=k1+k2 b.example=k1") << "in whatever order they come";
}

TEST(ImagePolicy, ANamespaceInheritsTheClustersAndCannotChangeThem) {
  const auto files = files_of({policy("c", {"a.example/team"}, "k1"), policy("n", {"b.example"}, "k2", "shop"),
                               policy("same", {"a.example/team"}, "k3", "shop"),
                               policy("nested", {"a.example/team/app", "a.example/team:v1"}, "k3", "shop"),
                               policy("hidden", {"a.example/team"}, "k4", "bank")});
  EXPECT_EQ(asked(files.at(kClusterFile)), "a.example/team=k1");
  EXPECT_EQ(asked(files.at("/etc/crio/policies/shop.json")), "a.example/team=k1 b.example=k2");
  EXPECT_FALSE(files.contains("/etc/crio/policies/bank.json")) << "nothing of its own is left";
  EXPECT_NE(files.at(kSigstoreFile).find("b.example"), std::string::npos);
}

TEST(ImagePolicy, ANamespaceAloneLeavesTheClustersFileAlone) {
  const auto files = files_of({policy("n", {"b.example"}, "k2", "shop")});
  EXPECT_FALSE(files.contains(kClusterFile));
  EXPECT_EQ(asked(files.at("/etc/crio/policies/shop.json")), "b.example=k2");
}

TEST(ImagePolicy, SignaturesAreLookedForInTheMirrorsToo) {
  const auto mirrors = object_of(
      api::kImageDigestMirrorSet, "m",
      R"({"imageDigestMirrors":[{"source":"a.example","mirrors":["m.example/a"]},{"source":"b.example/x/y","mirrors":["m.example/b"]}]})");
  const auto files = files_of({mirrors, policy("p", {"a.example/team", "b.example/x"}, "k")});
  const auto places = yaml::parse(files.at(kSigstoreFile));
  ASSERT_TRUE(places.ok());
  std::string names;
  for (const auto& member : json::find(*places, {"docker"})->get_object()) names += std::string(member.key()) + " ";
  EXPECT_EQ(names, "a.example/team b.example/x m.example/a/team m.example/b ");
}

TEST(ImagePolicy, BesideTheImageConfigsLists) {
  const auto blocks =
      object_of(api::kImageConfig, "cluster", R"({"registrySources":{"blockedRegistries":["bad.example"]}})");
  const auto allows =
      object_of(api::kImageConfig, "cluster", R"({"registrySources":{"allowedRegistries":["a.example"]}})");
  EXPECT_EQ(asked(files_of({blocks, policy("p", {"a.example"}, "k")}).at(kClusterFile)),
            "a.example=k bad.example=reject");
  EXPECT_EQ(asked(files_of({allows, policy("p", {"a.example/team"}, "k")}).at(kClusterFile)),
            "a.example=insecureAcceptAnything a.example/team=k");
  EXPECT_NE(files_of({blocks, policy("p", {"bad.example/x"}, "k")})[""].find(
                "ClusterImagePolicy p: spec.scopes: 'bad.example/x' is blocked by Image cluster"),
            std::string::npos);
  EXPECT_NE(files_of({allows, policy("p", {"b.example"}, "k", "shop")})[""].find(
                "ImagePolicy shop/p: spec.scopes: 'b.example' is not allowed by Image cluster"),
            std::string::npos);
}

TEST(ImagePolicy, ABasePolicyIsAddedTo) {
  const std::string base =
      R"({"default":[{"type":"reject"}],"transports":{"docker":{"vendor.example":[{"type":"insecureAcceptAnything"}]}}})";
  const auto files = files_of({policy("p", {"a.example"}, "k")}, base);
  EXPECT_EQ(asked(files.at(kClusterFile)), "vendor.example=insecureAcceptAnything a.example=k");
  EXPECT_NE(files.at(kClusterFile).find("reject"), std::string::npos);
}

TEST(ImagePolicy, EveryRootOfTrustAndIdentity) {
  struct Case {
    const char* name;
    std::string spec;  ///< of spec.policy
    std::string requirement;
  };
  const std::string key = pem("k");
  const Case cases[] = {
      {"a log",
       fmt::format(
           R"({{"rootOfTrust":{{"policyType":"PublicKey","publicKey":{{"keyData":"{0}","rekorKeyData":"{0}"}}}}}})",
           key),
       fmt::format(
           R"({{"type":"sigstoreSigned","keyData":"{0}","rekorPublicKeyData":"{0}","signedIdentity":{{"type":"matchRepoDigestOrExact"}}}})",
           key)},
      {"fulcio",
       fmt::format(
           R"({{"rootOfTrust":{{"policyType":"FulcioCAWithRekor","fulcioCAWithRekor":{{"fulcioCAData":"{0}","rekorKeyData":"{0}","fulcioSubject":{{"oidcIssuer":"https://i","signedEmail":"a@b"}}}}}},"signedIdentity":{{"matchPolicy":"MatchRepository"}}}})",
           key),
       fmt::format(
           R"({{"type":"sigstoreSigned","fulcio":{{"caData":"{0}","oidcIssuer":"https://i","subjectEmail":"a@b"}},"rekorPublicKeyData":"{0}","signedIdentity":{{"type":"matchRepository"}}}})",
           key)},
      {"pki",
       fmt::format(
           R"({{"rootOfTrust":{{"policyType":"PKI","pki":{{"caRootsData":"{0}","pkiCertificateSubject":{{"hostname":"h"}}}}}},"signedIdentity":{{"matchPolicy":"ExactRepository","exactRepository":{{"repository":"r.example/x"}}}}}})",
           key),
       fmt::format(
           R"({{"type":"sigstoreSigned","pki":{{"caRootsData":"{0}","subjectHostname":"h"}},"signedIdentity":{{"type":"exactRepository","dockerRepository":"r.example/x"}}}})",
           key)},
      {"another name",
       fmt::format(
           R"({{"rootOfTrust":{{"policyType":"PublicKey","publicKey":{{"keyData":"{0}"}}}},"signedIdentity":{{"matchPolicy":"RemapIdentity","remapIdentity":{{"prefix":"m","signedPrefix":"s"}}}}}})",
           key),
       fmt::format(
           R"({{"type":"sigstoreSigned","keyData":"{0}","signedIdentity":{{"type":"remapIdentity","prefix":"m","signedPrefix":"s"}}}})",
           key)},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    const auto read = read_image_policies(
        {object_of(api::kClusterImagePolicy, "p", fmt::format(R"({{"scopes":["a.example"],"policy":{}}})", each.spec))},
        {}, {});
    ASSERT_TRUE(read.ok()) << read.error().to_string();
    EXPECT_EQ(json::write(read->cluster.at("a.example").at(0)), each.requirement);
  }
}

TEST(ImagePolicy, MistakesNameTheFieldAndQuoteNoKey) {
  struct Case {
    const char* spec;
    const char* refusal;
  };
  const Case cases[] = {
      {R"({"scopes":["a.example"]})", "spec.policy.rootOfTrust.policyType: '' is not PublicKey"},
      {R"({"scopes":["a"],"policy":{"rootOfTrust":{"policyType":"PublicKey"}}})",
       "spec.policy.rootOfTrust.publicKey.keyData: missing"},
      {R"({"scopes":["a"],"policy":{"rootOfTrust":{"policyType":"PublicKey","publicKey":{"keyData":"U0VDUkVU"}}}})",
       "spec.policy.rootOfTrust.publicKey.keyData: is not base64 of PEM"},
      {R"({"scopes":["a b"],"policy":{"rootOfTrust":{"policyType":"PublicKey","publicKey":{"keyData":"KEY"}}}})",
       "spec.scopes: 'a b' is not a registry"},
      {R"({"scopes":["a.*.example"],"policy":{"rootOfTrust":{"policyType":"PublicKey","publicKey":{"keyData":"KEY"}}}})",
       "spec.scopes: 'a.*.example' is not a registry"},
      {R"({"scopes":["a"],"policy":{"rootOfTrust":{"policyType":"PublicKey","publicKey":{"keyData":"KEY"}},"signedIdentity":{"matchPolicy":"Any"}}})",
       "spec.policy.signedIdentity.matchPolicy: 'Any' is not"},
  };
  for (const Case& each : cases) {
    std::string spec = each.spec;
    if (const std::size_t at = spec.find("\"KEY\""); at != std::string::npos) spec.replace(at + 1, 3, pem("k"));
    const auto read = read_image_policies({object_of(api::kClusterImagePolicy, "p", spec)}, {}, {});
    ASSERT_FALSE(read.ok()) << each.refusal;
    EXPECT_NE(read.error().to_string().find(std::string("ClusterImagePolicy p: ") + each.refusal), std::string::npos)
        << read.error().to_string();
    EXPECT_EQ(read.error().to_string().find("SECRET"), std::string::npos);
    EXPECT_EQ(read.error().to_string().find("U0VDUkVU"), std::string::npos);
  }
}

TEST(ImagePolicy, ANamespaceThatIsNoneIsNoFileName) {
  for (const auto& [ns, refusal] :
       {std::pair{"../../etc/passwd", "metadata.namespace: '../../etc/passwd' is no namespace"},
        {"a/b", "metadata.namespace: 'a/b' is no namespace"}}) {
    const auto read = read_image_policies({policy("p", {"a.example"}, "k", ns)}, {}, {});
    ASSERT_FALSE(read.ok()) << ns;
    EXPECT_NE(read.error().to_string().find(refusal), std::string::npos) << read.error().to_string();
  }
  kube::Object nowhere = *policy("p", {"a.example"}, "k", "shop");
  json::ensure(nowhere.json(), {"metadata"}).get_object().erase("namespace");
  EXPECT_NE(read_image_policies({shared(std::move(nowhere))}, {}, {})
                .error()
                .to_string()
                .find("ImagePolicy p: metadata.namespace: missing"),
            std::string::npos);
}

TEST(ImagePolicy, TooManyScopesAreRefused) {
  std::vector<std::string> scopes;
  for (std::size_t i = 0; i <= kMaxPolicyScopes; ++i) scopes.push_back(fmt::format("r{}.example", i));
  EXPECT_FALSE(read_image_policies({policy("p", scopes, "k")}, {}, {}).ok());
  scopes.pop_back();
  EXPECT_TRUE(read_image_policies({policy("p", scopes, "k")}, {}, {}).ok());
}

}  // namespace strake::machineconfig::image_policy_test
