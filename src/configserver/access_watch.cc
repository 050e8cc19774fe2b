#include "configserver/access_watch.h"

#include "configserver/watching.h"

namespace strake::configserver {

namespace {

kube::ObjectReference access_reference() {
  const kube::ObjectKey key = stub::access_key();
  return {"v1", "Secret", key.ns, key.name, "", ""};
}

}  // namespace

AccessWatch::AccessWatch(runtime::Runtime& runtime, kube::KubeApi& api, Gate& gate, AccessWatchOptions options)
    : runtime_(runtime),
      gate_(gate),
      options_(std::move(options)),
      access_(runtime, api, kube::core::kSecret, watch_one(stub::access_key(), options_.hooks)),
      events_(runtime, api, server_events(options_.hooks)) {
  access_.on_change([this](const kube::ObjectKey&) { take(); });
}

void AccessWatch::start() {
  events_.start();
  access_.start();
  // That there is no Secret is no change anybody would be told of.
  first_look_ = runtime_.spawn("config-server-access", [this](std::stop_token stop) {
    if (access_.wait_synced({stop, std::nullopt}).ok()) take();
  });
}

void AccessWatch::stop() {
  first_look_.stop_and_join();
  access_.stop();
  events_.stop();
}

void AccessWatch::take() {
  const std::scoped_lock lock(mutex_);
  const kube::ObjectPtr secret = access_.get(stub::access_key());
  const auto present = gate_.book();
  if (!secret) {
    if (present && present->mode() == stub::AccessMode::kRequire) {
      return tell("it is gone; what it said last counts until this server is started again");
    }
    gate_.set_book(std::make_shared<const stub::AccessBook>());
    if (options_.on_client_ca) (void)options_.on_client_ca("");
    return tell("");
  }
  auto book = stub::read_access(*secret);
  if (!book.ok()) {
    return tell(fmt::format("{}; {}", book.error().to_string(),
                            present ? "what it said last counts" : "until it can be read nobody gets a config"));
  }
  if (options_.on_client_ca) {
    if (const Status taken = options_.on_client_ca(book->client_ca_pem()); !taken.ok()) {
      return tell(fmt::format("data.client-ca.crt: {}", taken.error().to_string()));
    }
  }
  gate_.set_book(std::make_shared<const stub::AccessBook>(*std::move(book)));
  tell("");
}

void AccessWatch::tell(const std::string& problem) {
  const auto book = gate_.book();
  AccessReport report{gate_.mode(), book ? book->tokens().size() : 0, problem};
  if (told_ == report) return;
  if (!problem.empty()) {
    events_.record(access_reference(), kube::EventType::kWarning, "AccessNotReadable",
                   fmt::format("Who may ask the config server is not clear: {}", problem));
  }
  if (options_.on_access) options_.on_access(report);
  told_ = std::move(report);
}

}  // namespace strake::configserver
