#include "machineconfig/diff/redact.h"

#include <gtest/gtest.h>

#include "machineconfig/testing/spec_text.h"

namespace strake::machineconfig::redact_test {

/// Written in two halves, so that no scanner of repositories takes this file for a leak.
const std::string kPrivate = std::string("PRIV") + "ATE KEY";

TEST(Redact, SecretsByTheirLooks) {
  const struct {
    const char* name;
    std::string contents;
    SecretKind kind;
  } cases[] = {
      {"PKCS#8", "-----BEGIN " + kPrivate + "-----\nMIIE\n", SecretKind::kPrivateKey},
      {"RSA", "x\n-----BEGIN RSA " + kPrivate + "-----\n", SecretKind::kPrivateKey},
      {"OpenSSH", "-----BEGIN OPENSSH " + kPrivate + "-----\n", SecretKind::kPrivateKey},
      {"encrypted", "-----BEGIN ENCRYPTED " + kPrivate + "-----\n", SecretKind::kPrivateKey},
      {"OpenPGP", "-----BEGIN PGP " + kPrivate + " BLOCK-----\n", SecretKind::kPrivateKey},
      {"a key after a certificate",
       "-----BEGIN CERTIFICATE-----\nM\n-----END CERTIFICATE-----\n-----BEGIN EC " + kPrivate + "-----\n",
       SecretKind::kPrivateKey},
      {"a key inside base64", "data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlFcEFJQkFBS0NBUUVBMTIzNDU2Nzg5\n",
       SecretKind::kPrivateKey},
      {"kubeconfig with a key", "kind: Config\nusers:\n- user:\n    client-key-data: TUlJ\n", SecretKind::kKubeconfig},
      {"kubeconfig with a token", "current-context: a\nusers:\n- user:\n    token: abc\n", SecretKind::kKubeconfig},
      {"pull secret", R"({"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}})", SecretKind::kPullSecret},
      {"pull secret with blanks", "{ \"auths\" :\n {} }", SecretKind::kPullSecret},
      {"old pull secret", R"({"quay.io":{"auth": "dXNlcjpwYXNz"}})", SecretKind::kPullSecret},
      {"SHA-512 crypt", "core:$6$rounds=5000$saltsalt$abcdefghijklmnopqrstuvwxyz", SecretKind::kPasswordHash},
      {"yescrypt", "x $y$j9T$F5Jx5fExrKuPp53xLKQ..1$X3DX6M94c7o.9agCG9G317fhZg9SqC.5i5rd.RhAtQ7",
       SecretKind::kPasswordHash},
      {"bcrypt", "admin:$2y$05$abcdefghijklmnopqrstuuKbUJx0kIvW0n1Vb0mS6yJp3o1mW9Q2e", SecretKind::kPasswordHash},
      {"Apache MD5", "a:$apr1$saltsalt$0123456789abcdefghijkl", SecretKind::kPasswordHash},
      {"an old crypt in shadow form", "root:!:19000:0:99999:7:::\ncore:abJnggxhB/yWI:19000:0:99999:7:::\n",
       SecretKind::kPasswordHash},
      {"boot loader password", "password_pbkdf2 root grub.pbkdf2.sha512.10000.ABCDEF", SecretKind::kPasswordHash},
      {"bearer token", "Authorization: Bearer abcdef0123456789", SecretKind::kToken},
      {"bearer token in quotes", "curl -H 'Authorization: bearer abcdefgh'", SecretKind::kToken},
      {"JSON web token", "x eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln", SecretKind::kToken},
      {"password in an ini file", "[db]\npassword = hunter2\n", SecretKind::kPassword},
      {"a number is a password too", "passwd: 123456", SecretKind::kPassword},
      {"environment of a unit", "[Service]\nEnvironment=DB_PASSWORD=x1\n", SecretKind::kPassword},
      {"quoted environment", "Environment=\"A=1\" \"API_KEY=abc\"", SecretKind::kPassword},
      {"AWS", "aws_secret_access_key = abc/def", SecretKind::kPassword},
      {"WireGuard", "[Interface]\nPrivateKey = aGVsbG8=\n", SecretKind::kPassword},
      {"wireless", "[wifi-security]\npsk=open sesame\n", SecretKind::kPassword},
      {"a block of YAML", "client_secret: |\n  abc\n", SecretKind::kPassword},
      {"proxy with credentials", "HTTPS_PROXY=http://user:pa55@proxy.example.com:3128", SecretKind::kPassword},
      {"Kubernetes Secret", "apiVersion: v1\nkind: Secret\ndata:\n  a: Yg==\n", SecretKind::kKubernetesSecret},
      {"Kubernetes Secret in JSON", R"({"kind": "Secret","data":{}})", SecretKind::kKubernetesSecret},
  };
  for (const auto& c : cases) EXPECT_EQ(find_secret(c.contents), c.kind) << c.name;
}

