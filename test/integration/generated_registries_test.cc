// registries.conf and policy.json that Strake makes of mirror sets, image policies and the Image config, as the
// programs on a node read them: skopeo pulls from a real registry through a mirror, and is refused what is forbidden;
// the library of CRI-O and podman finds the signatures policies ask for; our own reader agrees.
#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/text.h"
#include "codec/base64.h"
#include "codec/yaml.h"
#include "machineconfig/generate/registries.h"
#include "machineconfig/impact/registries_change.h"
#include "oci/mirrors.h"
#include "oci/testing/sample_image.h"
#include "oci/testing/signer.h"
#include "support/registry_server.h"
#include "support/servers.h"

namespace strake::test::generated_registries_test {

class GeneratedRegistries : public testing::Test {
 protected:
  void SetUp() override {
    static const Result<std::unique_ptr<RegistryServer>> server = RegistryServer::start(RegistryLogin::kPassword);
    ASSERT_TRUE(server.ok()) << server.error().to_string();
    registry_ = server->get();
    const oci::Descriptor image = oci::testing::write_image(
        dir_ / "layout", "app", {oci::testing::make_layer({oci::testing::tar_file("a", "content")})});
    digest_ = image.digest.to_string();
    for (const char* repository : {"copies/app", "bad/app"}) {
      const auto pushed = registry_->run_client({"skopeo", "--insecure-policy", "copy", "--quiet", "--preserve-digests",
                                                 "--dest-cert-dir=" + registry_->certificate_folder().string(),
                                                 "oci:" + (dir_ / "layout").string() + ":app",
                                                 "docker://" + host() + "/" + repository + ":v1"});
      ASSERT_TRUE(pushed.ok()) << pushed.error().to_string();
    }
    ASSERT_TRUE(write_file_atomic(dir_ / "none.conf", "", 0644).ok());
  }

  std::string host() const { return registry_->host(); }

  /// Objects as YAML documents in which HOST stands for the registry; their files are written to the folder.
  void generate(std::string text) {
    for (std::size_t at = 0; (at = text.find("HOST", at)) != std::string::npos;) text.replace(at, 4, host());
    const auto documents = yaml::parse_stream(text);
    ASSERT_TRUE(documents.ok()) << documents.error().to_string();
    machineconfig::RegistriesInput input;
    objects_.clear();
    for (const yaml::Document& document : *documents) {
      input.policies.push_back(std::make_shared<const kube::Object>(document.value));
      objects_.push_back(document.value);
    }
    const auto files = machineconfig::generate_registries(input);
    ASSERT_TRUE(files.ok()) << files.error().to_string();
    for (const machineconfig::GeneratedFile& file : *files) {
      const std::string name = std::filesystem::path(file.path).filename().string();
      ASSERT_TRUE(write_file_atomic(dir_ / name, file.contents, 0644).ok());
    }
  }
  std::string generated(const char* name) const { return read_file(dir_ / name, 1 << 20).value_or(""); }

  /// "" when skopeo pulled the image, else what it said.
  std::string pull(const std::string& image, const std::string& conf, bool with_policy = false) {
    std::vector<std::string> argv{"skopeo", "--registries-conf", (dir_ / conf).string()};
    if (with_policy) {
      argv.insert(argv.end(), {"--policy", (dir_ / "policy.json").string()});
    } else {
      argv.push_back("--insecure-policy");
    }
    argv.insert(argv.end(), {"--registries.d", places_of_signatures()});
    argv.insert(argv.end(), {"copy", "--quiet", "--src-cert-dir=" + registry_->certificate_folder().string(),
                             "docker://" + image, "dir:" + (dir_ / fmt::format("copy-{}", ++copies_)).string()});
    const auto pulled = registry_->run_client(std::move(argv));
    return pulled.ok() ? "" : pulled.error().to_string();
  }

  /// "ok" when the runtime's own library lets the image run, else why not.
  std::string judged(const std::string& image, const std::string& policy = "policy.json") {
    const auto tools = judge_programs();
    if (!tools.ok()) return tools.error().to_string();
    const auto said = registry_->run_client({(*tools / "judge-policy").string(), "--policy", (dir_ / policy).string(),
                                             "--registries-conf", (dir_ / "registries.conf").string(), "--registries.d",
                                             places_of_signatures(), image});
    return said.ok() ? std::string(trimmed(*said)) : said.error().to_string();
  }

