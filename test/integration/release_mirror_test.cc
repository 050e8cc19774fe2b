// `strake release ...` as a user runs it on a release in a real registry: shown, verified, mirrored to another
// repository, a folder and a tar, and verified there with nothing else within reach. Other people's tools read the
// copies.
#include <gtest/gtest.h>

#include <fstream>

#include "base/fd.h"
#include "codec/digest.h"
#include "codec/json.h"
#include "support/registry_release.h"
#include "support/servers.h"
#include "support/strake_command.h"

namespace strake::test {
namespace {

/// One registry and one release for the whole program.
struct Published {
  Published() : registry(RegistryServer::start(RegistryLogin::kPassword)) {
    if (registry.ok()) release = std::make_unique<RegistryRelease>(**registry);
  }
  Result<std::unique_ptr<RegistryServer>> registry;
  std::unique_ptr<RegistryRelease> release;
};

class ReleaseInRegistry : public testing::Test {
 protected:
  void SetUp() override {
    static const Published published;
    ASSERT_TRUE(published.registry.ok()) << published.registry.error().to_string();
    registry_ = published.registry->get();
    release_ = published.release.get();
    allowed_ = release_->location_prefix();
    // Nothing of the release may come from anywhere but the mirror.
    ASSERT_TRUE(
        write_file_atomic(dir_ / "only-mirror.conf",
                          fmt::format("[[registry]]\nlocation = \"{}/up\"\nblocked = true\n", registry_->host()), 0644)
            .ok());
    ASSERT_TRUE(write_file_atomic(dir_ / "no-rules.conf", "", 0644).ok());
  }

  ProcessOutput strake(std::vector<std::string> arguments, const std::string& conf = "no-rules.conf") {
    const bool follows = arguments[0] == "verify" || arguments[0] == "mirror" || arguments[0] == "bootimages";
    if (follows && !allowed_.empty()) arguments.insert(arguments.end(), {"--allow-location", allowed_});
    arguments.insert(arguments.begin(), "release");
    arguments.insert(arguments.end(), {"--certificate-authority", registry_->ca_file().string(), "--authfile",
                                       (registry_->login_folder() / "config.json").string(), "--cache",
                                       (dir_ / "cache").string(), "--registries-conf", (dir_ / conf).string()});
    return run_strake(std::move(arguments));
  }
  ProcessOutput strake_ok(std::vector<std::string> arguments, const std::string& conf = "no-rules.conf") {
    ProcessOutput output = strake(std::move(arguments), conf);
    EXPECT_EQ(output.exit.exit_code, 0) << output.stdout_bytes << output.stderr_bytes;
    return output;
  }
  std::string client(std::vector<std::string> argv) {
    const Result<std::string> output = registry_->run_client(std::move(argv));
    EXPECT_TRUE(output.ok()) << (output.ok() ? "" : output.error().to_string());
    return output.ok() ? *output : "";
  }
  std::string mirror_repository(const std::string& name) const { return registry_->host() + "/" + name; }
  std::string keyring() const { return release_->keyring().string(); }

  void expect_whole_chain(const ProcessOutput& output, int artifacts, int code = 0) const {
    EXPECT_EQ(output.exit.exit_code, code) << output.stdout_bytes << output.stderr_bytes;
    for (const auto& [name, pull_spec] : release_->components()) {
      EXPECT_NE(output.stdout_bytes.find(fmt::format("ok  component       {}  {}: manifest, config, 2 layers", name,
                                                     pull_spec.substr(pull_spec.find("sha256:")))),
                std::string::npos)
          << name << "\n"
          << output.stdout_bytes;
    }
    std::size_t hashed = 0;
    for (std::size_t at = 0; (at = output.stdout_bytes.find("ok  boot artifact  ", at)) != std::string::npos; ++at) {
      ++hashed;
    }
    EXPECT_EQ(hashed, static_cast<std::size_t>(artifacts)) << output.stdout_bytes;
    EXPECT_NE(output.stdout_bytes.find(release_->digest() + " is genuine"), std::string::npos) << output.stdout_bytes;
  }