TEST(Redact, OrdinaryContentsStayVisible) {
  const struct {
    const char* name;
    std::string contents;
  } cases[] = {
      {"nothing", ""},
      {"chrony", "server 0.pool.ntp.org iburst\ndriftfile /var/lib/chrony/drift\n"},
      {"certificate", "-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----\n"},
      {"certificate inside base64",
       "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSURRRENDQWlpZ0F3SUJBZ0lJ\n"},
      {"public key", "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----\n"},
      {"SSH key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ core@example.com"},
      {"sshd", "PasswordAuthentication no\nPermitEmptyPasswords no\n"},
      {"PAM", "password    sufficient    pam_unix.so sha512 shadow nullok use_authtok\n"},
      {"locked accounts", "root:!:19000:0:99999:7:::\nbin:*:19000:0:99999:7:::\nx:!!:1:0:9:7:::\n"},
      {"passwd", "root:x:0:0:root:/root:/bin/bash\n"},
      {"shell", "if [ \"$1\" = x ]; then echo $1$2; fi\nA=\"$1$HOME/$name\"\n"},
      {"kubelet settings", "tokenCacheTTL: 5m\nserverTLSBootstrap: true\nrotateCertificates: true\n"},
      {"volumes of a pod", "secret:\n  secretName: certs\nkind: ConfigMap\nkind: SecretProviderClass\n"},
      {"switched off", "password: null\ntoken: \"\"\nsecret = false\n"},
      {"registries", "[[registry]]\nlocation = \"quay.io\"\n"},
      {"URL", "baseurl=https://mirror.example.com/path@2\nproxy=http://proxy:3128\n"},
      {"prose", "the bearer carries it; basic instructions follow\n"},
  };
  for (const auto& c : cases) {
    const auto found = find_secret(c.contents);
    EXPECT_FALSE(found) << c.name << ": " << (found ? to_string(*found) : "");
  }
}

TEST(Redact, TextsMadeToBeReadAgainAndAgain) {
  // A search that walks on from every match takes minutes over these, beyond any test's limit.
  const struct {
    std::string_view piece;
    std::optional<SecretKind> kind;
  } cases[] = {
      {"eyJ", std::nullopt},
      {"$6$", SecretKind::kPasswordHash},
      {"a=", std::nullopt},
      {"token =", SecretKind::kPassword},
      {"://a:", std::nullopt},
      {"bearer ", std::nullopt},
      {"kind ", std::nullopt},
      {"\"auth\" ", std::nullopt},
      {"LS0tLS1CRUdJTi", SecretKind::kPrivateKey},
      {"$y$a", SecretKind::kPasswordHash},
      {"        ", std::nullopt},
  };
  for (const auto& c : cases) {
    std::string text;
    while (text.size() < (1u << 20)) text += c.piece;
    EXPECT_EQ(find_secret(text), c.kind) << c.piece;
  }
}

TEST(Redact, MembersThatAreSecretByTheirPlace) {
  const struct {
    const char* name;
    const char* section;
    const char* shown;  ///< equal to `section` when there is nothing to hide
  } cases[] = {
      {"the key of an encrypted disk",
       R"j([{"name":"l","keyFile":{"source":"data:;base64,c2VjcmV0"},"clevis":{"tang":[{"url":"https://t"}]}}])j",
       R"j([{"name":"l","keyFile":{"source":"(hidden, 21 bytes)"},"clevis":{"tang":[{"url":"https://t"}]}}])j"},
      {"HTTP headers",
       R"j({"merge":[{"source":"https://c","httpHeaders":[{"name":"Authorization","value":"Bearer x"}]}]})j",
       R"j({"merge":[{"source":"https://c","httpHeaders":"(hidden)"}]})j"},
      {"a password", R"j({"name":"g","passwordHash":"hash"})j", R"j({"name":"g","passwordHash":"(hidden)"})j"},
      {"nothing", R"j({"timeouts":{"httpTotal":1},"list":["a"]})j", R"j({"timeouts":{"httpTotal":1},"list":["a"]})j"},
  };
  for (const auto& c : cases) {
    json::Value section = builders::from_text(c.section);
    EXPECT_EQ(hide_secret_members(section), std::string_view(c.section) != c.shown) << c.name;
    EXPECT_EQ(json::write(section), c.shown) << c.name;
  }
}

}  // namespace strake::machineconfig::redact_test
