// Mirrors as the container tools use them: every way of naming an image, every form of rules, every policy and every
// state of the source, with the requests counted at both ends. What is expected follows from the documented rules
// (containers-registries.conf(5); ImageDigestMirrorSet and ImageTagMirrorSet of OpenShift), not from our code.
#include <fstream>

#include <gtest/gtest.h>

#include "codec/yaml.h"
#include "oci/copy.h"
#include "oci/testing/fake_registry.h"
#include "oci/testing/sample_image.h"
#include "support/temp_dir.h"

namespace strake::oci::mirror_matrix_test {

using testing::FakeRegistry;

enum class By { kDigest, kTag };
enum class Form { kDigestSet, kTagSet, kBothSets, kRegistriesConf };
enum class Policy { kAllowContactingSource, kNeverContactSource };
enum class SourceState { kUp, kDown, kRefusing };
enum class Outcome { kFromMirror, kFromSource, kBlocked, kUnreachable, kRefused };

struct Cell {
  By by;
  Form form;
  Policy policy;
  SourceState source;

  std::string name() const {
    constexpr const char* kBy[] = {"digest", "tag"};
    constexpr const char* kForm[] = {"IDMS", "ITMS", "IDMS and ITMS", "registries.conf"};
    constexpr const char* kPolicy[] = {"allow", "never"};
    constexpr const char* kSource[] = {"up", "down", "refusing"};
    return fmt::format("by {}, {}, {} contact source, source {}", kBy[static_cast<int>(by)],
                       kForm[static_cast<int>(form)], kPolicy[static_cast<int>(policy)],
                       kSource[static_cast<int>(source)]);
  }
};

std::vector<Cell> all_cells() {
  std::vector<Cell> cells;
  for (const By by : {By::kDigest, By::kTag}) {
    for (const Form form : {Form::kDigestSet, Form::kTagSet, Form::kBothSets, Form::kRegistriesConf}) {
      for (const Policy policy : {Policy::kAllowContactingSource, Policy::kNeverContactSource}) {
        for (const SourceState source : {SourceState::kUp, SourceState::kDown, SourceState::kRefusing}) {
          cells.push_back({by, form, policy, source});
        }
      }
    }
  }
  return cells;
}

/// The documented rules, in their order.
Outcome expected(const Cell& cell) {
  // A digest mirror is for references by digest, a tag mirror for those by tag; one of registries.conf that does not
  // say (pull-from-mirror) is for both.
  const bool one_kind_only = cell.form == Form::kDigestSet || cell.form == Form::kTagSet;
  const bool mirrored = !one_kind_only || (cell.form == Form::kDigestSet) == (cell.by == By::kDigest);
  // Mirrors come first, and the one that has the manifest serves the rest of the image.
  if (mirrored) return Outcome::kFromMirror;
  // NeverContactSource is "blocked": then there is nobody to ask.
  if (cell.policy == Policy::kNeverContactSource) return Outcome::kBlocked;
  // The source comes last, and what it says is the answer.
  switch (cell.source) {
    case SourceState::kUp: return Outcome::kFromSource;
    case SourceState::kDown: return Outcome::kUnreachable;
    case SourceState::kRefusing: return Outcome::kRefused;
  }
  return Outcome::kRefused;
}

class MirrorMatrix : public ::testing::Test {
 protected:
  void SetUp() override {
    settings_ = source_.client_options(dir_.path(), false);
    std::ofstream(dir_ / "ca.crt", std::ios::app) << mirror_.ca_pem();
    image_ = testing::write_image(
        dir_ / "layout", "v1",
        {testing::make_layer({testing::tar_file("a", "1")}), testing::make_layer({testing::tar_file("b", "2")})});
    fill(source_, "org/os");
    fill(mirror_, "copies/os");
  }

  void fill(FakeRegistry& registry, const std::string& repository) {
    const auto layout = Layout::open(dir_ / "layout");
    Registries registries(settings_, {}, runtime_);
    const auto target = RegistryTarget::open({registry.host(), repository}, registries);
    const auto copied = copy_image(*layout, "v1", **target, "v1", {}, runtime_, {});
    ASSERT_TRUE(copied.ok()) << copied.error().to_string();
  }

