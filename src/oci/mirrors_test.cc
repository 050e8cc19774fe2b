#include "oci/mirrors.h"

#include <fstream>

#include <gtest/gtest.h>

#include "codec/yaml.h"
#include "support/temp_dir.h"

namespace strake::oci::mirrors_test {

const std::string kDigest = "sha256:" + std::string(64, 'd');

constexpr std::string_view kConf = R"(
unqualified-search-registries = ["docker.io"]
short-name-mode = "permissive"

[[registry]]
prefix = "quay.io/openshift"
location = "quay.io/openshift"
[[registry.mirror]]
location = "mirror.example:5000/ocp"
pull-from-mirror = "digest-only"
[[registry.mirror]]
location = "tags.example/ocp"
insecure = true
pull-from-mirror = "tag-only"
[[registry.mirror]]
location = "both.example"

[[registry]]
prefix = "quay.io/openshift/release"
blocked = true
[[registry.mirror]]
location = "mirror.example:5000/release"
pull-from-mirror = "digest-only"

[[registry]]
location = "old.example"
mirror-by-digest-only = true
[[registry.mirror]]
location = "new.example"

[[registry]]
prefix = "*.corp.example"
location = "proxy.corp-cache.example/corp"

[[registry]]
prefix = "renamed.example/a"
location = "actual.example/b"
insecure = true

[[registry]]
prefix = "bad.example"
blocked = true

[[registry]]
prefix = "leads.example"
[[registry.mirror]]
location = "bad.example/x"
)";

std::string describe(const Result<std::vector<Place>>& places) {
  if (!places.ok()) return std::string(to_string(places.error().code()));
  std::string text;
  for (const Place& place : *places) {
    Reference shown = place.reference;
    shown.digest.reset();
    text += fmt::format("{}{}{}{}", text.empty() ? "" : " ", place.is_mirror ? "m:" : "", shown.to_string(),
                        place.insecure ? "!" : "");
  }
  return text;
}

TEST(Mirrors, PlacesInOrder) {
  const Result<MirrorRules> rules = parse_registries_conf(kConf);
  ASSERT_TRUE(rules.ok()) << rules.error().to_string();
  struct Case {
    const char* name;
    std::string reference;
    const char* places;
  };
  const Case cases[] = {
      {"no rule", "ghcr.io/a/b:t", "ghcr.io/a/b:t"},
      {"by digest", "quay.io/openshift/os@" + kDigest,
       "m:mirror.example:5000/ocp/os m:both.example/os quay.io/openshift/os"},
      {"by tag", "quay.io/openshift/os:v1", "m:tags.example/ocp/os:v1! m:both.example/os:v1 quay.io/openshift/os:v1"},
      {"tag and digest count as digest", "quay.io/openshift/os:v1@" + kDigest,
       "m:mirror.example:5000/ocp/os:v1 m:both.example/os:v1 quay.io/openshift/os:v1"},
      {"longest prefix, source blocked", "quay.io/openshift/release@" + kDigest, "m:mirror.example:5000/release"},
      {"below the longest prefix", "quay.io/openshift/release/x@" + kDigest, "m:mirror.example:5000/release/x"},
      {"blocked and no mirror for tags", "quay.io/openshift/release:4.20", "denied"},
      {"a prefix ends at a component", "quay.io/openshift-other/os:t", "quay.io/openshift-other/os:t"},
      {"old spelling of digest-only, tag", "old.example/a:t", "old.example/a:t"},
      {"old spelling of digest-only, digest", "old.example/a@" + kDigest, "m:new.example/a old.example/a"},
      {"wildcard", "reg.corp.example/team/a:t", "proxy.corp-cache.example/corp/team/a:t"},
      {"wildcard with a port", "reg.corp.example:5000/team/a:t", "proxy.corp-cache.example/corp/team/a:t"},
      {"a wildcard is not the domain itself", "corp.example/a:t", "corp.example/a:t"},
      {"renamed", "renamed.example/a/c:t", "actual.example/b/c:t!"},
      {"blocked", "bad.example/a:t", "denied"},
      {"a mirror that is blocked itself", "leads.example/a:t", "leads.example/a:t"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(describe(places_to_try(*rules, parse_reference(c.reference).value())), c.places) << c.name;
  }
}

TEST(Mirrors, RegistriesConfIsRefusedWithThePlace) {
  struct Case {
    const char* name;
    const char* text;
    const char* mentions;
  };
  const Case cases[] = {
      {"version 1", "[registries.search]\nregistries = ['docker.io']\n", "version 1"},
      {"nothing to match", "[[registry]]\ninsecure = true\n", "registry[0]"},
      {"scheme", "[[registry]]\nlocation = 'https://quay.io'\n", "without a scheme"},
      {"wrong use", "[[registry]]\nlocation='a.b'\n[[registry.mirror]]\nlocation='c.d'\npull-from-mirror='some'\n",
       "mirror[0]: pull-from-mirror"},
      {"two ways to say it",
       "[[registry]]\nlocation='a.b'\nmirror-by-digest-only=true\n[[registry.mirror]]\nlocation='c.d'\n"
       "pull-from-mirror='all'\n",
       "keep one"},
      {"twice", "[[registry]]\nlocation='a.b'\n[[registry]]\nprefix='a.b'\n", "second rule"},
      {"wildcard with a path", "[[registry]]\nprefix='*.a.b/c'\n", "wildcard"},
      {"type", "[[registry]]\nlocation='a.b'\nblocked='yes'\n", "blocked"},
      {"not TOML", "[[registry\n", "line 1"},
  };
  for (const Case& c : cases) {
    const auto rules = parse_registries_conf(c.text);
    ASSERT_FALSE(rules.ok()) << c.name;
    EXPECT_NE(rules.error().to_string().find(c.mentions), std::string::npos)
        << c.name << ": " << rules.error().to_string();
  }
}

TEST(Mirrors, DropInsReplaceByPrefix) {
  test::TempDir dir;
  std::filesystem::create_directory(dir / "conf.d");
  std::ofstream(dir / "registries.conf") << "[[registry]]\nlocation='a.b'\n[[registry]]\nlocation='c.d'\n";
  std::ofstream(dir / "conf.d" / "20.conf") << "[[registry]]\nlocation='a.b'\nblocked=false\n";
  std::ofstream(dir / "conf.d" / "10.conf")
      << "[[registry]]\nlocation='a.b'\nblocked=true\n[[registry]]\nlocation='e.f'\n";
  std::ofstream(dir / "conf.d" / "30.txt") << "not read";
  const auto rules = load_registries_conf(dir / "registries.conf", dir / "conf.d");
  ASSERT_TRUE(rules.ok()) << rules.error().to_string();
  ASSERT_EQ(rules->rules.size(), 3u);
  EXPECT_EQ(rules->rules[0].prefix, "a.b");
  EXPECT_FALSE(rules->rules[0].blocked);
  EXPECT_EQ(rules->rules[2].prefix, "e.f");
  EXPECT_TRUE(load_registries_conf(dir / "none", dir / "none.d").value().rules.empty());
}

std::vector<json::Value> yaml_objects(std::string_view text) {
  std::vector<json::Value> objects;
  auto documents = yaml::parse_stream(text);
  EXPECT_TRUE(documents.ok()) << documents.error().to_string();
  for (auto& document : *documents) objects.push_back(std::move(document.value));
  return objects;
}

constexpr std::string_view kSets = R"(
apiVersion: config.openshift.io/v1
kind: ImageDigestMirrorSet
metadata: {name: digests}
spec:
  imageDigestMirrors:
  - source: quay.io/openshift-release-dev/ocp-release
    mirrors: [mirror.example/a, mirror.example/b]
    mirrorSourcePolicy: NeverContactSource
  - source: quay.io/x
    mirrors: [mirror.example/x]
---
apiVersion: config.openshift.io/v1
kind: ImageTagMirrorSet
metadata: {name: tags}
spec:
  imageTagMirrors:
  - source: quay.io/x
    mirrors: [tags.example/x]
---
apiVersion: operator.openshift.io/v1alpha1
kind: ImageContentSourcePolicy
metadata: {name: legacy}
spec:
  repositoryDigestMirrors:
  - source: quay.io/x
    mirrors: [mirror.example/x, third.example/x]
)";

