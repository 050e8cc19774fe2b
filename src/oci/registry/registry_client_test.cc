#include "oci/registry/registry_client.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "codec/base64.h"
#include "net/testing/connect_proxy.h"
#include "oci/testing/fake_registry.h"
#include "support/temp_dir.h"

namespace strake::oci::registry_client_test {

using testing::FakeRegistry;
using Auth = FakeRegistry::Options::Auth;

Descriptor blob_of(const std::string& bytes) {
  return {std::string(media_type::kOciLayerGzip), codec::Digest::sha256_of(bytes), bytes.size()};
}

std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
  return bytes;
}

struct Fixture {
  explicit Fixture(FakeRegistry::Options options = {}, bool credentials = true) : registry(options) {
    settings = registry.client_options(dir.path(), credentials);
    settings.upload_chunk_bytes = 64u << 10;
  }
  std::shared_ptr<RegistryClient> client() {
    auto created = RegistryClient::create(registry.host(), false, settings, runtime);
    EXPECT_TRUE(created.ok()) << created.error().to_string();
    return *created;
  }
  Result<std::string> fetch(RegistryClient& from, const Descriptor& blob, std::uint64_t offset = 0) {
    std::string bytes;
    STRAKE_CHECK_OK(from.fetch_blob("org/os", blob, offset,
                                    [&](std::string_view data) -> Status {
                                      bytes += data;
                                      return {};
                                    },
                                    {}));
    return bytes;
  }

  test::TempDir dir;
  runtime::ThreadRuntime runtime;
  FakeRegistry registry;
  RegistryOptions settings;
};

TEST(RegistryClient, RefusalsNameTheNextStep) {
  struct Case {
    const char* name;
    bool credentials;
    std::string password;
    std::string says;
  };
  for (const Auth auth : {Auth::kBasic, Auth::kBearer}) {
    for (const Case& c : {Case{"nobody", false, "pw", "no credentials for"}, {"wrong", true, "old", "user 'bot'"}}) {
      FakeRegistry::Options options;
      options.auth = auth;
      Fixture f(options, c.credentials);
      if (c.credentials) {
        ASSERT_TRUE(write_file_atomic(f.dir / "auth.json",
                                      fmt::format(R"({{"auths":{{"{}":{{"auth":"{}"}}}}}})", f.registry.host(),
                                                  codec::encode_base64("bot:" + c.password)),
                                      0600)
                        .ok());
      }
      const auto manifest = f.client()->fetch_manifest("org/os", "v1", {});
      ASSERT_FALSE(manifest.ok()) << c.name;
      const std::string said = manifest.error().to_string();
      EXPECT_EQ(manifest.error().code(), Code::kUnauthenticated) << said;
      EXPECT_NE(said.find(c.says), std::string::npos) << said;
      EXPECT_NE(said.find("podman login " + f.registry.host()), std::string::npos) << said;
      EXPECT_EQ(said.find("old"), std::string::npos) << "a password";
    }
  }
}

TEST(RegistryClient, ARegistryWithoutTlsIsSaidToBeOne) {
  net::ServerOptions options;
  options.plain_on_loopback = true;
  net::testing::TestServer server(
      [](const net::ServerRequest&, const net::Responder& responder) { responder.send({200, {}, "{}"}); }, options);
  const std::string host = fmt::format("127.0.0.1:{}", server.server().port());
  Fixture f;
  const auto client = RegistryClient::create(host, false, f.settings, f.runtime);
  const auto manifest = (*client)->fetch_manifest("org/os", "v1", {});
  ASSERT_FALSE(manifest.ok());
  EXPECT_EQ(manifest.error().code(), Code::kUnsupported);
  EXPECT_EQ(manifest.error().verdict(), Verdict::kNone) << "it does answer";
  EXPECT_NE(manifest.error().to_string().find("insecure = true"), std::string::npos) << manifest.error().to_string();
}

const std::string kIndex =
    R"({"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]})";

