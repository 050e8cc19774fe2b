#include "machineconfig/generate/registries.h"

#include <gtest/gtest.h>

#include "codec/toml.h"
#include "codec/yaml.h"
#include "machineconfig/generate/mirror_merge.h"
#include "machineconfig/impact/registries_change.h"
#include "machineconfig/testing/builders.h"

namespace strake::machineconfig::registries_test {

using builders::shared;

/// Objects as YAML documents; a leading "IDMS:", "ITMS:", "ICSP:" or "Image:" saves the header.
struct Policies {
  std::vector<kube::ObjectPtr> objects{};

  Policies& add(const std::string& kind, const std::string& api_version, const std::string& spec,
                const std::string& name) {
    auto value = yaml::parse(
        fmt::format("apiVersion: {}\nkind: {}\nmetadata: {{name: {}}}\nspec: {}\n", api_version, kind, name, spec));
    STRAKE_INVARIANT(value.ok());
    objects.push_back(shared(kube::Object(*std::move(value))));
    return *this;
  }
  Policies& idms(const std::string& list, const std::string& name = "d") {
    return add("ImageDigestMirrorSet", "config.openshift.io/v1", "{imageDigestMirrors: [" + list + "]}", name);
  }
  Policies& itms(const std::string& list, const std::string& name = "t") {
    return add("ImageTagMirrorSet", "config.openshift.io/v1", "{imageTagMirrors: [" + list + "]}", name);
  }
  Policies& icsp(const std::string& list, const std::string& name = "i") {
    return add("ImageContentSourcePolicy", "operator.openshift.io/v1alpha1",
               "{repositoryDigestMirrors: [" + list + "]}", name);
  }
  Policies& image(const std::string& sources, const std::string& name = "cluster") {
    return add("Image", "config.openshift.io/v1", "{registrySources: {" + sources + "}}", name);
  }
};

struct Outcome {
  std::string refusal{};
  std::map<std::string, std::string> files{};