TEST(Mirrors, SetsOfTheCluster) {
  const auto rules = rules_from_mirror_sets(yaml_objects(kSets));
  ASSERT_TRUE(rules.ok()) << rules.error().to_string();
  struct Case {
    const char* name;
    std::string reference;
    const char* places;
  };
  const Case cases[] = {
      {"source never contacted", "quay.io/openshift-release-dev/ocp-release@" + kDigest,
       "m:mirror.example/a m:mirror.example/b"},
      {"no mirror for tags of it", "quay.io/openshift-release-dev/ocp-release:4.20", "denied"},
      {"merged by digest", "quay.io/x/y@" + kDigest, "m:mirror.example/x/y m:third.example/x/y quay.io/x/y"},
      {"by tag", "quay.io/x:t", "m:tags.example/x:t quay.io/x:t"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(describe(places_to_try(*rules, parse_reference(c.reference).value())), c.places) << c.name;
  }
}

TEST(Mirrors, SetsAreRefusedWithThePlace) {
  struct Case {
    const char* name;
    const char* text;
    const char* mentions;
  };
  const Case cases[] = {
      {"another kind", "kind: Node\napiVersion: v1\nmetadata: {name: other}\n", "'other' of kind Node"},
      {"policy",
       "kind: ImageTagMirrorSet\napiVersion: config.openshift.io/v1\nmetadata: {name: t}\nspec: {imageTagMirrors: "
       "[{source: a.b, mirrors: [c.d], mirrorSourcePolicy: Sometimes}]}\n",
       "spec.imageTagMirrors[0]: mirrorSourcePolicy"},
      {"two policies",
       "kind: ImageDigestMirrorSet\napiVersion: config.openshift.io/v1\nmetadata: {name: t}\nspec: "
       "{imageDigestMirrors: [{source: a.b, mirrors: [c.d]}, {source: a.b, mirrorSourcePolicy: NeverContactSource}]}\n",
       "decide for one"},
      {"mirror with a scheme",
       "kind: ImageDigestMirrorSet\napiVersion: config.openshift.io/v1\nmetadata: {name: t}\nspec: "
       "{imageDigestMirrors: [{source: a.b, mirrors: ['https://c.d']}]}\n",
       "without a scheme"},
      {"no source",
       "kind: ImageDigestMirrorSet\napiVersion: config.openshift.io/v1\nmetadata: {name: t}\nspec: "
       "{imageDigestMirrors: [{mirrors: [c.d]}]}\n",
       "source"},
  };
  for (const Case& c : cases) {
    const auto rules = rules_from_mirror_sets(yaml_objects(c.text));
    ASSERT_FALSE(rules.ok()) << c.name;
    EXPECT_NE(rules.error().to_string().find(c.mentions), std::string::npos)
        << c.name << ": " << rules.error().to_string();
  }
}

}  // namespace strake::oci::mirrors_test
