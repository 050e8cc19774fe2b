#include "configserver/caller_keeper.h"

namespace strake::configserver {

namespace {

constexpr std::chrono::seconds kCallTimeout{10};

using Uses = std::map<std::string, std::uint64_t>;

Uses sum_of(Uses sum, const Uses& more) {
  for (const auto& [id, count] : more) sum[id] += count;
  return sum;
}

}  // namespace

CallerKeeper::CallerKeeper(runtime::Runtime& runtime, kube::KubeApi& api, Gate& gate, CallerKeeperOptions options)
    : runtime_(runtime), api_(api), gate_(gate), options_(std::move(options)) {}

void CallerKeeper::record(const ConfigRequest& request) {
  // Who floods is in the list already, with what it was refused for.
  if (request.outcome == Outcome::kTooManyRefused) return;
  log_.record(request, std::chrono::floor<std::chrono::seconds>(runtime_.wall_now()));
}

void CallerKeeper::start() {
  task_ = runtime_.spawn("config-server-callers", [this](std::stop_token stop) { run(stop); });
}

void CallerKeeper::stop() { task_.stop_and_join(); }

void CallerKeeper::run(std::stop_token stop) {
  while (runtime_.sleep(options_.interval, stop).ok()) {
    const Status done = exchange(stop);
    // Another server wrote at the same moment: the next turn comes.
    if (!done.ok() && done.error().code() == Code::kConflict) continue;
    std::string problem = done.ok() || stop.stop_requested() ? "" : done.error().to_string();
    if (problem != problem_ && options_.on_problem) options_.on_problem(problem);
    problem_ = std::move(problem);
  }
}

Status CallerKeeper::exchange(std::stop_token stop) {
  const std::uint64_t changes = log_.changes();
  const Uses own_uses = gate_.own_uses();
  const bool has_news = changes != written_changes_ || own_uses != written_uses_;
  const auto book = gate_.book();
  if (!has_news && !(book && book->counts_uses())) return {};
  const kube::Call call = runtime_.call_within(kCallTimeout, stop);
  STRAKE_TRY(const kube::Object config_map, api_.get(kube::core::kConfigMap, stub::callers_key(), call));
  stub::CallerPages pages = stub::read_pages(config_map);
  if (!before_) before_ = pages[options_.server];
  pages.erase(options_.server);
  gate_.set_other_uses(sum_of(stub::uses_of(pages), before_->uses));
  return has_news ? write(config_map, own_uses, changes, stop) : Status();
}

Status CallerKeeper::write(const kube::Object& config_map, const Uses& own_uses, std::uint64_t changes,
                           std::stop_token stop) {
  stub::CallerPage own;
  own.written = std::chrono::floor<std::chrono::seconds>(runtime_.wall_now());
  own.callers = log_.newest();
  for (const stub::Caller& caller : before_->callers) {
    if (own.callers.size() < stub::kMaxCallers) own.callers.push_back(caller);
  }
  own.uses = sum_of(before_->uses, own_uses);
  if (const auto book = gate_.book()) {
    std::erase_if(own.uses, [&](const auto& use) { return book->find_by_id(use.first) == nullptr; });
  }
  stub::PagePatch patch = stub::page_patch(config_map, options_.server, std::move(own));
  const auto written = api_.patch(kube::core::kConfigMap, config_map.key(), kube::PatchType::kMerge, patch.patch, {},
                                  runtime_.call_within(kCallTimeout, stop));
  if (!written.ok()) return written.error();
  written_changes_ = changes;
  written_uses_ = own_uses;
  // What came from pages that were put away is this server's from now on.
  before_->uses = std::move(patch.own.uses);
  for (const auto& [id, count] : own_uses) {
    if (const auto use = before_->uses.find(id); use != before_->uses.end())
      use->second -= std::min(use->second, count);
  }
  return {};
}

}  // namespace strake::configserver