  RegistryServer* registry_ = nullptr;
  RegistryRelease* release_ = nullptr;
  std::string allowed_;
  TempDir dir_;
};

TEST_F(ReleaseInRegistry, IsShown) {
  const ProcessOutput info = strake_ok({"info", release_->reference()});
  EXPECT_NE(info.stdout_bytes.find(release_->digest()), std::string::npos) << info.stdout_bytes;
  const auto json = json::parse(strake_ok({"info", release_->reference(), "-o", "json"}).stdout_bytes);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json::find_string(*json, {"metadata", "version"}), kPublishedVersion);
  EXPECT_EQ(json::find_string(*json, {"image"}),
            fmt::format("{}/up/release@{}", registry_->host(), release_->digest()));
  const ProcessOutput image = strake_ok({"images", release_->reference(), "--image-for", "rhel-coreos"});
  EXPECT_EQ(image.stdout_bytes, release_->components().at("rhel-coreos") + "\n");

  const ProcessOutput boot = strake_ok({"bootimages", release_->reference(), "--platform", "metal", "-o", "json"});
  const auto listed = json::parse(boot.stdout_bytes);
  ASSERT_TRUE(listed.ok());
  const json::Array& items = json::find(*listed, {"artifacts"})->get_array();
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(json::find_string(items[1], {"sha256"}), release_->artifact_sha256("x86_64.iso"));
  EXPECT_FALSE(json::find(items[1], {"besideRelease"})->get_bool());
  const auto stream = json::parse(strake_ok({"bootimages", release_->reference(), "-o", "stream"}).stdout_bytes);
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(json::find_string(*stream,
                              {"architectures", "x86_64", "artifacts", "vmware", "formats", "ova", "disk", "sha256"}),
            release_->artifact_sha256("x86_64.ova"));
  strake_ok({"bootimages", release_->reference(), "--arch", "x86_64", "--platform", "metal", "--download",
             (dir_ / "files").string()});
  EXPECT_EQ(*read_file(dir_ / "files/x86_64.iso", 1u << 20),
            *read_file(release_->artifact_folder() / "x86_64.iso", 1u << 20));
  const ProcessOutput absent = strake({"bootimages", release_->reference(), "--platform", "ibmcloud"});
  EXPECT_EQ(absent.exit.exit_code, 3) << absent.stderr_bytes;
  EXPECT_NE(absent.stderr_bytes.find("metal"), std::string::npos) << absent.stderr_bytes;
}

TEST_F(ReleaseInRegistry, ItsOsImageIsLookedInto) {
  const auto ls = [&](const std::string& image) {
    return run_strake({"os", "ls", image, "-R", "--certificate-authority", registry_->ca_file().string(), "--authfile",
                       (registry_->login_folder() / "config.json").string(), "--cache", (dir_ / "cache").string()});
  };
  const ProcessOutput os = ls("release:" + release_->reference());
  EXPECT_NE(os.stdout_bytes.find("/usr/rhel-coreos\n"), std::string::npos) << os.stdout_bytes << os.stderr_bytes;
  const ProcessOutput cli = ls("release:" + release_->reference() + "#cli");
  EXPECT_NE(cli.stdout_bytes.find("/usr/cli\n"), std::string::npos) << cli.stdout_bytes << cli.stderr_bytes;
  const ProcessOutput absent = ls("release:" + release_->reference() + "#ironic");
  EXPECT_EQ(absent.exit.exit_code, 3);
  EXPECT_NE(absent.stderr_bytes.find("machine-os-images"), std::string::npos) << absent.stderr_bytes;
}

TEST_F(ReleaseInRegistry, ErrorsSayWhatToDo) {
  const std::string unknown = mirror_repository("up/release:9.9.9");
  const ProcessOutput absent = strake({"info", unknown});
  EXPECT_EQ(absent.exit.exit_code, 3);
  EXPECT_NE(absent.stderr_bytes.find("9.9.9"), std::string::npos) << absent.stderr_bytes;
  const ProcessOutput component = strake({"info", release_->components().at("cli")});
  EXPECT_EQ(component.exit.exit_code, 1);
  EXPECT_NE(component.stderr_bytes.find("not a release image"), std::string::npos) << component.stderr_bytes;
  const ProcessOutput blocked = strake({"info", release_->reference()}, "only-mirror.conf");
  EXPECT_EQ(blocked.exit.exit_code, 3);
  EXPECT_NE(blocked.stderr_bytes.find("blocked"), std::string::npos) << blocked.stderr_bytes;
  const ProcessOutput target = strake({"mirror", release_->reference(), mirror_repository("x:v1")});
  EXPECT_EQ(target.exit.exit_code, 1);
  EXPECT_NE(target.stderr_bytes.find("without tag"), std::string::npos) << target.stderr_bytes;
}

TEST_F(ReleaseInRegistry, IsVerifiedDownToItsBootImages) {
  expect_whole_chain(strake({"verify", release_->reference(), "--artifacts", "all", "--keyring", keyring(),
                             "--sigstore-key", release_->sigstore_key().string(), "--sigstore-components"}),
                     3);
  // What was downloaded is in the cache now.
  expect_whole_chain(strake({"verify", release_->reference(), "--artifacts", "local", "--keyring", keyring()}), 3);
  const ProcessOutput own_word = strake({"verify", release_->reference()});
  expect_whole_chain(own_word, 0, 5);
  const ProcessOutput as_json = strake({"verify", release_->reference(), "-o", "json"});
  EXPECT_EQ(as_json.exit.exit_code, 5) << as_json.stderr_bytes;
  EXPECT_NE(as_json.stdout_bytes.find("\"ownKeyringOnly\": true"), std::string::npos) << as_json.stdout_bytes;
  const auto own = json::parse(as_json.stdout_bytes);
  ASSERT_TRUE(own.ok());
  EXPECT_EQ(json::find_string(*own, {"result"}), "trustedByItself");
  EXPECT_EQ(json::find_string(*own, {"trustedBy"}), "itself");
  EXPECT_EQ(json::find_bool(*own, {"verified"}), false) << "whoever looks at one member only is not deceived";
  EXPECT_NE(own_word.stderr_bytes.find("keyrings come from the release itself"), std::string::npos);
  for (const char* left : {"sigstore signatures", "content of 3 boot artifacts", "1 cloud images"}) {
    EXPECT_NE(own_word.stdout_bytes.find(left), std::string::npos) << left << "\n" << own_word.stdout_bytes;
  }
  const ProcessOutput layers = strake_ok({"verify", release_->reference(), "--layers", "os", "--keyring", keyring()});
  EXPECT_NE(layers.stdout_bytes.find("layers of 3 components"), std::string::npos) << layers.stdout_bytes;

  const GpgSigner stranger("them@strake.test");
  ASSERT_TRUE(write_file_atomic(dir_ / "them.asc", stranger.public_key(), 0644).ok());
  const ProcessOutput other = strake({"verify", release_->reference(), "--keyring", (dir_ / "them.asc").string()});
  EXPECT_EQ(other.exit.exit_code, 6);
  EXPECT_NE(other.stderr_bytes.find("the chain breaks: signature"), std::string::npos) << other.stderr_bytes;
}

TEST_F(ReleaseInRegistry, IsMirroredToAnotherRepository) {
  const std::string repository = mirror_repository("mirror/ocp");
  const ProcessOutput first = strake_ok({"mirror", release_->reference(), repository, "--keyring", keyring()});
  ASSERT_TRUE(write_file_atomic(dir_ / "sets.yaml", first.stdout_bytes, 0644).ok());
  EXPECT_NE(first.stdout_bytes.find("kind: ImageDigestMirrorSet"), std::string::npos) << first.stdout_bytes;
  EXPECT_NE(first.stdout_bytes.find("source: " + mirror_repository("up/art-dev")), std::string::npos);

  const ProcessOutput again = strake_ok({"mirror", release_->reference(), repository, "--keyring", keyring()});
  EXPECT_EQ(again.stdout_bytes, first.stdout_bytes);
  EXPECT_NE(again.stderr_bytes.find(" 0 blobs copied (0 bytes)"), std::string::npos) << again.stderr_bytes;
  EXPECT_EQ(again.stderr_bytes.find(" 1 blobs copied"), std::string::npos) << again.stderr_bytes;

  const std::string mirrored = repository + ":" + kPublishedVersion + "-x86_64";
  // With the source blocked only the mirror can answer: x86_64 artifacts are there, the aarch64 one was not asked for.
  expect_whole_chain(
      strake({"verify", mirrored, "--artifacts", "local", "--keyring", keyring(), "--sigstore-key",
              release_->sigstore_key().string(), "--sigstore-components", "--signed-as", release_->reference()},
             "only-mirror.conf"),
      2);
  // By its own name, through the mirror sets that were printed.
  expect_whole_chain(
      strake({"verify", fmt::format("{}/up/release@{}", registry_->host(), release_->digest()), "--artifacts", "local",
              "--keyring", keyring(), "--mirror-sets", (dir_ / "sets.yaml").string()}),
      2);

  const Result<std::filesystem::path> tools = judge_programs();
  ASSERT_TRUE(tools.ok()) << tools.error().to_string();
  const std::string crane = *tools / "crane";
  EXPECT_EQ(client({crane, "digest", mirrored}), release_->digest() + "\n");
  const std::string iso = release_->artifact_sha256("x86_64.iso");
  EXPECT_EQ(codec::sha256_hex(client({crane, "blob", fmt::format("{}@sha256:{}", repository, iso)})), iso);
  const std::string copy = (dir_ / "copied").string();
  client({"skopeo", "--insecure-policy", "copy", "--quiet",
          "--src-cert-dir=" + registry_->certificate_folder().string(),
          fmt::format("docker://{}:sha256-{}.boot", repository, iso), "oci:" + copy + ":iso"});
  EXPECT_EQ(*read_file(std::filesystem::path(copy) / "blobs/sha256" / iso, 1u << 20),
            *read_file(release_->artifact_folder() / "x86_64.iso", 1u << 20));
}

TEST_F(ReleaseInRegistry, ADryRunHasTheSizesAndPlacesOfTheRealOne) {
  const std::string target = mirror_repository("measured");
  const std::vector<std::string> words = {"mirror", release_->reference(), target, "--keyring", keyring()};
  const auto bytes = [&](std::vector<std::string> more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    const auto document = json::parse(strake_ok(all).stdout_bytes);
    EXPECT_TRUE(document.ok());
    return document.ok() ? json::find_int(*document, {"bytesWritten"}).value_or(-1) : -1;
  };
  const auto expected = bytes({"--dry-run", "-o", "json"});
  EXPECT_GT(expected, 0);
  EXPECT_EQ(strake({"info", target + ":" + std::string(kPublishedVersion) + "-x86_64"}).exit.exit_code, 3)
      << "nothing was copied";
  std::vector<std::string> as_text = words;
  as_text.insert(as_text.end(), {"--dry-run", "-v"});
  const ProcessOutput text = strake_ok(as_text);
  EXPECT_NE(text.stdout_bytes.find(" to copy, from "), std::string::npos) << text.stdout_bytes;
  EXPECT_NE(text.stderr_bytes.find(" answers"), std::string::npos) << text.stderr_bytes;
  EXPECT_EQ(bytes({"--manifests", (dir_ / "manifests").string(), "-o", "json"}), expected);
  EXPECT_EQ(bytes({"--dry-run", "-o", "json"}), 0) << "everything is there now";
}

TEST_F(ReleaseInRegistry, TravelsAsFolderAndTar) {
  const std::string folder = (dir_ / "mirror").string();
  strake_ok({"mirror", release_->reference(), folder, "--artifact-arch", "all", "--keyring", keyring()});
  expect_whole_chain(strake({"verify", folder, "--artifacts", "local", "--keyring", keyring()}, "only-mirror.conf"), 3);
  const std::string layout = fmt::format("{}/images/127.0.0.1_{}_up_release", folder,
                                         registry_->host().substr(registry_->host().find(':') + 1));
  const std::string inspected = client(
      {"skopeo", "inspect", "--format", "{{.Digest}}", fmt::format("oci:{}:{}-x86_64", layout, kPublishedVersion)});
  EXPECT_EQ(inspected, release_->digest() + "\n");

  const std::string archive = (dir_ / "mirror.tar").string();
  strake_ok({"mirror", folder, archive, "--keyring", keyring()}, "only-mirror.conf");
  EXPECT_FALSE(std::filesystem::exists(archive + ".partial"));
  expect_whole_chain(strake({"verify", archive, "--artifacts", "local", "--keyring", keyring()}, "only-mirror.conf"),
                     2);
  const std::string second = (dir_ / "second.tar").string();
  strake_ok({"mirror", folder, second, "--keyring", keyring()}, "only-mirror.conf");
  EXPECT_EQ(*read_file(archive, 64u << 20), *read_file(second, 64u << 20)) << "the same mirror is the same archive";

  const std::string repository = mirror_repository("carried/ocp");
  const ProcessOutput carried =
      strake_ok({"mirror", archive, repository, "--manifests", (dir_ / "manifests").string(), "--keyring", keyring()},
                "only-mirror.conf");
  EXPECT_EQ(carried.stdout_bytes, "");
  std::size_t sets = 0;
  for (const auto& file : std::filesystem::directory_iterator(dir_ / "manifests")) {
    sets += file.path().filename().string().starts_with("imagedigestmirrorset-strake-127-0-0-1-");
  }
  EXPECT_EQ(sets, 1u);
  const std::string hex = release_->digest().substr(std::string("sha256:").size());
  EXPECT_TRUE(std::filesystem::exists(dir_ / ("manifests/configmap-sha256-" + hex + ".yaml")));
  expect_whole_chain(strake({"verify", repository + ":" + kPublishedVersion + "-x86_64", "--artifacts", "local",
                             "--keyring", keyring()},
                            "only-mirror.conf"),
                     2);
}

TEST_F(ReleaseInRegistry, UnsignedIsNotMirroredUnlessAsked) {
  const GpgSigner stranger("them@strake.test");
  ASSERT_TRUE(write_file_atomic(dir_ / "them.asc", stranger.public_key(), 0644).ok());
  const std::string folder = (dir_ / "mirror").string();
  const std::vector<std::string> base{
      "mirror", release_->reference(), folder, "--keyring", (dir_ / "them.asc").string(), "--artifacts", "metal"};
  const ProcessOutput refused = strake(base);
  EXPECT_EQ(refused.exit.exit_code, 6);
  EXPECT_NE(refused.stderr_bytes.find("nothing was copied"), std::string::npos) << refused.stderr_bytes;
  EXPECT_FALSE(std::filesystem::exists(folder));
  std::vector<std::string> nevertheless = base;
  nevertheless.push_back("--unsigned");
  strake_ok(nevertheless);
  const auto said_in = [&](const std::string& mirror) {
    return json::find_string(
        json::find(*json::parse(*read_file(mirror + "/strake-mirror.json", 1u << 20)), {"releases"})
            ->as_array()
            .front(),
        {"signature"});
  };
  EXPECT_EQ(said_in(folder), "unsigned");
  // The keyring the release names itself is none of the user's.
  const std::string other = (dir_ / "other").string();
  const ProcessOutput nobody = strake({"mirror", release_->reference(), other, "--artifacts", "metal", "-o", "json"});
  EXPECT_EQ(nobody.exit.exit_code, 3) << nobody.stderr_bytes;
  EXPECT_NE(nobody.stderr_bytes.find("--keyring"), std::string::npos) << nobody.stderr_bytes;
  EXPECT_FALSE(std::filesystem::exists(other));
  const ProcessOutput taken =
      strake_ok({"mirror", release_->reference(), other, "--artifacts", "metal", "--unsigned", "-o", "json"});
  EXPECT_EQ(json::find_bool(*json::parse(taken.stdout_bytes), {"unsigned"}), true) << taken.stdout_bytes;
  EXPECT_EQ(said_in(other), "unsigned");
  strake_ok({"mirror", release_->reference(), other, "--artifacts", "metal", "--keyring", keyring()});
  EXPECT_TRUE(said_in(other)->starts_with("signed by "));
  EXPECT_EQ(strake({"verify", folder, "--keyring", (dir_ / "them.asc").string()}).exit.exit_code, 6);
}

/// The release names files of this machine as its signature store and as locations.
TEST_F(ReleaseInRegistry, WhatItNamesOnThisMachineIsNotFollowed) {
  allowed_ = "";
  const std::string store = release_->signature_store().string();
  const ProcessOutput unread = strake({"verify", release_->reference(), "--keyring", keyring()});
  EXPECT_EQ(unread.exit.exit_code, 6) << "its store is not read: " << unread.stderr_bytes;
  EXPECT_NE(unread.stderr_bytes.find("a file of this machine"), std::string::npos) << unread.stderr_bytes;
  const auto with_store = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--keyring", keyring(), "--signature-store", store});
    return strake(std::move(words));
  };
  const ProcessOutput artifacts = with_store({"verify", release_->reference(), "--artifacts", "all"});
  EXPECT_EQ(artifacts.exit.exit_code, 3) << artifacts.stderr_bytes;
  EXPECT_NE(artifacts.stderr_bytes.find("--allow-location"), std::string::npos) << artifacts.stderr_bytes;
  const std::string folder = (dir_ / "mirror").string();
  EXPECT_EQ(with_store({"mirror", release_->reference(), folder}).exit.exit_code, 3);
  const ProcessOutput downloaded = strake({"bootimages", release_->reference(), "--platform", "metal", "--download",
                                           (dir_ / "files").string(), "--allow-location", "file:///elsewhere"});
  EXPECT_EQ(downloaded.exit.exit_code, 3) << downloaded.stderr_bytes;
  EXPECT_FALSE(std::filesystem::exists(dir_ / "files/x86_64.iso"));