  /// One line a registry: "prefix-or-location [insecure] [blocked] <- mirror(use), ...".
  std::string registries() const {
    const auto found = files.find(std::string(kRegistriesConfPath));
    if (found == files.end()) return "";
    const auto document = toml::parse(found->second);
    STRAKE_INVARIANT(document.ok());
    std::string lines;
    for (const json::Value& table : json::find(*document, {"registry"})->get_array()) {
      const std::string prefix = json::find_string(table, {"prefix"}).value_or("");
      lines += prefix.empty() ? json::find_string(table, {"location"}).value_or("?") : prefix;
      if (json::find_bool(table, {"insecure"}).value_or(false)) lines += " insecure";
      if (json::find_bool(table, {"blocked"}).value_or(false)) lines += " blocked";
      const json::Value* mirrors = json::find(table, {"mirror"});
      std::string_view before = " <- ";
      for (const json::Value& mirror : mirrors == nullptr ? json::Array() : mirrors->get_array()) {
        lines += fmt::format("{}{} {}{}", std::exchange(before, ", "), *json::find_string(mirror, {"location"}),
                             *json::find_string(mirror, {"pull-from-mirror"}),
                             json::find_bool(mirror, {"insecure"}).value_or(false) ? " insecure" : "");
      }
      lines += "\n";
    }
    return lines;
  }
  /// The rules of a transport of policy.json: "default=reject a.example=accept".
  std::string policy(std::string_view transport = "docker") const {
    const auto found = files.find(std::string(kPolicyJsonPath));
    if (found == files.end()) return "";
    const auto policy = json::parse(found->second);
    STRAKE_INVARIANT(policy.ok());
    const auto type = [](const json::Value& rules) {
      const std::string text = json::find_string(rules.get_array().at(0), {"type"}).value_or("?");
      return text == "insecureAcceptAnything" ? "accept" : text;
    };
    std::string text = "default=" + type(*json::find(*policy, {"default"}));
    for (const auto& member : json::find(*policy, {"transports", transport})->get_object()) {
      text += fmt::format(" {}={}", std::string_view(member.key()), type(member.value()));
    }
    return text;
  }
};

Outcome generate(const Policies& policies, const std::string& release = "quay.io/strake/release@sha256:0") {
  RegistriesInput input;
  input.policies = policies.objects;
  input.release_image = release;
  const auto files = generate_registries(input);
  Outcome outcome;
  if (!files.ok()) {
    outcome.refusal = files.error().to_string();
    return outcome;
  }
  for (const GeneratedFile& file : *files) outcome.files[file.path] = file.contents;
  return outcome;
}

TEST(GeneratedRegistries, NobodyAsksForAnything) {
  EXPECT_TRUE(generate({}).files.empty());
  EXPECT_TRUE(generate(Policies().image("")).files.empty());
  EXPECT_TRUE(generate(Policies().idms("{source: a.example}, {source: b.example, mirrors: [b.example]}")).files.empty())
      << "a mirror set without a mirror";
  EXPECT_TRUE(generate(Policies().image("blockedRegistries: [a.example]", "other")).files.empty())
      << "the Image config in use is named cluster";
}

TEST(GeneratedRegistries, TheFileIsWrittenAsThePlatformWritesIt) {
  const Outcome outcome = generate(Policies()
                                       .idms("{source: registry.redhat.io/ubi9, mirrors: [mirror.example:5000/ubi9]}")
                                       .image("insecureRegistries: ['mirror.example:5000', '*.lab.example'], "
                                              "blockedRegistries: [bad.example], "
                                              "containerRuntimeSearchRegistries: [one.example, two.example]"));
  EXPECT_EQ(outcome.files.at(std::string(kRegistriesConfPath)),
            R"(unqualified-search-registries = ["registry.access.redhat.com", "docker.io"]
short-name-mode = ""

[[registry]]
  prefix = ""
  location = "registry.redhat.io/ubi9"

  [[registry.mirror]]
    location = "mirror.example:5000/ubi9"
    insecure = true
    pull-from-mirror = "digest-only"

[[registry]]
  prefix = ""
  location = "bad.example"
  blocked = true

[[registry]]
  prefix = ""
  location = "mirror.example:5000"
  insecure = true

[[registry]]
  prefix = "*.lab.example"
  insecure = true
)");
  EXPECT_EQ(outcome.files.at(std::string(kSearchRegistriesPath)),
            "unqualified-search-registries = [\"one.example\", \"two.example\"]\nshort-name-mode = \"\"\n");
}

TEST(GeneratedRegistries, FlagsAndMirrors) {
  struct Case {
    const char* name;
    Policies policies;
    const char* registries;
  };
  const Case cases[] = {
      {"insecure and blocked",
       Policies().image("insecureRegistries: [r.example, i.example, both.example], "
                        "blockedRegistries: [b.example, both.example, docker.io]"),
       "b.example blocked\nboth.example insecure blocked\ndocker.io blocked\nr.example insecure\ni.example insecure\n"},
      {"a flag holds for everything below",
       Policies()
           .icsp(
               "{source: i.example/ns/app, mirrors: [b.example/x, i.example/y]}, {source: b.example/ns, mirrors: [m]}")
           .image("insecureRegistries: [i.example], blockedRegistries: [b.example]"),
       "b.example/ns blocked <- m digest-only\n"
       "i.example/ns/app insecure <- b.example/x digest-only, i.example/y digest-only insecure\n"
       "b.example blocked\ni.example insecure\n"},
      {"wildcards",
       Policies()
           .idms("{source: a.lab.example/ns, mirrors: [m.lab.example, lab.example]}")
           .image("insecureRegistries: ['*.lab.example'], blockedRegistries: ['*.bad.lab.example', 'lab.example.org']"),
       "a.lab.example/ns insecure <- m.lab.example digest-only insecure, lab.example digest-only\n"
       "*.bad.lab.example insecure blocked\nlab.example.org blocked\n*.lab.example insecure\n"},
      {"by tag", Policies().itms("{source: s.example, mirrors: [m1, m2]}"), "s.example <- m1 tag-only, m2 tag-only\n"},
      {"digest mirrors stand before tag mirrors",
       Policies()
           .itms("{source: s.example, mirrors: [t1]}")
           .idms("{source: s.example, mirrors: [d1]}")
           .icsp("{source: s.example, mirrors: [d2]}, {source: a.example, mirrors: [m]}"),
       "a.example <- m digest-only\ns.example <- d1 digest-only, d2 digest-only, t1 tag-only\n"},
      {"the source is never asked",
       Policies().idms("{source: s.example/a, mirrors: [m], mirrorSourcePolicy: NeverContactSource}"),
       "s.example/a blocked <- m digest-only\n"},
      {"orders are kept over several sets",
       Policies().idms("{source: s, mirrors: [b, c]}", "1").idms("{source: s, mirrors: [a, b]}", "2"),
       "s <- a digest-only, b digest-only, c digest-only\n"},
      {"a registry named for a flag keeps the mirrors of the one around it",
       Policies()
           .idms("{source: s.example, mirrors: [far], mirrorSourcePolicy: NeverContactSource}, "
                 "{source: s.example/ns, mirrors: [near], mirrorSourcePolicy: NeverContactSource}")
           .image("insecureRegistries: [s.example/ns/app, s.example/other]"),
       "s.example blocked <- far digest-only\ns.example/ns blocked <- near digest-only\n"
       "s.example/ns/app insecure blocked <- near/app digest-only\n"
       "s.example/other insecure blocked <- far/other digest-only\n"},
  };
  for (const Case& c : cases) {
    const Outcome outcome = generate(c.policies);
    EXPECT_EQ(outcome.refusal, "") << c.name;
    EXPECT_EQ(outcome.registries(), c.registries) << c.name;
  }
}

TEST(GeneratedRegistries, Policy) {
  const std::string release = "quay.io/org/release@sha256:0";
  EXPECT_EQ(generate(Policies().image("allowedRegistries: [quay.io, a.example/b/c/d]"), release).policy(),
            "default=reject a.example/b/c/d=accept quay.io=accept");
  EXPECT_EQ(generate(Policies().image("allowedRegistries: [quay.io, a.example/b/c/d]"), release).policy("atomic"),
            "default=reject quay.io=accept")
      << "the transport knows no deeper names";
  EXPECT_EQ(generate(Policies().image("blockedRegistries: [b.example, '*.c.example']"), release).policy(),
            "default=accept *.c.example=reject b.example=reject");
  EXPECT_EQ(generate(Policies().image("insecureRegistries: [b.example]"), release).policy(), "")
      << "the image's own policy stays";
  const Outcome mirrored =
      generate(Policies().idms("{source: quay.io/org, mirrors: [m.example/org]}").image("blockedRegistries: [quay.io]"),
               release);
  EXPECT_EQ(mirrored.policy(), "default=accept quay.io=reject quay.io/org/release=accept");
  EXPECT_EQ(mirrored.registries(), "quay.io/org blocked <- m.example/org digest-only\nquay.io blocked\n");
}

TEST(GeneratedRegistries, BaseFilesAreBuiltOn) {
  RegistriesInput input;
  input.policies = Policies().image("blockedRegistries: [b.example]").objects;
  input.base_conf = "unqualified-search-registries = ['site.example']\nshort-name-mode = 'enforcing'\n";
  input.base_policy =
      R"({"default":[{"type":"reject"}],"transports":{"dir":{"":[{"type":"insecureAcceptAnything"}]}}})";
  const auto files = generate_registries(input);
  ASSERT_TRUE(files.ok()) << files.error().to_string();
  EXPECT_TRUE((*files)[0].contents.starts_with(
      "unqualified-search-registries = [\"site.example\"]\nshort-name-mode = \"enforcing\"\n\n[[registry]]\n"))
      << (*files)[0].contents;
  EXPECT_NE((*files)[1].contents.find("\"dir\""), std::string::npos) << (*files)[1].contents;
  input.base_conf = "[[";
  EXPECT_EQ(generate_registries(input).error().to_string().substr(0, 52),
            "/etc/containers/registries.conf of the base configs:");
}

TEST(GeneratedRegistries, Refusals) {
  struct Case {
    const char* name;
    Policies policies;
    const char* refusal;  ///< a part of it
  };
  const Case cases[] = {
      {"both lists", Policies().image("allowedRegistries: [a.example], blockedRegistries: [b.example]"),
       "Image cluster: spec.registrySources.allowedRegistries stands beside blockedRegistries"},
      {"the release's registry", Policies().image("blockedRegistries: [b.example, quay.io]"),
       "'quay.io' blocks quay.io/strake/release, from where nodes pull the release; first give it a mirror"},
      {"the release's repository", Policies().image("blockedRegistries: [quay.io/strake/release]"), "blocks quay.io/"},
      {"by wildcard", Policies().image("blockedRegistries: ['*.io']"), "blocks quay.io/"},
      {"its mirror is blocked too",
       Policies()
           .idms("{source: quay.io/strake, mirrors: [m.example/ns/x]}")
           .image("blockedRegistries: [quay.io, m.example/ns]"),
       "blocks quay.io/"},
      {"its mirror serves tags",
       Policies().itms("{source: quay.io, mirrors: [m]}").image("blockedRegistries: [quay.io]"), "blocks quay.io/"},
      {"a wildcard inside", Policies().image("insecureRegistries: ['a.*.example']"),
       "Image cluster: spec.registrySources.insecureRegistries: 'a.*.example' is not a registry"},
      {"a wildcard with a path", Policies().image("blockedRegistries: ['*.example/a']"), "blockedRegistries: '*.ex"},
      {"empty", Policies().image("allowedRegistries: ['']"), "allowedRegistries: '' is not a registry"},
      {"a scheme", Policies().idms("{source: s, mirrors: ['a b']}", "x"),
       "ImageDigestMirrorSet x: mirrors: 'a b' is not a registry with an optional path"},
      {"no source", Policies().itms("{mirrors: [m]}", "x"), "ImageTagMirrorSet x: source: '' is not a registry"},
      {"a wildcard mirror", Policies().icsp("{source: s, mirrors: ['*.m']}", "x"),
       "ImageContentSourcePolicy x: mirrors: '*.m'"},
      {"its own mirror", Policies().idms("{source: s, mirrors: [m, s], mirrorSourcePolicy: NeverContactSource}", "x"),
       "mirrorSourcePolicy is NeverContactSource, but source s is one of its own mirrors"},
      {"two policies for one source",
       Policies()
           .idms("{source: s, mirrors: [m], mirrorSourcePolicy: NeverContactSource}", "x")
           .itms("{source: s, mirrors: [m]}", "later"),
       "ImageTagMirrorSet later: source s has mirrorSourcePolicy AllowContactingSource here and NeverContactSource in "
       "ImageDigestMirrorSet x: decide for one"},
  };
  for (const Case& c : cases) {
    const Outcome outcome = generate(c.policies);
    EXPECT_NE(outcome.refusal.find(c.refusal), std::string::npos) << c.name << ": " << outcome.refusal;
  }
  EXPECT_EQ(generate(Policies().image("blockedRegistries: [quay.io]"), "").refusal, "") << "nobody knows of a release";
  EXPECT_EQ(generate(Policies()
                         .idms("{source: quay.io/strake, mirrors: [bad.example/x, m.example]}")
                         .image("blockedRegistries: [quay.io, bad.example]"))
                .refusal,
            "")
      << "one mirror is open";
}

TEST(MergeMirrors, NoOrderIsTurnedRound) {
  using Lists = std::vector<std::vector<std::string>>;
  const auto merged = [](const Lists& lists) { return fmt::format("{}", fmt::join(merge_mirrors(lists, "s"), " ")); };
  EXPECT_EQ(merged({{"z", "a"}}), "z a");
  EXPECT_EQ(merged({{"b", "c"}, {"a", "b"}}), "a b c");
  EXPECT_EQ(merged({{"z"}, {"a"}}), "z a") << "what is named first";
  EXPECT_EQ(merged({{"a", "a"}, {"a"}}), "a");
  EXPECT_EQ(merged({{"a", "b"}, {"b", "a"}}), "a b") << "a contradiction goes to the first";
  EXPECT_EQ(merged({{"s", "a"}}), "s a") << "somebody wants the source first";
  EXPECT_EQ(merged({{"a", "s", "b"}}), "a s b");
}

TEST(IsWithinScope, PathsAndWildcards) {
  EXPECT_TRUE(is_within_scope("a.example/x", "a.example"));
  EXPECT_TRUE(is_within_scope("a.example", "a.example"));
  EXPECT_FALSE(is_within_scope("a.example.org", "a.example"));
  EXPECT_FALSE(is_within_scope("a.example:5000", "a.example"));
  EXPECT_TRUE(is_within_scope("b.a.example/x", "*.a.example"));
  EXPECT_TRUE(is_within_scope("b.a.example:5000/x", "*.a.example"));
  EXPECT_TRUE(is_within_scope("*.b.a.example", "*.a.example"));
  EXPECT_FALSE(is_within_scope("a.example", "*.a.example"));
  EXPECT_FALSE(is_within_scope("quay.io/b.a.example", "*.a.example"));
}

TEST(GeneratedName, ThereAndBack) {
  for (const char* name : {"99-worker-generated-registries", "99-worker-generated-kubelet",
                           "99-a-b-generated-kubelet-9", "99-x-generated-y-generated-containerruntime-1"}) {
    const auto parsed = parse_generated_name(name);
    ASSERT_TRUE(parsed) << name;
    EXPECT_EQ(generated_name(parsed->pool, parsed->kind, parsed->suffix), name);
  }
  for (const char* name : {"98-worker-generated-kubelet", "99-worker-generated-kubelet-10", "99-worker-kubelet",
                           "99-worker-generated-registries-1", "99--generated-kubelet", "99-worker-generated-kubelet-0",
                           "99-worker-generated-kubelet-x", "99-worker-generated-kubelets"}) {
    EXPECT_FALSE(parse_generated_name(name)) << name;
  }
}

}  // namespace strake::machineconfig::registries_test
