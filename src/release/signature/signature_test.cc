#include "release/signature/signature.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "base/fd.h"
#include "base/subprocess.h"
#include "codec/base64.h"
#include "codec/json.h"
#include "net/testing/test_server.h"
#include "oci/layout.h"
#include "oci/testing/sample_image.h"
#include "release/release_signatures.h"
#include "support/temp_dir.h"

// Keys and signatures are made by the real gpg, in a home of the test's own.
namespace strake::release::signature_test {

const codec::Digest kRelease = codec::Digest::sha256_of("a release image");

std::string statement_for(const codec::Digest& digest) {
  return R"({"critical":{"image":{"docker-manifest-digest":")" + digest.to_string() +
         R"("},"type":"atomic container signature","identity":{"docker-reference":"registry.example.com/release:4.21.0"}},)"
         R"("optional":{"creator":"strake tests","timestamp":1700000000}})";
}

/// gpg with a home that lives as long as the test program: making keys is slow, so every test takes from the same.
class Gpg {
 public:
  static const Gpg& shared() {
    static const Gpg gpg;
    return gpg;
  }

  /// A signed message; `arguments` come before --sign.
  std::string sign(const std::string& user, const std::string& text, std::vector<std::string> arguments = {},
                   const std::string& how = "--sign") const {
    arguments.insert(arguments.begin(), {"--local-user", user});
    arguments.push_back(how);
    return gpg(std::move(arguments), text);
  }

  std::string public_key(const std::string& user, bool armoured = true) const {
    return gpg(armoured ? std::vector<std::string>{"--armor", "--export", user}
                        : std::vector<std::string>{"--export", user});
  }

  Keyring keyring(const std::string& user) const {
    Result<Keyring> parsed = parse_keyring(user, public_key(user));
    EXPECT_TRUE(parsed.ok()) << parsed.error().to_string();
    return parsed.ok() ? *std::move(parsed) : Keyring{};
  }

  static constexpr const char* kLongAgo = "20200101T000000";

 private:
  Gpg() {
    std::filesystem::permissions(home_.path(), std::filesystem::perms::owner_all);
    make_key("rsa", "rsa2048", "never");
    make_key("other", "rsa2048", "never");
    make_key("p256", "nistp256", "never");
    make_key("eddsa", "ed25519", "never");
    make_key("old", "rsa2048", "never", kLongAgo);
    make_key("expired", "rsa2048", "30d", kLongAgo);
    make_key("revoked", "rsa2048", "never");
    make_key("revoked-expired", "rsa2048", "30d", kLongAgo);
    make_key("subkeys", "rsa2048", "never");
    gpg({"--quick-add-key", fingerprint("subkeys"), "rsa2048", "sign", "never"});
    revoke("revoked");
    revoke("revoked-expired");
  }
  ~Gpg() {
    Command command;
    command.argv = {"gpgconf", "--homedir", home_.path().string(), "--kill", "all"};
    (void)run(command);
  }

  std::string gpg(std::vector<std::string> arguments, const std::string& input = "") const {
    Command command;
    command.argv = {"gpg",          "--homedir", home_.path().string(), "--batch",
                    "--quiet",      "--no-tty",  "--pinentry-mode",     "loopback",
                    "--passphrase", ""};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.stdin_bytes = input;
    const Result<ProcessOutput> output = run_checked(command);
    EXPECT_TRUE(output.ok()) << output.error().to_string();
    return output.ok() ? output->stdout_bytes : "";
  }

  void make_key(const std::string& name, const std::string& algorithm, const std::string& expires,
                const std::string& at = "") const {
    std::vector<std::string> arguments;
    if (!at.empty()) arguments = {"--faked-system-time", at};
    for (const std::string& word :
         {std::string("--quick-generate-key"), user_id(name), algorithm, std::string("sign"), expires}) {
      arguments.push_back(word);
    }
    gpg(std::move(arguments));
  }

  void revoke(const std::string& name) const {
    // gpg puts a revocation aside for every new key, with a colon so that nobody imports it by accident.
    const auto file = home_.path() / "openpgp-revocs.d" / (fingerprint(name) + ".rev");
    const Result<std::string> text = read_file(file, 1 << 20);
    ASSERT_TRUE(text.ok()) << text.error().to_string();
    std::string armour = text->substr(text->find(":-----BEGIN") + 1);
    // What was signed before stays signed; keep one such message.
    before_revocation_[name] =
        sign(user_id(name), statement_for(kRelease),
             name == "revoked-expired" ? std::vector<std::string>{"--faked-system-time", "20200110T000000"}
                                       : std::vector<std::string>{});
    gpg({"--import"}, armour);
  }

