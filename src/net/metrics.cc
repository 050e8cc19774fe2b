#include "net/metrics.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/result.h"
#include "base/text.h"

namespace strake::net {
namespace {

bool is_metric_name(std::string_view name, bool colon_allowed) {
  if (name.empty() || (name.front() >= '0' && name.front() <= '9')) return false;
  return std::ranges::all_of(name,
                             [&](char c) { return is_alphanumeric(c) || c == '_' || (c == ':' && colon_allowed); });
}

std::string escape_metric_text(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string metric_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);  // the shortest form that reads back as the same number
}

/// `{a="1",b="2"}`, or nothing; `extra` is the `le` of a histogram, which comes last.
std::string label_text(const Labels& labels, std::string_view extra = {}) {
  std::string out;
  for (const auto& [name, value] : labels) {
    out += fmt::format("{}{}=\"{}\"", out.empty() ? "" : ",", name, escape_metric_text(value, true));
  }
  if (!extra.empty()) out += fmt::format("{}le=\"{}\"", out.empty() ? "" : ",", extra);
  return out.empty() ? out : "{" + out + "}";
}

bool same_label_names(const Labels& a, const Labels& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return x.first == y.first; });
}

}  // namespace

struct Registry::Family {
  std::string help;
  std::string type;
  std::map<Labels, std::unique_ptr<Counter>> counters;
  std::map<Labels, std::unique_ptr<Gauge>> gauges;
  std::map<Labels, std::unique_ptr<Histogram>> histograms;
  Labels example;  ///< of the first series: the others must have the same names
};

void Counter::add(double amount) {
  if (amount > 0) value_.fetch_add(amount, std::memory_order_relaxed);
}

Histogram::Histogram(std::vector<double> upper_bounds)
    : upper_bounds_(std::move(upper_bounds)), counts_(upper_bounds_.size() + 1) {
  STRAKE_INVARIANT(std::ranges::is_sorted(upper_bounds_));
}

void Histogram::observe(double value) {
  const auto bucket = std::ranges::lower_bound(upper_bounds_, value) - upper_bounds_.begin();
  const std::scoped_lock lock(mutex_);
  ++counts_[static_cast<std::size_t>(bucket)];
  sum_ += value;
}

Histogram::Snapshot Histogram::snapshot() const {
  const std::scoped_lock lock(mutex_);
  Snapshot snapshot{counts_, sum_};
  for (std::size_t i = 1; i < snapshot.cumulative.size(); ++i) snapshot.cumulative[i] += snapshot.cumulative[i - 1];
  return snapshot;
}

std::vector<double> default_duration_buckets() {
  return {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
}

Registry::Registry() = default;
Registry::~Registry() = default;

Registry::Family& Registry::family(std::string_view name, std::string_view help, std::string_view type,
                                   const Labels& labels) {
  STRAKE_INVARIANT(is_metric_name(name, true));
  auto found = families_.find(name);
  if (found == families_.end()) {
    for (const auto& label : labels) STRAKE_INVARIANT(is_metric_name(label.first, false) && label.first != "le");
    found =
        families_
            .emplace(name, std::make_unique<Family>(Family{std::string(help), std::string(type), {}, {}, {}, labels}))
            .first;
  }
  Family& result = *found->second;
  STRAKE_INVARIANT(result.type == type && result.help == help && same_label_names(result.example, labels));
  return result;
}

Counter& Registry::counter(std::string_view name, std::string_view help, const Labels& labels) {
  const std::scoped_lock lock(mutex_);
  auto& series = family(name, help, "counter", labels).counters[labels];
  if (!series) series = std::make_unique<Counter>();
  return *series;
}

Gauge& Registry::gauge(std::string_view name, std::string_view help, const Labels& labels) {
  const std::scoped_lock lock(mutex_);
  auto& series = family(name, help, "gauge", labels).gauges[labels];
  if (!series) series = std::make_unique<Gauge>();
  return *series;
}

Histogram& Registry::histogram(std::string_view name, std::string_view help, const std::vector<double>& upper_bounds,
                               const Labels& labels) {
  const std::scoped_lock lock(mutex_);
  auto& series = family(name, help, "histogram", labels).histograms[labels];
  if (!series) series = std::make_unique<Histogram>(upper_bounds);
  STRAKE_INVARIANT(series->upper_bounds() == upper_bounds);
  return *series;
}

std::string Registry::text() const {
  const std::scoped_lock lock(mutex_);
  std::string out;
  for (const auto& [name, family] : families_) {
    out +=
        fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, escape_metric_text(family->help, false), name, family->type);
    for (const auto& [labels, series] : family->counters) {
      out += fmt::format("{}{} {}\n", name, label_text(labels), metric_number(series->value()));
    }
    for (const auto& [labels, series] : family->gauges) {
      out += fmt::format("{}{} {}\n", name, label_text(labels), metric_number(series->value()));
    }
    for (const auto& [labels, series] : family->histograms) {
      const Histogram::Snapshot snapshot = series->snapshot();
      const auto& bounds = series->upper_bounds();
      for (std::size_t i = 0; i < snapshot.cumulative.size(); ++i) {
        const std::string bound = i < bounds.size() ? metric_number(bounds[i]) : "+Inf";
        out += fmt::format("{}_bucket{} {}\n", name, label_text(labels, bound), snapshot.cumulative[i]);
      }
      out += fmt::format("{}_sum{} {}\n", name, label_text(labels), metric_number(snapshot.sum));
      out += fmt::format("{}_count{} {}\n", name, label_text(labels), snapshot.cumulative.back());
    }
  }
  return out;
}

}  // namespace strake::net
