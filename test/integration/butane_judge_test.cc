// Our translation of Butane configs beside Butane's own, on generated configs and on a table of refusals.
//
// Contents that are gzipped are compared unpacked: two compressors give different bytes. Everything else must be equal,
// and so must what is refused and what is warned about.
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/subprocess.h"
#include "cmd/input/butane_input.h"
#include "codec/compress.h"
#include "codec/data_url.h"
#include "codec/yaml.h"
#include "ignition/config.h"
#include "integration/butane_generator.h"
#include "integration/ignition_judge.h"
#include "support/servers.h"
#include "support/strake_command.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

constexpr int kConfigsPerButaneVersion = 25;

/// What is packed becomes what it unpacks to.
void unpack(json::Value& value) {
  if (value.is_array()) {
    for (json::Value& item : value.get_array()) unpack(item);
  }
  if (!value.is_object()) return;
  for (auto& [name, item] : value.get_object()) unpack(item);
  const auto source = json::find_string(value, {"source"});
  if (!source || json::find_string(value, {"compression"}) != "gzip") return;
  const auto url = codec::parse_data_url(*source);
  if (!url.ok()) return;
  const auto plain = codec::gunzip(url->data, 1u << 24);
  if (plain.ok()) value.get_object()["source"] = "unpacked:" + codec::encode_data_url(*plain);
}

std::string comparable(json::Value value) {
  ignition::normalise(value);
  unpack(value);
  return json::write_canonical(value);
}

/// Butane 0.23.0 is made with an Ignition that gave this warning to fewer versions.
bool is_newer_warning(std::string_view message) { return message.starts_with("setuid/setgid/sticky bits"); }

struct Judged {
  bool is_refused = false;
  bool has_warnings = false;
  std::string result = {};
  std::set<std::int64_t> unused_lines = {};
};

Judged ours(const std::string& text, const std::string& files) {
  cmd::ButaneReader reader(files);
  const auto documents = yaml::parse_stream(text);
  if (!documents.ok()) return {.is_refused = true};
  const auto translated = reader.translate(text, 0);
  if (!translated.ok() || translated->report.is_fatal()) return {.is_refused = true};
  Judged judged;
  for (const ignition::Finding& finding : translated->report.findings) {
    judged.has_warnings = judged.has_warnings || !is_newer_warning(finding.message);
  }
  judged.result =
      comparable(translated->is_machine_config() ? cmd::machine_config_of(*translated).json() : translated->config);
  for (const ignition::Finding& finding : translated->report.findings) {
    if (!finding.message.starts_with("unused key")) continue;
    judged.unused_lines.insert(static_cast<std::int64_t>(finding.position->line));
  }
  return judged;
}

Judged theirs(const json::Value& verdict) {
  if (json::find_string(verdict, {"error"}) != "") return {.is_refused = true};
  Judged judged;
  const json::Array& entries = json::find(verdict, {"entries"})->get_array();
  for (const json::Value& entry : entries) {
    judged.has_warnings = judged.has_warnings || !is_newer_warning(*json::find_string(entry, {"message"}));
  }
  judged.result = comparable(*yaml::parse(*json::find_string(verdict, {"output"})));
  for (const json::Value& entry : entries) {
    if (!json::find_string(entry, {"message"})->starts_with("Unused key")) continue;
    judged.unused_lines.insert(*json::find_int(entry, {"line"}));
  }
  return judged;
}

class ButaneJudge : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto programs = judge_programs();
    ASSERT_TRUE(programs.ok()) << programs.error().to_string();
    programs_ = *programs;
    write_butane_files(files());
  }

  std::string files() const { return (folder_ / "files").string(); }

  std::vector<json::Value> ask(const std::vector<std::string>& texts) {
    return judge({(programs_ / "judge-butane").string(), files()}, texts);
  }

  std::filesystem::path programs_;
  TempDir folder_;
};