  std::string fingerprint(const std::string& name) const {
    const std::string listing = gpg({"--with-colons", "--list-keys", user_id(name)});
    const std::size_t at = listing.find("\nfpr:::::::::") + 13;
    return listing.substr(at, 40);
  }

  static std::string user_id(const std::string& name) { return name + "@strake.test"; }

  test::TempDir home_;
  mutable std::map<std::string, std::string> before_revocation_;

 public:
  const std::string& signed_before_revocation(const std::string& name) const { return before_revocation_.at(name); }
};

SignatureSearch found(std::string bytes) { return {{{"signature-1", std::move(bytes)}}, {}}; }

Result<SignatureVerdict> verify(const std::string& keyring_user, std::string message) {
  const Keyring keyring = Gpg::shared().keyring(keyring_user + "@strake.test");
  return verify_signatures(kRelease, std::span(&keyring, 1), found(std::move(message)), SignatureChecker());
}

TEST(Signature, AcceptedAsClustersAcceptIt) {
  const Gpg& gpg = Gpg::shared();
  const std::string text = statement_for(kRelease);
  struct Case {
    const char* name;
    const char* key;
    std::string message;
    bool warns = false;
  };
  const Case cases[] = {
      {"RSA", "rsa", gpg.sign("rsa@strake.test", text)},
      {"NIST P-256", "p256", gpg.sign("p256@strake.test", text)},
      {"a signing subkey", "subkeys", gpg.sign("subkeys@strake.test", text)},
      {"not compressed", "rsa", gpg.sign("rsa@strake.test", text, {"--compress-algo", "none"})},
      {"ZLIB", "rsa", gpg.sign("rsa@strake.test", text, {"--compress-algo", "zlib"})},
      {"BZIP2", "rsa", gpg.sign("rsa@strake.test", text, {"--compress-algo", "bzip2"})},
      {"text mode", "rsa", gpg.sign("rsa@strake.test", text, {"--textmode"})},
      {"SHA-1", "rsa", gpg.sign("rsa@strake.test", text, {"--digest-algo", "SHA1"})},
      {"dated in the future", "rsa", gpg.sign("rsa@strake.test", text, {"--faked-system-time", "20400101T000000"})},
      {"trailing bytes", "rsa", gpg.sign("rsa@strake.test", text) + "trailing"},
      {"trailing bytes, not compressed", "rsa",
       gpg.sign("rsa@strake.test", text, {"--compress-algo", "none"}) + "trailing"},
      {"expired key", "expired", gpg.sign("expired@strake.test", text, {"--faked-system-time", "20200110T000000"}),
       true},
      {"text after the statement", "rsa", gpg.sign("rsa@strake.test", text + " more")},
  };
  for (const Case& c : cases) {
    const Result<SignatureVerdict> verdict = verify(c.key, c.message);
    ASSERT_TRUE(verdict.ok()) << c.name << ": " << verdict.error().to_string();
    ASSERT_EQ(verdict->accepted.size(), 1u) << c.name;
    EXPECT_EQ(verdict->accepted[0].payload.docker_reference, "registry.example.com/release:4.21.0") << c.name;
    EXPECT_EQ(verdict->accepted[0].key_fingerprint.size(), 40u) << c.name;
    EXPECT_EQ(verdict->warnings.size(), c.warns ? 1u : 0u) << c.name;
  }
}