TEST(RegistryClient, EveryKindOfAuthentication) {
  struct Case {
    const char* name;
    FakeRegistry::Options options;
    bool credentials;
    bool pulls;
    bool pushes;
  };
  const Case cases[] = {
      {"open", {}, false, true, true},
      {"basic", {Auth::kBasic}, true, true, true},
      {"basic without credentials", {Auth::kBasic}, false, false, false},
      {"bearer", {Auth::kBearer}, true, true, true},
      {"bearer, anonymous", {Auth::kBearer, "bot", "pw", true}, false, true, false},
      {"bearer, refused", {Auth::kBearer}, false, false, false},
  };
  for (const Case& c : cases) {
    Fixture f(c.options, c.credentials);
    f.registry.put_manifest("org/os", "v1", std::string(media_type::kOciIndex), kIndex);
    const auto client = f.client();
    const auto manifest = client->fetch_manifest("org/os", "v1", {});
    EXPECT_EQ(manifest.ok(), c.pulls) << c.name << (manifest.ok() ? "" : manifest.error().to_string());
    if (!manifest.ok()) {
      EXPECT_EQ(manifest.error().code(), Code::kUnauthenticated) << c.name;
    }
    const Status pushed = client->push_manifest("org/os", "v2", media_type::kOciIndex, kIndex, {});
    EXPECT_EQ(pushed.ok(), c.pushes) << c.name << (pushed.ok() ? "" : pushed.error().to_string());
    EXPECT_EQ(f.registry.manifest("org/os", "v2").has_value(), c.pushes) << c.name;
  }
}

TEST(RegistryClient, WrongPasswordIsSaidOnceAndNotShown) {
  for (const Auth auth : {Auth::kBasic, Auth::kBearer}) {
    Fixture f({auth});
    const std::string text =
        fmt::format(R"({{"auths":{{"{}":{{"username":"bot","password":"hunter2"}}}}}})", f.registry.host());
    ASSERT_TRUE(write_file_atomic(f.dir / "auth.json", text, 0600).ok());
    const auto manifest = f.client()->fetch_manifest("org/os", "v1", {});
    ASSERT_FALSE(manifest.ok());
    EXPECT_EQ(manifest.error().code(), Code::kUnauthenticated);
    EXPECT_EQ(manifest.error().to_string().find("hunter2"), std::string::npos) << manifest.error().to_string();
  }
}

TEST(RegistryClient, TokensAreKeptForEachScopeAndRenewed) {
  Fixture f({Auth::kBearer});
  f.registry.put_manifest("org/os", "v1", std::string(media_type::kOciIndex), kIndex);
  f.registry.put_manifest("org/other", "v1", std::string(media_type::kOciIndex), kIndex);
  const auto client = f.client();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client->fetch_manifest("org/os", "v1", {}).ok());
  EXPECT_EQ(f.registry.count("GET /token"), 1u);
  EXPECT_EQ(f.registry.count("GET /v2/"), 1u);
  ASSERT_TRUE(client->fetch_manifest("org/other", "v1", {}).ok());
  EXPECT_EQ(f.registry.count("GET /token"), 2u);
  f.registry.forget_tokens();
  ASSERT_TRUE(client->fetch_manifest("org/os", "v1", {}).ok());
  EXPECT_EQ(f.registry.count("GET /token"), 3u);
}

TEST(RegistryClient, AHelperIsNotStartedForEveryRequest) {
  Fixture f({Auth::kBasic});
  f.registry.put_manifest("org/os", "v1", std::string(media_type::kOciIndex), kIndex);
  ASSERT_TRUE(write_file_atomic(f.dir / "auth.json", R"({"credsStore":"test"})", 0600).ok());
  int started = 0;
  f.settings.credentials.run = [&](const Command&, std::stop_token) -> Result<ProcessOutput> {
    ProcessOutput output;
    output.stdout_bytes = R"({"Username":"bot","Secret":"pw"})";
    ++started;
    return output;
  };
  const auto client = f.client();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client->fetch_manifest("org/os", "v1", {}).ok());
  EXPECT_EQ(started, 1);
}

TEST(RegistryClient, AGreetingMayFailOnce) {
  Fixture f;
  f.registry.put_manifest("org/os", "v1", std::string(media_type::kOciIndex), kIndex);
  int left = 1;
  f.registry.intercept([&](const net::ServerRequest& request) -> std::optional<net::Response> {
    if (request.target.path != "/v2/" || left-- <= 0) return std::nullopt;
    return net::Response{503, {}, ""};
  });
  EXPECT_TRUE(f.client()->fetch_manifest("org/os", "v1", {}).ok());
  left = 1000;
  EXPECT_EQ(f.client()->fetch_manifest("org/os", "v1", {}).error().code(), Code::kUnavailable);
  EXPECT_EQ(left, 998) << "a registry that does not greet is given up soon";
}

