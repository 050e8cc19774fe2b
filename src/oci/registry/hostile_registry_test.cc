// A registry that wishes us ill: every answer ends in an error of the right class, in bounded time and memory.
#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

#include "codec/compress.h"
#include "net/testing/raw_tls_server.h"
#include "oci/blob_cache.h"
#include "oci/image_files.h"
#include "oci/registry/registry_source.h"
#include "oci/testing/fake_registry.h"
#include "oci/testing/sample_image.h"
#include "support/temp_dir.h"

namespace strake::oci::hostile_registry_test {

using net::testing::RawTlsServer;

const std::string kBytes = testing::noise(50'000, 9);
const Descriptor kBlob{std::string(media_type::kOciLayerGzip), codec::Digest::sha256_of(kBytes), kBytes.size()};
const std::string kEmptyIndex =
    R"({"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]})";

std::string answer(std::string_view status, std::string_view headers, std::string_view body) {
  return fmt::format("HTTP/1.1 {}\r\nConnection: close\r\n{}\r\n{}", status, headers, body);
}

std::string with_length(std::string_view status, std::string_view headers, std::string_view body) {
  return answer(status, fmt::format("{}Content-Length: {}\r\n", headers, body.size()), body);
}

/// Answers the greeting and leaves the rest to the script.
struct Hostile {
  using Connection = RawTlsServer::Connection;
  explicit Hostile(std::function<void(const std::string& head, Connection&)> script)
      : server([script = std::move(script)](const std::string& head, Connection& connection) {
          if (head.starts_with("GET /v2/ ")) {
            connection.send(with_length("200 OK", "", "{}"));
          } else {
            script(head, connection);
          }
        }) {
    std::ofstream(dir / "ca.crt") << server.ca_pem();
    settings.trust.certificate_authority = dir / "ca.crt";
    settings.proxy = net::ProxySettings{};
    settings.patience.backoff.initial = std::chrono::milliseconds(1);
    settings.patience.backoff.cap = std::chrono::milliseconds(2);
    settings.patience.max_attempts = 2;
  }
  Registries& registries() {
    if (!registries_) registries_ = std::make_unique<Registries>(settings, MirrorRules{}, runtime);
    return *registries_;
  }
  std::unique_ptr<RegistrySource> source() {
    return RegistrySource::open({fmt::format("127.0.0.1:{}", server.port()), "org/os", "v1"}, registries()).value();
  }

  test::TempDir dir;
  runtime::ThreadRuntime runtime;
  RegistryOptions settings;
  std::unique_ptr<Registries> registries_;
  RawTlsServer server;
};

TEST(HostileRegistry, Blobs) {
  struct Case {
    const char* name;
    std::function<void(Hostile::Connection&)> script;
    std::vector<Code> expected;
  };
  const std::string other = testing::noise(kBytes.size(), 10);
  const Case cases[] = {
      {"other bytes", [&](auto& c) { c.send(with_length("200 OK", "", other)); }, {Code::kCorrupt}},
      {"too short", [](auto& c) { c.send(with_length("200 OK", "", kBytes.substr(1))); }, {Code::kCorrupt}},
      {"too long", [](auto& c) { c.send(with_length("200 OK", "", kBytes + "x")); }, {Code::kCorrupt}},
      {"too long, no length", [](auto& c) { c.send(answer("200 OK", "", kBytes + "x")); }, {Code::kCorrupt}},
      {"endless, no length",
       [](auto& c) {
         c.send(answer("200 OK", "", ""));
         while (c.send(kBytes)) continue;
       },
       {Code::kCorrupt}},
      {"ends early, no length", [](auto& c) { c.send(answer("200 OK", "", "abc")); }, {Code::kUnavailable}},
      {"lies about its length",
       [](auto& c) { c.send(answer("200 OK", fmt::format("Content-Length: {}\r\n", kBytes.size()), "abc")); },
       {Code::kUnavailable}},
      {"wrong range",
       [](auto& c) { c.send(with_length("206 Partial Content", "Content-Range: bytes 5-50004/50005\r\n", kBytes)); },
       {Code::kCorrupt}},
      {"huge header",
       [](auto& c) {
         c.send("HTTP/1.1 200 OK\r\n");
         for (int i = 0; i < 2000 && c.send(fmt::format("X-{}: {}\r\n", i, std::string(1000, 'x'))); ++i) continue;
       },
       {Code::kExhausted, Code::kUnavailable}},
      {"silence", [](auto& c) { c.pause(std::chrono::seconds(30)); }, {Code::kTimeout}},
      {"silence after the head",
       [](auto& c) {
         c.send(answer("200 OK", fmt::format("Content-Length: {}\r\n", kBytes.size()), ""));
         c.pause(std::chrono::seconds(30));
       },
       {Code::kTimeout}},
      {"not HTTP",
       [](auto& c) { c.send("SSH-2.0-OpenSSH\r\n"); },
       {Code::kUnavailable, Code::kCorrupt, Code::kUnsupported, Code::kInvalidArgument}},
      {"error page without end",
       [](auto& c) {
         c.send(answer("404 Not Found", "", ""));
         for (int i = 0; i < 200 && c.send(kBytes); ++i) continue;
       },
       {Code::kNotFound}},
      {"redirect to plain http",
       [](auto& c) { c.send(with_length("307 Temporary Redirect", "Location: http://127.0.0.1:1/x\r\n", "")); },
       {Code::kDenied}},
      {"redirect to a file",
       [](auto& c) { c.send(with_length("307 Temporary Redirect", "Location: file:///etc/passwd\r\n", "")); },
       {Code::kDenied, Code::kInvalidArgument, Code::kUnsupported}},
  };
  for (const Case& c : cases) {
    Hostile hostile([&](const std::string&, Hostile::Connection& connection) { c.script(connection); });
    // Short only where waiting is the point: on a busy machine an honest answer takes its time too.
    if (c.expected.front() == Code::kTimeout) hostile.settings.idle_timeout = std::chrono::milliseconds(300);
    const Status verified = hostile.source()->verify_blob(kBlob);
    ASSERT_FALSE(verified.ok()) << c.name;
    EXPECT_NE(std::find(c.expected.begin(), c.expected.end(), verified.error().code()), c.expected.end())
        << c.name << ": " << verified.error().to_string();
    // By way of the cache nothing of it stays as a blob.
    const auto cache = BlobCache::open({hostile.dir / "cache"}, hostile.runtime);
    EXPECT_FALSE(CachedSource(*hostile.source(), **cache).verify_blob(kBlob).ok()) << c.name;
    EXPECT_FALSE((*cache)->has(kBlob)) << c.name;
  }
}