TEST(Signature, RefusedAndTheBrokenLinkNamed) {
  const Gpg& gpg = Gpg::shared();
  const std::string text = statement_for(kRelease);
  const std::string good = gpg.sign("rsa@strake.test", text, {"--compress-algo", "none"});
  struct Case {
    const char* name;
    const char* key;
    std::string message;
    const char* says;
  };
  const Case cases[] = {
      {"nothing", "rsa", "", "message: it is empty"},
      {"no OpenPGP", "rsa", "hello", "expected a binary signed message"},
      {"armoured", "rsa", gpg.sign("rsa@strake.test", text, {"--armor"}), "armoured"},
      {"clear-signed", "rsa", gpg.sign("rsa@strake.test", text, {}, "--clear-sign"), "clear-signed"},
      {"detached", "rsa", gpg.sign("rsa@strake.test", text, {}, "--detach-sign"), "message: it is not one signed text"},
      {"two signers", "rsa", gpg.sign("rsa@strake.test", text, {"--local-user", "other@strake.test"}), "2 signers"},
      {"two messages", "rsa", good + good, "message: it is damaged"},
      {"cut short", "rsa", good.substr(0, good.size() - 40), "message"},
      {"a stranger's key", "rsa", gpg.sign("other@strake.test", text), "is not in keyring 'rsa@strake.test'"},
      {"EdDSA among others", "rsa", gpg.sign("eddsa@strake.test", text), "not in keyring"},
      {"past its lifetime", "old",
       gpg.sign("old@strake.test", text, {"--faked-system-time", "20200110T000000", "--default-sig-expire", "1d"}),
       "signature: its own lifetime is over"},
      {"revoked key", "revoked", gpg.signed_before_revocation("revoked"), "is revoked"},
      {"revoked and expired key", "revoked-expired", gpg.signed_before_revocation("revoked-expired"), "is revoked"},
      {"another image", "rsa", gpg.sign("rsa@strake.test", statement_for(codec::Digest::sha256_of("another"))),
       "digest: the signature is for sha256:"},
      {"another kind of statement", "rsa", gpg.sign("rsa@strake.test", "{}"), "payload: critical.type"},
      {"too long a text", "rsa", gpg.sign("rsa@strake.test", std::string(kMaxSignaturePayloadBytes + 1, ' ')),
       "its text has more than"},
      {"too long", "rsa", good + std::string(kMaxSignatureBytes, '\0'), "more than the 1048576"},
  };
  for (const Case& c : cases) {
    const Result<SignatureVerdict> verdict = verify(c.key, c.message);
    ASSERT_FALSE(verdict.ok()) << c.name;
    EXPECT_EQ(verdict.error().code(), Code::kDenied) << c.name;
    EXPECT_NE(verdict.error().to_string().find(c.says), std::string::npos)
        << c.name << ": " << verdict.error().to_string();
    EXPECT_NE(verdict.error().to_string().find("signature-1: "), std::string::npos) << c.name;
  }
}

TEST(Signature, OneFlippedBitAnywhereIsRefused) {
  const Gpg& gpg = Gpg::shared();
  const std::string text = statement_for(kRelease);
  const std::string good = gpg.sign("rsa@strake.test", text, {"--compress-algo", "none"});
  const std::size_t start = good.find(text);
  ASSERT_NE(start, std::string::npos);
  struct Case {
    const char* name;
    std::size_t at;
    const char* says;
  };
  const Case cases[] = {
      {"statement", start + text.find("atomic"), "signature: it does not match the signed text"},
      {"digest", start + text.find("sha256:") + 20, "signature: it does not match the signed text"},
      {"docker-reference", start + text.find("registry"), "signature: it does not match the signed text"},
      {"signature", good.size() - 10, "signature: it does not match the signed text"},
  };
  for (const Case& c : cases) {
    std::string flipped = good;
    flipped[c.at] = static_cast<char>(flipped[c.at] ^ 1);
    const Result<SignatureVerdict> verdict = verify("rsa", flipped);
    ASSERT_FALSE(verdict.ok()) << c.name;
    EXPECT_NE(verdict.error().to_string().find(c.says), std::string::npos)
        << c.name << ": " << verdict.error().to_string();
  }

  std::string key = gpg.public_key("rsa@strake.test", false);
  key[20] = static_cast<char>(key[20] ^ 1);  // inside the modulus
  const Result<Keyring> changed = parse_keyring("changed", key);
  ASSERT_TRUE(changed.ok()) << changed.error().to_string();
  const Result<SignatureVerdict> verdict =
      verify_signatures(kRelease, std::span(&*changed, 1), found(good), SignatureChecker());
  ASSERT_FALSE(verdict.ok());
  EXPECT_NE(verdict.error().to_string().find("is not in keyring 'changed'"), std::string::npos)
      << verdict.error().to_string();

  std::string armoured = gpg.public_key("rsa@strake.test");
  const std::size_t in_base64 = armoured.find("\n\n") + 40;
  armoured[in_base64] = armoured[in_base64] == 'A' ? 'B' : 'A';
  const Result<Keyring> torn = parse_keyring("torn", armoured);
  ASSERT_FALSE(torn.ok());
  EXPECT_NE(torn.error().to_string().find("checksum does not match"), std::string::npos) << torn.error().to_string();
}