  void set_source(SourceState state) {
    source_.hang_up(state == SourceState::kDown);
    if (state != SourceState::kRefusing) return source_.intercept({});
    source_.intercept([](const net::ServerRequest& request) -> std::optional<net::Response> {
      if (request.target.path == "/v2/") return std::nullopt;
      return net::Response{403, {}, R"({"errors":[{"code":"DENIED","message":"not for you"}]})"};
    });
  }

  std::string mirror_set(const char* kind, const char* list, Policy policy) const {
    return fmt::format(
        "apiVersion: config.openshift.io/v1\nkind: {}\nmetadata: {{name: x}}\nspec:\n  {}:\n"
        "  - {{source: '{}/org', mirrors: ['{}/copies'], mirrorSourcePolicy: {}}}\n---\n",
        kind, list, source_.host(), mirror_.host(),
        policy == Policy::kNeverContactSource ? "NeverContactSource" : "AllowContactingSource");
  }

  MirrorRules rules(Form form, Policy policy) const {
    if (form == Form::kRegistriesConf) {
      return parse_registries_conf(fmt::format("[[registry]]\nprefix = \"{0}/org\"\nblocked = {2}\n"
                                               "[[registry.mirror]]\nlocation = \"{1}/copies\"\n",
                                               source_.host(), mirror_.host(), policy == Policy::kNeverContactSource))
          .value();
    }
    std::string text;
    if (form != Form::kTagSet) text += mirror_set("ImageDigestMirrorSet", "imageDigestMirrors", policy);
    if (form != Form::kDigestSet) text += mirror_set("ImageTagMirrorSet", "imageTagMirrors", policy);
    std::vector<json::Value> objects;
    const auto documents = yaml::parse_stream(text).value();
    for (const auto& document : documents) {
      if (document.value.is_object()) objects.push_back(document.value);
    }
    return rules_from_mirror_sets(objects).value();
  }

  Reference reference(By by) const {
    Reference wanted{source_.host(), "org/os"};
    if (by == By::kDigest) wanted.digest = image_.digest;
    if (by == By::kTag) wanted.tag = "v1";
    return wanted;
  }

  /// Everything an image is made of, read and checked; then a signature it does not have is asked for.
  static Status read_all(const RegistrySource& image) {
    STRAKE_TRY(const Descriptor entry, image.resolve(""));
    STRAKE_TRY(const Manifest manifest, image.read_manifest(entry));
    STRAKE_TRY([[maybe_unused]] const ImageConfig config, image.read_config(manifest));
    for (const Descriptor& layer : manifest.layers) STRAKE_CHECK_OK(image.verify_blob(layer));
    STRAKE_TRY(const auto companion, image.find_companion("sha256-0.sig"));
    if (companion) return error(Code::kInternal, "a signature was found that is not there");
    return {};
  }

  Status read_all(const Reference& wanted, Registries& registries) {
    STRAKE_TRY(const auto image, RegistrySource::open(wanted, registries));
    return read_all(*image);
  }

  static Outcome outcome_of(const Error& error) {
    switch (error.verdict()) {
      case Verdict::kBlocked: return Outcome::kBlocked;
      case Verdict::kUnreachable: return Outcome::kUnreachable;
      default: return Outcome::kRefused;
    }
  }