TEST(HostileRegistry, RedirectsWithoutEnd) {
  Hostile hostile([](const std::string& head, Hostile::Connection& connection) {
    const std::string path = head.substr(4, head.find(' ', 4) - 4);
    connection.send(with_length("307 Temporary Redirect", fmt::format("Location: {}x\r\n", path), ""));
  });
  EXPECT_EQ(hostile.source()->verify_blob(kBlob).error().code(), Code::kExhausted);
  EXPECT_EQ(hostile.source()->resolve("").error().code(), Code::kExhausted);
}

TEST(HostileRegistry, ADripIsGivenUp) {
  Hostile hostile([](const std::string&, Hostile::Connection& connection) {
    connection.send(answer("200 OK", "", ""));
    while (connection.send("x") && connection.pause(std::chrono::milliseconds(20))) continue;
  });
  // Never silent for long, so only the deadline of the caller and the slowest accepted rate can end it.
  const auto call = hostile.runtime.call_within(std::chrono::milliseconds(700));
  const Status verified = hostile.source()->verify_blob(kBlob, call);
  ASSERT_FALSE(verified.ok());
  EXPECT_EQ(verified.error().code(), Code::kTimeout) << verified.error().to_string();
}

TEST(HostileRegistry, Manifests) {
  const std::string type(media_type::kOciManifest);
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "[";
  std::string many = R"({"schemaVersion":2,"manifests":[)";
  for (int i = 0; i < 20'000; ++i) {
    many += fmt::format(R"({}{{"mediaType":"m","digest":"sha256:{:064x}","size":1}})", i == 0 ? "" : ",", i);
  }
  many += "]}";
  struct Case {
    const char* name;
    std::string type;
    std::string body;
  };
  const Case cases[] = {
      {"not JSON", type, "<html>"},
      {"deep", type, deep},
      {"larger than a manifest may be", type, std::string(5u << 20, ' ')},
      {"too many entries", std::string(media_type::kOciIndex), many},
      {"index and manifest at once", type, R"({"schemaVersion":2,"manifests":[],"layers":[],"config":{}})"},
      {"another type", type, kEmptyIndex},
      {"negative size", type,
       fmt::format(
           R"({{"schemaVersion":2,"config":{{"mediaType":"x","digest":"sha256:{:064x}","size":-1}},"layers":[]}})", 1)},
      {"digest with a path", type,
       R"({"schemaVersion":2,"config":{"mediaType":"x","digest":"sha256:../../../etc/passwd","size":1},"layers":[]})"},
      {"schema 1", "application/vnd.docker.distribution.manifest.v1+prettyjws", R"({"schemaVersion":1})"},
  };
  for (const Case& c : cases) {
    Hostile hostile([&](const std::string&, Hostile::Connection& connection) {
      connection.send(with_length("200 OK", fmt::format("Content-Type: {}\r\n", c.type), c.body));
    });
    const auto found = hostile.source()->resolve("");
    EXPECT_FALSE(found.ok()) << c.name;
  }
}

