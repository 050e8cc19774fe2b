#include "oci/registry/credentials.h"

#include <fstream>

#include <gtest/gtest.h>

#include "codec/base64.h"
#include "support/temp_dir.h"

namespace strake::oci::credentials_test {

void write_text(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string auth(std::string_view pair) { return codec::encode_base64(pair); }

TEST(AuthFile, MostSpecificKeyWins) {
  const auto file = parse_auth_file(fmt::format(
      R"({{"auths":{{"quay.io":{{"auth":"{}"}},"quay.io/org":{{"auth":"{}"}},"quay.io/org/os":{{"auth":"{}"}},
         "https://index.docker.io/v1/":{{"auth":"{}"}},"http://old.example:5000/v2/":{{"username":"u","password":"p:w"}},
         "empty.example":{{}}}},"later":1}})",
      auth("host:1"), auth("org:2"), auth("repo:3:with:colons"), auth("hub:4")));
  ASSERT_TRUE(file.ok()) << file.error().to_string();
  struct Case {
    const char* name;
    const char* registry;
    const char* repository;
    const char* user;
    const char* password;
  };
  const Case cases[] = {
      {"repository", "quay.io", "org/os", "repo", "3:with:colons"},
      {"below a repository key", "quay.io", "org/os/extra", "repo", "3:with:colons"},
      {"namespace", "quay.io", "org/other", "org", "2"},
      {"a longer name is another namespace", "quay.io", "organisation/os", "host", "1"},
      {"old address of the default registry", "docker.io", "library/busybox", "hub", "4"},
      {"old URL with port", "old.example:5000", "a", "u", "p:w"},
      {"unknown", "other.example", "a", nullptr, nullptr},
      {"port counts", "quay.io:443", "org/os", nullptr, nullptr},
      {"empty entry", "empty.example", "a", nullptr, nullptr},
  };
  for (const Case& c : cases) {
    const Credentials* found = file->find(c.registry, c.repository);
    ASSERT_EQ(found != nullptr, c.user != nullptr) << c.name;
    if (found == nullptr) continue;
    EXPECT_EQ(found->user, c.user) << c.name;
    EXPECT_EQ(found->password, c.password) << c.name;
  }
}

TEST(AuthFile, RefusesWithoutTheSecret) {
  struct Case {
    const char* name;
    std::string text;
    const char* mentions;
  };
  const Case cases[] = {
      {"not base64", R"({"auths":{"quay.io":{"auth":"hunter2!"}}})", "auths 'quay.io'"},
      {"no colon", fmt::format(R"({{"auths":{{"quay.io":{{"auth":"{}"}}}}}})", auth("hunter2")), "USER:PASSWORD"},
      {"list", R"([])", "expected an object"},
      {"auths", R"({"auths":[]})", "auths"},
      {"entry", R"({"auths":{"quay.io":7}})", "'quay.io'"},
      {"helper", R"({"credHelpers":{"quay.io":7}})", "'quay.io'"},
  };
  for (const Case& c : cases) {
    const auto file = parse_auth_file(c.text);
    ASSERT_FALSE(file.ok()) << c.name;
    const std::string text = file.error().to_string();
    EXPECT_NE(text.find(c.mentions), std::string::npos) << c.name << ": " << text;
    EXPECT_EQ(text.find("hunter2"), std::string::npos) << c.name << ": " << text;
    EXPECT_EQ(text.find(auth("hunter2")), std::string::npos) << c.name << ": " << text;
  }
  EXPECT_TRUE(parse_auth_file("").ok());
}

TEST(Credentials, OrderOfFiles) {
  struct Case {
    const char* name;
    std::map<std::string, std::string, std::less<>> variables;
    std::vector<std::filesystem::path> expected;
  };
  const Case cases[] = {
      {"named file alone", {{"REGISTRY_AUTH_FILE", "/x/auth.json"}, {"HOME", "/h"}}, {"/x/auth.json"}},
      {"all folders",
       {{"XDG_RUNTIME_DIR", "/run/u"}, {"HOME", "/h"}},
       {"/run/u/containers/auth.json", "/h/.config/containers/auth.json", "/h/.docker/config.json"}},
      {"moved folders",
       {{"XDG_CONFIG_HOME", "/c"}, {"DOCKER_CONFIG", "/d"}, {"HOME", "/h"}},
       {"/run/containers/7/auth.json", "/c/containers/auth.json", "/d/config.json"}},
      {"nothing known", {}, {"/run/containers/7/auth.json"}},
  };
  for (const Case& c : cases) {
    const auto variable = [&](std::string_view name) -> std::optional<std::string> {
      const auto found = c.variables.find(name);
      return found == c.variables.end() ? std::nullopt : std::optional(found->second);
    };
    EXPECT_EQ(credential_options(variable, 7).files, c.expected) << c.name;
  }
}

