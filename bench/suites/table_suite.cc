// Suite "table": the host table beside boost::unordered_flat_map, one thread.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/hash.h"
#include "base/random.h"
#include "bench/harness/figure.h"
#include "bench/harness/measure.h"
#include "bench/harness/workload.h"
#include "bench/peers/flat_map_table.h"
#include "storage/memory/host_table.h"

namespace strata::bench {
namespace {

constexpr size_t kBatch = 4096;
constexpr size_t kBatches = 1024;  // of drawn keys, used in a circle
constexpr const char* kPeer = "boost::unordered_flat_map";
constexpr float kRate = 0.01F;

struct Shape {
  uint64_t rows;
  uint32_t dim;
  Distribution distribution;
};

std::string NameOf(const char* what, const Shape& shape) {
  return fmt::format("{} rows={} dim={} {}", what, shape.rows, shape.dim,
                     DistributionName(shape.distribution));
}

TableSpec SpecOf(const Shape& shape, bool adagrad) {
  TableSpec spec;
  spec.name = "bench";
  spec.dim = shape.dim;
  spec.optimizer.kind = adagrad ? OptimizerKind::kAdaGrad : OptimizerKind::kSgd;
  spec.optimizer.learning_rate = kRate;
  return spec;
}

// Both tables with the same rows, and batches of drawn keys.
struct Pair {
  Pair(const Shape& shape_in, bool adagrad)
      : shape(shape_in),
        ours(SpecOf(shape_in, adagrad)),
        peer(shape_in.dim, adagrad),
        keys(DrawKeys(shape_in.distribution, shape_in.rows, kBatch * kBatches, 1)),
        floats(DrawFloats(kBatch * shape_in.dim, 2)) {}

  Status Fill() {
    std::vector<Key> batch;
    for (uint64_t from = 0; from < shape.rows; from += kBatch) {
      batch.clear();
      for (uint64_t n = from; n < std::min(from + kBatch, shape.rows); ++n) {
        batch.push_back(KeyAt(n));
      }
      STRATA_TRY(ours.Assign(batch, std::span(floats).first(batch.size() * shape.dim)));
      peer.Assign(batch, floats.data());
    }
    return {};
  }

  std::span<const Key> Batch(uint64_t n) const {
    return std::span(keys).subspan(n % kBatches * kBatch, kBatch);
  }

  const Shape shape;
  HostTable ours;
  FlatMapTable peer;
  const std::vector<Key> keys;
  const std::vector<float> floats;
};

// Rows at random places, known beforehand: what no table can beat.
class Gather {
 public:
  explicit Gather(const Shape& shape)
      : dim_(shape.dim), rows_(shape.rows), values_(shape.rows * shape.dim, 1.0F) {}

  void Run(std::span<const Key> keys, float* out) const {
    constexpr size_t kAhead = 16;
    const size_t n = keys.size();
    for (size_t i = 0; i < n + kAhead; ++i) {
      if (i < n) __builtin_prefetch(Place(keys[i]));
      if (i >= kAhead) {
        std::copy_n(Place(keys[i - kAhead]), dim_, out + (i - kAhead) * dim_);
      }
    }
  }