  test::TempDir dir_;
  runtime::ThreadRuntime runtime_;
  FakeRegistry source_, mirror_;
  RegistryOptions settings_;
  Descriptor image_{"", codec::Digest::sha256_of(""), 0};
};

TEST_F(MirrorMatrix, EveryCellIsAnsweredAsDocumented) {
  const std::vector<Cell> cells = all_cells();
  EXPECT_EQ(cells.size(), 48u);
  for (const Cell& cell : cells) {
    SCOPED_TRACE(cell.name());
    set_source(cell.source);
    Registries registries(settings_, rules(cell.form, cell.policy), runtime_);
    const std::size_t source_before = source_.requests().size();
    const std::size_t mirror_before = mirror_.requests().size();
    const Status read = read_all(reference(cell.by), registries);
    const std::size_t at_source = source_.requests().size() - source_before;
    const std::size_t at_mirror = mirror_.requests().size() - mirror_before;
    const Outcome wanted = expected(cell);
    const bool answered = wanted == Outcome::kFromMirror || wanted == Outcome::kFromSource;
    EXPECT_EQ(read.ok(), answered) << (read.ok() ? "" : read.error().to_string());
    if (!read.ok()) {
      EXPECT_EQ(outcome_of(read.error()), wanted) << read.error().to_string();
    }

    // Greeting, manifest, config, two layers, and the signature that is not there. That one is asked for by tag, and so
    // may be looked for at the other end too: a greeting and a manifest.
    constexpr std::size_t kWholeImage = 6;
    constexpr std::size_t kSignatureOnly = 2;
    if (wanted == Outcome::kFromMirror) {
      EXPECT_EQ(at_mirror, kWholeImage);
      EXPECT_LE(at_source, kSignatureOnly);
    } else if (wanted == Outcome::kFromSource) {
      EXPECT_EQ(at_source, kWholeImage);
      EXPECT_EQ(at_mirror, cell.form == Form::kTagSet ? kSignatureOnly : 0u);
    } else {
      EXPECT_EQ(at_mirror, 0u);
    }
    if (cell.policy == Policy::kNeverContactSource) {
      EXPECT_EQ(at_source, 0u);
    }
  }
}

TEST_F(MirrorMatrix, ATagMirrorServesAnImageOfSeveralPlatformsWhole) {
  testing::write_multi_platform_image(dir_ / "layout", "v1", {"amd64", "arm64"});
  fill(mirror_, "copies/os");
  source_.hang_up();
  Registries registries(settings_, rules(Form::kTagSet, Policy::kNeverContactSource), runtime_);
  const Status read = read_all(reference(By::kTag), registries);
  EXPECT_TRUE(read.ok()) << read.error().to_string();
}

TEST_F(MirrorMatrix, ADigestMirrorServesTheSignaturesOfItsImages) {
  const std::string signature = *mirror_.manifest("copies/os", "v1");
  mirror_.put_manifest("copies/os", "sha256-1.sig", std::string(media_type::kOciManifest), signature);
  Registries registries(settings_, rules(Form::kDigestSet, Policy::kNeverContactSource), runtime_);
  const auto image = RegistrySource::open(reference(By::kDigest), registries);
  ASSERT_TRUE((*image)->resolve("").ok());
  const auto companion = (*image)->find_companion("sha256-1.sig");
  ASSERT_TRUE(companion.ok()) << companion.error().to_string();
  EXPECT_TRUE(companion->has_value());
  // But a tag somebody asks for by name is what the rules say it is: such a mirror may be behind.
  EXPECT_EQ((*image)->find_entries("v1").error().code(), Code::kDenied);
}

TEST_F(MirrorMatrix, ACompanionNobodyCouldBeAskedForIsNotAbsent) {
  source_.hang_up();
  Registries registries(settings_, {}, runtime_);
  const auto image = RegistrySource::open(reference(By::kDigest), registries);
  const auto companion = (*image)->find_companion("sha256-1.sig");
  ASSERT_FALSE(companion.ok());
  EXPECT_EQ(companion.error().verdict(), Verdict::kUnreachable);
}

TEST_F(MirrorMatrix, AMirrorThatIsDownIsTriedOnceARun) {
  mirror_.hang_up();
  Registries registries(settings_, rules(Form::kRegistriesConf, Policy::kAllowContactingSource), runtime_);
  const std::size_t before = mirror_.requests().size();
  ASSERT_TRUE(read_all(reference(By::kTag), registries).ok());
  const std::size_t tried = mirror_.requests().size() - before;
  EXPECT_GT(tried, 0u);
  EXPECT_LE(tried, 2u) << "the greeting and one more attempt";
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(read_all(reference(By::kTag), registries).ok());
    ASSERT_TRUE(read_all(reference(By::kDigest), registries).ok());
  }
  EXPECT_EQ(mirror_.requests().size() - before, tried);
  // When the source fails too, both are named.
  source_.hang_up();
  const Status nobody = read_all(reference(By::kTag), registries);
  ASSERT_FALSE(nobody.ok());
  EXPECT_EQ(nobody.error().verdict(), Verdict::kUnreachable);
  for (const std::string& host : {source_.host(), mirror_.host()}) {
    EXPECT_NE(nobody.error().to_string().find(host), std::string::npos) << nobody.error().to_string();
  }
}

}  // namespace strake::oci::mirror_matrix_test