  // Carried along, it is not followed at all unless it is told to.
  with_store({"mirror", release_->reference(), folder, "--artifacts", "none"});
  const ProcessOutput carried = strake({"verify", folder, "--artifacts", "all", "--keyring", keyring()});
  EXPECT_EQ(carried.exit.exit_code, 3) << carried.stderr_bytes;
  EXPECT_NE(carried.stderr_bytes.find("--fetch-artifacts"), std::string::npos) << carried.stderr_bytes;
  EXPECT_EQ(strake({"verify", folder, "--keyring", keyring(), "--allow-location", "sr\nv"}).exit.exit_code, 1);
}

/// Flips one bit of a file, and puts it back.
class FlippedBit {
 public:
  FlippedBit(std::filesystem::path file, std::uint64_t offset) : file_(std::move(file)), offset_(offset) { flip(); }
  ~FlippedBit() { flip(); }
  FlippedBit(const FlippedBit&) = delete;
  FlippedBit& operator=(const FlippedBit&) = delete;

 private:
  void flip() const {
    std::fstream stream(file_, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(offset_));
    const char old = static_cast<char>(stream.get());
    stream.seekp(static_cast<std::streamoff>(offset_));
    stream.put(static_cast<char>(old ^ 0x10));
    EXPECT_TRUE(stream.good()) << file_;
  }
  std::filesystem::path file_;
  std::uint64_t offset_;
};

