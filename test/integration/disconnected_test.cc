// An operator behind an air gap: one mirror, one file of mirror sets, the source out of reach, and every verb. skopeo
// reads the same images by the same rules and is the judge.
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <sys/socket.h>

#include <functional>

#include "base/fd.h"
#include "codec/base64.h"
#include "codec/json.h"
#include "support/registry_release.h"
#include "support/strake_command.h"

namespace strake::test {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kTag = "4.21.7-x86_64";

void write_text(const std::filesystem::path& file, const std::string& text) {
  EXPECT_TRUE(write_file_atomic(file, text, 0644).ok()) << file;
}

/// Source and mirror, two registries; the release was mirrored while the source was up.
class Gap {
 public:
  Gap()
      : source(RegistryServer::start(RegistryLogin::kPassword)),
        mirror(RegistryServer::start(RegistryLogin::kPassword)) {
    if (!source.ok() || !mirror.ok()) return;
    release = std::make_unique<RegistryRelease>(**source);
    std::filesystem::create_directory(dir / "certs");
    std::string authorities;
    for (const RegistryServer* server : {source->get(), mirror->get()})
      authorities += *read_file(server->ca_file(), 1 << 20);
    write_text(dir / "ca.pem", authorities);
    write_text(dir / "certs/ca.crt", authorities);
    write_text(dir / "both.json", auth_file({source_host(), mirror_host()}));
    write_text(dir / "mirror-only.json", auth_file({mirror_host()}));
    write_text(dir / "empty.conf", "");
    // What the cells of the matrix ask for.
    run_skopeo({"copy", "--quiet", "--preserve-digests", "--dest-authfile", (dir / "both.json").string(),
                "--dest-cert-dir", (dir / "certs").string(), "docker://" + component_by_tag(),
                fmt::format("docker://{}/copies/art-dev:rhel-coreos", mirror_host())});
    mirrored = strake({"release", "mirror", release->reference(), mirror_host() + "/ocp", "--keyring", keyring()});
    write_text(dir / "sets.yaml", mirrored.stdout_bytes);
    write_text(dir / "never.yaml", never_contact_source(mirrored.stdout_bytes));
    carried =
        strake({"release", "mirror", release->reference(), archive(), "--artifacts", "metal", "--keyring", keyring()});
  }

  /// The other side of the gap: neither the source nor the locations of boot artifacts answer.
  void cut() {
    (*source)->stop();
    std::error_code ignored;
    std::filesystem::rename(release->artifact_folder(), away(), ignored);
  }

  std::string source_host() const { return (*source)->host(); }
  std::string mirror_host() const { return (*mirror)->host(); }
  std::string keyring() const { return release->keyring().string(); }
  std::string archive() const { return (dir / "release.tar").string(); }
  std::filesystem::path away() const { return release->directory() / "away"; }
  std::string component_by_tag() const { return source_host() + "/up/art-dev:rhel-coreos"; }
  std::string component_by_digest() const { return release->components().at("rhel-coreos"); }

  ProcessOutput strake(Words arguments, const std::string& auth = "both.json",
                       const std::string& conf = "empty.conf") const {
    return run_strake(with_access(std::move(arguments), auth, conf));
  }
  Words with_access(Words arguments, const std::string& auth = "both.json",
                    const std::string& conf = "empty.conf") const {
    if (arguments[0] == "release" &&
        (arguments[1] == "verify" || arguments[1] == "mirror" || arguments[1] == "bootimages")) {
      arguments.insert(arguments.end(), {"--allow-location", release->location_prefix()});
    }
    arguments.insert(arguments.end(),
                     {"--certificate-authority", (dir / "ca.pem").string(), "--authfile", (dir / auth).string(),
                      "--registries-conf", (dir / conf).string(), "--no-cache"});
    return arguments;
  }
  ProcessOutput run_skopeo(Words arguments, const std::string& auth = "both.json",
                           const std::string& conf = "empty.conf") const {
    Command command;
    command.argv = {"skopeo", "--insecure-policy", "--registries-conf", (dir / conf).string()};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.argv.insert(command.argv.begin() + 5,
                        {"--src-cert-dir", (dir / "certs").string(), "--src-authfile", (dir / auth).string()});
    command.env = Words{"PATH=/usr/bin:/bin", "HOME=" + dir.path().string(), "TMPDIR=" + dir.path().string()};
    command.timeout = std::chrono::seconds(60);
    auto output = run(command);
    EXPECT_TRUE(output.ok()) << (output.ok() ? "" : output.error().to_string());
    return output.ok() ? *std::move(output) : ProcessOutput{};
  }

