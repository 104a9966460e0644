#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <limits>

#include "kernels/core/device_memory.cuh"
#include "kernels/tree/metric/gpu_metrics.h"
#include "kernels/tree/metric/metric_kernels.cuh"

namespace strata::gpu_tree {
namespace {

constexpr size_t kRowsMax = std::numeric_limits<int>::max();

// A measure's constants.
struct Measure {
  QueryGain what;
  DeviceMemory<uint32_t> places;
  DeviceMemory<double> possible;
  DeviceMemory<double> weights;
  DeviceMemory<double> gains;
  DeviceMemory<double> of_queries;
  DeviceMemory<DeviceTotal> totals;
};

class Metrics : public GpuMetrics {
 public:
  explicit Metrics(int device) : device_(device) {}
  ~Metrics() override {
    const DeviceScope scope(device_);
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }

  Status Start(const MetricRows& rows) {
    const DeviceScope scope(device_);
    STRATA_TRY(FromCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"));
    rows_ = rows.labels.size();
    STRATA_TRY(labels_.Make(rows_, "labels on the GPU"));
    STRATA_TRY(labels_.Set(rows.labels, stream_));
    if (!rows.weights.empty()) {
      STRATA_TRY(weights_.Make(rows_, "weights on the GPU"));
      STRATA_TRY(weights_.Set(rows.weights, stream_));
      for (const float weight : rows.weights) {
        largest_weight_ = std::max<double>(largest_weight_, weight);
      }
    } else {
      largest_weight_ = 1;
    }
    const std::vector<uint32_t> begins(rows.query_begins.begin(), rows.query_begins.end());
    for (size_t q = 0; q + 1 < begins.size(); ++q) {
      query_rows_max_ = std::max(query_rows_max_, begins[q + 1] - begins[q]);
    }
    queries_ = begins.empty() ? 0 : static_cast<uint32_t>(begins.size() - 1);
    STRATA_TRY(begins_.Make(begins.size(), "queries on the GPU"));
    STRATA_TRY(begins_.Set(begins, stream_));
    return Wait();
  }

  Status ReserveForLosses() override {
    const DeviceScope scope(device_);
    if (losses_.size() > 0) return {};
    STRATA_TRY(losses_.Make(rows_, "losses on the GPU"));
    return total_.Make(1, "losses on the GPU");
  }

  Status ReserveForCurves() override {
    const DeviceScope scope(device_);
    if (keys_[0].size() > 0) return {};
    constexpr const char* kWhat = "rows by score on the GPU";
    for (int i = 0; i < 2; ++i) {
      STRATA_TRY(keys_[i].Make(rows_, kWhat));
      STRATA_TRY(signed_weights_[i].Make(rows_, kWhat));
    }
    const size_t tiles = rows_ / kCurveTile + 2;  // and an end
    STRATA_TRY(positive_.Make(tiles, kWhat));
    STRATA_TRY(negative_.Make(tiles, kWhat));
    STRATA_TRY(at_last_end_.Make(tiles, kWhat));
    STRATA_TRY(has_end_.Make(tiles, kWhat));
    STRATA_TRY(curve_total_.Make(1, kWhat));
    STRATA_TRY(filled_.Make(1, kWhat));
    size_t bytes = 0;
    STRATA_TRY(Sort(nullptr, &bytes, rows_));
    size_t most = bytes;
    STRATA_TRY(SumBefore(nullptr, &bytes, positive_.data(), tiles));
    most = std::max(most, bytes);
    return scratch_.Make(most, kWhat);
  }

  Result<size_t> AddMeasure(const QueryMeasure& measure) override {
    const DeviceScope scope(device_);
    STRATA_CHECK(queries_ == measure.weights.size());
    constexpr const char* kWhat = "queries on the GPU";
    auto made = std::make_unique<Measure>();
    made->what = measure.what;
    std::vector<uint32_t> places;
    for (const int64_t count : measure.places) {
      places.push_back(
          static_cast<uint32_t>(std::min<int64_t>(count, std::numeric_limits<uint32_t>::max())));
    }
    STRATA_TRY(Fill<uint32_t>(places, &made->places, kWhat));
    STRATA_TRY(Fill(measure.possible, &made->possible, kWhat));
    STRATA_TRY(Fill(measure.weights, &made->weights, kWhat));
    STRATA_TRY(Fill(measure.gains, &made->gains, kWhat));
    STRATA_TRY(made->of_queries.Make(measure.possible.size(), kWhat));
    STRATA_TRY(made->totals.Make(places.size(), kWhat));
    if (query_rows_max_ > kSharedMetricRows && query_keys_.size() == 0) {
      STRATA_TRY(query_keys_.Make(rows_, "long queries on the GPU"));
      STRATA_TRY(query_places_.Make(rows_, "long queries on the GPU"));
    }
    STRATA_TRY(Wait());
    measures_.push_back(std::move(made));
    return measures_.size() - 1;
  }

  Result<double> SumOfLosses(const RowLoss& loss, const double* scores) override {
    const DeviceScope scope(device_);
    FindLosses(loss, rows_, scores, labels_.data(), Weights(), losses_.data(), stream_);
    STRATA_TRY(Clear(total_));
    AddExactly(losses_.data(), rows_, total_.data(), stream_);
    DeviceTotal total;
    STRATA_TRY(Fetch(total_, std::span(&total, 1)));
    return total.Value();
  }

  Result<double> AreaUnder(CurveArea area, const double* scores) override {
    const DeviceScope scope(device_);
    FillCurve(rows_, scores, labels_.data(), Weights(), RoomOf(0), stream_);
    return AreaOf(area, rows_, largest_weight_);
  }

  Result<double> RocAreaOfClasses(const ClassPair& pair, const double* scores) override {
    const DeviceScope scope(device_);
    if (pair.rows == 0) return 1.0;
    STRATA_TRY(Clear(filled_));
    FillPair(rows_, pair, scores, labels_.data(), Weights(), RoomOf(0), filled_.data(), stream_);
    return AreaOf(CurveArea::kRoc, pair.rows, pair.largest_weight);
  }

  Result<std::vector<double>> GainsOfQueries(size_t number, const double* scores) override {
    const DeviceScope scope(device_);
    const Measure& measure = *measures_[number];
    const auto kinds = static_cast<uint32_t>(measure.places.size());
    FindQueryGains({.what = measure.what,
                    .begins = begins_.data(),
                    .queries = queries_,
                    .places = measure.places.data(),
                    .kinds = kinds,
                    .possible = measure.possible.data(),
                    .weights = measure.weights.data(),
                    .gains = measure.gains.data()},
                   scores, labels_.data(), {query_keys_.data(), query_places_.data()},
                   measure.of_queries.data(), stream_);
    STRATA_TRY(Clear(measure.totals));
    for (uint32_t kind = 0; kind < kinds; ++kind) {
      AddExactly(measure.of_queries.data() + uint64_t{kind} * queries_, queries_,
                 measure.totals.data() + kind, stream_);
    }
    std::vector<DeviceTotal> totals(kinds);
    STRATA_TRY(Fetch(measure.totals, std::span(totals)));
    std::vector<double> sums;
    for (const DeviceTotal& total : totals) sums.push_back(total.Value());
    return sums;
  }

  Result<const double*> Divided(const double* scores, size_t classes, double divisor) override {
    const DeviceScope scope(device_);
    const size_t count = rows_ * classes;
    if (divided_.size() == 0) STRATA_TRY(divided_.Make(count, "scores on the GPU"));
    DivideScores(scores, count, divisor, divided_.data(), stream_);
    STRATA_TRY(FromCuda(cudaGetLastError(), "scores"));
    return divided_.data();
  }

 private:
  const float* Weights() const { return weights_.size() == 0 ? nullptr : weights_.data(); }
  CurveRoom RoomOf(int side) const { return {keys_[side].data(), signed_weights_[side].data()}; }

  template <typename T>
  Status Fill(std::span<const T> values, DeviceMemory<T>* memory, const char* what) {
    STRATA_TRY(memory->Make(values.size(), what));
    return memory->Set(values, stream_);
  }
  template <typename T>
  Status Clear(const DeviceMemory<T>& memory) {
    return FromCuda(cudaMemsetAsync(memory.data(), 0, memory.size() * sizeof(T), stream_),
                    "metrics");
  }
  // Waits for it, and for what was enqueued before.
  template <typename T>
  Status Fetch(const DeviceMemory<T>& memory, std::span<T> values) {
    STRATA_TRY(FromCuda(cudaGetLastError(), "metrics"));
    STRATA_TRY(memory.Get(values, stream_));
    return Wait();
  }
  Status Wait() { return FromCuda(cudaStreamSynchronize(stream_), "metrics"); }

  // From the first side to the side that then is current; without scratch, how much it takes.
  Status Sort(void* scratch, size_t* bytes, size_t rows) {
    cub::DoubleBuffer<uint64_t> keys(keys_[0].data(), keys_[1].data());
    cub::DoubleBuffer<uint32_t> weights(signed_weights_[0].data(), signed_weights_[1].data());
    STRATA_TRY(FromCuda(cub::DeviceRadixSort::SortPairs(scratch, *bytes, keys, weights,
                                                        static_cast<int>(rows), 0, 64, stream_),
                        "sorting rows by score"));
    sorted_ = {keys.Current(), weights.Current()};
    return {};
  }
  Status SumBefore(void* scratch, size_t* bytes, uint64_t* numbers, size_t count) {
    return FromCuda(cub::DeviceScan::ExclusiveSum(scratch, *bytes, numbers, numbers,
                                                  static_cast<int>(count), stream_),
                    "sums over rows by score");
  }

  // Of rows that have been put into the first side's room.
  Result<double> AreaOf(CurveArea area, size_t rows, double largest_weight) {
    STRATA_TRY(FromCuda(cudaGetLastError(), "metrics"));
    size_t bytes = scratch_.size();
    STRATA_TRY(Sort(scratch_.data(), &bytes, rows));
    const ExactUnits weights = ExactUnits::For(largest_weight, rows);
    const CurveTiles tiles{positive_.data(), negative_.data(), at_last_end_.data(),
                           has_end_.data()};
    SumTiles(sorted_, rows, weights, tiles, stream_);
    const size_t sums = std::max<size_t>(1, (rows + kCurveTile - 1) / kCurveTile) + 1;
    for (uint64_t* const of_tiles : {tiles.positive, tiles.negative}) {
      bytes = scratch_.size();
      STRATA_TRY(SumBefore(scratch_.data(), &bytes, of_tiles, sums));
    }
    STRATA_TRY(Clear(curve_total_));
    AddAreas(area, sorted_, rows, weights, tiles, curve_total_.data(), stream_);
    CurveTotal total;
    STRATA_TRY(Fetch(curve_total_, std::span(&total, 1)));
    return total.Value(area);
  }

  const int device_;
  size_t rows_ = 0;
  double largest_weight_ = 0;
  uint32_t queries_ = 0;
  uint32_t query_rows_max_ = 0;
  cudaStream_t stream_ = nullptr;
  DeviceMemory<float> labels_;
  DeviceMemory<float> weights_;
  DeviceMemory<uint32_t> begins_;
  DeviceMemory<double> losses_;
  DeviceMemory<DeviceTotal> total_;
  DeviceMemory<uint64_t> keys_[2];
  DeviceMemory<uint32_t> signed_weights_[2];
  CurveRoom sorted_ = {};
  DeviceMemory<uint64_t> positive_;
  DeviceMemory<uint64_t> negative_;
  DeviceMemory<CurvePoint> at_last_end_;
  DeviceMemory<uint32_t> has_end_;
  DeviceMemory<CurveTotal> curve_total_;
  DeviceMemory<uint32_t> filled_;
  DeviceMemory<std::byte> scratch_;
  DeviceMemory<double> query_keys_;
  DeviceMemory<uint32_t> query_places_;
  DeviceMemory<double> divided_;
  std::vector<std::unique_ptr<Measure>> measures_;
};

}  // namespace
}  // namespace strata::gpu_tree

namespace strata {

Result<std::unique_ptr<GpuMetrics>> GpuMetrics::Open(int device, const MetricRows& rows) {
  STRATA_TRY(CheckDevice(device));
  if (rows.labels.size() > gpu_tree::kRowsMax) {
    return Refused(fmt::format("metrics of {} rows on a GPU: expected at most {}",
                               rows.labels.size(), gpu_tree::kRowsMax));
  }
  auto metrics = std::make_unique<gpu_tree::Metrics>(device);
  STRATA_TRY(metrics->Start(rows));
  return std::unique_ptr<GpuMetrics>(std::move(metrics));
}

}  // namespace strata
