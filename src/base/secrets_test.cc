#include "base/secrets.h"

#include <gtest/gtest.h>

#include <vector>

namespace strake::secrets_test {

/// Written in two halves, so that no scanner of repositories takes this file for a leak.
const std::string kPrivate = std::string("PRIV") + "ATE KEY";
const std::string kGitHub = std::string("gh") + "p_0123456789abcdefghijABCDEFGHIJ012345";
const std::string kGitLab = std::string("glp") + "at-0123456789abcdefghij";
const std::string kAmazon = std::string("AK") + "IAIOSFODNN7EXAMPLE";

struct SecretCase {
  const char* name;
  std::string contents;
  SecretKind kind;
};

std::vector<SecretCase> secret_cases() {
  using enum SecretKind;
  return {
      {"PKCS#8", "-----BEGIN " + kPrivate + "-----\nMIIE\n", kPrivateKey},
      {"RSA", "x\n-----BEGIN RSA " + kPrivate + "-----\n", kPrivateKey},
      {"OpenSSH", "-----BEGIN OPENSSH " + kPrivate + "-----\n", kPrivateKey},
      {"encrypted", "-----BEGIN ENCRYPTED " + kPrivate + "-----\n", kPrivateKey},
      {"OpenPGP", "-----BEGIN PGP " + kPrivate + " BLOCK-----\n", kPrivateKey},
      {"OpenVPN", "-----BEGIN OpenVPN Static key V1-----\n00ff\n", kPrivateKey},
      {"age", "AGE-SECRET-KEY-1QQPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", kPrivateKey},
      {"a key after a certificate",
       "-----BEGIN CERTIFICATE-----\nM\n-----END CERTIFICATE-----\n-----BEGIN EC " + kPrivate + "-----\n", kPrivateKey},
      {"a key inside base64", "data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlFcEFJQkFBS0NBUUVBMTIzNDU2Nzg5\n",
       kPrivateKey},
      {"a key behind a public one, 0 bytes on",
       R"({"keyData":"LS0tLS1CRUdJTiBQVUJMSUMgS0VZLS0tLS0KTUZrd0V3WUhLb1pJemowQ0FRWUkKLS0tLS1FTkQgUFVCTElDIEtFWS0tLS0tCi0tLS0tQkVHSU4gUFJJVkFURSBLRVktLS0tLQpNQzRDCi0tLS0tRU5EIFBSSVZBVEUgS0VZLS0tLS0K"})",
       kPassword},
      {"a key behind a public one, 1 bytes on",
       R"({"keyData":"LS0tLS1CRUdJTiBQVUJMSUMgS0VZLS0tLS0KTUZrd0V3WUhLb1pJemowQ0FRWUkKLS0tLS1FTkQgUFVCTElDIEtFWS0tLS0tCmEtLS0tLUJFR0lOIFBSSVZBVEUgS0VZLS0tLS0KTUM0QwotLS0tLUVORCBQUklWQVRFIEtFWS0tLS0tCg=="})",
       kPassword},
      {"a key behind a public one, 2 bytes on",
       R"({"keyData":"LS0tLS1CRUdJTiBQVUJMSUMgS0VZLS0tLS0KTUZrd0V3WUhLb1pJemowQ0FRWUkKLS0tLS1FTkQgUFVCTElDIEtFWS0tLS0tCmFiLS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1DNEMKLS0tLS1FTkQgUFJJVkFURSBLRVktLS0tLQo="})",
       kPrivateKey},
      {"DER inside base64, PKCS#8", "x: MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQ", kPrivateKey},
      {"DER inside base64, PKCS#1", "MIIEpAIBAAKCAQEAxyz0123456789", kPrivateKey},
      {"DER inside base64, SEC1", "MHcCAQEEIJ0123456789abcdefghijklmnop", kPrivateKey},
      {"DER inside base64, PKCS#8 of EC", "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg", kPrivateKey},
      {"DER inside base64, Ed25519", "MC4CAQAwBQYDK2VwBCIEIJ0123456789abcdefghijklmnopqrstuvwxyzABCDE", kPrivateKey},
      {"DER, PKCS#8", std::string("\x30\x82\x04\xbe\x02\x01\x00\x30\x0d\x06\x09", 11), kPrivateKey},
      {"DER, PKCS#1", std::string("\x30\x82\x04\xa4\x02\x01\x00\x02\x82\x01\x01", 11), kPrivateKey},
      {"DER, SEC1", std::string("\x30\x77\x02\x01\x01\x04\x20\xaa", 8), kPrivateKey},
      {"DER, Ed25519", std::string("\x30\x2e\x02\x01\x00\x30\x05\x06", 8), kPrivateKey},
      {"PKCS#12", std::string("\x30\x82\x09\x00\x02\x01\x03\x30\x82", 9), kPrivateKey},
      {"Java key store", std::string("\xfe\xed\xfe\xed\x00\x00\x00\x02", 8), kPrivateKey},
      {"Kerberos keytab", std::string("\x05\x02\x00\x00\x00\x3c", 6), kPrivateKey},
      {"kubeconfig with a key", "kind: Config\nusers:\n- user:\n    client-key-data: TUlJ\n", kKubeconfig},
      {"kubeconfig with a token", "current-context: a\nusers:\n- user:\n    token: abc\n", kKubeconfig},
      {"pull secret", R"({"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}})", kPullSecret},
      {"pull secret with blanks", "{ \"auths\" :\n {} }", kPullSecret},
      {"old pull secret", R"({"quay.io":{"auth": "dXNlcjpwYXNz"}})", kPullSecret},
      {"SHA-512 crypt", "core:$6$rounds=5000$saltsalt$abcdefghijklmnopqrstuvwxyz", kPasswordHash},
      {"yescrypt", "x $y$j9T$F5Jx5fExrKuPp53xLKQ..1$X3DX6M94c7o.9agCG9G317fhZg9SqC.5i5rd.RhAtQ7", kPasswordHash},
      {"bcrypt", "admin:$2y$05$abcdefghijklmnopqrstuuKbUJx0kIvW0n1Vb0mS6yJp3o1mW9Q2e", kPasswordHash},
      {"Apache MD5", "a:$apr1$saltsalt$0123456789abcdefghijkl", kPasswordHash},
      {"an old crypt in shadow form", "root:!:19000:0:99999:7:::\ncore:abJnggxhB/yWI:19000:0:99999:7:::\n",
       kPasswordHash},
      {"htpasswd with an old crypt", "# users\nadmin:rqXexS6ZhobKA\n", kPasswordHash},
      {"htpasswd with SHA-1", "admin:{SHA}fEqNCco3Yq9h5ZUglD3CZJT4lBs=\n", kPasswordHash},
      {"boot loader password", "password_pbkdf2 root grub.pbkdf2.sha512.10000.ABCDEF", kPasswordHash},
      {"bearer token", "Authorization: Bearer abcdef0123456789", kToken},
      {"bearer token in quotes", "curl -H 'Authorization: bearer abcdefgh'", kToken},
      {"another scheme", "Authorization: token 0123456789abcdef", kToken},
      {"JSON web token", "x eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln", kToken},
      {"bare GitHub token", kGitHub + "\n", kToken},
      {"bare GitLab token", "url = git " + kGitLab, kToken},
      {"bare OpenShift token", "sha256~0123456789abcdefghijklmnopqrstuvwxyzABCDEFG", kToken},
      {"bare bootstrap token", "abcdef.0123456789abcdef\n", kToken},
      {"key of Amazon", kAmazon, kToken},
      {"password in an ini file", "[db]\npassword = hunter2\n", kPassword},
      {"a number is a password too", "passwd: 123456", kPassword},
      {"environment of a unit", "[Service]\nEnvironment=DB_PASSWORD=x1\n", kPassword},
      {"a variable that ends in PASS", "Environment=DB_PASS=x1\n", kPassword},
      {"a variable that ends in KEY", "ENCRYPTION_KEY=0123abcd\n", kPassword},
      {"a variable that ends in PW", "ADMIN_PW=x1\n", kPassword},
      {"quoted environment", "Environment=\"A=1\" \"API_KEY=abc\"", kPassword},
      {"AWS", "aws_secret_access_key = abc/def", kPassword},
      {"WireGuard", "[Interface]\nPrivateKey = aGVsbG8=\n", kPassword},
      {"wireless", "[wifi-security]\npsk=open sesame\n", kPassword},
      {"a block of YAML", "client_secret: |\n  abc\n", kPassword},
      {"storage account", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=abc==", kPassword},
      {"a credential of a unit", "[Service]\nSetCredential=tls:s3cr3t\n", kPassword},
      {"an option", "ExecStart=/usr/bin/app --password hunter2\n", kPassword},
      {"an option with =", "ExecStart=/usr/bin/app --token=hunter2\n", kPassword},
      {"an option with quotes", "app --client-secret 'hunter2'", kPassword},
      {"curl -u", "ExecStart=/usr/bin/curl -s -u admin:hunter2 https://a\n", kPassword},
      {"curl --user", "curl --user admin:hunter2 https://a", kPassword},
      {"skopeo --creds", "skopeo copy --src-creds admin:hunter2 a b", kPassword},
      {"sshpass", "sshpass -p hunter2 ssh a", kPassword},
      {"mysql", "mysql -u root -phunter2 db", kPassword},
      {".netrc", "machine a.example.com login me password hunter2\n", kPassword},
      {".netrc in lines", "machine a\n  login me\n  password hunter2\n", kPassword},
      {".pgpass", "db.example.com:5432:*:admin:hunter2\n", kPassword},
      {"key of an encrypted disk", "rd.luks.key=/keys/a", kPassword},
      {"password of iSCSI", "rd.iscsi.password=hunter2", kPassword},
      {"incoming password of iSCSI", "rd.iscsi.in.password=hunter2", kPassword},
      {"password of the installer", "inst.rootpw=hunter2", kPassword},
      {"proxy with credentials", "HTTPS_PROXY=http://user:pa55@proxy.example.com:3128", kPassword},
      {"a password that was not encoded", "https://user:pa/ss@registry.example.com/v2/", kPassword},
      {"a token as the user", "url = https://0123456789abcdef0123@git.example.com/x", kPassword},
      {"Kubernetes Secret", "apiVersion: v1\nkind: Secret\ndata:\n  a: Yg==\n", kKubernetesSecret},
      {"Kubernetes Secret in JSON", R"({"kind": "Secret","data":{}})", kKubernetesSecret},
  };
}