TEST(HostileRegistry, GreetingsThatWantSecrets) {
  struct Case {
    const char* name;
    std::string challenge;
  };
  const Case cases[] = {
      {"realm without TLS", R"(Bearer realm="http://127.0.0.1:1/token")"},
      {"realm that is a file", R"(Bearer realm="file:///etc/passwd")"},
      {"realm with a line break", "Bearer realm=\"https://x/\ty\""},
      {"broken header", R"(Bearer realm="https://x)"},
      {"nothing known", "Kerberos"},
  };
  for (const Case& c : cases) {
    test::TempDir dir;
    testing::FakeRegistry registry({testing::FakeRegistry::Options::Auth::kBasic});
    registry.intercept([&](const net::ServerRequest& request) -> std::optional<net::Response> {
      if (request.target.path != "/v2/") return std::nullopt;
      return net::Response{401, {{"WWW-Authenticate", c.challenge}}, ""};
    });
    runtime::ThreadRuntime runtime;
    Registries registries(registry.client_options(dir.path()), {}, runtime);
    const auto source = RegistrySource::open({registry.host(), "org/os", "v1"}, registries);
    const auto found = (*source)->resolve("");
    ASSERT_FALSE(found.ok()) << c.name;
    EXPECT_EQ(registry.requests().size(), registry.count("GET /v2/")) << c.name << ": nothing else was asked";
  }
}

/// A layer as a registry serves it, its digests right: only its content is hostile.
Result<ImageFiles> list_layer(const std::string& blob, const std::string& plain) {
  test::TempDir dir;
  runtime::ThreadRuntime runtime;
  testing::FakeRegistry registry;
  registry.put_blob("os", blob);
  const std::string config = fmt::format(R"({{"os":"linux","architecture":"amd64","rootfs":{{"diff_ids":["{}"]}}}})",
                                         codec::Digest::sha256_of(plain).to_string());
  registry.put_blob("os", config);
  const Descriptor layer{std::string(media_type::kOciLayerGzip), codec::Digest::sha256_of(blob), blob.size()};
  const Descriptor config_blob{std::string(media_type::kOciConfig), codec::Digest::sha256_of(config), config.size()};
  registry.put_manifest(
      "os", "v1", std::string(media_type::kOciManifest),
      json::write(json::Object{
          {"schemaVersion", 2}, {"config", config_blob.to_json()}, {"layers", json::Array{layer.to_json()}}}));
  Registries registries(registry.client_options(dir.path()), {}, runtime);
  STRAKE_TRY(const auto source, RegistrySource::open({registry.host(), "os", "v1"}, registries));
  STRAKE_TRY(const Descriptor root, source->resolve(""));
  STRAKE_TRY(const Manifest manifest, source->read_manifest(root));
  return ImageFiles::read(*source, manifest, {}, runtime, {});
}

TEST(HostileRegistry, Layers) {
  const std::string good = testing::make_layer({testing::tar_file("a", testing::noise(10'000, 1))});
  ASSERT_TRUE(list_layer(codec::gzip(good), good).ok());
  struct Case {
    const char* name;
    std::string blob;
    std::string plain;
    Code expected;
  };
  const std::string traversal = testing::make_layer({testing::tar_file("../../etc/passwd", "x")});
  const std::string whiteout = testing::make_layer({testing::tar_file("a/.wh...", "x")});
  const std::string link =
      testing::make_layer({testing::tar_link(codec::TarEntryType::kHardLink, "a", "../../etc/passwd")});
  const Case cases[] = {
      {"truncated gzip", codec::gzip(good).substr(0, 5000), good, Code::kCorrupt},
      {"cut tar", codec::gzip(good.substr(0, 5000)), good.substr(0, 5000), Code::kCorrupt},
      {"path traversal", codec::gzip(traversal), traversal, Code::kInvalidArgument},
      {"hard link out of the image", codec::gzip(link), link, Code::kInvalidArgument},
      {"unpacks to something else", codec::gzip(good), "other", Code::kCorrupt},
      {"not a tar", testing::noise(100'000, 3), testing::noise(100'000, 3), Code::kCorrupt},
  };
  for (const Case& c : cases) {
    const auto files = list_layer(c.blob, c.plain);
    ASSERT_FALSE(files.ok()) << c.name;
    EXPECT_EQ(files.error().code(), c.expected) << c.name << ": " << files.error().to_string();
  }
  // A marker that would hide the folder above hides nothing.
  EXPECT_TRUE(list_layer(codec::gzip(whiteout), whiteout).ok());
}

TEST(HostileRegistry, ABombIsStoppedAtItsLimit) {
  const std::string bomb = codec::gzip(std::string(64u << 20, '\0'));
  codec::MemorySource source(bomb);
  LayerLimits limits;
  limits.decompress.max_output_bytes = 1u << 20;
  EXPECT_EQ(index_layer(source, limits).error().code(), Code::kExhausted);
}

}  // namespace strake::oci::hostile_registry_test
