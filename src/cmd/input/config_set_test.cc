#include "cmd/input/config_set.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/text.h"
#include "machineconfig/merge/provenance.h"
#include "support/temp_dir.h"

namespace strake::cmd::config_set_test {

constexpr std::string_view kHead =
    "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\n"
    "metadata: {name: 50-a, labels: {machineconfiguration.openshift.io/role: worker}}\nspec:\n";
constexpr std::string_view kIgnition = "  config:\n    ignition: {version: 3.5.0}\n";
constexpr std::string_view kFile = "    storage:\n      files:\n      - path: /etc/a\n        contents:\n";
constexpr std::string_view kUser = "    passwd:\n      users:\n      - name: core\n";

/// The error of a render of this file, the folder's name left out.
std::string render_error(const std::string& text) {
  test::TempDir folder;
  const std::string path = (folder / "a.yaml").string();
  std::ofstream(path) << text;
  const auto files = read_config_files(path);
  std::string shown;
  if (!files.ok()) {
    shown = files.error().to_string();
  } else {
    for (const kube::ObjectPtr& pool : machineconfig::pools_of(files->set)) {
      const machineconfig::RenderInput input = machineconfig::render_input(files->set, pool);
      const auto rendered = placed(machineconfig::render_pool(input).context("pool {}", pool->name()), *files);
      const auto traced = placed(machineconfig::trace_pool(input).context("pool {}", pool->name()), *files);
      if (rendered.ok()) return "";
      shown = rendered.error().to_string();
      if (!traced.ok()) {
        EXPECT_EQ(traced.error().to_string(), shown);
      }
    }
  }
  const std::size_t at = shown.find(folder.path().string());
  return at == std::string::npos ? shown : shown.erase(at, folder.path().string().size() + 1);
}

/// The line that says "#!" is the one the error has to name, and nothing of the secret may be in it.
TEST(ConfigSet, ErrorsNameTheLineAndNeverQuoteWhatIsThere) {
  const auto ignition = [](std::string_view rest) { return fmt::format("{}{}{}", kHead, kIgnition, rest); };
  const auto file = [&](std::string_view contents) { return ignition(fmt::format("{}{}", kFile, contents)); };
  const auto user = [&](std::string_view member) { return ignition(fmt::format("{}{}", kUser, member)); };
  const std::string texts[] = {
      file("          source: \"data:,hunter2 S3cret\"  #!\n"),
      file("          source: hunter2S3cret  #!\n"),
      file("          source: data:hunter2/x,x  #!\n"),
      file("          source: data:text/plain;hunter2,x  #!\n"),
      file("          compression: gzip\n          source: data:,hunter2  #!\n"),
      file("          source: hunter2://host  #!\n          httpHeaders: [{name: a, value: hunter2}]\n"),
      ignition("    systemd:\n      units:\n      - name: a.service\n        contents: \"[Unit] hunter2\"  #!\n"),
      ignition("    storage:\n      luks: [{name: l, device: /dev/l, keyFile: {source: hunter2}}]  #!\n"),
      user("        passwordHash: !hunter2  #!\n"),
      user("        passwordHash: !!int hunter2  #!\n"),
      user("        passwordHash: [hunter2]  #!\n"),
      user("        passwordHash: hunter2: x  #!\n"),
      user("        sshAuthorizedKeys: hunter2  #!\n"),
      fmt::format("{}  config: hunter2  #!\n", kHead),
      fmt::format("{}  kernelArguments: hunter2  #!\n", kHead),
      fmt::format("{}  kernelArguments:\n  - a\n  - {{hunter2: hunter2}}  #!\n", kHead),
      fmt::format("{}  config:\n    ignition: {{version: 3.5.0, proxy: {{httpProxy: 'ftp://hunter2@x'}}}}  #!\n",
                  kHead),
  };
  for (const std::string& text : texts) {
    const std::size_t line = 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, text.find("#!")), '\n'));
    const std::string shown = render_error(text);
    EXPECT_EQ(shown.find("hunter2"), std::string::npos) << shown << "\n" << text;
    EXPECT_TRUE(shown.starts_with(fmt::format("a.yaml:{}: pool worker: MachineConfig 50-a: spec.", line)) ||
                shown.starts_with(fmt::format("a.yaml: line {}, ", line)))
        << shown << "\n"
        << text;
  }
}

TEST(ConfigSet, AnErrorAboutNoSingleFieldStaysAsItIs) {
  EXPECT_EQ(render_error(fmt::format("{}  extensions: [kernel-devel]\n---\n{}  kernelType: realtime\n", kHead,
                                     std::string(kHead).replace(kHead.find("50-a"), 4, "60-b")))
                .find("pool worker: "),
            0u);
}

}  // namespace strake::cmd::config_set_test