  Result<std::unique_ptr<RegistryServer>> source, mirror;
  std::unique_ptr<RegistryRelease> release;
  TempDir dir;
  ProcessOutput mirrored, carried;

 private:
  static std::string auth_file(const Words& hosts) {
    json::Object entries;
    for (const std::string& host : hosts) {
      entries[host] =
          json::Object{{"auth", codec::encode_base64(fmt::format("{}:{}", kRegistryUser, kRegistryPassword))}};
    }
    return json::write(json::Object{{"auths", std::move(entries)}});
  }

  /// The same sets, with the other policy in every entry.
  static std::string never_contact_source(const std::string& sets) {
    std::string text;
    for (std::size_t at = 0; at < sets.size();) {
      const std::size_t end = std::min(sets.find('\n', at), sets.size() - 1);
      const std::string line = sets.substr(at, end - at + 1);
      text += line;
      const std::size_t member = line.find("source: ");
      if (member != std::string::npos) text += std::string(member, ' ') + "mirrorSourcePolicy: NeverContactSource\n";
      at = end + 1;
    }
    return text;
  }
};

class Disconnected : public testing::Test {
 protected:
  void SetUp() override {
    static Gap gap;
    ASSERT_TRUE(gap.source.ok()) << gap.source.error().to_string();
    ASSERT_TRUE(gap.mirror.ok()) << gap.mirror.error().to_string();
    ASSERT_EQ(gap.mirrored.exit.exit_code, 0) << gap.mirrored.stderr_bytes;
    ASSERT_EQ(gap.carried.exit.exit_code, 0) << gap.carried.stderr_bytes;
    gap_ = &gap;
  }

  std::string by_tag() const { return fmt::format("{}/up/release:{}", gap_->source_host(), kTag); }
  std::string by_digest() const {
    return fmt::format("{}/up/release@{}", gap_->source_host(), gap_->release->digest());
  }
  static std::string result_of(const ProcessOutput& output) {
    const auto document = json::parse(output.stdout_bytes);
    EXPECT_TRUE(document.ok()) << output.stdout_bytes << output.stderr_bytes;
    if (!document.ok()) return "";
    EXPECT_EQ(json::find_string(*document, {"apiVersion"}), "strake.dev/v1alpha1");
    return json::find_string(*document, {"result"}).value_or("");
  }

