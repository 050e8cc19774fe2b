// Metrics in the Prometheus text format: counters, gauges and histograms with labels.
//
//   Registry registry;
//   registry.counter("strake_http_requests_total", "Requests answered.", {{"code", "200"}}).add();
//   response.body = registry.text();
//
// A series lives as long as its registry, so the returned reference may be kept. Everything is thread-safe. The output
// is sorted: the same values give the same bytes. Label values must come from a small closed set (a status code, a
// verb), never from names of objects: every new combination is a new series for ever.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace strake::net {

inline constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

using Labels = std::map<std::string, std::string>;

class Counter {
 public:
  /// Counters only grow; a negative amount is ignored.
  void add(double amount = 1);
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_ = 0;
};

class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  void add(double amount) { value_.fetch_add(amount, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_ = 0;
};

class Histogram {
 public:
  struct Snapshot {
    std::vector<std::uint64_t> cumulative;  ///< one for each bound, and one for +Inf
    double sum = 0;
  };

  explicit Histogram(std::vector<double> upper_bounds);
  void observe(double value);
  Snapshot snapshot() const;
  const std::vector<double>& upper_bounds() const { return upper_bounds_; }

 private:
  const std::vector<double> upper_bounds_;
  mutable std::mutex mutex_;
  std::vector<std::uint64_t> counts_;
  double sum_ = 0;
};

/// From one millisecond to one minute.
std::vector<double> default_duration_buckets();

class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// Returns the series with these labels, made on first use. A name stands for one kind, one help text and one set of
  /// label names; using it otherwise is a programming error.
  Counter& counter(std::string_view name, std::string_view help, const Labels& labels = {});
  Gauge& gauge(std::string_view name, std::string_view help, const Labels& labels = {});
  Histogram& histogram(std::string_view name, std::string_view help, const std::vector<double>& upper_bounds,
                       const Labels& labels = {});

  std::string text() const;

 private:
  struct Family;
  Family& family(std::string_view name, std::string_view help, std::string_view type, const Labels& labels);

  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Family>, std::less<>> families_;
};

}  // namespace strake::net