 private:
  const float* Place(Key key) const {
    const auto row = static_cast<uint64_t>(static_cast<unsigned __int128>(key) * rows_ >> 64);
    return values_.data() + row * dim_;
  }
  const size_t dim_;
  const uint64_t rows_;
  const std::vector<float> values_;
};

constexpr double kMillion = 1e6;

Figure RowsFigure(std::string name, const std::vector<double>& batches_a_second) {
  Figure figure;
  figure.name = std::move(name);
  figure.unit = "M rows/s";
  figure.ours = batches_a_second[0] * kBatch / kMillion;
  figure.peer = kPeer;
  figure.peer_value = batches_a_second[1] * kBatch / kMillion;
  if (batches_a_second.size() > 2) figure.limit = batches_a_second[2] * kBatch / kMillion;
  return figure;
}

Result<std::vector<Figure>> RunLookup(const Shape& shape, const BenchOptions& options) {
  Pair pair(shape, false);
  STRATA_TRY(pair.Fill());
  const Gather gather(shape);
  std::vector<float> out(kBatch * shape.dim);
  uint64_t at = 0;
  const auto each = [&](const auto& lookup) {
    return [&, lookup](uint64_t count) {
      for (; count > 0; --count) STRATA_TRY(lookup(pair.Batch(at++)));
      return Status();
    };
  };
  const auto no_error = [](const auto& lookup) {
    return [lookup](std::span<const Key> keys) {
      lookup(keys);
      return Status();
    };
  };
  const std::vector<Contender> contenders = {
      {"ours", each([&](std::span<const Key> keys) { return pair.ours.Lookup(keys, out); })},
      {kPeer, each(no_error([&](auto keys) { pair.peer.Lookup(keys, out.data()); }))},
      {"gather", each(no_error([&](auto keys) { gather.Run(keys, out.data()); }))}};
  STRATA_ASSIGN(const auto rates, MeasureRates(contenders, options.rounds, options.round));
  return std::vector<Figure>{RowsFigure(NameOf("lookup", shape), rates)};
}

Result<std::vector<Figure>> RunUpdate(const Shape& shape, const BenchOptions& options) {
  Pair pair(shape, true);
  STRATA_TRY(pair.Fill());
  uint64_t at = 0;
  const auto ours = [&](uint64_t count) -> Status {
    for (; count > 0; --count) {
      const GradientPart part{pair.Batch(at++), pair.floats};
      STRATA_TRY(pair.ours.ApplyGradients({&part, 1}, 1));
    }
    return {};
  };
  const auto peer = [&](uint64_t count) -> Status {
    for (; count > 0; --count) pair.peer.Update(pair.Batch(at++), pair.floats.data(), kRate);
    return {};
  };
  STRATA_ASSIGN(const auto rates,
                MeasureRates({{"ours", ours}, {kPeer, peer}}, options.rounds, options.round));
  return std::vector<Figure>{RowsFigure(NameOf("update adagrad", shape), rates)};
}

// Fills a table by batches of new keys; milliseconds of each batch.
template <typename Insert>
std::vector<double> TimeInserts(uint64_t from, uint64_t rows, const Insert& insert) {
  std::vector<double> times;
  std::vector<Key> batch;
  for (; from < rows; from += kBatch) {
    batch.clear();
    for (uint64_t n = from; n < std::min(from + kBatch, rows); ++n) batch.push_back(KeyAt(n));
    const TimeNs begin = RealClock().Now();
    insert(batch);
    times.push_back(static_cast<double>(RealClock().Now() - begin) / kMillisecond);
  }
  return times;
}

double Sum(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

// One growth of both tables, from a hundredth of the rows to all of them.
struct Growth {
  std::vector<double> ours_ms;
  std::vector<double> peer_ms;
  double bytes_most = 0;  // of ours, over raw rows and keys, at its worst
  double bytes_end = 0;
};

Result<Growth> Grow(const Shape& shape) {
  Pair pair(shape, true);
  const double raw_row = sizeof(Key) + static_cast<double>(SchemaOf(pair.ours.spec()).row_bytes());
  Growth growth;
  Status status;
  const auto ours = [&](std::span<const Key> keys) {
    if (status.ok())
      status = pair.ours.Assign(keys, std::span(pair.floats).first(keys.size() * shape.dim));
    const TableStats stats = pair.ours.Stats();
    if (stats.rows < shape.rows / 100) return;
    growth.bytes_end =
        static_cast<double>(stats.bytes) / (static_cast<double>(stats.rows) * raw_row);
    growth.bytes_most = std::max(growth.bytes_most, growth.bytes_end);
  };
  const auto peer = [&](std::span<const Key> keys) { pair.peer.Assign(keys, pair.floats.data()); };
  const uint64_t start = shape.rows / 100;
  TimeInserts(0, start, ours);
  TimeInserts(0, start, peer);
  growth.ours_ms = TimeInserts(start, shape.rows, ours);
  growth.peer_ms = TimeInserts(start, shape.rows, peer);
  STRATA_TRY(status);
  return growth;
}

Figure LessFigure(std::string name, std::string unit, double ours, std::optional<double> peer) {
  Figure figure;
  figure.name = std::move(name);
  figure.unit = std::move(unit);
  figure.more_is_better = false;
  figure.ours = ours;
  if (peer) figure.peer = kPeer;
  figure.peer_value = peer;
  return figure;
}

Result<std::vector<Figure>> RunGrowth(const Shape& shape, const BenchOptions& options) {
  std::vector<double> ours_rate, peer_rate, ours_longest, peer_longest, most, end;
  for (int round = 0; round < std::min(options.rounds, 3); ++round) {
    STRATA_ASSIGN(const Growth growth, Grow(shape));
    const double batches = static_cast<double>(growth.ours_ms.size());
    ours_rate.push_back(batches * 1e3 / Sum(growth.ours_ms));
    peer_rate.push_back(batches * 1e3 / Sum(growth.peer_ms));
    ours_longest.push_back(std::ranges::max(growth.ours_ms));
    peer_longest.push_back(std::ranges::max(growth.peer_ms));
    most.push_back(growth.bytes_most);
    end.push_back(growth.bytes_end);
  }
  // The longest batch of the best round: whatever else ran on the machine can only add to it.
  Figure memory_end =
      LessFigure(NameOf("memory over raw rows and keys", shape), "x", Median(end), {});
  memory_end.limit = 1;
  Figure memory_most =
      LessFigure(NameOf("memory at its worst in growth", shape), "x", Median(most), {});
  memory_most.limit = 1;
  return std::vector<Figure>{
      RowsFigure(NameOf("insert", shape), {Median(ours_rate), Median(peer_rate)}),
      LessFigure(NameOf("longest batch in 100x growth", shape), "ms",
                 std::ranges::min(ours_longest), std::ranges::min(peer_longest)),
      std::move(memory_end), std::move(memory_most)};
}

std::vector<Shape> Shapes(bool all) {
  std::vector<Shape> shapes = {{1'000'000, 16, Distribution::kUniform},
                               {10'000'000, 16, Distribution::kUniform},
                               {10'000'000, 16, Distribution::kZipf}};
  if (!all) return shapes;
  for (const uint32_t dim : {1U, 64U}) {
    shapes.push_back({1'000'000, dim, Distribution::kUniform});
    shapes.push_back({1'000'000, dim, Distribution::kZipf});
  }
  return shapes;
}

std::vector<Case> TableCases(bool all) {
  std::vector<Case> cases;
  for (const Shape& shape : Shapes(all)) {
    cases.push_back({NameOf("lookup", shape),
                     [shape](const BenchOptions& options) { return RunLookup(shape, options); }});
    cases.push_back({NameOf("update adagrad", shape),
                     [shape](const BenchOptions& options) { return RunUpdate(shape, options); }});
    if (shape.distribution != Distribution::kUniform) continue;
    cases.push_back({NameOf("growth", shape),
                     [shape](const BenchOptions& options) { return RunGrowth(shape, options); }});
  }
  return cases;
}

}  // namespace

Suite TableSuite() {
  return {"table", "the host table beside boost::unordered_flat_map; batches of 4,096, one thread",
          TableCases};
}

}  // namespace strata::bench