TEST(Signature, EveryKeyringNeedsAGoodOne) {
  const Gpg& gpg = Gpg::shared();
  const std::string text = statement_for(kRelease);
  const std::vector<Keyring> both{gpg.keyring("rsa@strake.test"), gpg.keyring("p256@strake.test")};
  SignatureSearch search;
  search.found = {{"junk", "junk"}, {"by rsa", gpg.sign("rsa@strake.test", text)}};
  search.notes = {"https://dead.example.com: connection refused"};
  const Result<SignatureVerdict> half = verify_signatures(kRelease, both, search, SignatureChecker());
  ASSERT_FALSE(half.ok());
  EXPECT_NE(half.error().message().find("no good signature for keyring 'p256@strake.test'"), std::string::npos)
      << half.error().message();
  EXPECT_NE(half.error().message().find("dead.example.com"), std::string::npos) << half.error().message();

  search.found.push_back({"by p256", gpg.sign("p256@strake.test", text)});
  const Result<SignatureVerdict> whole = verify_signatures(kRelease, both, search, SignatureChecker());
  ASSERT_TRUE(whole.ok()) << whole.error().to_string();
  EXPECT_EQ(whole->accepted[0].source, "by rsa");
  EXPECT_EQ(whole->accepted[1].source, "by p256");

  EXPECT_EQ(verify_signatures(kRelease, {}, search, SignatureChecker()).error().code(), Code::kInvalidArgument);
  const Result<SignatureVerdict> no_program =
      verify_signatures(kRelease, both, {{search.found[1]}, {}}, SignatureChecker("/nonexistent/gpgv"));
  ASSERT_FALSE(no_program.ok());
  EXPECT_EQ(no_program.error().code(), Code::kUnsupported) << no_program.error().to_string();
}

TEST(Signature, KeyringsAreReadAsClustersReadThem) {
  const Gpg& gpg = Gpg::shared();
  const std::string rsa = gpg.public_key("rsa@strake.test");
  const Result<Keyring> two_blocks = parse_keyring("k", "some words\n" + rsa + gpg.public_key("other@strake.test"));
  ASSERT_TRUE(two_blocks.ok()) << two_blocks.error().to_string();
  EXPECT_EQ(two_blocks->entities.size(), 1u) << "only the first armour block counts";
  const Result<Keyring> bare =
      parse_keyring("k", gpg.public_key("rsa@strake.test", false) + gpg.public_key("eddsa@strake.test", false));
  ASSERT_TRUE(bare.ok()) << bare.error().to_string();
  EXPECT_EQ(bare->entities.size(), 1u);
  EXPECT_EQ(gpg.keyring("subkeys@strake.test").entities.at(0).subkeys.size(), 1u);
  EXPECT_TRUE(gpg.keyring("revoked@strake.test").entities.at(0).primary.revoked);

  const std::pair<std::string, const char*> refused[] = {
      {"", "it is empty"},
      {"hello", "neither armoured nor OpenPGP packets"},
      {rsa.substr(0, 200), "has no '-----END"},
      {gpg.public_key("eddsa@strake.test"), "no RSA, DSA or ECDSA key"},
      {gpg.public_key("rsa@strake.test", false).substr(0, 100), "cut short"},
      {"\xc6", "cut short"},
      {std::string(kMaxKeyringBytes + 1, 'a'), "more than"},
  };
  for (const auto& [text, says] : refused) {
    const Result<Keyring> keyring = parse_keyring("k", text);
    ASSERT_FALSE(keyring.ok()) << says;
    EXPECT_NE(keyring.error().to_string().find(says), std::string::npos) << keyring.error().to_string();
  }
}

std::string verification_map(const std::string& data,
                             const std::string& annotation = "release.openshift.io/verification-config-map") {
  return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: release-verification\n  annotations:\n    " + annotation +
         ": \"\"\ndata:\n" + data;
}

std::string indented(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1);
    out += "    " + text.substr(at, end - at + 1);
    at = end + 1;
  }
  return out;
}