  Gap* gap_ = nullptr;
  TempDir dir_;
};

// --- The matrix, judged ----------------------------------------------------------------------------------------------

struct Cell {
  enum class Form { kIdms, kItms, kBoth, kConf };
  enum class Source { kUp, kRefusing, kDown };
  bool digest;
  Form form;
  bool never;
  Source source;
  int code;  ///< of strake; skopeo only says whether it worked
};

/// The rules as a node has them, for skopeo; and as a cluster has them, for strake.
struct WrittenRules {
  std::string conf, sets;
};

WrittenRules write_rules(const Cell& cell, const std::string& from, const std::string& to) {
  WrittenRules rules;
  rules.conf = fmt::format("[[registry]]\nprefix = \"{}\"\nlocation = \"{}\"\nblocked = {}\n", from, from, cell.never);
  const auto add = [&](const char* use, const char* kind, const char* list) {
    rules.conf += fmt::format("[[registry.mirror]]\nlocation = \"{}\"\n{}", to, use);
    if (*kind == '\0') return;
    rules.sets += fmt::format(
        "---\napiVersion: config.openshift.io/v1\nkind: {}\nmetadata: {{name: x}}\nspec:\n  {}:\n"
        "  - {{source: '{}', mirrors: ['{}'], mirrorSourcePolicy: {}}}\n",
        kind, list, from, to, cell.never ? "NeverContactSource" : "AllowContactingSource");
  };
  using Form = Cell::Form;
  if (cell.form == Form::kIdms || cell.form == Form::kBoth) {
    add("pull-from-mirror = \"digest-only\"\n", "ImageDigestMirrorSet", "imageDigestMirrors");
  }
  if (cell.form == Form::kItms || cell.form == Form::kBoth) {
    add("pull-from-mirror = \"tag-only\"\n", "ImageTagMirrorSet", "imageTagMirrors");
  }
  if (cell.form == Form::kConf) add("", "", "");
  return rules;
}

TEST_F(Disconnected, TwelveCellsOfTheMatrixAsSkopeoReadsThem) {
  using Form = Cell::Form;
  using Source = Cell::Source;
  // The source is stopped on the way: its states stand in this order.
  const Cell cells[] = {
      {true, Form::kIdms, false, Source::kUp, 0},        {true, Form::kItms, false, Source::kUp, 0},
      {false, Form::kIdms, true, Source::kUp, 3},        {true, Form::kIdms, false, Source::kRefusing, 0},
      {false, Form::kItms, false, Source::kRefusing, 0}, {false, Form::kIdms, false, Source::kRefusing, 1},
      {true, Form::kIdms, true, Source::kDown, 0},       {false, Form::kItms, true, Source::kDown, 0},
      {true, Form::kItms, true, Source::kDown, 3},       {false, Form::kIdms, false, Source::kDown, 4},
      {false, Form::kBoth, true, Source::kDown, 0},      {true, Form::kConf, false, Source::kDown, 0},
  };
  int number = 0;
  for (const Cell& cell : cells) {
    SCOPED_TRACE(fmt::format("cell {}", ++number));
    if (cell.source == Source::kDown) gap_->cut();
    const WrittenRules rules = write_rules(cell, gap_->source_host() + "/up", gap_->mirror_host() + "/copies");
    write_text(gap_->dir / "cell.conf", rules.conf);
    write_text(dir_ / "cell.yaml", rules.sets);
    const std::string auth = cell.source == Source::kRefusing ? "mirror-only.json" : "both.json";
    const std::string image = cell.digest ? gap_->component_by_digest() : gap_->component_by_tag();

    Words ls{"os", "ls", image, "-R"};
    if (!rules.sets.empty()) ls.insert(ls.end(), {"--mirror-sets", (dir_ / "cell.yaml").string()});
    const ProcessOutput ours = gap_->strake(ls, auth, rules.sets.empty() ? "cell.conf" : "empty.conf");
    EXPECT_EQ(ours.exit.exit_code, cell.code) << ours.stderr_bytes;
    if (cell.code == 0) {
      EXPECT_NE(ours.stdout_bytes.find("/usr/rhel-coreos\n"), std::string::npos) << ours.stdout_bytes;
    }
    const std::string copy = (dir_ / fmt::format("copy-{}", number)).string();
    const ProcessOutput theirs =
        gap_->run_skopeo({"copy", "--quiet", "docker://" + image, "dir:" + copy}, auth, "cell.conf");
    EXPECT_EQ(theirs.exit.exit_code == 0, cell.code == 0) << theirs.stderr_bytes;
  }
}

// --- Every verb ------------------------------------------------------------------------------------------------------

TEST_F(Disconnected, OneMirrorAndOneFileAreEnoughForEveryVerb) {
  gap_->cut();
  const std::string key = gap_->release->sigstore_key().string();
  // By digest the tags of signatures are asked for besides; by tag everything else by digest: each policy meets both.
  for (const auto& [sets, release] : {std::pair{"sets.yaml", by_digest()}, std::pair{"never.yaml", by_tag()}}) {
    const Words verbs[] = {
        {"release", "info", release},
        {"release", "images", release, "--image-for", "rhel-coreos"},
        {"release", "verify", release, "--keyring", gap_->keyring(), "--artifacts", "local"},
        {"release", "bootimages", release, "--arch", "x86_64", "--platform", "metal", "--download",
         (dir_ / "iso").string()},
        {"stream", "show", "--release", release},
        {"os", "ls", "release:" + release, "-R"},
        {"os", "cat", "release:" + release + "#cli", "/usr/base"},
        {"os", "diff", "release:" + release, "release:" + release + "#rhel-coreos"},
    };
    for (Words verb : verbs) {
      verb.insert(verb.end(), {"--mirror-sets", (gap_->dir / sets).string()});
      const ProcessOutput output = gap_->strake(verb, "mirror-only.json");
      EXPECT_EQ(output.exit.exit_code, 0)
          << sets << " " << fmt::format("{} {} {}\n", verb[0], verb[1], verb[2]) << output.stderr_bytes;
    }
    const ProcessOutput chain = gap_->strake(
        {"release", "verify", by_digest(), "--keyring", gap_->keyring(), "--sigstore-key", key, "--sigstore-components",
         "--signed-as", gap_->release->reference(), "--mirror-sets", (gap_->dir / sets).string()},
        "mirror-only.json");
    EXPECT_EQ(chain.exit.exit_code, 0) << sets << chain.stdout_bytes << chain.stderr_bytes;
    const std::string folder = (dir_ / sets).string() + ".mirror";
    const ProcessOutput again = gap_->strake({"release", "mirror", by_tag(), folder, "--keyring", gap_->keyring(),
                                              "--mirror-sets", (gap_->dir / sets).string()},
                                             "mirror-only.json");
    EXPECT_EQ(again.exit.exit_code, 0) << sets << again.stderr_bytes;
  }
}

// --- Across the gap --------------------------------------------------------------------------------------------------

TEST_F(Disconnected, ATarWithSomeArtifactsIsMirroredIntoARegistry) {
  gap_->cut();
  const std::string repository = gap_->mirror_host() + "/carried";
  const ProcessOutput output =
      gap_->strake({"release", "mirror", gap_->archive(), repository, "--keyring", gap_->keyring()});
  ASSERT_EQ(output.exit.exit_code, 0) << output.stderr_bytes;
  EXPECT_NE(output.stderr_bytes.find("does not carry 1 boot artifacts (x86_64 vmware ova disk)"), std::string::npos)
      << output.stderr_bytes;
  for (const char* kind : {"ImageDigestMirrorSet", "ImageTagMirrorSet", "ConfigMap"}) {
    EXPECT_NE(output.stdout_bytes.find(fmt::format("kind: {}\n", kind)), std::string::npos) << output.stdout_bytes;
  }
  const ProcessOutput copied = gap_->run_skopeo(
      {"copy", "--quiet", fmt::format("docker://{}:{}", repository, kTag), "dir:" + (dir_ / "copy").string()});
  EXPECT_EQ(copied.exit.exit_code, 0) << copied.stderr_bytes;

  const auto from_archive = [&](Words arguments) {
    arguments.insert(arguments.end(), {"--keyring", gap_->keyring()});
    return gap_->strake(std::move(arguments));
  };
  const std::string folder = (dir_ / "folder").string();
  const ProcessOutput absent = from_archive({"release", "mirror", gap_->archive(), folder, "--artifacts", "vmware"});
  EXPECT_EQ(absent.exit.exit_code, 3) << absent.stderr_bytes;
  EXPECT_NE(absent.stderr_bytes.find("--fetch-artifacts"), std::string::npos) << absent.stderr_bytes;
  const Words download{"release",    "bootimages", gap_->archive(), "--arch", "x86_64",
                       "--platform", "vmware",     "--download",    folder};
  EXPECT_EQ(gap_->strake(download).exit.exit_code, 3);
  std::filesystem::rename(gap_->away(), gap_->release->artifact_folder());
  const ProcessOutput fetched =
      from_archive({"release", "mirror", gap_->archive(), folder, "--artifacts", "vmware", "--fetch-artifacts",
                    "--manifests", (dir_ / "manifests").string(), "-o", "json"});
  EXPECT_EQ(fetched.exit.exit_code, 0) << fetched.stderr_bytes;
  EXPECT_EQ(result_of(fetched), "ok");
  EXPECT_TRUE(std::filesystem::exists(dir_ / "manifests" /
                                      fmt::format("configmap-sha256-{}.yaml", gap_->release->digest().substr(7))));
}

// --- Results ---------------------------------------------------------------------------------------------------------

/// A port at which connections are taken and nothing is ever said.
class SilentPort {
 public:
  SilentPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(socket_.get(), 16), 0);
    socklen_t length = sizeof address;
    EXPECT_EQ(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
  }
  std::string host() const { return fmt::format("127.0.0.1:{}", port_); }