  /// Puts a signature beside the image of a repository, one statement for each name.
  void sign(const std::string& repository, const oci::testing::Signer& signer, const std::vector<std::string>& names) {
    const auto digest = codec::Digest::parse(digest_);
    ASSERT_TRUE(digest.ok());
    std::vector<oci::testing::SignedStatement> statements;
    for (const std::string& name : names) {
      const std::string payload = oci::testing::sigstore_statement(*digest, name);
      statements.push_back({payload, signer.sign(payload)});
    }
    const auto signature = oci::testing::signature_image(statements);
    auto writer = oci::LayoutWriter::extend(dir_ / "layout");
    ASSERT_TRUE(writer.ok());
    for (const std::string& blob : signature.blobs) ASSERT_TRUE(writer->add_blob("a/b", blob).ok());
    ASSERT_TRUE(writer->add_blob(oci::media_type::kOciManifest, signature.manifest).ok());
    writer->tag(signature.descriptor, "signature");
    ASSERT_TRUE(writer->finish().ok());
    const auto pushed =
        registry_->run_client({"skopeo", "--insecure-policy", "copy", "--quiet", "--preserve-digests",
                               "--dest-cert-dir=" + registry_->certificate_folder().string(),
                               "oci:" + (dir_ / "layout").string() + ":signature",
                               "docker://" + host() + "/" + repository + ":" + oci::sigstore_tag(*digest)});
    ASSERT_TRUE(pushed.ok()) << pushed.error().to_string();
  }

  /// registries.d with the file that was generated, where it was.
  std::string places_of_signatures() const {
    const std::filesystem::path folder = dir_ / "registries.d", file = dir_ / "sigstore-registries.yaml";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    if (std::filesystem::exists(file)) std::filesystem::copy(file, folder / file.filename());
    return folder.string();
  }

  RegistryServer* registry_ = nullptr;
  TempDir dir_;
  std::string digest_;
  std::vector<json::Value> objects_;
  int copies_ = 0;
};

constexpr const char* kMirrors = R"(
apiVersion: config.openshift.io/v1
kind: ImageDigestMirrorSet
metadata: {name: digests}
spec: {imageDigestMirrors: [{source: by-digest.invalid/team, mirrors: [HOST/nowhere, HOST/copies]}]}
---
apiVersion: config.openshift.io/v1
kind: ImageTagMirrorSet
metadata: {name: tags}
spec: {imageTagMirrors: [{source: by-tag.invalid, mirrors: [HOST/copies], mirrorSourcePolicy: NeverContactSource}]}
---
apiVersion: operator.openshift.io/v1alpha1
kind: ImageContentSourcePolicy
metadata: {name: old}
spec: {repositoryDigestMirrors: [{source: old.invalid/app, mirrors: [HOST/copies/app]}]}
)";

TEST_F(GeneratedRegistries, SkopeoPullsThroughTheMirrors) {
  generate(kMirrors);
  const auto pull_it = [&](const std::string& image) { return pull(image, "registries.conf"); };
  EXPECT_EQ(pull_it("by-digest.invalid/team/app@" + digest_), "");
  EXPECT_EQ(pull_it("old.invalid/app@" + digest_), "");
  EXPECT_EQ(pull_it("by-tag.invalid/app:v1"), "");
  EXPECT_NE(pull_it("by-tag.invalid/app@" + digest_).find("blocked"), std::string::npos)
      << "its mirror serves tags, and it may not be asked itself";
  EXPECT_NE(pull_it("by-digest.invalid/team/app:v1"), "") << "its mirrors serve digests";
  EXPECT_NE(pull("by-digest.invalid/team/app@" + digest_, "none.conf"), "") << "it was not the mirror";
}

TEST_F(GeneratedRegistries, OurOwnReaderFindsTheSamePlacesAsInTheMirrorSets) {
  generate(kMirrors);
  const auto from_file = oci::parse_registries_conf(generated("registries.conf"));
  ASSERT_TRUE(from_file.ok()) << from_file.error().to_string();
  const auto from_sets = oci::rules_from_mirror_sets(objects_);
  ASSERT_TRUE(from_sets.ok()) << from_sets.error().to_string();
  int found = 0;
  for (const std::string& image :
       {"by-digest.invalid/team/app@" + digest_, std::string("by-tag.invalid/app:v1"), "old.invalid/app@" + digest_,
        "by-tag.invalid/app@" + digest_, std::string("by-digest.invalid/other:v1")}) {
    const auto reference = oci::parse_reference(image);
    ASSERT_TRUE(reference.ok()) << image;
    const auto ours = oci::places_to_try(*from_file, *reference);
    const auto theirs = oci::places_to_try(*from_sets, *reference);
    ASSERT_EQ(ours.ok(), theirs.ok()) << image;
    if (!ours.ok()) continue;
    EXPECT_EQ(*ours, *theirs) << image;
    found += static_cast<int>(ours->size());
  }
  EXPECT_EQ(found, 3 + 1 + 2 + 1) << "mirrors and, where it may be asked, the source";
}

