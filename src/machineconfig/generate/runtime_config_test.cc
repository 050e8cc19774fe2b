#include "machineconfig/generate/runtime_config.h"

#include <gtest/gtest.h>

#include <map>

#include "api/kinds.h"
#include "machineconfig/testing/builders.h"

namespace strake::machineconfig::runtime_config_test {

/// "path: contents" of every file, or "refused: why".
std::string generate(const std::string& settings, const std::string& base = "") {
  kube::Object config(api::kContainerRuntimeConfig, {"", "c"});
  json::ensure(config.json(), {"spec", "containerRuntimeConfig"}) = builders::from_text(settings);
  const auto files = generate_runtime_config(config, base);
  if (!files.ok()) return "refused: " + files.error().to_string();
  std::string text;
  for (const GeneratedFile& file : *files) text += file.path + ": " + file.contents;
  return text;
}

TEST(GeneratedRuntime, Options) {
  struct Case {
    const char* name;
    const char* settings;
    const char* result;  ///< a part of it; "" for no file at all
  };
  const Case cases[] = {
      {"nothing", R"({})", ""},
      {"no pids limit", R"({"pidsLimit":0})",
       "/etc/crio/crio.conf.d/01-ctrcfg-pidsLimit: [crio]\n\n  [crio.runtime]\n    pids_limit = 0\n"},
      {"pids limit", R"({"pidsLimit":2048})", "pids_limit = 2048\n"},
      {"few pids", R"({"pidsLimit":10})",
       "refused: spec.containerRuntimeConfig.pidsLimit: 10 is neither 0 (no limit) nor at least 20"},
      {"negative pids", R"({"pidsLimit":-10})", "refused: spec.containerRuntimeConfig.pidsLimit: -10"},
      {"log size", R"({"logSizeMax":"10k"})",
       "01-ctrcfg-logSizeMax: [crio]\n\n  [crio.runtime]\n    log_size_max = 10000\n"},
      {"endless log", R"({"logSizeMax":-1})", "log_size_max = -1\n"},
      {"log size of nothing", R"({"logSizeMax":"0k"})", ""},
      {"small log", R"({"logSizeMax":"3k"})",
       "refused: spec.containerRuntimeConfig.logSizeMax: 3k is not more than 8192"},
      {"log that just does not fit", R"({"logSizeMax":8192})", "refused: "},
      {"log of no size", R"({"logSizeMax":"big"})", "refused: spec.containerRuntimeConfig.logSizeMax: 'big' is not a"},
      {"level", R"({"logLevel":"debug"})",
       "01-ctrcfg-logLevel: [crio]\n\n  [crio.runtime]\n    log_level = \"debug\"\n"},
      {"no such level", R"({"logLevel":"invalid"})",
       "refused: spec.containerRuntimeConfig.logLevel: 'invalid' is none of error, fatal, panic, warn, info, debug, "
       "trace"},
      {"runtime", R"({"defaultRuntime":"crun"})",
       "01-ctrcfg-defaultRuntime: [crio]\n\n  [crio.runtime]\n    default_runtime = \"crun\"\n"},
      {"no such runtime", R"({"defaultRuntime":"kata"})",
       "refused: spec.containerRuntimeConfig.defaultRuntime: 'kata'"},
      {"overlay", R"({"overlaySize":"8G"})", "/etc/containers/storage.conf: [storage]\n  driver = \"overlay\"\n"},
      {"overlay below nothing", R"({"overlaySize":"-8G"})", "refused: spec.containerRuntimeConfig.overlaySize: -8G"},
      {"layers", R"({"additionalLayerStores":[{"path":"/var/lib/stargz-store/store"}]})",
       "additionallayerstores = [\"/var/lib/stargz-store/store:ref\"]\n"},
      {"images", R"({"additionalImageStores":[{"path":"/mnt/a"},{"path":"/mnt/b"}]})",
       "additionalimagestores = [\"/mnt/a\", \"/mnt/b\"]\n"},
      {"artifacts", R"({"additionalArtifactStores":[{"path":"/mnt/ssd"}]})",
       "01-ctrcfg-additionalArtifactStores: [crio]\n\n  [crio.runtime]\n    additional_artifact_stores = "
       "[\"/mnt/ssd\"]\n"},
      {"relative store", R"({"additionalImageStores":[{"path":"a/b"}]})",
       "refused: spec.containerRuntimeConfig.additionalImageStores[0].path: 'a/b' is not an absolute path"},
      {"store without a path", R"({"additionalLayerStores":[{}]})", "refused: "},
      {"store with a blank", R"({"additionalArtifactStores":[{"path":"/a b"}]})", "characters other than letters"},
      {"store with two slashes", R"({"additionalArtifactStores":[{"path":"/a//b"}]})", "two slashes in a row"},
      {"store above", R"({"additionalArtifactStores":[{"path":"/a/../b"}]})", "leads upwards"},
      {"store twice", R"({"additionalArtifactStores":[{"path":"/a"},{"path":"/a"}]})", "[1].path: '/a' is there twice"},
      {"stores",
       R"({"additionalLayerStores":[{"path":"/1"},{"path":"/2"},{"path":"/3"},{"path":"/4"},{"path":"/5"},{"path":"/6"}]})",
       "6 stores, the limit is 5"},
  };
  for (const Case& c : cases) {
    const std::string result = generate(c.settings);
    if (std::string_view(c.result).empty()) {
      EXPECT_EQ(result, "") << c.name;
    } else {
      EXPECT_NE(result.find(c.result), std::string::npos) << c.name << ": " << result;
    }
  }
  EXPECT_NE(generate("null").find("refused: spec.containerRuntimeConfig: missing"), std::string::npos);
  EXPECT_NE(generate(fmt::format(R"({{"additionalImageStores":[{{"path":"/{}"}}]}})", std::string(256, 'a')))
                .find("has more than 256 characters"),
            std::string::npos);
}

TEST(GeneratedRuntime, TheBaseFileIsBuiltOn) {
  EXPECT_EQ(
      generate(R"({"overlaySize":"8G"})", "[storage]\ndriver = 'overlay'\n[storage.options]\nignore = 'x'\n"),
      "/etc/containers/storage.conf: [storage]\n  driver = \"overlay\"\n\n  [storage.options]\n    ignore = \"x\"\n"
      "    size = \"8G\"\n");
  EXPECT_NE(generate(R"({"overlaySize":"8G"})", "[[").find("/etc/containers/storage.conf of the base configs"),
            std::string::npos);
}

}  // namespace strake::machineconfig::runtime_config_test