TEST(Signature, TrustOfAReleasesOwnManifests) {
  const Gpg& gpg = Gpg::shared();
  const std::string key = "  verifier-public-key-us: |\n" + indented(gpg.public_key("rsa@strake.test"));
  const std::string store = "  store-official: \" https://signatures.example.com/release \"\n";
  const Result<SignatureTrust> trust = trust_of_manifests(
      {{"0000_10_other.yaml", "kind: ConfigMap\n"},
       {"0000_90_keys.yaml", "---\nkind: Namespace\n---\n" + verification_map(key + store + "  unknown: x\n")},
       {"0000_91_later.yaml", verification_map("  verifier-public-key-them: junk\n")}});
  ASSERT_TRUE(trust.ok()) << trust.error().to_string();
  ASSERT_EQ(trust->keyrings.size(), 1u);
  EXPECT_EQ(trust->keyrings[0].name, "verifier-public-key-us");
  EXPECT_EQ(trust->stores, (std::vector<std::string>{"https://signatures.example.com/release"}));

  struct Case {
    const char* name;
    std::string manifest;
    Code code;
    const char* says;
  };
  const Case cases[] = {
      {"no such ConfigMap", verification_map(key + store, "other"), Code::kNotFound, "no ConfigMap annotated"},
      {"no store", verification_map(key), Code::kInvalidArgument, "no store-"},
      {"no keyring", verification_map(store), Code::kInvalidArgument, "no verifier-public-key-"},
      {"one keyring unreadable", verification_map(key + "  verifier-public-key-x: junk\n" + store),
       Code::kInvalidArgument, "keyring 'verifier-public-key-x'"},
      {"another scheme", verification_map(key + "  store-x: ftp://x\n"), Code::kInvalidArgument,
       "data.store-x: 'ftp://x'"},
  };
  for (const Case& c : cases) {
    const Result<SignatureTrust> refused = trust_of_manifests({{"m.yaml", c.manifest}});
    ASSERT_FALSE(refused.ok()) << c.name;
    EXPECT_EQ(refused.error().code(), c.code) << c.name << ": " << refused.error().to_string();
    EXPECT_NE(refused.error().to_string().find(c.says), std::string::npos)
        << c.name << ": " << refused.error().to_string();
  }
}

TEST(SignatureStore, HttpStoresAreSearchedUpToTheFirst404) {
  const std::string folder = "/store/sha256=" + kRelease.hex() + "/signature-";
  const net::testing::TestServer server([&](const net::ServerRequest& request, net::Responder responder) {
    const std::map<std::string, net::Response> answers{
        {folder + "1", {503, {}, "busy"}},  {folder + "2", {200, {}, ""}},
        {folder + "3", {200, {}, "three"}}, {folder + "4", {302, {{"Location", "/moved"}}, ""}},
        {"/moved", {200, {}, "four"}},      {folder + "6", {200, {}, "six"}}};
    const auto answer = answers.find(request.target.path);
    responder.send(answer == answers.end() ? net::Response{404, {}, ""} : answer->second);
  });
  const UrlReader reader = *UrlReader::create(server.client_options());
  const Result<SignatureSearch> search = search_store(reader, server.url("/store/"), kRelease);
  ASSERT_TRUE(search.ok()) << search.error().to_string();
  ASSERT_EQ(search->found.size(), 2u);
  EXPECT_EQ(search->found[0].bytes, "three");
  EXPECT_EQ(search->found[1].bytes, "four");
  ASSERT_EQ(search->notes.size(), 1u);
  EXPECT_NE(search->notes[0].find("503"), std::string::npos) << search->notes[0];

  EXPECT_EQ(search_store(reader, server.url("/empty"), kRelease)->notes.size(), 1u);
  const Result<SignatureSearch> dead = search_store(reader, "https://127.0.0.1:1/none", kRelease);
  ASSERT_TRUE(dead.ok()) << "a store that is away is no error";
  EXPECT_TRUE(dead->found.empty());
  EXPECT_EQ(dead->notes.size(), 3u);
  EXPECT_EQ(search_store(reader, "ftp://x", kRelease).error().code(), Code::kInvalidArgument);
}