 private:
  Fd socket_;
  int port_ = 0;
};

TEST_F(Disconnected, AScriptCanTellRefusedFromCouldNotLook) {
  gap_->cut();
  const std::string mirrored = fmt::format("{}/ocp:{}", gap_->mirror_host(), kTag);
  const GpgSigner stranger("them@strake.test");
  write_text(dir_ / "them.asc", stranger.public_key());
  const SilentPort silent;
  const struct {
    std::string release;
    std::string keyring;
    int code;
    std::string result;
    std::string broken;  ///< the link
  } cases[] = {
      {mirrored, gap_->keyring(), 0, "ok", ""},
      {mirrored, "", 5, "trustedByItself", ""},
      {mirrored, (dir_ / "them.asc").string(), 6, "refused", "signature"},
      {gap_->mirror_host() + "/ocp:9.9.9", gap_->keyring(), 3, "absent", "release"},
      {by_digest(), gap_->keyring(), 4, "unreachable", "release"},
      {"registry.invalid/ocp:1", gap_->keyring(), 4, "unreachable", "release"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.result + " " + test.release);
    Words words{"release", "verify", test.release, "-o", "json"};
    if (!test.keyring.empty()) words.insert(words.end(), {"--keyring", test.keyring});
    const ProcessOutput output = gap_->strake(words);
    EXPECT_EQ(output.exit.exit_code, test.code) << output.stderr_bytes;
    EXPECT_EQ(result_of(output), test.result);
    const auto document = json::parse(output.stdout_bytes);
    ASSERT_TRUE(document.ok());
    EXPECT_EQ(json::find_string(*document, {"broken", "link"}).value_or(""), test.broken) << output.stdout_bytes;
    EXPECT_EQ(output.stderr_bytes.find("the chain breaks") != std::string::npos, test.code == 6) << output.stderr_bytes;
  }
  for (const char* verb : {"info", "images", "bootimages"}) {
    EXPECT_EQ(result_of(gap_->strake({"release", verb, mirrored, "-o", "json"})), "ok") << verb;
    EXPECT_EQ(result_of(gap_->strake({"release", verb, by_digest(), "-o", "json"})), "unreachable") << verb;
  }
  const std::string here = "release:" + mirrored, away = "release:" + by_digest();
  for (const Words& verb : {Words{"os", "ls"}, Words{"os", "inspect"}, Words{"os", "diff"}}) {
    const auto on = [&](const std::string& image) {
      Words words = verb;
      words.push_back(image);
      if (verb[1] == "diff") words.push_back(here);
      words.insert(words.end(), {"-o", "json"});
      return result_of(gap_->strake(words));
    };
    EXPECT_EQ(on(here), "ok") << verb[1];
    EXPECT_EQ(on(away), "unreachable") << verb[1];
  }
  EXPECT_EQ(result_of(gap_->strake({"os", "ls", here, "/nowhere", "-o", "json"})), "absent");
  EXPECT_EQ(result_of(gap_->strake({"stream", "show", "--release", by_digest(), "-o", "json"})), "unreachable");
  EXPECT_EQ(result_of(gap_->strake({"stream", "get", "--release", mirrored, "--platform", "betamax", "-o", "json"})),
            "absent");
  Command interrupted = strake_command(
      gap_->with_access({"release", "verify", silent.host() + "/ocp:1", "-o", "json", "--keyring", gap_->keyring()}));
  // In the foreground: otherwise `timeout` sends the signal twice, and the second one ends everything at once.
  interrupted.argv.insert(interrupted.argv.begin(),
                          {"timeout", "--foreground", "--preserve-status", "-s", "INT", "0.5"});
  const auto output = run(interrupted);
  ASSERT_TRUE(output.ok()) << output.error().to_string();
  EXPECT_EQ(output->exit.exit_code, 130) << output->stderr_bytes;
  EXPECT_EQ(result_of(*output), "interrupted");
  EXPECT_EQ(output->stderr_bytes.find("chain"), std::string::npos) << output->stderr_bytes;
}