/// What the generator does not write.
constexpr std::string_view kOddities[] = {
    "variant: fcos\nversion: 1.4.0\nx: &f {path: /a, mode: 0644, y: 1}\nstorage:\n  files:\n    - <<: *f\n      path: "
    "/b\n"
    "    - *f\n",
    "variant: fcos\nversion: 1.4.0\nkernel_arguments: &k {should_exist: [a], z: 1}\n",
    "variant: fcos\nversion: 1.4.0\na: &a {should_exist: [a], z: 1}\nkernel_arguments: *a\n",
    "variant: fcos\nversion: 1.4.0\na: &a {b: 1}\nc: &c {should_exist: [x]}\nkernel_arguments: {<<: [*a, *c]}\n",
    "variant: fcos\nversion: 1.4.0\nstorage:\nsystemd: ~\n",
    "variant: fcos\nversion: 1.4.0\nsystemd: {units: [~, {name: a.service}, ~]}\n",
    "variant: fcos\nversion: 1.4.0\nsystemd: {units: [{name: a.service}, ~]}\n",
    "variant: fcos\nversion: 1.4.0\npasswd: {users: [{name: 5, gecos: 0x10, uid: 1e3, home_dir: true, shell: "
    "2020-01-01}]}\n",
    "variant: fcos\nversion: 1.4.0\npasswd: {users: [{}]}\n",
    "variant: fcos\nversion: 1.2.0\nstorage: {links: [{path: /a, target: ''}]}\n",
    "variant: fcos\nversion: 1.4.0\nstorage: {files: [{path: /a, contents: {inline: !!binary aGVsbG8=}}]}\n",
    "variant: fcos\nversion: 1.4.0\nstorage: {files: [{path: /a, contents: {local: inside}}]}\n",
    "variant: fcos\nversion: 1.4.0\nstorage: {trees: [{local: tree, paths: /x}], files: [{path: /etc.d, mode: "
    "0400}]}\n",
    "{\"variant\": \"fcos\", \"version\": \"1.4.0\", \"storage\": {\"files\": [{\"path\": \"/a\", \"mode\": 420}]}}",
};

TEST_F(ButaneJudge, GivesWhatButaneGives) {
  std::vector<std::string> texts(std::begin(kOddities), std::end(kOddities));
  ButaneGenerator generator(14);
  for (const ButaneVersion& version : kButaneVersions) {
    for (int i = 0; i < kConfigsPerButaneVersion; ++i) texts.push_back(generator.config(version));
  }
  const std::vector<json::Value> verdicts = ask(texts);
  ASSERT_EQ(verdicts.size(), texts.size());
  int accepted = 0, differences = 0;
  std::map<std::string, int> accepted_by_version;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Judged mine = ours(texts[i], files()), judged = theirs(verdicts[i]);
    accepted += judged.is_refused ? 0 : 1;
    if (!judged.is_refused) ++accepted_by_version[texts[i].substr(0, texts[i].find('\n', 20))];
    if (mine.is_refused == judged.is_refused && mine.has_warnings == judged.has_warnings &&
        mine.result == judged.result && mine.unused_lines == judged.unused_lines) {
      continue;
    }
    if (++differences > 5) continue;
    cmd::ButaneReader reader(files());
    const auto translated = reader.translate(texts[i], 0);
    std::string findings;
    if (translated.ok()) {
      for (const ignition::Finding& finding : translated->report.findings) {
        findings += cmd::butane_note("ours", finding) + "\n";
      }
    }
    ADD_FAILURE() << texts[i] << "\n"
                  << findings << json::write(*json::find(verdicts[i], {"entries"}))
                  << json::find_string(verdicts[i], {"error"}).value_or("") << "\nours   "
                  << mine.result.substr(0, 3000) << "\ntheirs " << judged.result.substr(0, 3000);
  }
  EXPECT_EQ(differences, 0) << "of " << texts.size();
  EXPECT_GE(accepted_by_version.size(), std::size(kButaneVersions));
  EXPECT_GT(accepted, static_cast<int>(texts.size()) / 4);
  fmt::print("{} configs, {} accepted\n", texts.size(), accepted);
}

struct Refusal {
  std::string_view what;
  std::string_view text;  ///< behind the variant and version
};

