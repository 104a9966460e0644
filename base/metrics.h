// Metrics: counters, gauges and histograms that cost an uncontended atomic add, shown as Prometheus
// text by base/http. prometheus-cpp collects and formats; only metrics.cc sees it. Names follow
// Prometheus' rules: prefix strata_, base units, _seconds, _bytes; counters and nothing else end in
// _total (a bug otherwise). Labels never hold keys or client names.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata {

// Adds go to one of a few cache lines by thread, so that threads rarely share one.
class Counter {
 public:
  void Add(uint64_t n = 1);
  // Of what is counted elsewhere, and never falls there: to `total`, unless it is there already.
  // Nothing is Added to such a counter.
  void RaiseTo(uint64_t total);
  uint64_t Value() const;

 private:
  struct alignas(64) Slot {
    std::atomic<uint64_t> value{0};
  };
  std::array<Slot, 8> slots_;
};

class Gauge {
 public:
  template <typename Number>
  void Set(Number value) {
    value_.store(static_cast<double>(value), std::memory_order_relaxed);
  }
  double Value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

// Log-linear buckets over nanoseconds, shown in seconds.
class LatencyHistogram {
 public:
  static constexpr int kBuckets = 40;
  void Observe(int64_t nanoseconds);
  uint64_t Count() const;
  double SumSeconds() const;
  uint64_t BucketCount(int bucket) const;
  static double BucketUpperSeconds(int bucket);

 private:
  std::array<std::atomic<uint64_t>, kBuckets> buckets_{};
  std::atomic<uint64_t> count_{0};
  std::atomic<int64_t> sum_ns_{0};
};

using Labels = std::map<std::string, std::string>;

// Owns the series. Thread-safe; returned references live as long as the registry.
class MetricsRegistry {
 public:
  MetricsRegistry();
  ~MetricsRegistry();
  // The same name and labels give the same object.
  Counter& AddCounter(const std::string& name, const std::string& help, const Labels& labels = {});
  Gauge& AddGauge(const std::string& name, const std::string& help, const Labels& labels = {});
  LatencyHistogram& AddLatency(const std::string& name, const std::string& help,
                               const Labels& labels = {});
  std::string PrometheusText() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// LabelledMetrics declares metrics that have some labels in common. Thread-safe; the registry
// outlives it.
class LabelledMetrics {
 public:
  explicit LabelledMetrics(MetricsRegistry& registry, Labels labels = {})
      : registry_(registry), labels_(std::move(labels)) {}

  // The same with a label more.
  LabelledMetrics With(const std::string& label, std::string_view value) const;
  Counter& AddCounter(const std::string& name, const std::string& help) const {
    return registry_.AddCounter(name, help, labels_);
  }
  Gauge& AddGauge(const std::string& name, const std::string& help) const {
    return registry_.AddGauge(name, help, labels_);
  }
  LatencyHistogram& AddLatency(const std::string& name, const std::string& help) const {
    return registry_.AddLatency(name, help, labels_);
  }
  // These show what is counted elsewhere: a gauge with its value, and a counter with its total.
  template <typename Number>
  void Set(const std::string& gauge, const std::string& help, Number value) const {
    AddGauge(gauge, help).Set(value);
  }
  void Raise(const std::string& counter, const std::string& help, uint64_t total) const {
    AddCounter(counter, help).RaiseTo(total);
  }

 private:
  MetricsRegistry& registry_;
  const Labels labels_;
};

}  // namespace strata