TEST(RegistryClient, BlobGoesOnWhereItBrokeOff) {
  const std::string bytes = pattern(300'000);
  for (const bool ranges : {true, false}) {
    FakeRegistry::Options options;
    options.ranges = ranges;
    Fixture f(options);
    f.registry.put_blob("org/os", bytes);
    const auto client = f.client();
    f.registry.cut_next_blob_after(100'000);
    const auto whole = f.fetch(*client, blob_of(bytes));
    ASSERT_TRUE(whole.ok()) << whole.error().to_string();
    EXPECT_EQ(*whole, bytes);
    const auto rest = f.fetch(*client, blob_of(bytes), 299'000);
    ASSERT_TRUE(rest.ok()) << rest.error().to_string();
    EXPECT_EQ(*rest, bytes.substr(299'000));
  }
}

TEST(RegistryClient, TriesAgainWhatMayPass) {
  Fixture f;
  f.registry.put_manifest("org/os", "v1", std::string(media_type::kOciIndex), kIndex);
  int left = 3;
  f.registry.intercept([&](const net::ServerRequest& request) -> std::optional<net::Response> {
    if (request.target.path == "/v2/" || left-- <= 0) return std::nullopt;
    return net::Response{left % 2 == 0 ? 503 : 500, {}, ""};
  });
  const auto manifest = f.client()->fetch_manifest("org/os", "v1", {});
  ASSERT_TRUE(manifest.ok()) << manifest.error().to_string();
  left = 1000;
  const auto given_up = f.client()->fetch_manifest("org/os", "v1", {});
  ASSERT_FALSE(given_up.ok());
  EXPECT_EQ(given_up.error().code(), Code::kUnavailable);
  EXPECT_EQ(left, 1000 - static_cast<int>(f.settings.patience.max_attempts));
}

/// Over all attempts together, and said meanwhile.
TEST(RegistryClient, PatienceEnds) {
  FakeRegistry::Options options;
  Fixture f(options);
  const std::string bytes = pattern(1u << 20);
  f.registry.put_blob("org/os", bytes);
  std::vector<std::string> waits;
  std::uint64_t told = 0;
  f.settings.hooks.on_wait = [&](std::string_view text) { waits.emplace_back(text); };
  f.settings.hooks.on_bytes = [&](std::string_view, std::uint64_t position, std::uint64_t) { told = position; };
  f.settings.patience.backoff = {.initial = std::chrono::milliseconds(1), .cap = std::chrono::milliseconds(1)};
  EXPECT_TRUE(f.fetch(*f.client(), blob_of(bytes)).ok());
  EXPECT_EQ(told, bytes.size());
  EXPECT_TRUE(waits.empty());

  f.settings.patience.limit = std::chrono::milliseconds(0);  // every piece is too small for it
  const auto trickled = f.fetch(*f.client(), blob_of(bytes));
  ASSERT_FALSE(trickled.ok());
  EXPECT_EQ(trickled.error().verdict(), Verdict::kUnreachable);
  EXPECT_NE(trickled.error().to_string().find("bytes came within"), std::string::npos) << trickled.error().to_string();
  EXPECT_NE(trickled.error().to_string().find("without progress"), std::string::npos) << trickled.error().to_string();
  EXPECT_TRUE(waits.empty()) << "no patience, no second attempt";
}

TEST(RegistryClient, RedirectsCarryNoCredentials) {
  Fixture f({Auth::kBearer});
  const std::string bytes = pattern(1000);
  std::optional<bool> saw_credentials;
  net::testing::TestServer storage([&](const net::ServerRequest& request, const net::Responder& responder) {
    saw_credentials = request.headers.has("Authorization");
    responder.send({200, {}, bytes});
  });
  ASSERT_TRUE(write_file_atomic(f.dir / "ca.crt", f.registry.ca_pem() + storage.authority().pem(), 0600).ok());
  f.registry.intercept([&](const net::ServerRequest& request) -> std::optional<net::Response> {
    if (request.target.path.find("/blobs/") == std::string::npos) return std::nullopt;
    return net::Response{307, {{"Location", storage.url("/stored?signature=x")}}, ""};
  });
  const auto fetched = f.fetch(*f.client(), blob_of(bytes));
  ASSERT_TRUE(fetched.ok()) << fetched.error().to_string();
  EXPECT_EQ(*fetched, bytes);
  EXPECT_EQ(saw_credentials, false);
}

TEST(RegistryClient, PushesInChunksAndOnlyWhatIsMissing) {
  Fixture f({Auth::kBearer});
  const auto client = f.client();
  const std::string small = pattern(10), large = pattern(300'000), exact = pattern(128u << 10), empty;
  for (const std::string& bytes : {small, large, exact, empty}) {
    const Descriptor blob = blob_of(bytes);
    int opened = 0;
    const auto open = [&]() -> Result<std::unique_ptr<codec::Source>> {
      ++opened;
      return std::unique_ptr<codec::Source>(std::make_unique<codec::MemorySource>(bytes));
    };
    for (const BlobPush expected : {BlobPush::kUploaded, BlobPush::kPresent}) {
      const auto outcome = client->push_blob("org/os", blob, open, "", {});
      ASSERT_TRUE(outcome.ok()) << bytes.size() << ": " << outcome.error().to_string();
      EXPECT_EQ(*outcome, expected) << bytes.size();
    }
    EXPECT_EQ(opened, 1) << bytes.size();
    EXPECT_TRUE(f.registry.has_blob("org/os", blob.digest)) << bytes.size();
    const auto mounted = client->push_blob("org/copy", blob, open, "org/os", {});
    ASSERT_TRUE(mounted.ok()) << mounted.error().to_string();
    EXPECT_EQ(*mounted, BlobPush::kMounted) << bytes.size();
    EXPECT_EQ(opened, 1) << bytes.size();
  }
}

TEST(RegistryClient, UploadGoesOnAfterAFailedChunk) {
  Fixture f;
  const std::string bytes = pattern(300'000);
  int failures = 2;
  f.registry.intercept([&](const net::ServerRequest& request) -> std::optional<net::Response> {
    if (request.method != "PATCH" || failures == 0 || !request.headers.get("Content-Range")->starts_with("131072")) {
      return std::nullopt;
    }
    --failures;
    return net::Response{502, {}, ""};
  });
  const auto open = [&]() -> Result<std::unique_ptr<codec::Source>> {
    return std::unique_ptr<codec::Source>(std::make_unique<codec::MemorySource>(bytes));
  };
  const auto outcome = f.client()->push_blob("org/os", blob_of(bytes), open, "", {});
  ASSERT_TRUE(outcome.ok()) << outcome.error().to_string();
  EXPECT_TRUE(f.registry.has_blob("org/os", blob_of(bytes).digest));
  EXPECT_EQ(failures, 0);
}

TEST(RegistryClient, AnUnknownAuthorityIsRefused) {
  Fixture f;
  f.settings.trust.certificate_authority.clear();
  const auto manifest = f.client()->fetch_manifest("org/os", "v1", {});
  ASSERT_FALSE(manifest.ok());
  EXPECT_EQ(manifest.error().code(), Code::kDenied) << manifest.error().to_string();
}

TEST(RegistryClient, ByWayOfAProxy) {
  Fixture f({Auth::kBearer});
  f.registry.put_manifest("org/os", "v1", std::string(media_type::kOciIndex), kIndex);
  const net::testing::ConnectProxy proxy;
  f.settings.proxy = net::ProxySettings{fmt::format("http://127.0.0.1:{}", proxy.port()), "", ""};
  const auto manifest = f.client()->fetch_manifest("org/os", "v1", {});
  ASSERT_TRUE(manifest.ok()) << manifest.error().to_string();
  ASSERT_FALSE(proxy.heads().empty());
  for (const std::string& head : proxy.heads()) {
    EXPECT_TRUE(head.starts_with("CONNECT " + f.registry.host())) << head;
    EXPECT_EQ(head.find("\r\nAuthorization:"), std::string::npos) << "the proxy sees no credentials of the registry";
  }
}

TEST(RegistryTrust, FoldersAsPodmanReadsThem) {
  Fixture f;
  f.registry.put_manifest("org/os", "v1", std::string(media_type::kOciIndex), kIndex);
  f.settings.trust.certificate_authority.clear();
  f.settings.trust.certificate_folders = {f.dir / "none", f.dir / "first", f.dir / "second"};
  const auto folder = f.dir / "second" / f.registry.host();
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(write_file_atomic(folder / "private.crt", f.registry.ca_pem(), 0600).ok());
  ASSERT_TRUE(write_file_atomic(folder / "notes.txt", "not a certificate", 0600).ok());
  EXPECT_TRUE(f.client()->fetch_manifest("org/os", "v1", {}).ok());
  // The first folder that knows the registry counts, even with nothing in it.
  std::filesystem::create_directories(f.dir / "first" / f.registry.host());
  EXPECT_FALSE(f.client()->fetch_manifest("org/os", "v1", {}).ok());
  ASSERT_TRUE(write_file_atomic(f.dir / "first" / f.registry.host() / "bad.crt", "no PEM", 0600).ok());
  const auto bad = RegistryClient::create(f.registry.host(), false, f.settings, f.runtime);
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().to_string().find("bad.crt"), std::string::npos) << bad.error().to_string();
}

}  // namespace strake::oci::registry_client_test
