#include "base/text.h"
#include "base/time.h"
#include "controlplane/signals.h"
#include "net/x509.h"
#include "stub/access_book.h"
#include "stub/callers.h"

namespace strake::controlplane {

namespace {

constexpr std::size_t kLongestPoolName = 253;

/// Pools that are there are a small closed set; what callers ask for is not.
std::string pool_label(const configserver::ConfigRequest& request) { return request.known_pool ? request.pool : ""; }

}  // namespace

void Signals::listen_to(ConfigServiceOptions& options) {
  options.hooks = hooks();
  options.on_request = [this](const configserver::ConfigRequest& request) { config_asked_for(request); };
  options.on_pool = [this](const configserver::PoolServing& serving) { pool_served(serving); };
  options.on_identity = [this](const net::Endpoint& at, const std::string& certificate_pem) {
    log::Fields fields{{"url", fmt::format("https://{}/config/", at.to_string())}};
    if (const auto certificate = net::Certificate::from_pem(certificate_pem); certificate.ok()) {
      const net::CertificateInfo& info = certificate->info();
      fields.emplace_back("certificate_ends", format_rfc3339(info.not_after));
      metrics_
          .gauge("strake_config_server_certificate_expires_seconds",
                 "When the certificate of the config server ends, in seconds since 1970.")
          .set(static_cast<double>(info.not_after.time_since_epoch().count()));
      if (info.dns_names.empty() && info.ip_addresses.empty()) {
        fields.emplace_back("advice",
                            "the certificate names no host (no subject alternative name): machines of the last "
                            "years refuse it; issue another");
      }
    }
    log_.info("serving configs to new machines", fields);
  };
  options.on_access = [this](const configserver::AccessReport& report) { access_changed(report); };
  options.on_callers_problem = [this](const std::string& problem) {
    metrics_
        .gauge("strake_config_server_callers_untold",
               "1 while the config server cannot tell the cluster who asked, nor how often tokens were used.")
        .set(problem.empty() ? 0 : 1);
    if (problem.empty()) return log_.info("who asks for configs is told to the cluster again");
    log_.warning("who asks for configs cannot be told to the cluster; it is kept here and told later",
                 {{"configmap", stub::callers_key().to_string()},
                  {"problem", problem},
                  {"advice", "apply deploy/rbac, or `strake config-server auth set open`, which makes the ConfigMap"}});
  };
  options.on_identity_failure = [this](const Error& error) {
    metrics_
        .counter("strake_config_server_certificate_failures_total",
                 "Certificates of the config server that could not be used.")
        .add();
    log_.warning("the config server's certificate cannot be used; what was in use stays in use", {{"error", error}});
  };
}

void Signals::config_asked_for(const configserver::ConfigRequest& request) {
  const std::string reason(configserver::to_string(request.outcome));
  const bool served = request.outcome == configserver::Outcome::kServed;
  metrics_
      .counter("strake_config_server_requests_total", "Requests for a config, by pool, result and reason.",
               {{"pool", pool_label(request)},
                {"result", std::to_string(configserver::status_of(request.outcome))},
                {"reason", reason}})
      .add();
  if (request.standing) {
    metrics_
        .counter("strake_config_server_credentials_total",
                 "What machines showed when they asked for a config, whether or not it is required.",
                 {{"pool", pool_label(request)}, {"credential", std::string(stub::to_string(*request.standing))}})
        .add();
  }
  log::Fields fields{{"reason", reason}};
  if (request.known_pool) {
    fields.emplace_back("pool", request.pool);
  } else {
    // Anybody may ask for anything: a new name must not make a new line, nor a long one.
    fields.push_back(log::varying("asked_for", clip_utf8(request.pool, kLongestPoolName)));
  }
  if (request.version) fields.emplace_back("ignition", ignition::to_string(*request.version));
  if (!request.credential.empty()) fields.push_back(log::varying("showed", clip_utf8(request.credential, 80)));
  if (!request.problem.empty()) fields.emplace_back("problem", request.problem);
  fields.push_back(log::varying("caller", request.caller));
  fields.push_back(log::varying("bytes", request.bytes));
  log_.say(served ? log::Level::kInfo : log::Level::kWarning,
           served ? "a machine got its config" : "a machine asked for a config and got none", fields);
}

void Signals::access_changed(const configserver::AccessReport& report) {
  const std::string mode(report.mode ? stub::to_string(*report.mode) : "unknown");
  for (const std::string_view word : stub::kAccessModeWords) {
    metrics_
        .gauge("strake_config_server_access_mode", "1 for what counts: open, or a credential required.",
               {{"mode", std::string(word)}})
        .set(word == mode ? 1 : 0);
  }
  metrics_.gauge("strake_config_server_tokens", "Tokens of stubs on record.").set(static_cast<double>(report.tokens));
  metrics_
      .gauge("strake_config_server_access_unreadable", "1 while the Secret that says who may ask cannot be followed.")
      .set(report.problem.empty() ? 0 : 1);
  if (!report.problem.empty()) {
    return log_.error("who may ask for configs is not clear",
                      {{"secret", stub::access_key().to_string()},
                       {"problem", report.problem},
                       {"mode", mode},
                       {"advice", "repair it, or remove it and make the tokens anew"}});
  }
  log_.info("who may ask for configs", {{"mode", mode}, {"entries", report.tokens}});
}

void Signals::pool_served(const configserver::PoolServing& serving) {
  {
    std::lock_guard lock(mutex_);
    if (!serving.gone && serving.bytes == 0) {
      unserved_pools_.insert(serving.pool);
    } else {
      unserved_pools_.erase(serving.pool);
    }
  }
  if (serving.gone) return log_.info("a pool is gone; its machines get no config", {{"pool", serving.pool}});
  for (const auto& [version, problem] : serving.problems) {
    log_.warning("new machines of a pool get no config",
                 {{"pool", serving.pool}, {"ignition", version.empty() ? "any" : version}, {"problem", problem}});
  }
  if (serving.bytes == 0) return;
  log::Fields fields{{"pool", serving.pool}, {"config", serving.config}};
  if (!serving.layered_image.empty()) fields.emplace_back("image", serving.layered_image);
  log_.info("new machines of a pool get this config", fields);
}

void Signals::watch_age(const ConfigService& service) {
  std::lock_guard lock(mutex_);
  config_service_ = &service;
}

void Signals::forget_config_service() {
  std::lock_guard lock(mutex_);
  config_service_ = nullptr;
}

void Signals::count_config_server() {
  std::size_t unserved = 0;
  std::optional<runtime::Duration> stale;
  {
    std::lock_guard lock(mutex_);
    if (config_service_ == nullptr) return;
    unserved = unserved_pools_.size();
    stale = config_service_->stale_for();
  }
  metrics_
      .gauge("strake_config_server_answers_unconfirmed_seconds",
             "How long the API could not confirm what is served; 0 while it does.")
      .set(stale ? std::chrono::duration<double>(*stale).count() : 0);
  metrics_.gauge("strake_config_server_pools_unserved", "Pools whose new machines get no config.")
      .set(static_cast<double>(unserved));
}

}  // namespace strake::controlplane