TEST_F(Disconnected, VerifyListsEverythingWithItsDigest) {
  const std::string mirrored = fmt::format("{}/ocp:{}", gap_->mirror_host(), kTag);
  const Words verify{"release", "verify", mirrored, "--keyring", gap_->keyring(), "--artifacts", "local", "-o"};
  const auto with_format = [&](const char* format) {
    Words words = verify;
    words.emplace_back(format);
    return gap_->strake(words);
  };
  const auto document = json::parse(with_format("json").stdout_bytes);
  ASSERT_TRUE(document.ok());
  const json::Array& components = json::find(*document, {"components"})->get_array();
  ASSERT_EQ(components.size(), gap_->release->components().size());
  const std::string wide = with_format("wide").stdout_bytes;
  const auto expect_item = [&](const json::Value& item) {
    EXPECT_EQ(json::find_string(item, {"verdict"}), "ok") << json::write(item);
    EXPECT_GT(json::find_int(item, {"size"}).value_or(0), 0) << json::write(item);
    const std::string digest = json::find_string(item, {"digest"}).value_or("none");
    EXPECT_NE(wide.find(digest), std::string::npos) << digest << "\n" << wide;
  };
  for (const json::Value& component : components) {
    expect_item(component);
    const std::string name = json::find_string(component, {"subject"}).value_or("");
    EXPECT_TRUE(gap_->release->components().at(name).ends_with(json::find_string(component, {"digest"}).value_or("?")));
    const json::Array& layers = json::find(component, {"layers"})->get_array();
    EXPECT_EQ(layers.size(), 2u);
    for (const json::Value& layer : layers) expect_item(layer);
  }
  expect_item(*json::find(*document, {"release"}));
  std::size_t hashed = 0;
  for (const json::Value& artifact : json::find(*document, {"artifacts"})->get_array()) {
    const bool ok = json::find_string(artifact, {"verdict"}) == "ok";
    hashed += ok ? 1 : 0;
    if (ok) expect_item(artifact);
    if (!ok) {
      EXPECT_EQ(json::find_string(artifact, {"verdict"}), "listed");
    }
  }
  EXPECT_EQ(hashed, 2u);
}

