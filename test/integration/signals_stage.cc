#include "integration/signals_stage.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/random.h"
#include "kube/kubeconfig.h"
#include "net/http_client.h"
#include "net/x509.h"
#include "support/strake_command.h"

namespace strake::test {

using namespace std::chrono_literals;

namespace {

std::string must_read(const std::filesystem::path& path) {
  auto text = read_file(path, 1 << 20);
  EXPECT_TRUE(text.ok()) << text.error().to_string();
  return text.ok() ? *std::move(text) : "";
}

bool has_line_start(const std::string& text, const std::string& start) {
  return ("\n" + text).find("\n" + start) != std::string::npos;
}

}  // namespace

bool comes_true(const std::function<bool()>& seen) {
  runtime::ThreadRuntime runtime;
  const auto end = runtime.now() + 1min;
  while (!seen()) {
    if (runtime.now() > end) return false;
    (void)runtime.sleep(50ms, {});
  }
  return true;
}

Daemon::Daemon(std::vector<std::string> arguments, std::filesystem::path log_file) : log_file_(std::move(log_file)) {
  Command command = strake_command(std::move(arguments));
  command.log_file = log_file_;
  auto started = ChildProcess::start(command);
  EXPECT_TRUE(started.ok()) << started.error().to_string();
  if (started.ok()) process_.emplace(*std::move(started));
}

std::string Daemon::log() const { return read_file(log_file_, 16 << 20).value_or(""); }

bool Daemon::says(const std::vector<std::string>& parts) const {
  return comes_true([&] {
    const std::string text = log();
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const std::string_view line = std::string_view(text).substr(begin, end - begin);
      bool all = true;
      for (const std::string& part : parts) all = all && line.find(part) != std::string_view::npos;
      if (all) return true;
      begin = end + 1;
    }
    return false;
  });
}

int Daemon::stop() { return process_->stop(20s).exit_code; }

std::string Daemon::get(const std::string& path) const {
  const std::string mark = "url=http://127.0.0.1:";
  if (!says({"serving metrics", mark})) return "no metrics port: " + log();
  const std::string text = log();
  const std::size_t at = text.find(mark) + 4;
  std::string url = text.substr(at, text.find("/metrics", at) - at) + path;
  net::ClientOptions options;
  options.proxy = net::ProxySettings{};
  const auto client = net::HttpClient::create(options);
  const auto response = client->send({"GET", url, {}, {}});
  if (!response.ok()) return response.error().to_string();
  return response->status == 200 ? response->body : fmt::format("{} {}", response->status, response->body);
}

bool Daemon::metric(const std::string& line_start) const {
  return comes_true([&] { return has_line_start(get("/metrics"), line_start); });
}

UpStage::UpStage(std::vector<std::string> more_arguments) {
  std::vector<std::string> arguments{"up",  "--state", state().string(), "--listen", "127.0.0.1:0", "--config-listen",
                                     "none"};
  arguments.insert(arguments.end(), more_arguments.begin(), more_arguments.end());
  daemon_ = std::make_unique<Daemon>(std::move(arguments), folder_ / "log");
  EXPECT_TRUE(comes_true([&] { return std::filesystem::exists(kubeconfig()); })) << daemon_->log();
  auto config = kube::parse_kubeconfig(must_read(kubeconfig()), kubeconfig());
  EXPECT_TRUE(config.ok());
  auto access = kube::resolve_access(*config);
  EXPECT_TRUE(access.ok());
  access_ = *access;
  auto api = kube::HttpsApi::create(runtime_, access_);
  EXPECT_TRUE(api.ok());
  api_ = *std::move(api);
}

void UpStage::start_again() {
  const std::string address = access_.server.substr(access_.server.find("//") + 2);
  daemon_ = std::make_unique<Daemon>(
      std::vector<std::string>{"up", "--state", state().string(), "--listen", address, "--config-listen", "none"},
      folder_ / "log");
}

std::filesystem::path UpStage::write_kubeconfig(const std::string& name, const kube::ClusterAccess& access) {
  const auto text = kube::write_kubeconfig(kube::kubeconfig_for(name, access));
  EXPECT_TRUE(text.ok());
  const std::filesystem::path path = folder_ / (name + ".kubeconfig");
  EXPECT_TRUE(write_file_atomic(path, *text, 0600).ok());
  return path;
}

std::filesystem::path UpStage::kubeconfig_for(const std::string& user, std::chrono::hours not_after,
                                              const std::vector<std::string>& groups) {
  const auto ca = net::Certificate::from_pem(must_read(state() / "pki" / "ca.crt"));
  const auto ca_key = net::PrivateKey::from_pem(must_read(state() / "pki" / "ca.key"));
  const auto key = net::PrivateKey::generate();
  EXPECT_TRUE(ca.ok() && ca_key.ok() && key.ok());
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  net::LeafRequest request;
  request.common_name = user;
  request.organizations = groups;
  request.client_auth = true;
  request.validity = {now - 48h, now + not_after};
  request.serial = "0123456789abcdef";
  const auto certificate = net::issue(*ca, *ca_key, *key, request);
  EXPECT_TRUE(certificate.ok()) << certificate.error().to_string();
  kube::ClusterAccess access = access_;
  access.client_cert_pem = certificate->to_pem();
  access.client_key_pem = key->to_pem();
  return write_kubeconfig(user, access);
}

bool UpStage::has_event(std::string_view kind, std::string_view name, std::string_view reason, std::string_view part) {
  return comes_true([&] {
    const auto events = api_->list(kube::core::kEvent, "", {}, call());
    if (!events.ok()) return false;
    for (const kube::Object& event : events->items) {
      if (event.text({"involvedObject", "kind"}) == kind && event.text({"involvedObject", "name"}) == name &&
          event.text({"reason"}) == reason && event.text({"message"}).find(part) != std::string::npos) {
        return true;
      }
    }
    return false;
  });
}

bool UpStage::has_condition(const kube::Resource& resource, const std::string& name, std::string_view type,
                            std::string_view status, std::string_view message_part) {
  return comes_true([&] {
    const auto object = api_->get(resource, {"", name}, call());
    const json::Value* conditions = object.ok() ? json::find(object->json(), {"status", "conditions"}) : nullptr;
    if (conditions == nullptr) return false;
    for (const json::Value& condition : conditions->as_array()) {
      if (json::find_string(condition, {"type"}).value_or("") == type &&
          json::find_string(condition, {"status"}).value_or("") == status &&
          json::find_string(condition, {"message"}).value_or("").find(message_part) != std::string::npos) {
        return true;
      }
    }
    return false;
  });
}

bool UpStage::metric(const std::string& line_start) {
  net::ClientOptions options;
  options.ca_pem = access_.ca_pem;
  options.client_certificate_pem = access_.client_cert_pem;
  options.client_key_pem = access_.client_key_pem;
  options.proxy = net::ProxySettings{};
  const auto client = net::HttpClient::create(options);
  return comes_true([&] {
    const auto response = client->send({"GET", access_.server + "/metrics", {}, {}});
    return response.ok() && has_line_start(response->body, line_start);
  });
}

}  // namespace strake::test