TEST(SignatureStore, FoldersFilesAndConfigMaps) {
  const test::TempDir dir;
  const UrlReader reader = *UrlReader::create();
  const auto folder = dir / "a b%" / ("sha256=" + kRelease.hex());
  std::filesystem::create_directories(folder);
  for (const int number : {1, 2, 4}) {
    ASSERT_TRUE(
        write_file_atomic(folder / fmt::format("signature-{}", number), fmt::format("\x90{}", number), 0644).ok());
  }
  const Result<SignatureSearch> in_folder = search_path(reader, (dir / "a b%").string(), kRelease);
  ASSERT_TRUE(in_folder.ok()) << in_folder.error().to_string();
  EXPECT_EQ(in_folder->found.size(), 2u) << "the search ends at the first number that is missing";

  EXPECT_EQ(search_path(reader, (folder / "signature-4").string(), kRelease)->found.at(0).bytes,
            "\x90"
            "4");
  EXPECT_EQ(search_path(reader, (dir / "absent").string(), kRelease).error().code(), Code::kNotFound);

  const json::Value config_map = json::Object{
      {"kind", "ConfigMap"},
      {"binaryData",
       json::Object{{"sha256-" + kRelease.hex() + "-2", codec::encode_base64("two")},
                    {"sha256-" + kRelease.hex() + "-1", codec::encode_base64("one")},
                    {"sha256-" + codec::Digest::sha256_of("x").hex() + "-1", codec::encode_base64("other")}}}};
  ASSERT_TRUE(write_file_atomic(dir / "map.json", json::write(config_map), 0644).ok());
  const Result<SignatureSearch> in_map = search_path(reader, (dir / "map.json").string(), kRelease);
  ASSERT_TRUE(in_map.ok()) << in_map.error().to_string();
  ASSERT_EQ(in_map->found.size(), 2u);
  EXPECT_EQ(in_map->found[0].bytes, "one");
  EXPECT_EQ(in_map->found[1].bytes, "two");

  EXPECT_EQ(search_config_map("kind: Secret\n", "m", kRelease).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(search_config_map("kind: ConfigMap\n", "m", kRelease)->notes.size(), 1u);
  const auto broken =
      search_config_map("kind: ConfigMap\nbinaryData: {sha256-" + kRelease.hex() + "-1: '!'}\n", "m", kRelease);
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.error().to_string().find("binaryData.sha256-"), std::string::npos) << broken.error().to_string();
}

/// A release in a layout; its signatures would lie in a store on the network.
struct CarriedRelease {
  CarriedRelease() {
    using oci::testing::make_layer;
    using oci::testing::tar_file;
    release = oci::testing::write_image(dir / "layout", "release", {make_layer({tar_file("a", "1")})}).digest;
    place = std::make_unique<ReleasePlace>(std::make_unique<oci::Layout>(oci::Layout::open(dir / "layout").value()),
                                           "release");
    manifests = {{"keys.yaml", verification_map("  verifier-public-key-us: |\n" +
                                                indented(Gpg::shared().public_key("rsa@strake.test")) +
                                                fmt::format("  store-us: {}\n", server.url("/store")))}};
  }
  Result<SignatureProof> prove(std::vector<std::string> stores) {
    SignatureDemand demand;
    demand.stores = std::move(stores);
    demand.reader = &reader;
    return prove_signatures(*place, release, demand, [&] { return &manifests; }, {});
  }

  test::TempDir dir;
  std::atomic<int> requests{0};
  net::testing::TestServer server{[this](const net::ServerRequest&, const net::Responder& responder) {
    ++requests;
    responder.send({404, {}, ""});
  }};
  UrlReader reader = *UrlReader::create(server.client_options());
  codec::Digest release = codec::Digest::sha256_of("");
  std::unique_ptr<ReleasePlace> place;
  std::map<std::string, std::string> manifests;
};

TEST(SignatureStore, OfACarriedReleaseIsAskedOnlyWhenNamed) {
  CarriedRelease carried;
  const Result<SignatureProof> by_itself = carried.prove({});
  ASSERT_FALSE(by_itself.ok());
  EXPECT_EQ(carried.requests, 0) << "a folder reaches out for nothing";
  EXPECT_NE(by_itself.error().to_string().find("not asked"), std::string::npos) << by_itself.error().to_string();
  EXPECT_EQ(by_itself.error().verdict(), Verdict::kNotGenuine);
  EXPECT_FALSE(carried.prove({carried.server.url("/store")}).ok());
  EXPECT_EQ(carried.requests, 1);
}

TEST(SignatureStore, ThatDoesNotAnswerIsNoRefusal) {
  CarriedRelease carried;
  const Result<SignatureProof> unknown = carried.prove({"https://127.0.0.1:1/none"});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().verdict(), Verdict::kUnreachable) << unknown.error().to_string();
}

}  // namespace strake::release::signature_test