// --- The way out -----------------------------------------------------------------------------------------------------

TEST_F(Disconnected, AFullDiskOrAClosedPipeIsAnErrorOfEveryVerb) {
  const std::string tar = gap_->archive();
  const std::string os = "release:" + tar;
  const std::string target = gap_->mirror_host() + "/unprinted";
  const Words verbs[] = {
      {"release", "info", tar},
      {"release", "images", tar},
      {"release", "verify", tar, "--keyring", gap_->keyring()},
      {"release", "verify", tar, "--keyring", gap_->keyring(), "-o", "json"},
      {"release", "bootimages", tar},
      {"release", "diff", tar, tar},
      {"release", "extract", tar, "--file", "image-references"},
      {"release", "mirror", tar, target, "--keyring", gap_->keyring()},
      {"release", "mirror", tar, target, "--keyring", gap_->keyring(), "--dry-run"},
      {"image", "verify", fmt::format("{}/ocp:{}", gap_->mirror_host(), kTag), "--sigstore-key",
       gap_->release->sigstore_key().string(), "--signed-as", gap_->release->reference(), "--layers", "none"},
      {"stream", "show", "--release", tar},
      {"stream", "get", "--release", tar, "--platform", "metal"},
      {"os", "ls", os},
      {"os", "cat", os, "/usr/base"},
      {"os", "inspect", os},
      {"os", "diff", os, os + "#cli"},
  };
  const std::string fifo = (dir_ / "fifo").string();
  Command make;
  make.argv = {"mkfifo", fifo};
  ASSERT_TRUE(run_checked(make).ok());
  for (const Words& verb : verbs) {
    SCOPED_TRACE(verb[0] + " " + verb[1]);
    Command full = strake_command(gap_->with_access(verb));
    Command closed = full;
    full.argv.insert(full.argv.begin(), {"bash", "-c", "exec \"$@\" > /dev/full", "bash"});
    closed.argv.insert(closed.argv.begin(),
                       {"bash", "-c", "exec 3<> \"$1\"; exec 4> \"$1\"; exec 3<&-; exec \"${@:2}\" >&4", "bash", fifo});
    for (const Command& command : {full, closed}) {
      const auto output = run(command);
      ASSERT_TRUE(output.ok()) << output.error().to_string();
      EXPECT_EQ(output->exit, (ExitStatus{1, 0})) << output->stderr_bytes;
      EXPECT_NE(output->stderr_bytes.find("printing to standard output"), std::string::npos) << output->stderr_bytes;
    }
  }
  // Where the release's tag is, everything is: its mirror sets could not be written.
  EXPECT_EQ(gap_->strake({"release", "info", fmt::format("{}:{}", target, kTag)}).exit.exit_code, 3);
}