TEST_F(ReleaseInRegistry, OneWrongBitAnywhereIsRefused) {
  const std::string folder = (dir_ / "mirror").string();
  strake_ok({"mirror", release_->reference(), folder, "--artifact-arch", "all", "--keyring", keyring()});
  const std::vector<std::string> verify{"verify",
                                        folder,
                                        "--artifacts",
                                        "local",
                                        "--keyring",
                                        keyring(),
                                        "--sigstore-key",
                                        release_->sigstore_key().string(),
                                        "--sigstore-components",
                                        "--no-cache"};
  const auto run_verify = [&] {
    std::vector<std::string> arguments = verify;
    arguments.insert(arguments.begin(), "release");
    return run_strake(std::move(arguments));
  };
  expect_whole_chain(run_verify(), 3);
  std::size_t blobs = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().parent_path().filename() != "sha256") continue;
    // Every place of it is hashed alike: the middle stands for the rest.
    const FlippedBit wrong(entry.path(), entry.file_size() / 2);
    const ProcessOutput output = run_verify();
    const std::string empty_config = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    if (entry.path().filename() == empty_config) continue;  // of artifacts: nobody reads the "{}"
    EXPECT_EQ(output.exit.exit_code, 6) << entry.path() << "\n" << output.stdout_bytes << output.stderr_bytes;
    EXPECT_NE(output.stderr_bytes.find("the chain breaks: "), std::string::npos) << output.stderr_bytes;
    EXPECT_NE(output.stderr_bytes.find(entry.path().filename().string().substr(0, 12)), std::string::npos)
        << entry.path() << "\n"
        << output.stderr_bytes;
    ++blobs;
  }
  EXPECT_GT(blobs, 40u);
  expect_whole_chain(run_verify(), 3);
}

}  // namespace
}  // namespace strake::test
