#include "oci/sigstore/sigstore_copy.h"

#include <gtest/gtest.h>

#include "oci/sigstore/sigstore_check.h"
#include "oci/testing/sample_image.h"
#include "oci/testing/signer.h"
#include "support/temp_dir.h"

namespace strake::oci::sigstore_copy_test {

using testing::FakeRegistry;

constexpr const char* kRepository = "os/rhcos";
constexpr const char* kName = "quay.io/os/rhcos:v1";

/// A signed image that is carried from a registry through a folder into another registry.
class SigstoreCopy : public ::testing::Test {
 protected:
  struct Place {
    /// `folder` takes its certificate.
    Place(testing::FakeRegistryOptions options, const std::filesystem::path& folder, runtime::Runtime& runtime)
        : registry(std::move(options)), registries(registry.client_options(folder), MirrorRules{}, runtime) {}
    Reference reference() const { return *parse_reference(fmt::format("{}/{}:v1", registry.host(), kRepository)); }
    FakeRegistry registry;
    Registries registries;
  };

  std::filesystem::path folder(const char* name) const {
    std::filesystem::create_directory(dir_ / name);
    return dir_ / name;
  }
  testing::SignatureImage signature(const testing::Signer& signer) const {
    const std::string payload = testing::sigstore_statement(kImage.digest, kName);
    return testing::signature_image({{payload, signer.sign(payload)}}, kImage);
  }
  Status check(const ImageSource& source) const {
    std::vector<SigstoreKey> keys;
    keys.push_back(signer_.key());
    const auto proof = check_sigstore(source, kImage.digest, kName, keys, {}, {});
    return proof.ok() ? Status() : Status(proof.error());
  }
  Result<bool> copy(const ImageSource& from, ImageTarget& to) {
    return copy_sigstore_signatures(from, kImage.digest, to, runtime_, {});
  }

  const std::string kManifest =
      R"({"schemaVersion":2,"config":{"mediaType":"a/b","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2},"layers":[]})";
  const Descriptor kImage{std::string(media_type::kOciManifest), codec::Digest::sha256_of(kManifest), kManifest.size()};
  test::TempDir dir_;
  runtime::ThreadRuntime runtime_;
  testing::Signer signer_;
};

TEST_F(SigstoreCopy, ReferrersComeAlongThroughAFolderIntoRegistriesWithAndWithoutTheInterface) {
  Place origin({.referrers = true}, folder("origin"), runtime_);
  testing::push_signature_image(origin.registry, kRepository, signature(signer_));
  // Something else that refers to the image is not ours to carry.
  const testing::SignatureImage other = signature(testing::Signer());
  std::string bill = other.manifest;
  bill.replace(bill.find(kSigstoreArtifactType), kSigstoreArtifactType.size(), "application/spdx+json");
  origin.registry.put_manifest(kRepository, codec::Digest::sha256_of(bill).to_string(),
                               std::string(media_type::kOciManifest), bill);
  const auto from = RegistrySource::open(origin.reference(), origin.registries);
  ASSERT_TRUE(from.ok());
  const auto carrier = LayoutTarget::open(dir_ / "layout", runtime_);
  ASSERT_TRUE(carrier.ok());
  const auto copied = copy(**from, **carrier);
  ASSERT_TRUE(copied.ok()) << copied.error().to_string();
  EXPECT_TRUE(*copied);
  ASSERT_TRUE(copy(**from, **carrier).ok()) << "and again";
  const auto layout = Layout::open(dir_ / "layout");
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->find_referrers(kImage.digest)->size(), 1u);
  const Status carried = check(*layout);
  ASSERT_TRUE(carried.ok()) << carried.error().to_string();

  for (const bool has_interface : {true, false}) {
    Place mirror({.referrers = has_interface}, folder(has_interface ? "new" : "old"), runtime_);
    // Somebody attached something there before.
    const testing::SignatureImage before = signature(testing::Signer());
    testing::push_signature_image(mirror.registry, kRepository, before);
    const std::string tag = referrers_tag(kImage.digest);
    if (!has_interface) {
      mirror.registry.put_manifest(kRepository, tag, std::string(media_type::kOciIndex),
                                   write_index({before.descriptor}));
    }
    const auto target = RegistryTarget::open(mirror.reference(), mirror.registries);
    ASSERT_TRUE(target.ok());
    const auto mirrored = copy(*layout, **target);
    ASSERT_TRUE(mirrored.ok()) << mirrored.error().to_string();
    const auto source = RegistrySource::open(mirror.reference(), mirror.registries);
    ASSERT_TRUE(source.ok());
    const Status found = check(**source);
    EXPECT_TRUE(found.ok()) << found.error().to_string();
    EXPECT_EQ((*source)->find_referrers(kImage.digest)->size(), 2u) << "what was attached before stays";
    EXPECT_EQ(mirror.registry.manifest(kRepository, tag).has_value(), !has_interface);
  }
}

TEST_F(SigstoreCopy, NoneIsNoFailure) {
  Place origin({}, folder("origin"), runtime_);
  const auto from = RegistrySource::open(origin.reference(), origin.registries);
  MeasuringTarget nowhere;
  const auto copied = copy(**from, nowhere);
  ASSERT_TRUE(copied.ok()) << copied.error().to_string();
  EXPECT_FALSE(*copied);
}

TEST_F(SigstoreCopy, WhoCannotBeAskedHasNotSaidThatThereAreNone) {
  Place origin({}, folder("origin"), runtime_);
  std::filesystem::remove_all(dir_ / "origin");  // with the certificate of the registry
  const auto from = RegistrySource::open(origin.reference(), origin.registries);
  MeasuringTarget nowhere;
  const auto copied = copy(**from, nowhere);
  EXPECT_FALSE(copied.ok());
}

}  // namespace strake::oci::sigstore_copy_test