// --- Messages --------------------------------------------------------------------------------------------------------

TEST_F(Disconnected, MessagesNameTheNextStep) {
  const std::string mirrored = fmt::format("{}/ocp:{}", gap_->mirror_host(), kTag);
  const std::string folder = (dir_ / "folder").string();
  write_text(dir_ / "no-one.json", R"({"auths":{}})");
  write_text(dir_ / "wrong.json", fmt::format(R"({{"auths":{{"{}":{{"auth":"{}"}}}}}})", gap_->mirror_host(),
                                              codec::encode_base64("bot:wrong")));
  std::filesystem::create_directory(dir_ / "folder");
  const std::string conf = (gap_->dir / "empty.conf").string();
  const std::string ca = (gap_->dir / "ca.pem").string();
  const std::string auth = (gap_->dir / "both.json").string();
  const Words base{"--no-cache", "--registries-conf", conf};
  const std::string digest = "sha256:" + std::string(64, 'a');
  const struct {
    Words words;
    int code;
    Words says;
  } cases[] = {
      {{"release", "info", mirrored, "--authfile", auth}, 1, {"--certificate-authority"}},
      {{"release", "info", mirrored, "--certificate-authority", ca, "--authfile", (dir_ / "no-one.json").string()},
       1,
       {"no credentials for " + gap_->mirror_host(), "podman login", "--authfile"}},
      {{"release", "info", mirrored, "--certificate-authority", ca, "--authfile", (dir_ / "wrong.json").string()},
       1,
       {"user 'bot'", "podman login"}},
      {{"release", "mirror", gap_->archive(), "folder"}, 1, {"write ./folder"}},
      {{"release", "mirror", gap_->archive(), "other"}, 1, {"names no registry", "./other", "REGISTRY/other"}},
      {{"release", "mirror", gap_->archive(), "other.tar"}, 1, {"names no registry", "./other.tar"}},
      {{"release", "info", "folder"}, 1, {"write ./folder"}},
      {{"release", "mirror", gap_->archive(), "./x", "--keyring", gap_->keyring(), "--artifact-arch", "sparc"},
       3,
       {"sparc", "aarch64, x86_64"}},
      {{"release", "info", fmt::format("{}/ocp:{}@{}", gap_->mirror_host(), kTag, digest), "--certificate-authority",
        ca, "--authfile", auth},
       3,
       {"tag 4.21.7-x86_64 of", "the digest counts"}},
  };
  for (const auto& test : cases) {
    Words words = test.words;
    words.insert(words.end(), base.begin(), base.end());
    Command command = strake_command(words);
    command.cwd = dir_.path();
    const auto output = run(command);
    ASSERT_TRUE(output.ok()) << output.error().to_string();
    EXPECT_EQ(output->exit.exit_code, test.code) << output->stderr_bytes;
    for (const std::string& said : test.says) {
      EXPECT_NE(output->stderr_bytes.find(said), std::string::npos) << said << "\n" << output->stderr_bytes;
    }
  }
}

}  // namespace
}  // namespace strake::test
