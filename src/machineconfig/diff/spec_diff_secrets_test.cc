#include <gtest/gtest.h>

#include <algorithm>

#include "codec/digest.h"
#include "machineconfig/diff/spec_diff.h"
#include "machineconfig/testing/spec_text.h"

namespace strake::machineconfig::spec_diff_secrets_test {

using builders::file_text;
using builders::from_text;
using builders::ignition_spec;
using builders::spec_with_files;
using Lines = std::vector<std::string>;

SpecDiff diff_of(const json::Value& before, const json::Value& after, const SpecDiffOptions& options = {}) {
  auto diff = diff_specs(before, after, options);
  EXPECT_TRUE(diff.ok()) << (diff.ok() ? "" : diff.error().to_string());
  return diff.ok() ? *std::move(diff) : SpecDiff{};
}

// Secrets: every one of these must be reported as a change and appear nowhere in either output.
class HiddenSecrets : public ::testing::Test {
 protected:
  void expect_hidden(const char* name, const json::Value& before, const json::Value& after,
                     std::initializer_list<std::string> secrets) {
    SCOPED_TRACE(name);
    const SpecDiff diff = diff_of(before, after);
    EXPECT_FALSE(diff.changes.empty());
    EXPECT_TRUE(std::any_of(diff.changes.begin(), diff.changes.end(), [](const SpecChange& c) { return c.secret; }));
    const std::string text = to_text(diff), document = json::write(to_json(diff));
    SpecDiffOptions open;
    open.show_secrets = true;
    const SpecDiff shown = diff_of(before, after, open);
    const std::string shown_text = to_text(shown);
    for (const std::string& secret : secrets) {
      EXPECT_EQ(text.find(secret), std::string::npos) << secret;
      EXPECT_EQ(document.find(secret), std::string::npos) << secret;
      EXPECT_NE(shown_text.find(secret), std::string::npos) << secret << " in\n" << shown_text;
      const std::string digest = codec::sha256_hex(secret);
      EXPECT_EQ(document.find(digest.substr(0, 8)), std::string::npos) << "a digest can be guessed from";
    }
  }
};

TEST_F(HiddenSecrets, NeverReachTheOutput) {
  const std::string key_title = std::string("PRIV") + "ATE KEY-----";
  const auto file = [](std::string_view path, std::string_view contents) {
    return spec_with_files({file_text(path, contents)});
  };
  const auto pem = [&](std::string_view body) {
    return fmt::format("# comment\n-----BEGIN RSA {}\n{}\n-----END RSA {}\n", key_title, body, key_title);
  };
  expect_hidden("private key", file("/etc/k", pem("MIIEold")), file("/etc/k", pem("MIIEnew")), {"MIIEold", "MIIEnew"});
  expect_hidden("a key appears in an open file", file("/etc/k", "hello-before\n"), file("/etc/k", pem("MIIEnew")),
                {"MIIEnew", "hello-before"});
  expect_hidden("a key goes", file("/etc/k", pem("MIIEold")), ignition_spec(""), {"MIIEold"});
  expect_hidden("pull secret", file("/var/lib/kubelet/config.json", R"({"auths":{"q":{"auth":"b2xk"}}})"),
                file("/var/lib/kubelet/config.json", R"({"auths":{"q":{"auth":"bmV3"}}})"), {"b2xk", "bmV3"});
  expect_hidden("kubeconfig", file("/etc/kubernetes/kubeconfig", "users:\n- user:\n    client-key-data: b2xk\n"),
                file("/etc/kubernetes/kubeconfig", "users:\n- user:\n    client-key-data: bmV3\n"), {"b2xk", "bmV3"});
  expect_hidden("shadow", file("/etc/shadow.d/x", "core:$6$saltsalt$oldoldoldoldoldold:19000:0:99999:7:::\n"),
                file("/etc/shadow.d/x", "core:$6$saltsalt$newnewnewnewnewnew:19000:0:99999:7:::\n"),
                {"oldoldold", "newnewnew", "saltsalt"});
  const auto unit = [](std::string_view token, bool dropin) {
    const std::string contents = fmt::format(R"([Service]\nEnvironment=API_TOKEN={}\n)", token);
    return ignition_spec(
        dropin
            ? fmt::format(
                  R"("systemd":{{"units":[{{"name":"a.service","dropins":[{{"name":"e.conf","contents":"{}"}}]}}]}})",
                  contents)
            : fmt::format(R"("systemd":{{"units":[{{"name":"a.service","contents":"{}"}}]}})", contents));
  };
  expect_hidden("a unit's environment", unit("oldtok", false), unit("newtok", false), {"oldtok", "newtok"});
  expect_hidden("a drop-in's environment", unit("oldtok", true), unit("newtok", true), {"oldtok", "newtok"});
  const auto password = [](std::string_view hash) {
    return ignition_spec(fmt::format(R"("passwd":{{"users":[{{"name":"core","passwordHash":"{}"}}]}})", hash));
  };
  expect_hidden("password by its place", password("oldhash"), password("newhash"), {"oldhash", "newhash"});
  expect_hidden("a new password", ignition_spec(""), password("newhash"), {"newhash"});
  expect_hidden("group password", ignition_spec(R"("passwd":{"groups":[{"name":"g","passwordHash":"oldhash"}]})"),
                ignition_spec(R"("passwd":{"groups":[{"name":"g","passwordHash":"newhash"}]})"),
                {"oldhash", "newhash"});
  const auto luks = [](std::string_view key) {
    return ignition_spec(fmt::format(
        R"("storage":{{"luks":[{{"name":"d","device":"/dev/sda","keyFile":{{"source":"data:,{}"}}}}]}})", key));
  };
  expect_hidden("disk key", luks("oldkey"), luks("newkey"), {"oldkey", "newkey"});
  const auto headers = [](std::string_view value) {
    return from_text(fmt::format(
        R"({{"config":{{"ignition":{{"version":"3.5.0","config":{{"merge":[{{"source":"https://c","httpHeaders":[{{"name":"Authorization","value":"{}"}}]}}]}}}}}}}})",
        value));
  };
  expect_hidden("HTTP header", headers("oldvalue"), headers("newvalue"), {"oldvalue", "newvalue"});
  const auto argument = [](std::string_view value) {
    json::Value spec = ignition_spec("");
    spec.get_object()["kernelArguments"] = json::Array{json::Value(fmt::format("agent.password={}", value)), "quiet"};
    return spec;
  };
  expect_hidden("kernel argument", argument("oldpw"), argument("newpw"), {"oldpw", "newpw"});
  json::Value reordered = argument("oldpw");
  std::reverse(reordered.get_object()["kernelArguments"].get_array().begin(),
               reordered.get_object()["kernelArguments"].get_array().end());
  expect_hidden("kernel arguments in another order", argument("oldpw"), reordered, {"oldpw"});
  expect_hidden("a URL", spec_with_files({R"({"path":"/etc/a","contents":{"source":"https://u:oldpw@h/x"}})"}),
                spec_with_files({R"({"path":"/etc/a","contents":{"source":"https://u:newpw@h/x"}})"}),
                {"oldpw", "newpw"});
}

TEST_F(HiddenSecrets, ByTheirPathTheirModeAndInCommandLines) {
  const auto file = [](std::string_view path, std::string_view contents, std::string_view more = "") {
    return spec_with_files({file_text(path, contents, more)});
  };
  expect_hidden("by path", file("/etc/ppp/chap-secrets", "me * oldpw *\n"),
                file("/etc/ppp/chap-secrets", "me * newpw *\n"), {"oldpw", "newpw"});
  expect_hidden("by mode", file("/etc/app", "oldpw\n", R"(,"mode":384)"), file("/etc/app", "newpw\n", R"(,"mode":384)"),
                {"oldpw", "newpw"});
  expect_hidden("by the mode it had", file("/etc/app", "oldpw\n", R"(,"mode":256)"), file("/etc/app", "newpw\n"),
                {"oldpw", "newpw"});
  const auto unit = [](std::string_view command) {
    return ignition_spec(fmt::format(
        R"("systemd":{{"units":[{{"name":"a.service","contents":"[Service]\nExecStart={}\n"}}]}})", command));
  };
  expect_hidden("an option", unit("/bin/a --password oldpw"), unit("/bin/a --password newpw"), {"oldpw", "newpw"});
  expect_hidden("curl", unit("/bin/curl -u me:oldpw https://a"), unit("/bin/curl -u me:newpw https://a"),
                {"oldpw", "newpw"});
}

TEST(Secrets, AnotherHiddenUrlIsSaidToBeAnother) {
  const SpecDiff diff = diff_of(spec_with_files({R"({"path":"/etc/a","contents":{"source":"https://u:oldpw@h/x"}})"}),
                                spec_with_files({R"({"path":"/etc/a","contents":{"source":"https://u:newpw@h/x"}})"}));
  EXPECT_EQ(diff.changes[0].details, Lines{"contents: fetched from another hidden URL (--show-secrets shows it)"});
}

TEST(Secrets, ThoseThatDidNotChangeHideNothingElse) {
  const std::string contents = "password = x\n";
  const SpecDiff diff = diff_of(spec_with_files({file_text("/etc/a", contents)}),
                                spec_with_files({file_text("/etc/a", contents, R"(,"mode":384)")}));
  EXPECT_EQ(diff.changes[0].details, Lines{"mode: 0644 -> 0600"});
  EXPECT_TRUE(diff.changes[0].secret);
}

}  // namespace strake::machineconfig::spec_diff_secrets_test
