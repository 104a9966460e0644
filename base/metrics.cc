#include "base/metrics.h"

#include <fmt/format.h>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "base/thread/mutex.h"
#include "strata/status.h"

namespace strata {
namespace {

// Which of a counter's slots this thread adds to.
size_t SlotOfThread() {
  static std::atomic<size_t> next{0};
  thread_local const size_t slot = next.fetch_add(1, std::memory_order_relaxed);
  return slot;
}

// Bucket 2k ends at 2^k * 8 us, bucket 2k + 1 at half as much again; the last one has no end.
constexpr int64_t kFirstBucketNs = 8000;

int BucketOf(int64_t ns) {
  if (ns <= kFirstBucketNs) return 0;
  const uint64_t units = static_cast<uint64_t>((ns - 1) / kFirstBucketNs);  // in [2^k, 2^(k+1))
  const int k = static_cast<int>(std::bit_width(units)) - 1;
  constexpr int kLast = LatencyHistogram::kBuckets - 1;
  if (2 * k + 1 >= kLast) return kLast;  // before the shift below could overflow
  const int64_t middle = (kFirstBucketNs << k) + (kFirstBucketNs << k) / 2;
  return 2 * k + (ns <= middle ? 1 : 2);
}

bool IsMetricName(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
  };
  return !name.empty() && is_letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

// One metric name: its kind, its help and a series for each set of labels.
struct Family {
  prometheus::MetricType type;
  std::string help;
  std::map<Labels, std::unique_ptr<Counter>> counters;
  std::map<Labels, std::unique_ptr<Gauge>> gauges;
  std::map<Labels, std::unique_ptr<LatencyHistogram>> latencies;
};

prometheus::ClientMetric Labelled(const Labels& labels) {
  prometheus::ClientMetric metric;
  for (const auto& [name, value] : labels) metric.label.push_back({name, value});
  return metric;
}

prometheus::ClientMetric Collect(const Labels& labels, const LatencyHistogram& latency) {
  prometheus::ClientMetric metric = Labelled(labels);
  uint64_t cumulative = 0;
  for (int bucket = 0; bucket < LatencyHistogram::kBuckets; ++bucket) {
    cumulative += latency.BucketCount(bucket);
    metric.histogram.bucket.push_back({cumulative, LatencyHistogram::BucketUpperSeconds(bucket)});
  }
  // Not Count(): an observation under way must not make the last bucket and the count differ.
  metric.histogram.sample_count = cumulative;
  metric.histogram.sample_sum = latency.SumSeconds();
  return metric;
}

// The series of these labels, made on the first call.
template <typename T>
T& Series(std::map<Labels, std::unique_ptr<T>>& series, const Labels& labels) {
  std::unique_ptr<T>& found = series[labels];
  if (found == nullptr) found = std::make_unique<T>();
  return *found;
}

}  // namespace

void Counter::Add(uint64_t n) {
  slots_[SlotOfThread() % slots_.size()].value.fetch_add(n, std::memory_order_relaxed);
}

void Counter::RaiseTo(uint64_t total) {
  std::atomic<uint64_t>& value = slots_[0].value;
  uint64_t now = value.load(std::memory_order_relaxed);
  while (now < total && !value.compare_exchange_weak(now, total, std::memory_order_relaxed)) {
  }
}

uint64_t Counter::Value() const {
  uint64_t sum = 0;
  for (const Slot& slot : slots_) sum += slot.value.load(std::memory_order_relaxed);
  return sum;
}

void LatencyHistogram::Observe(int64_t nanoseconds) {
  nanoseconds = std::max<int64_t>(nanoseconds, 0);
  buckets_[static_cast<size_t>(BucketOf(nanoseconds))].fetch_add(1, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
  sum_ns_.fetch_add(nanoseconds, std::memory_order_relaxed);
}

uint64_t LatencyHistogram::Count() const { return count_.load(std::memory_order_relaxed); }

double LatencyHistogram::SumSeconds() const {
  return static_cast<double>(sum_ns_.load(std::memory_order_relaxed)) * 1e-9;
}

uint64_t LatencyHistogram::BucketCount(int bucket) const {
  return buckets_[static_cast<size_t>(bucket)].load(std::memory_order_relaxed);
}

double LatencyHistogram::BucketUpperSeconds(int bucket) {
  if (bucket == kBuckets - 1) return std::numeric_limits<double>::infinity();
  const int64_t octave = kFirstBucketNs << (bucket / 2);
  // Divided: the nearest double, which is printed with the fewest digits.
  return static_cast<double>(bucket % 2 == 0 ? octave : octave + octave / 2) / 1e9;
}

struct MetricsRegistry::Impl : prometheus::Collectable {
  Family& FamilyOf(const std::string& name, const std::string& help, prometheus::MetricType type)
      STRATA_REQUIRES(mutex) {
    STRATA_CHECK_MSG(IsMetricName(name), "metric name " + name);
    STRATA_CHECK_MSG(name.ends_with("_total") == (type == prometheus::MetricType::Counter),
                     "counters end in _total, and nothing else: " + name);
    Family& family = families.try_emplace(name, Family{type, help, {}, {}, {}}).first->second;
    STRATA_CHECK_MSG(family.type == type, "two kinds of metric named " + name);
    return family;
  }

  std::vector<prometheus::MetricFamily> Collect() const override {
    const MutexLock lock(mutex);
    std::vector<prometheus::MetricFamily> collected;
    for (const auto& [name, family] : families) {
      prometheus::MetricFamily out{name, family.help, family.type, {}};
      for (const auto& [labels, counter] : family.counters) {
        out.metric.push_back(Labelled(labels));
        out.metric.back().counter.value = static_cast<double>(counter->Value());
      }
      for (const auto& [labels, gauge] : family.gauges) {
        out.metric.push_back(Labelled(labels));
        out.metric.back().gauge.value = gauge->Value();
      }
      for (const auto& [labels, latency] : family.latencies) {
        out.metric.push_back(strata::Collect(labels, *latency));
      }
      collected.push_back(std::move(out));
    }
    return collected;
  }

  mutable Mutex mutex;
  std::map<std::string, Family> families STRATA_GUARDED_BY(mutex);
};

MetricsRegistry::MetricsRegistry() : impl_(std::make_unique<Impl>()) {}
MetricsRegistry::~MetricsRegistry() = default;

Counter& MetricsRegistry::AddCounter(const std::string& name, const std::string& help,
                                     const Labels& labels) {
  const MutexLock lock(impl_->mutex);
  return Series(impl_->FamilyOf(name, help, prometheus::MetricType::Counter).counters, labels);
}

Gauge& MetricsRegistry::AddGauge(const std::string& name, const std::string& help,
                                 const Labels& labels) {
  const MutexLock lock(impl_->mutex);
  return Series(impl_->FamilyOf(name, help, prometheus::MetricType::Gauge).gauges, labels);
}

LatencyHistogram& MetricsRegistry::AddLatency(const std::string& name, const std::string& help,
                                              const Labels& labels) {
  const MutexLock lock(impl_->mutex);
  return Series(impl_->FamilyOf(name, help, prometheus::MetricType::Histogram).latencies, labels);
}

std::string MetricsRegistry::PrometheusText() const {
  return prometheus::TextSerializer().Serialize(impl_->Collect());
}

LabelledMetrics LabelledMetrics::With(const std::string& label, std::string_view value) const {
  Labels labels = labels_;
  labels[label] = value;
  return LabelledMetrics(registry_, std::move(labels));
}

}  // namespace strata
