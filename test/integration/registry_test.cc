// Our registry client beside those of others: they read what we push, we read what they push, on a real registry with
// TLS and a password, and with tokens the registry verifies.
#include <gtest/gtest.h>

#include <set>

#include "base/fd.h"
#include "codec/compress.h"
#include "net/testing/connect_proxy.h"
#include "oci/blob_cache.h"
#include "oci/copy.h"
#include "oci/docker_archive.h"
#include "oci/image_files.h"
#include "oci/testing/sample_image.h"
#include "support/registry_server.h"
#include "support/server_process.h"
#include "support/servers.h"

namespace strake::test {
namespace {

using oci::testing::make_layer;
using oci::testing::noise;
using oci::testing::tar_file;
using oci::testing::tar_folder;
using oci::testing::tar_link;
using Type = codec::TarEntryType;

/// Layers with everything flattening has to deal with, and one larger than an upload chunk.
std::vector<std::string> sample_layers(std::uint64_t seed = 1) {
  return {
      make_layer({tar_folder("etc"), tar_file("etc/os-release", "ID=test\n"), tar_file("etc/gone", "1"),
                  tar_folder("opt"), tar_file("opt/old", "1"), tar_file("big", noise(300'000, seed)),
                  tar_link(Type::kHardLink, "big-too", "big"), tar_link(Type::kSymlink, "link", "etc/os-release")}),
      make_layer({tar_folder("etc"), tar_file("etc/.wh.gone", ""), tar_folder("opt"), tar_file("opt/.wh..wh..opq", ""),
                  tar_file("opt/new", "2")}),
      make_layer({tar_folder("etc"), tar_file("etc/os-release", "ID=test\nVERSION=2\n")}),
  };
}

/// One registry of each kind for the whole program.
Result<RegistryServer*> shared_registry(RegistryLogin login) {
  static const Result<std::unique_ptr<RegistryServer>> with_password = RegistryServer::start(RegistryLogin::kPassword);
  static const Result<std::unique_ptr<RegistryServer>> with_token = RegistryServer::start(RegistryLogin::kToken);
  const auto& server = login == RegistryLogin::kPassword ? with_password : with_token;
  if (!server.ok()) return server.error();
  return server->get();
}

class Registry : public ::testing::TestWithParam<RegistryLogin> {
 protected:
  void SetUp() override {
    const Result<RegistryServer*> server = shared_registry(GetParam());
    ASSERT_TRUE(server.ok()) << server.error().to_string();
    server_ = *server;
    const Result<std::filesystem::path> tools = judge_programs();
    ASSERT_TRUE(tools.ok()) << tools.error().to_string();
    crane_ = *tools / "crane";
    // buildah makes a name of a path, and names have no capitals.
    work_ = server_->directory() / fmt::format("work{}", ++counter_);
    std::filesystem::create_directory(work_);
    registries_ = std::make_unique<oci::Registries>(settings(true), oci::MirrorRules{}, runtime_);
  }

  oci::RegistryOptions settings(bool login) const {
    oci::RegistryOptions options;
    options.patience.backoff.initial = std::chrono::milliseconds(20);
    if (login) options.credentials.files = {server_->login_folder() / "config.json"};
    options.trust.certificate_authority = server_->ca_file();
    options.proxy = net::ProxySettings{};
    options.upload_chunk_bytes = 128u << 10;
    return options;
  }
  oci::Reference reference(const std::string& repository, const std::string& tag = "v1") const {
    return {server_->host(), repository, tag};
  }
  std::string name(const std::string& repository, const std::string& tag = "v1") const {
    return reference(repository, tag).to_string();
  }
  Result<oci::CopyReport> push(const std::filesystem::path& layout_folder, const std::string& repository,
                               oci::Registries& registries, const std::string& mount_from = {}) {
    STRAKE_TRY(const oci::Layout layout, oci::Layout::open(layout_folder));
    STRAKE_TRY(const auto target, oci::RegistryTarget::open(reference(repository), registries, mount_from));
    return oci::copy_image(layout, "v1", *target, "v1", {}, runtime_, {});
  }
  Result<oci::ImageFiles> list(const oci::ImageSource& source, const oci::Platform& platform = {}) {
    STRAKE_TRY(const oci::Descriptor root, source.resolve("", platform));
    STRAKE_TRY(const oci::Manifest manifest, source.read_manifest(root));
    return oci::ImageFiles::read(source, manifest, {}, runtime_, {});
  }
  Result<oci::ImageFiles> list(const std::string& repository, const oci::Platform& platform = {}) {
    STRAKE_TRY(const auto source, oci::RegistrySource::open(reference(repository), *registries_));
    return list(*source, platform);
  }
  std::string client(std::vector<std::string> argv) {
    const Result<std::string> output = server_->run_client(std::move(argv));
    EXPECT_TRUE(output.ok()) << output.error().to_string();
    return output.ok() ? *output : std::string();
  }
  std::vector<std::string> skopeo_copy(const std::string& from, const std::string& to,
                                       const std::vector<std::string>& more = {}) const {
    std::vector<std::string> argv{"skopeo", "--insecure-policy", "copy", "--quiet"};
    for (const std::string& side : {std::string("src"), std::string("dest")}) {
      if (!(side == "src" ? from : to).starts_with("docker://")) continue;
      argv.push_back(fmt::format("--{}-cert-dir={}", side, server_->certificate_folder().string()));
    }
    argv.insert(argv.end(), more.begin(), more.end());
    argv.push_back(from);
    argv.push_back(to);
    return argv;
  }

  static inline int counter_ = 0;
  RegistryServer* server_ = nullptr;
  std::filesystem::path crane_;
  std::filesystem::path work_;
  runtime::ThreadRuntime runtime_;
  std::unique_ptr<oci::Registries> registries_;
};

/// "path type size" of every file, folders without a size.
std::set<std::string> described(const oci::ImageFiles& files) {
  std::set<std::string> lines;
  for (const auto& [path, file] : files.files()) {
    lines.insert(fmt::format("{} {} {}", path, codec::to_string(file.tar.type), file.tar.size));
  }
  return lines;
}

/// The same of a tar that is flat already; a hard link counts as the file it leads to.
std::set<std::string> described_tar(const std::string& tar) {
  std::set<std::string> lines;
  std::map<std::string, std::uint64_t> sizes;
  codec::MemorySource source(tar);
  codec::TarReader reader(source);
  for (;;) {
    auto entry = reader.next();
    EXPECT_TRUE(entry.ok()) << entry.error().to_string();
    if (!entry.ok() || !*entry) return lines;
    codec::TarEntry& found = **entry;
    if (found.type == Type::kHardLink) {
      found.size = sizes[found.link_target];
      found.type = Type::kFile;
    }
    sizes[found.path] = found.size;
    lines.insert(fmt::format("{} {} {}", codec::clean_archive_path(found.path).value(), codec::to_string(found.type),
                             found.size));
  }
}

const std::set<std::string> kSampleFiles{
    "big file 300000", "big-too file 300000", "etc directory 0", "etc/os-release file 18",
    "link symlink 0",  "opt directory 0",     "opt/new file 1",
};

TEST_P(Registry, OthersReadWhatWePush) {
  const oci::Descriptor image = oci::testing::write_image(work_ / "layout", "v1", sample_layers());
  const auto pushed = push(work_ / "layout", "ours/image", *registries_);
  ASSERT_TRUE(pushed.ok()) << pushed.error().to_string();
  EXPECT_EQ(pushed->blobs_written, 4u);

  const std::string raw = client(
      {"skopeo", "inspect", "--raw", "--cert-dir", server_->certificate_folder(), "docker://" + name("ours/image")});
  EXPECT_EQ(codec::Digest::sha256_of(raw), image.digest);
  client(skopeo_copy("docker://" + name("ours/image"), "oci:" + (work_ / "theirs").string() + ":v1"));
  const auto theirs = oci::Layout::open(work_ / "theirs");
  ASSERT_TRUE(theirs.ok()) << theirs.error().to_string();
  EXPECT_EQ(theirs->find_entry("v1")->digest, image.digest);

  EXPECT_EQ(client({crane_, "digest", name("ours/image")}), image.digest.to_string() + "\n");
  client({crane_, "validate", "--remote", name("ours/image")});
  EXPECT_EQ(described_tar(client({crane_, "export", name("ours/image"), "-"})), kSampleFiles);
}

TEST_P(Registry, BuildahReadsWhatWePush) {
  oci::testing::write_image(work_ / "layout", "v1", sample_layers());
  ASSERT_TRUE(push(work_ / "layout", "ours/buildah", *registries_).ok());
  const std::vector<std::string> storage{"buildah",     "--root",           work_ / "root", "--runroot",
                                         work_ / "run", "--storage-driver", "vfs"};
  ASSERT_TRUE(
      write_file_atomic(work_ / "policy.json", R"({"default":[{"type":"insecureAcceptAnything"}]})", 0600).ok());
  std::vector<std::string> pull = storage;
  pull.insert(pull.end(), {"pull", "--quiet", "--signature-policy", work_ / "policy.json", "--cert-dir",
                           server_->certificate_folder(), "docker://" + name("ours/buildah")});
  EXPECT_NE(client(pull), "");
}

TEST_P(Registry, WeReadWhatOthersPush) {
  oci::testing::write_image(work_ / "layout", "v1", sample_layers());
  const std::string layout = "oci:" + (work_ / "layout").string() + ":v1";
  struct Case {
    const char* name;
    std::vector<std::string> options;
    std::string_view manifest_type;
    std::string_view layer_type;
  };
  const Case cases[] = {
      {"oci", {"--format=oci"}, oci::media_type::kOciManifest, oci::media_type::kOciLayerGzip},
      {"docker", {"--format=v2s2"}, oci::media_type::kDockerManifest, oci::media_type::kDockerLayerGzip},
      {"zstd",
       {"--format=oci", "--dest-compress-format=zstd"},
       oci::media_type::kOciManifest,
       oci::media_type::kOciLayerZstd},
  };
  for (const Case& c : cases) {
    const std::string repository = fmt::format("theirs/{}", c.name);
    std::string from = layout;
    if (c.layer_type == oci::media_type::kOciLayerZstd) {
      // Only plain layers that the registry has in no other form are compressed on the way.
      oci::testing::write_image(work_ / "other", "v1", sample_layers(2));
      client(skopeo_copy("oci:" + (work_ / "other").string() + ":v1",
                         "docker-archive:" + (work_ / "plain.tar").string() + ":x:v1"));
      from = "docker-archive:" + (work_ / "plain.tar").string();
    }
    client(skopeo_copy(from, "docker://" + name(repository), c.options));
    const auto source = oci::RegistrySource::open(reference(repository), *registries_);
    const auto root = (*source)->resolve("");
    ASSERT_TRUE(root.ok()) << c.name << ": " << root.error().to_string();
    EXPECT_EQ(root->media_type, c.manifest_type) << c.name;
    const auto manifest = (*source)->read_manifest(*root);
    ASSERT_TRUE(manifest.ok()) << c.name << ": " << manifest.error().to_string();
    EXPECT_EQ(manifest->layers[0].media_type, c.layer_type) << c.name;
    const auto files = list(**source);
    ASSERT_TRUE(files.ok()) << c.name << ": " << files.error().to_string();
    EXPECT_EQ(described(*files), kSampleFiles) << c.name;
  }

  client(skopeo_copy(layout, "docker-archive:" + (work_ / "image.tar").string() + ":example.com/os:v1"));
  client({crane_, "push", work_ / "image.tar", name("theirs/crane")});
  const auto files = list("theirs/crane");
  ASSERT_TRUE(files.ok()) << files.error().to_string();
  EXPECT_EQ(described(*files), kSampleFiles);
}

TEST_P(Registry, ArchivesOfOthers) {
  oci::testing::write_image(work_ / "layout", "v1", sample_layers());
  const std::string layout = "oci:" + (work_ / "layout").string() + ":v1";
  client(skopeo_copy(layout, "docker-archive:" + (work_ / "skopeo.tar").string() + ":example.com/os:v1"));
  client(skopeo_copy(layout, "oci-archive:" + (work_ / "oci.tar").string() + ":v1"));
  ASSERT_TRUE(push(work_ / "layout", "archive/image", *registries_).ok());
  client({crane_, "pull", name("archive/image"), work_ / "crane.tar"});
  for (const char* archive : {"skopeo.tar", "crane.tar"}) {
    const auto source = oci::DockerArchive::open(work_ / archive);
    ASSERT_TRUE(source.ok()) << archive << ": " << source.error().to_string();
    const auto files = list(*source);
    ASSERT_TRUE(files.ok()) << archive << ": " << files.error().to_string();
    EXPECT_EQ(described(*files), kSampleFiles) << archive;
  }
  const auto source = oci::Layout::open_archive(work_ / "oci.tar");
  ASSERT_TRUE(source.ok()) << source.error().to_string();
  const auto files = list(*source);
  ASSERT_TRUE(files.ok()) << files.error().to_string();
  EXPECT_EQ(described(*files), kSampleFiles);
}

TEST_P(Registry, IndexesForSeveralArchitectures) {
  const oci::Descriptor index = oci::testing::write_multi_platform_image(work_ / "layout", "v1", {"amd64", "arm64"});
  const auto pushed = push(work_ / "layout", "ours/index", *registries_);
  ASSERT_TRUE(pushed.ok()) << pushed.error().to_string();
  EXPECT_EQ(pushed->root.digest, index.digest);
  client({crane_, "validate", "--remote", name("ours/index")});
  EXPECT_EQ(described_tar(client({crane_, "export", "--platform=linux/arm64", name("ours/index"), "-"})),
            std::set<std::string>{"arch file 5"});
  client(skopeo_copy("docker://" + name("ours/index"), "docker://" + name("theirs/index"), {"--all"}));
  const auto source = oci::RegistrySource::open(reference("theirs/index"), *registries_);
  EXPECT_EQ((*source)->find_entry("")->digest, index.digest);
  const auto files = list("theirs/index", oci::Platform{"linux", "arm64", ""});
  ASSERT_TRUE(files.ok()) << files.error().to_string();
  EXPECT_EQ(described(*files), std::set<std::string>{"arch file 5"});
}

TEST_P(Registry, LoginDecides) {
  oci::testing::write_image(work_ / "layout", "v1", sample_layers());
  ASSERT_TRUE(push(work_ / "layout", "login/image", *registries_).ok());
  oci::Registries anonymous(settings(false), {}, runtime_);
  EXPECT_EQ(push(work_ / "layout", "login/denied", anonymous).error().code(), Code::kUnauthenticated);
  const auto source = oci::RegistrySource::open(reference("login/image"), anonymous);
  // The token server lets everybody pull; a password is asked of everybody.
  EXPECT_EQ((*source)->resolve("").ok(), GetParam() == RegistryLogin::kToken);

  const std::string wrong =
      fmt::format(R"({{"auths":{{"{}":{{"username":"{}","password":"hunter2"}}}}}})", server_->host(), kRegistryUser);
  ASSERT_TRUE(write_file_atomic(work_ / "wrong.json", wrong, 0600).ok());
  oci::RegistryOptions options = settings(false);
  options.credentials.files = {work_ / "wrong.json"};
  oci::Registries mistaken(options, {}, runtime_);
  const auto refused = push(work_ / "layout", "login/denied", mistaken);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), Code::kUnauthenticated) << refused.error().to_string();
  EXPECT_EQ(refused.error().to_string().find("hunter2"), std::string::npos);

  options = settings(true);
  options.trust.certificate_authority.clear();
  oci::Registries untrusting(options, {}, runtime_);
  EXPECT_EQ(push(work_ / "layout", "login/denied", untrusting).error().code(), Code::kDenied);
}

TEST_P(Registry, BlobsAreMountedNotSent) {
  oci::testing::write_image(work_ / "layout", "v1", sample_layers());
  ASSERT_TRUE(push(work_ / "layout", "mount/from", *registries_).ok());
  const auto mounted = push(work_ / "layout", "mount/to", *registries_, "mount/from");
  ASSERT_TRUE(mounted.ok()) << mounted.error().to_string();
  EXPECT_EQ(mounted->blobs_mounted, 4u);
  EXPECT_EQ(mounted->blobs_written, 0u);
  client({crane_, "validate", "--remote", name("mount/to")});
}

/// A mirror set of the cluster, for a source that no name server knows.
json::Value mirror_set(const std::string& mirror, const std::string& policy) {
  return json::parse(
             fmt::format(
                 R"({{"apiVersion":"config.openshift.io/v1","kind":"ImageDigestMirrorSet","metadata":{{"name":"m"}},)"
                 R"("spec":{{"imageDigestMirrors":[{{"source":"source.invalid/org","mirrors":["{}/mirror"],)"
                 R"("mirrorSourcePolicy":"{}"}}]}}}})",
                 mirror, policy))
      .value();
}

TEST_P(Registry, NoRouteButTheMirror) {
  oci::testing::write_image(work_ / "layout", "v1", sample_layers());
  const auto pushed = push(work_ / "layout", "mirror/os", *registries_);
  ASSERT_TRUE(pushed.ok()) << pushed.error().to_string();
  const oci::Reference wanted{"source.invalid", "org/os", "", pushed->root.digest};
  for (const std::string policy : {"NeverContactSource", "AllowContactingSource"}) {
    // Every connection, those to this machine included, goes through a proxy that writes down where it leads.
    net::testing::ConnectProxy proxy;
    oci::RegistryOptions options = settings(true);
    options.proxy = net::ProxySettings{fmt::format("http://127.0.0.1:{}", proxy.port()), "", "", false};
    const auto rules = oci::rules_from_mirror_sets({mirror_set(server_->host(), policy)});
    ASSERT_TRUE(rules.ok()) << rules.error().to_string();
    oci::Registries registries(options, *rules, runtime_);
    const auto source = oci::RegistrySource::open(wanted, registries);
    ASSERT_TRUE(source.ok()) << source.error().to_string();
    const auto target = oci::LayoutTarget::open(work_ / policy, runtime_);
    const auto pulled = oci::copy_image(**source, "", **target, "v1", {}, runtime_, {});
    ASSERT_TRUE(pulled.ok()) << policy << ": " << pulled.error().to_string();
    EXPECT_EQ(pulled->root.digest, pushed->root.digest);
    const auto files = list(**source);
    EXPECT_TRUE(files.ok()) << policy << ": " << files.error().to_string();
    client({"skopeo", "inspect", "oci:" + (work_ / policy).string() + ":v1"});
    const auto contacted = [&] {
      std::set<std::string> hosts;
      for (const std::string& head : proxy.heads()) hosts.insert(head.substr(0, head.find(" HTTP/")));
      return hosts;
    };
    std::set<std::string> expected{"CONNECT " + server_->host()};
    if (server_->token_host()) expected.insert("CONNECT " + *server_->token_host());
    EXPECT_EQ(contacted(), expected) << policy;

    // What the mirror does not have leads to the source only where the policy allows it.
    const oci::Reference absent{"source.invalid", "org/absent", "", pushed->root.digest};
    const auto missing = oci::RegistrySource::open(absent, registries);
    EXPECT_FALSE((*missing)->resolve("").ok());
    if (policy == "AllowContactingSource") expected.insert("CONNECT source.invalid:443");
    EXPECT_EQ(contacted(), expected) << policy;
  }
}

TEST_P(Registry, TamperingWithItsDiskIsNoticed) {
  const oci::Descriptor root =
      oci::testing::write_image(work_ / "layout", "v1", sample_layers(GetParam() == RegistryLogin::kToken ? 5 : 6));
  ASSERT_TRUE(push(work_ / "layout", "tampered/os", *registries_).ok());
  const oci::Layout layout = oci::Layout::open(work_ / "layout").value();
  const oci::Manifest manifest = layout.read_manifest(root).value();
  std::vector<oci::Descriptor> parts{root, manifest.config};
  parts.insert(parts.end(), manifest.layers.begin(), manifest.layers.end());
  const auto read = [&]() -> Status {
    const oci::Reference by_digest{server_->host(), "tampered/os", "", root.digest};
    STRAKE_TRY(const auto source, oci::RegistrySource::open(by_digest, *registries_));
    STRAKE_TRY([[maybe_unused]] const oci::ImageFiles files, list(*source));
    return {};
  };
  ASSERT_TRUE(read().ok());
  for (const oci::Descriptor& part : parts) {
    const std::string hex = part.digest.hex();
    const auto file = server_->directory() / "data/docker/registry/v2/blobs/sha256" / hex.substr(0, 2) / hex / "data";
    const std::string bytes = read_file(file, 1u << 30).value();
    for (const std::size_t at : {std::size_t{0}, bytes.size() / 3, bytes.size() / 2, bytes.size() - 1}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ 4);
      ASSERT_TRUE(write_file_atomic(file, changed, 0644).ok());
      const Status refused = read();
      ASSERT_FALSE(refused.ok()) << part.media_type << ", byte " << at;
      EXPECT_NE(refused.error().to_string().find(part.digest.to_string()), std::string::npos)
          << part.media_type << ", byte " << at << ": " << refused.error().to_string();
    }
    ASSERT_TRUE(write_file_atomic(file, bytes, 0644).ok());
  }
  EXPECT_TRUE(read().ok());
}

TEST_P(Registry, AFetchGoesOnInTheMiddle) {
  oci::testing::write_image(work_ / "layout", "v1", sample_layers());
  ASSERT_TRUE(push(work_ / "layout", "range/os", *registries_).ok());
  const auto source = oci::RegistrySource::open(reference("range/os"), *registries_);
  const auto manifest = (*source)->read_manifest((*source)->resolve("").value());
  ASSERT_TRUE(manifest.ok()) << manifest.error().to_string();
  const oci::Descriptor& layer = manifest->layers[0];
  const std::string whole = (*source)->read_blob(layer, 1u << 30).value();
  std::string rest;
  const Status streamed = (*source)->stream_blob(layer, 100'000, [&](std::string_view data) -> Status {
    rest += data;
    return {};
  });
  ASSERT_TRUE(streamed.ok()) << streamed.error().to_string();
  EXPECT_EQ(rest, whole.substr(100'000));
}

/// Files behind a plain web server are a registry one can read from.
TEST(InsecureRegistry, PlainHttpOnlyWhereTheRulesAllowIt) {
  TempDir dir;
  const oci::Descriptor image = oci::testing::write_image(dir / "layout", "v1", sample_layers());
  const auto root = dir / "www";
  std::filesystem::create_directories(root / "v2/os/manifests");
  std::filesystem::create_directories(root / "v2/os/blobs");
  ASSERT_TRUE(write_file_atomic(root / "v2/index.html", "{}", 0644).ok());
  for (const auto& blob : std::filesystem::directory_iterator(dir / "layout" / "blobs" / "sha256")) {
    std::filesystem::copy_file(blob.path(), root / "v2/os/blobs" / ("sha256:" + blob.path().filename().string()));
  }
  std::filesystem::copy_file(dir / "layout" / "blobs" / "sha256" / image.digest.hex(), root / "v2/os/manifests/v1");
  const auto ports = free_ports(1);
  ASSERT_TRUE(ports.ok()) << ports.error().to_string();
  Command command;
  command.argv = {"python3",   "-m",          "http.server", "--bind",
                  "127.0.0.1", "--directory", root,          std::to_string(ports->at(0))};
  command.log_file = dir / "http.log";
  auto server = ChildProcess::start(command);
  ASSERT_TRUE(server.ok()) << server.error().to_string();

  const std::string host = fmt::format("127.0.0.1:{}", ports->at(0));
  runtime::ThreadRuntime runtime;
  oci::RegistryOptions options;
  options.proxy = net::ProxySettings{};
  options.patience.backoff.initial = std::chrono::milliseconds(50);
  options.patience.max_attempts = 2;
  oci::Registries strict(options, {}, runtime);
  // Until the server listens nobody answers at all; then it answers, but not with TLS. Who was down once is not asked
  // again by the same registries.
  std::unique_ptr<oci::Registries> lenient;
  Result<oci::Descriptor> found = error(Code::kUnavailable, "not asked yet");
  for (int i = 0; i < 200 && !found.ok(); ++i) {
    lenient = std::make_unique<oci::Registries>(options, oci::MirrorRules{{{host, "", true, false, {}}}}, runtime);
    found = (*oci::RegistrySource::open({host, "os", "v1"}, *lenient))->resolve("");
    if (!found.ok()) server->wait_exit(std::chrono::milliseconds(50));
  }
  ASSERT_TRUE(found.ok()) << found.error().to_string() << last_lines(command.log_file);
  EXPECT_EQ(found->digest, image.digest);
  const auto source = oci::RegistrySource::open({host, "os", "v1"}, *lenient);
  const auto manifest = (*source)->read_manifest((*source)->resolve("").value());
  ASSERT_TRUE(manifest.ok()) << manifest.error().to_string();
  const auto files = oci::ImageFiles::read(**source, *manifest, {}, runtime, {});
  ASSERT_TRUE(files.ok()) << files.error().to_string();
  EXPECT_EQ(described(*files), kSampleFiles);
  const auto refused = (*oci::RegistrySource::open({host, "os", "v1"}, strict))->resolve("");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().to_string().find("insecure = true"), std::string::npos) << refused.error().to_string();
}

INSTANTIATE_TEST_SUITE_P(Logins, Registry, ::testing::Values(RegistryLogin::kPassword, RegistryLogin::kToken),
                         [](const auto& login) {
                           return login.param == RegistryLogin::kPassword ? "Password" : "Token";
                         });

}  // namespace
}  // namespace strake::test