constexpr Refusal kRefusals[] = {
    {"a number for a mapping", "storage: 5\n"},
    {"a mapping for a list", "storage: {files: {path: /a}}\n"},
    {"a word for a mode", "storage: {files: [{path: /a, mode: rw}]}\n"},
    {"a mode in quotes", "storage: {files: [{path: /a, mode: \"0644\"}]}\n"},
    {"a word for a boolean", "systemd: {units: [{name: a.service, enabled: maybe}]}\n"},
    {"true in quotes", "systemd: {units: [{name: a.service, enabled: \"true\"}]}\n"},
    {"a list for text", "systemd: {units: [{name: [a.service]}]}\n"},
    {"inline and source", "storage: {files: [{path: /a, contents: {inline: x, source: 'data:,y'}}]}\n"},
    {"inline and local", "storage: {files: [{path: /a, contents: {inline: x, local: small}}]}\n"},
    {"a local file that is missing", "storage: {files: [{path: /a, contents: {local: none}}]}\n"},
    {"a local folder", "storage: {files: [{path: /a, contents: {local: tree}}]}\n"},
    {"a local path that leads out", "storage: {files: [{path: /a, contents: {local: ../outside}}]}\n"},
    {"a local path that leads out later", "storage: {files: [{path: /a, contents: {local: sub/../../outside}}]}\n"},
    {"a tree without local", "storage: {trees: [{path: /a}]}\n"},
    {"a tree that is a file", "storage: {trees: [{local: small}]}\n"},
    {"a tree that leads out", "storage: {trees: [{local: ..}]}\n"},
    {"a tree over a file", "storage: {files: [{path: /etc/a.conf, contents: {inline: x}}], trees: [{local: tree}]}\n"},
    {"a tree over a folder", "storage: {directories: [{path: /etc.d}], trees: [{local: tree}]}\n"},
    {"two trees in one place", "storage: {trees: [{local: tree}, {local: tree}]}\n"},
    {"contents twice", "systemd: {units: [{name: a.service, contents: x, contents_local: unit}]}\n"},
    {"keys that are missing", "passwd: {users: [{name: core, ssh_authorized_keys_local: [none]}]}\n"},
    {"a path that is not absolute", "storage: {files: [{path: a, contents: {inline: x}}]}\n"},
    {"a file twice", "storage: {files: [{path: /a}, {path: /a}]}\n"},
    {"a unit of no kind", "systemd: {units: [{name: a.sevice}]}\n"},
    {"a unit that is no unit", "systemd: {units: [{name: a.service, contents: '[Unit'}]}\n"},
    {"a wrong hash", "storage: {files: [{path: /a, contents: {inline: x, verification: {hash: sha1-x}}}]}\n"},
    {"a wrong compression", "storage: {files: [{path: /a, contents: {inline: x, compression: xz}}]}\n"},
    {"a duplicate key", "storage: {files: []}\nstorage: {links: []}\n"},
    {"text that is not YAML", "storage: {files: [\n"},
};

TEST_F(ButaneJudge, RefusesWhatButaneRefuses) {
  std::vector<std::string> texts, names;
  const auto add = [&](std::string name, std::string text) {
    names.push_back(std::move(name));
    texts.push_back(std::move(text));
  };
  for (const Refusal& refusal : kRefusals) {
    add(std::string(refusal.what), fmt::format("variant: fcos\nversion: 1.5.0\n{}", refusal.text));
  }
  for (const std::string_view version :
       {"variant: fcos\n", "variant: fcos\nversion: 1.9.0\n", "variant: fcos\nversion: x\n",
        "variant: coreos\nversion: 1.5.0\n", "variant: rhcos\nversion: 0.1.0\n", "variant: openshift\nversion: 4.7.0\n",
        "variant: openshift\nversion: 4.14\n"}) {
    add(std::string(version), std::string(version));
  }
  constexpr std::string_view kMetadata =
      "metadata: {name: a, labels: {machineconfiguration.openshift.io/role: worker}}\n";
  for (const std::string_view text :
       {"kernel_arguments: {should_exist: [a]}\n", "passwd: {groups: [{name: g}]}\n", "passwd: {users: [{name: me}]}\n",
        "passwd: {users: [{name: core, shell: ''}]}\n", "passwd: {users: [{name: core, groups: [g]}]}\n",
        "storage: {directories: [{path: /a}]}\n", "storage: {links: [{path: /a, target: b}]}\n",
        "storage: {trees: [{local: links}]}\n", "storage: {files: [{path: /a, append: [{inline: x}]}]}\n",
        "storage: {files: [{path: /a, contents: {source: 'https://x.example/'}}]}\n",
        "storage: {files: [{path: /a, contents: {source: ''}}]}\n", "storage: {files: [{path: /a, mode: 04755}]}\n",
        "openshift: {kernel_type: fast}\n", "openshift: {fips: perhaps}\n", "openshift: {extensions: usbguard}\n"}) {
    add(std::string(text), fmt::format("variant: openshift\nversion: 4.14.0\n{}{}", kMetadata, text));
  }
  add("no metadata", "variant: openshift\nversion: 4.14.0\n");
  add("no role", "variant: openshift\nversion: 4.14.0\nmetadata: {name: a}\n");
  add("compression on 4.8",
      fmt::format("variant: openshift\nversion: 4.8.0\n{}storage: {{files: [{{path: /a, contents: {{inline: x, "
                  "compression: gzip}}}}]}}\n",
                  kMetadata));
  add("password on 4.12", fmt::format("variant: openshift\nversion: 4.12.0\n{}passwd: {{users: [{{name: core, "
                                      "password_hash: x}}]}}\n",
                                      kMetadata));
  const std::vector<json::Value> verdicts = ask(texts);
  ASSERT_EQ(verdicts.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_TRUE(theirs(verdicts[i]).is_refused) << names[i];
    EXPECT_TRUE(ours(texts[i], files()).is_refused) << names[i];
  }
}