TEST(Secrets, ByTheirLooks) {
  const std::vector<SecretCase> cases = secret_cases();
  EXPECT_GE(cases.size(), 60u);
  for (const SecretCase& c : cases) EXPECT_EQ(find_secret(c.contents), c.kind) << c.name;
}

struct HarmlessCase {
  const char* name;
  std::string contents;
};

std::vector<HarmlessCase> harmless_cases() {
  return {
      {"nothing", ""},
      {"chrony", "server 0.pool.ntp.org iburst\ndriftfile /var/lib/chrony/drift\n"},
      {"certificate", "-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----\n"},
      {"certificate inside base64",
       "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSURRRENDQWlpZ0F3SUJBZ0lJ\n"},
      {"certificate in DER", std::string("\x30\x82\x03\x40\x30\x82\x02\x28\xa0\x03\x02\x01\x02", 13)},
      {"public key", "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----\n"},
      {"public key in OpenPGP", "-----BEGIN PGP PUBLIC KEY BLOCK-----\nmQ\n"},
      {"SSH key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ core@example.com"},
      {"known hosts", "github.com ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQCj7ndNxQowgcQnjshcLrqP\n"},
      {"sshd", "PasswordAuthentication no\nPermitEmptyPasswords no\n"},
      {"host keys of sshd", "HostKey /etc/ssh/ssh_host_rsa_key\nAuthorizedKeysFile .ssh/authorized_keys\n"},
      {"PAM", "password    sufficient    pam_unix.so sha512 shadow nullok use_authtok\n"},
      {"locked accounts", "root:!:19000:0:99999:7:::\nbin:*:19000:0:99999:7:::\nx:!!:1:0:9:7:::\n"},
      {"passwd", "root:x:0:0:root:/root:/bin/bash\n"},
      {"group", "wheel:x:10:core,admin\n"},
      {"nsswitch", "passwd:     files sss\nshadow:     files sss\n"},
      {"fstab", "UUID=0f3e /boot xfs defaults 0 0\n//nas/share /mnt cifs credentials=/etc/nas.cred 0 0\n"},
      {"shell", "if [ \"$1\" = x ]; then echo $1$2; fi\nA=\"$1$HOME/$name\"\n"},
      {"reference to a variable", "password=\"${PASSWORD}\"\ntoken=$TOKEN\n"},
      {"reference on a command line", "app --password $PASSWORD --token \"${TOKEN}\"\n"},
      {"place holder", "usage: app --password PASSWORD [--token TOKEN]\n"},
      {"file of a password", "app --password-file /run/p --token-file=/run/t\n"},
      {"file of a key", "tls_key=/etc/pki/a.pem\nssl-key: /etc/b.pem\n"},
      {"key of packages", "gpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-redhat\ngpgcheck=1\n"},
      {"key of a host", "ssh_host_key: AAAAC3Nz\nPUBLIC_KEY=AAAA\n"},
      {"keys of tables", "primary_key=id\nsort_key: name\n"},
      {"kubelet settings", "tokenCacheTTL: 5m\nserverTLSBootstrap: true\nrotateCertificates: true\n"},
      {"kubelet credentials provider", "imageCredentialProviderBinDir: /usr/libexec\n"},
      {"volumes of a pod", "secret:\n  secretName: certs\nkind: ConfigMap\nkind: SecretProviderClass\n"},
      {"switched off", "password: null\ntoken: \"\"\nsecret = false\n"},
      {"switched on", "use_token=true\nask-password: yes\n"},
      {"registries", "[[registry]]\nlocation = \"quay.io\"\n"},
      {"URL", "baseurl=https://mirror.example.com/path@2\nproxy=http://proxy:3128\n"},
      {"URL with a user", "url = https://git@github.com/x\n"},
      {"image by digest", "docker://registry.example.com:5000/ocp/release@sha256:0123456789abcdef\n"},
      {"image by digest with a scheme", "https://registry.example.com:5000/v2/x/manifests@sha256:00\n"},
      {"address", "https://[::1]:6443/a@b\n"},
      {"mail", "mailto: admin@example.com\n"},
      {"prose", "the bearer carries it; basic instructions follow\n"},
      {"more prose", "A token bucket limits the rate. The secret of good soup: time.\n"},
      {"kernel arguments", "console=ttyS0,115200n8 rd.luks.uuid=luks-0f3e ignition.platform.id=metal\n"},
      {"network arguments", "ip=dhcp rd.neednet=1 nameserver=10.0.0.1\n"},
      {"unit", "[Unit]\nDescription=Key of the house\n[Service]\nExecStart=/usr/bin/true\n"},
      {"credentials of a unit by file", "[Service]\nLoadCredential=tls:/etc/tls\n"},
      {"crio", "[crio.runtime]\nconmon_cgroup = \"pod\"\npids_limit = 4096\n"},
      {"sysctl", "net.ipv4.ip_forward = 1\nkernel.keys.maxkeys = 200\n"},
      {"audit", "-w /etc/shadow -p wa -k identity\n"},
      {"udev", "KEY==\"value\", ATTR{idVendor}==\"0403\"\n"},
      {"hosts", "127.0.0.1 localhost localhost.localdomain\n"},
      {"host names", "abcdef.example.com prefix.abcdefghijklmnop\n"},
      {"version", "version: 4.16.0-0.nightly-2024-05-01\nmachine-os 416.94.202405010000\n"},
      {"digest", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"},
      {"uuid", "0f3e2d1c-0000-4000-8000-0123456789ab\n"},
      {"JSON", R"({"kind":"KubeletConfiguration","maxPods":500})"},
      {"YAML list", "- a: 1\n- b: [x, y]\n"},
      {"TOML", "unqualified-search-registries = [\"a\"]\n"},
      {"crontab", "*/5 * * * * root /usr/bin/true\n"},
      {"logrotate", "/var/log/x {\n  compress\n}\n"},
      {"multipath", "defaults {\n  user_friendly_names yes\n  find_multipaths yes\n}\n"},
      {"two fields", "proxy:squid.internal\nlevel:informational\n"},
      {"five fields", "a:b:c:d:e\n"},
      {"compass", "compass: north\nbypass=localhost\n"},
      {"a public key of an image policy",
       R"({"type":"sigstoreSigned","keyData":"LS0tLS1CRUdJTiBQVUJMSUMgS0VZLS0tLS0KTUZrd0V3WUhLb1pJemowQ0FRWUkKLS0tLS1FTkQgUFVCTElDIEtFWS0tLS0tCg=="})"},
      {"base64 of text", "aGVsbG8gd29ybGQsIHRoaXMgaXMgaGFybWxlc3M=\n"},
      {"tar", "mysql -p\ncurl -u admin https://a\n"},
  };
}

TEST(Secrets, OrdinaryContentsStayVisible) {
  std::vector<HarmlessCase> cases = harmless_cases();
  EXPECT_GE(cases.size(), 60u);
  for (const HarmlessCase& c : cases) {
    const auto found = find_secret(c.contents);
    EXPECT_FALSE(found) << c.name << ": " << (found ? to_string(*found) : "");
    EXPECT_EQ(without_secrets(c.contents),
              std::string(c.name) == "URL with a user" ? "url = https://(hidden)@github.com/x\n" : c.contents)
        << c.name << ": what a file may show, a message may";
  }
}

TEST(Secrets, ByTheirPlace) {
  const struct {
    const char* path;
    std::optional<std::uint32_t> mode;
    std::optional<SecretKind> kind;
  } cases[] = {
      {"/etc/ppp/chap-secrets", 0644, SecretKind::kPrivateFile},
      {"/root/.netrc", 0644, SecretKind::kPrivateFile},
      {"/var/lib/pgsql/.pgpass", std::nullopt, SecretKind::kPrivateFile},
      {"/etc/ceph/ceph.client.admin.keyring", 0644, SecretKind::kPrivateKey},
      {"/etc/krb5.keytab", 0644, SecretKind::kPrivateKey},
      {"/home/core/.ssh/id_ed25519", 0644, SecretKind::kPrivateKey},
      {"/etc/ssh/ssh_host_rsa_key", 0644, SecretKind::kPrivateKey},
      {"/etc/pki/tls/private/localhost", 0644, SecretKind::kPrivateKey},
      {"/etc/kubernetes/kubeconfig", 0644, SecretKind::kKubeconfig},
      {"/var/lib/kubelet/config.json", 0644, SecretKind::kPullSecret},
      {"/etc/shadow", 0644, SecretKind::kPasswordHash},
      {"/etc/app/token", 0644, SecretKind::kPrivateFile},
      {"/etc/wireguard/wg0.conf", 0644, SecretKind::kPrivateFile},
      {"/etc/mco/proxy.env", 0644, SecretKind::kPrivateFile},
      {"/etc/app.conf", 0600, SecretKind::kPrivateFile},
      {"/etc/app.conf", 0400, SecretKind::kPrivateFile},
      {"/etc/app.conf", 0100600, SecretKind::kPrivateFile},
      {"/etc/app.conf", 0640, std::nullopt},
      {"/etc/app.conf", 0644, std::nullopt},
      {"/etc/app.conf", 0, std::nullopt},
      {"/etc/app.conf", std::nullopt, std::nullopt},
      {"/etc/passwd", 0644, std::nullopt},
      {"/etc/ssh/ssh_host_rsa_key.pub", 0644, std::nullopt},
      {"/home/core/.ssh/authorized_keys", 0644, std::nullopt},
      {"/etc/pki/rpm-gpg/RPM-GPG-KEY-redhat", 0644, std::nullopt},
      {"/etc/kubernetes/kubelet.conf", 0644, std::nullopt},
      {"/usr/share/tokenizer.json", 0644, std::nullopt},
      {"", std::nullopt, std::nullopt},
  };
  for (const auto& c : cases) EXPECT_EQ(find_secret_place(c.path, c.mode), c.kind) << c.path;
}

TEST(Secrets, AreReplacedInMessages) {
  const struct {
    std::string text, shown;
  } cases[] = {
      {"GET https://user:pa/ss@registry.example.com/v2/: 401", "GET https://(hidden)@registry.example.com/v2/: 401"},
      {"GET https://user:p%2fw@a.example.com/v2/: 401", "GET https://(hidden)@a.example.com/v2/: 401"},
      {"sent Authorization: Bearer abc", "sent Authorization: Bearer (hidden)"},
      {"ran app --password hunter2 --verbose", "ran app --password (hidden) --verbose"},
      {"ran curl -u admin:hunter2 https://a", "ran curl -u admin:(hidden) https://a"},
      {R"j(body {"password":"open sesame","a":1})j", R"j(body {"password":"(hidden)","a":1})j"},
      {R"j(body {"auths":{"quay.io":{"auth":"dXNlcjpw"}}})j", R"j(body {"auths":{"quay.io":{"auth":"(hidden)"}}})j"},
      {"DB_PASS=x1 and DB_USER=me", "DB_PASS=(hidden) and DB_USER=me"},
      {"a -----BEGIN " + kPrivate + "-----\nMII\n-----END " + kPrivate + "----- b", "a (hidden) b"},
      {"cloned with " + kGitHub + " today", "cloned with (hidden) today"},
      {"hash $6$saltsalt$abcdefghijklmnop for core", "hash (hidden) for core"},
      {"source data:text/plain;base64,c2VjcmV0 is bad", "source data:text/plain;base64,(hidden) is bad"},
      // What people read every day stays readable.
      {"reading the password: no such file", "reading the password: no such file"},
      {"token: expired", "token: expired"},
      {"repeat with --token TOKEN", "repeat with --token TOKEN"},
      {"give --keyring /etc/keys", "give --keyring /etc/keys"},
      {"kind: Secret is not rendered", "kind: Secret is not rendered"},
      {"keyring '/etc/passwd': it is no keyring", "keyring '/etc/passwd': it is no keyring"},
      {"field 'password': hunter22 is too short", "field 'password': (hidden) is too short"},
  };
  for (const auto& c : cases) EXPECT_EQ(without_secrets(c.text), c.shown);
}

/// Several in one text, in every order: what one search found must not hide from another what stands elsewhere.
TEST(Secrets, NoneIsOverlookedBesideAnother) {
  const std::vector<std::string> secrets = {"$6$saltsalt$abcdefghijklmnop",
                                            "hvs.0123456789abcdefghijklmn",
                                            kGitHub,
                                            "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln",
                                            "-----BEGIN " + kPrivate + "-----\nMII\n-----END " + kPrivate + "-----",
                                            "MIIEpAIBAAKCAQEAxyz0123456789",
                                            "abcdef.0123456789abcdef",
                                            "data:,abc",
                                            "DB_PASS=x1y2",
                                            "--password hunter2",
                                            "https://user:pa55@host/"};

  for (const std::string& first : secrets) {
    for (const std::string& second : secrets) {
      EXPECT_EQ(without_secrets("a " + first + " b " + second + " c"),
                "a " + without_secrets(first) + " b " + without_secrets(second) + " c")
          << first << " before " << second;
      EXPECT_NE(without_secrets(first), first);
    }
  }
}

TEST(Secrets, PublicTextIsShortVisibleAndHoldsNone) {
  EXPECT_EQ(public_text("a\x1b[2J https://u:p@h/ b", 100), "a\\u001b[2J https://(hidden)@h/ b");
  EXPECT_EQ(public_text("gr\u00fc\u00dfe", 6), "gr...");
  EXPECT_EQ(public_text(std::string(200'000, 'x'), 10), "xxxxxxx...");
  EXPECT_EQ(public_text("two\nlines", 100), "two\nlines");
}

TEST(Secrets, TextsMadeToBeReadAgainAndAgain) {
  // A search that walks on from every match takes minutes over these, beyond any test's limit.
  for (const std::string_view piece : {"eyJ",
                                       "$6$",
                                       "a=",
                                       "token =",
                                       "token=",
                                       "token=${",
                                       "token='",
                                       "://a:",
                                       "://a@",
                                       "bearer ",
                                       "kind ",
                                       "\"auth\" ",
                                       "LS0tLS1CRUdJTi",
                                       "$y$a",
                                       "        ",
                                       "authorization:",
                                       "hvs.",
                                       "--password ",
                                       "--token \"",
                                       "IBAAKCA",
                                       "-----BEGIN PRIV",
                                       "curl -u ",
                                       "password ",
                                       "machine login password ",
                                       "a:1:b:c:d\n",
                                       "abcdef.",
                                       "AKIA",
                                       "data:,"}) {
    std::string text;
    while (text.size() < (1u << 18)) text += piece;
    (void)find_secret(text);
    EXPECT_LE(without_secrets(text).size(), 3 * text.size()) << piece;
  }
}

TEST(Secrets, OfNames) {
  for (const char* name : {"password", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY", "registry-token", "apiKey", "X-Api-Key",
                           "rootpw", "DB_PASS", "tls.key-data", "rd.luks.key", "ENCRYPTION_KEY"}) {
    EXPECT_TRUE(names_a_secret(name)) << name;
  }
  for (const char* name : {"", "user", "passwordAuthentication", "public_key", "gpg-key", "key", "keyboard", "bypass",
                           "compass", "tokenTTL", "secretName"}) {
    EXPECT_FALSE(names_a_secret(name)) << name;
  }
}

}  // namespace strake::secrets_test