TEST(Credentials, FirstFileThatKnowsDecides) {
  test::TempDir dir;
  write_text(dir / "a", fmt::format(R"({{"auths":{{"one.example":{{"auth":"{}"}}}}}})", auth("a:1")));
  write_text(dir / "b", fmt::format(R"({{"auths":{{"one.example":{{"auth":"{}"}},"two.example/x":{{"auth":"{}"}}}}}})",
                                    auth("b:1"), auth("b:2")));
  CredentialOptions options;
  options.files = {dir / "missing", dir / "a", dir / "b"};
  EXPECT_EQ(find_credentials("one.example", "x", options).value()->user, "a");
  EXPECT_EQ(find_credentials("two.example", "x", options).value()->password, "2");
  EXPECT_FALSE(find_credentials("two.example", "y", options).value().has_value());
  options.files = {dir / "missing"};
  options.files_required = true;
  EXPECT_EQ(find_credentials("one.example", "x", options).error().code(), Code::kNotFound);
}

TEST(Credentials, Helpers) {
  test::TempDir dir;
  write_text(dir / "config.json", fmt::format(R"({{"auths":{{"stored.example":{{}},"plain.example":{{"auth":"{}"}}}},
      "credHelpers":{{"cloud.example":"cloud"}},"credsStore":"general"}})",
                                              auth("plain:1")));
  std::vector<std::string> asked;
  CredentialOptions options;
  options.files = {dir / "config.json"};
  options.run = [&](const Command& command, std::stop_token) -> Result<ProcessOutput> {
    EXPECT_TRUE(command.timeout.has_value());
    asked.push_back(fmt::format("{} {} < {}", command.argv.at(0), command.argv.at(1), command.stdin_bytes));
    ProcessOutput output;
    if (command.stdin_bytes == "cloud.example") {
      output.stdout_bytes = R"({"ServerURL":"cloud.example","Username":"<token>","Secret":"t0ken"})";
    } else if (command.stdin_bytes == "stored.example") {
      output.stdout_bytes = R"({"Username":"s","Secret":"5"})";
    } else if (command.stdin_bytes == "broken.example") {
      output.exit.exit_code = 3;
      output.stdout_bytes = "hunter2";
      output.stderr_bytes = "hunter2";
    } else {
      output.exit.exit_code = 1;
      output.stdout_bytes = "credentials not found in native keychain\n";
    }
    return output;
  };
  EXPECT_EQ(find_credentials("cloud.example", "x", options).value(), (Credentials{"", "", "t0ken"}));
  EXPECT_EQ(find_credentials("stored.example", "x", options).value(), (Credentials{"s", "5"}));
  EXPECT_EQ(find_credentials("plain.example", "x", options).value(), (Credentials{"plain", "1"}));
  EXPECT_FALSE(find_credentials("docker.io", "x", options).value().has_value());
  const auto broken = find_credentials("broken.example", "x", options);
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().to_string().find("hunter2"), std::string::npos) << broken.error().to_string();
  EXPECT_NE(broken.error().to_string().find("docker-credential-general"), std::string::npos);
  const std::vector<std::string> expected{
      "docker-credential-cloud get < cloud.example", "docker-credential-general get < stored.example",
      "docker-credential-general get < https://index.docker.io/v1/", "docker-credential-general get < broken.example"};
  EXPECT_EQ(asked, expected);
}

TEST(Credentials, HelperNamesLeadNowhereElse) {
  for (const char* name : {"../../bin/sh", "a/b", "", "-x", ".hidden", "a b", "a;b", "a\nb"}) {
    EXPECT_FALSE(is_helper_name(name)) << name;
    CredentialOptions options;
    options.run = [](const Command&, std::stop_token) -> Result<ProcessOutput> {
      ADD_FAILURE() << "a program was started";
      return ProcessOutput{};
    };
    EXPECT_FALSE(ask_credential_helper(name, "quay.io", options, {}).ok()) << name;
  }
  for (const char* name : {"ecr-login", "gcloud", "osxkeychain", "a.b_c"}) EXPECT_TRUE(is_helper_name(name)) << name;
}

}  // namespace strake::oci::credentials_test