/// The programs themselves, as people run them.
TEST_F(ButaneJudge, ProgramsAgree) {
  const std::string config =
      "variant: fcos\nversion: 1.5.0\nstorage:\n  trees: [{local: tree}]\n  files:\n"
      "    - path: /etc/motd\n      mode: 0600\n      contents: {inline: \"hello\\n\"}\n"
      "      wrong: 1\n";
  const std::string file = (folder_ / "site.bu").string();
  std::ofstream(file) << config;
  const auto output_of = [&](std::vector<std::string> argv) {
    Command command;
    command.argv = std::move(argv);
    command.timeout = std::chrono::seconds(30);
    const auto output = run(command);
    EXPECT_TRUE(output.ok());
    return output.ok() ? *output : ProcessOutput{};
  };
  const ProcessOutput judged = output_of({(programs_ / "butane").string(), "-d", files(), file});
  const ProcessOutput mine = run_strake({"ignition", "convert", "--to", "3.4", "--files-dir", files(), file});
  ASSERT_TRUE(judged.exit.success() && mine.exit.success()) << judged.stderr_bytes << mine.stderr_bytes;
  EXPECT_EQ(comparable(*json::parse(mine.stdout_bytes)), comparable(*json::parse(judged.stdout_bytes)));

  const ProcessOutput strictly_judged = output_of({(programs_ / "butane").string(), "-s", "-d", files(), file});
  const ProcessOutput strict = run_strake({"ignition", "validate", "--strict", "--files-dir", files(), file});
  EXPECT_FALSE(strictly_judged.exit.success());
  EXPECT_FALSE(strict.exit.success());
  EXPECT_NE(strict.stdout_bytes.find(file + ":9:1: warning: storage.files[0].wrong: unused key wrong"),
            std::string::npos)
      << strict.stdout_bytes;

  EXPECT_FALSE(output_of({(programs_ / "butane").string(), file}).exit.success());
  const ProcessOutput without = run_strake({"ignition", "convert", file});
  EXPECT_FALSE(without.exit.success());
  EXPECT_NE(without.stderr_bytes.find("site.bu:4:1: error: storage.trees[0]: local paths count from a folder"),
            std::string::npos)
      << without.stderr_bytes;
}

/// A MachineConfig of Butane renders like the one Butane writes, from a file, a folder and standard input.
TEST_F(ButaneJudge, MachineConfigsRenderAlike) {
  const std::string config =
      "variant: openshift\nversion: 4.18.0\nmetadata:\n  name: 50-site\n  labels:\n"
      "    machineconfiguration.openshift.io/role: worker\nopenshift: {kernel_arguments: [quiet], extensions: "
      "[usbguard]}\n"
      "systemd:\n  units:\n    - name: site.service\n      enabled: true\n      contents_local: unit\n";
  std::filesystem::create_directory(folder_ / "manifests");
  std::ofstream(folder_ / "manifests/site.bu") << config;
  Command command;
  command.argv = {(programs_ / "butane").string(), "-d", files(), (folder_ / "manifests/site.bu").string()};
  const auto judged = run(command);
  ASSERT_TRUE(judged.ok() && judged->exit.success());
  std::ofstream(folder_ / "judged.yaml") << judged->stdout_bytes;
  const auto name_of = [&](const std::string& path, const std::string& input = "") {
    const ProcessOutput output = run_strake({"render", "-f", path, "-d", files(), "-o", "name"}, input);
    EXPECT_TRUE(output.exit.success()) << output.stderr_bytes;
    return output.stdout_bytes;
  };
  const std::string expected = name_of((folder_ / "judged.yaml").string());
  EXPECT_TRUE(expected.starts_with("rendered-worker-")) << expected;
  EXPECT_EQ(name_of((folder_ / "manifests/site.bu").string()), expected);
  EXPECT_EQ(name_of((folder_ / "manifests").string()), expected);
  EXPECT_EQ(name_of("-", config), expected);
  const ProcessOutput diff = run_strake(
      {"diff", (folder_ / "judged.yaml").string(), (folder_ / "manifests/site.bu").string(), "--files-dir", files()});
  EXPECT_TRUE(diff.exit.success()) << diff.stdout_bytes << diff.stderr_bytes;
}

}  // namespace
}  // namespace strake::test