TEST_F(GeneratedRegistries, SkopeoIsRefusedWhatIsBlocked) {
  generate(R"(
apiVersion: config.openshift.io/v1
kind: Image
metadata: {name: cluster}
spec: {registrySources: {blockedRegistries: [HOST/bad]}}
)");
  const std::string good = host() + "/copies/app:v1";
  const std::string bad = host() + "/bad/app:v1";
  EXPECT_EQ(pull(good, "registries.conf", true), "");
  EXPECT_NE(pull(bad, "registries.conf").find("blocked"), std::string::npos) << "by registries.conf alone";
  EXPECT_NE(pull(bad, "none.conf", true).find("rejected by policy"), std::string::npos) << "by policy.json alone";
  EXPECT_EQ(pull(bad, "none.conf"), "") << "it was neither";
}

TEST_F(GeneratedRegistries, SkopeoIsRefusedWhatIsNotAllowed) {
  generate(R"(
apiVersion: config.openshift.io/v1
kind: Image
metadata: {name: cluster}
spec: {registrySources: {allowedRegistries: [HOST/copies]}}
)");
  EXPECT_EQ(pull(host() + "/copies/app:v1", "none.conf", true), "");
  EXPECT_NE(pull(host() + "/bad/app:v1", "none.conf", true).find("rejected by policy"), std::string::npos);
}

/// The distribution's skopeo reads such a policy and then will not check a signature (sigstore is switched off in it);
/// the library of CRI-O and podman does.
TEST_F(GeneratedRegistries, TheSignaturesAPolicyAsksForAreWanted) {
  const oci::testing::Signer signer, stranger;
  sign("copies/app", signer, {host() + "/copies/app:v1", "mirrored.invalid/team/app:v1"});
  const auto policies = [&](const oci::testing::Signer& key) {
    generate(fmt::format(R"(
apiVersion: config.openshift.io/v1
kind: ClusterImagePolicy
metadata: {{name: ours}}
spec:
  scopes: [HOST/copies, HOST/bad, mirrored.invalid/team]
  policy: {{rootOfTrust: {{policyType: PublicKey, publicKey: {{keyData: {0}}}}}}}
---
apiVersion: config.openshift.io/v1
kind: ImageDigestMirrorSet
metadata: {{name: m}}
spec: {{imageDigestMirrors: [{{source: mirrored.invalid/team, mirrors: [HOST/copies]}}]}}
---
apiVersion: config.openshift.io/v1
kind: ImagePolicy
metadata: {{name: theirs, namespace: shop}}
spec:
  scopes: [HOST/only-in-shop]
  policy: {{rootOfTrust: {{policyType: PublicKey, publicKey: {{keyData: {0}}}}}}}
)",
                         codec::encode_base64(key.public_pem())));
  };
  policies(signer);
  EXPECT_EQ(judged(host() + "/copies/app:v1"), "ok");
  EXPECT_EQ(judged("mirrored.invalid/team/app@" + digest_), "ok") << "the signature lies in the mirror";
  EXPECT_NE(judged(host() + "/bad/app:v1").find("signature was required, but no signature exists"), std::string::npos);
  EXPECT_NE(pull(host() + "/bad/app:v1", "none.conf", true).find("no signature exists"), std::string::npos);
  EXPECT_EQ(judged(host() + "/copies/app:v1", "shop.json"), "ok") << "what the cluster demands holds in a namespace";
  EXPECT_NE(judged(host() + "/bad/app:v1", "shop.json").find("no signature exists"), std::string::npos);
  policies(stranger);
  EXPECT_NE(judged(host() + "/copies/app:v1").find("cryptographic signature verification failed"), std::string::npos)
      << judged(host() + "/copies/app:v1");
  policies(signer);
  std::filesystem::remove(dir_ / "sigstore-registries.yaml");
  EXPECT_NE(judged(host() + "/copies/app:v1").find("no signature exists"), std::string::npos)
      << "it was not our file that said where to look";
}

}  // namespace strake::test::generated_registries_test
