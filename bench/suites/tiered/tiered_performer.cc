#include "bench/suites/tiered/tiered_performer.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/clock.h"
#include "base/file/disk.h"
#include "base/print.h"
#include "base/resident_memory.h"
#include "bench/harness/workload.h"

namespace strata::bench {
namespace {

constexpr uint64_t kFillRows = 4096;  // of a page

double SecondsSince(TimeNs begin) {
  return static_cast<double>(RealClock().Now() - begin) / kSecond;
}

// Elements `first` and following of a file of Ts; fewer at its end.
template <typename T>
Status ReadPart(const File& file, uint64_t first, std::vector<T>& into) {
  STRATA_ASSIGN(const size_t read,
                file.ReadAt(first * sizeof(T), std::as_writable_bytes(std::span(into))));
  into.resize(read / sizeof(T));
  return {};
}

bool IsRight(uint64_t n, const PushSum& sum, std::span<const float> row,
             const RowCounters& counters) {
  for (uint32_t d = 0; d < kTieredDim; ++d) {
    const float pushed = static_cast<float>(sum.weights) * GradientStep(d);
    if (row[d] != FilledValue(n, d) + pushed) return false;
  }
  return counters.frequency == sum.pushes && counters.last_step == sum.last_step;
}

}  // namespace

uint64_t ResidentMax() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) << 10;
}

TieredPerformer::TieredPerformer(const TieredShape& shape, const TieredFiles& files,
                                 TieredHolder& holder)
    : shape_(shape), files_(files), holder_(holder), out_(kTieredBatch * kTieredDim) {
  for (size_t place = 0; place < kTieredBatch; ++place) {
    for (uint32_t d = 0; d < kTieredDim; ++d) {
      gradients_.push_back(-static_cast<float>(PushWeight(place)) * GradientStep(d));
    }
  }
}

Status TieredPerformer::Do(const TieredOrder& order, TieredAnswer& answer) {
  const TimeNs begin = RealClock().Now();
  if (order.kind == TieredOrder::kFill) STRATA_TRY(Fill());
  if (order.kind == TieredOrder::kWarmUp) STRATA_TRY(WarmUp());
  if (order.kind == TieredOrder::kRun) STRATA_TRY(Run(order, answer));
  answer.resident = ResidentBytes();
  answer.resident_max = ResidentMax();
  if (order.kind == TieredOrder::kCheck) STRATA_TRY(Check(answer));
  answer.seconds = SecondsSince(begin);
  return {};
}

// The way a checkpoint is loaded.
Status TieredPerformer::Fill() {
  STRATA_ASSIGN(const auto file, RealDisk().OpenToRead(files_.fill()));
  ScanPage page;
  for (uint64_t from = 0; from < shape_.rows; from += page.keys.size()) {
    page.keys.resize(kFillRows);
    STRATA_TRY(ReadPart(*file, from, page.keys));
    page.counters.assign(page.keys.size(), {});
    page.rows.clear();
    for (const Key key : page.keys) {
      const uint64_t n = NumberOf(key);
      for (uint32_t d = 0; d < kTieredDim; ++d) page.rows.push_back(FilledValue(n, d));
    }
    STRATA_TRY(holder_.table().Load(page));
  }
  return {};
}

Status TieredPerformer::WarmUp() {
  STRATA_ASSIGN(const auto file, RealDisk().OpenToRead(files_.batches()));
  std::vector<Key> keys(kTieredBatch);
  for (uint64_t batch = 0; batch < shape_.warm_up; ++batch) {
    STRATA_TRY(ReadPart(*file, batch * kTieredBatch, keys));
    STRATA_TRY(holder_.table().Lookup(keys, out_));
  }
  return {};
}

Status TieredPerformer::Push(std::span<const Key> keys) {
  const GradientPart part{keys, gradients_};
  return holder_.table().ApplyGradients({&part, 1}, ++step_);
}

Status TieredPerformer::Run(const TieredOrder& order, TieredAnswer& answer) {
  STRATA_ASSIGN(const auto file, RealDisk().OpenToRead(files_.batches()));
  std::vector<Key> keys(kTieredBatch), ahead(kTieredBatch);
  for (uint64_t batch = order.first; batch < order.first + shape_.batches; ++batch) {
    STRATA_TRY(ReadPart(*file, (shape_.warm_up + batch) * kTieredBatch, keys));
    STRATA_TRY(ReadPart(*file, (shape_.warm_up + batch + 1) * kTieredBatch, ahead));
    const TimeNs begin = RealClock().Now();
    if (order.hints) holder_.table().Prefetch(ahead);
    if (IsPull(batch)) {
      STRATA_TRY(holder_.table().Lookup(keys, out_));
      answer.pull_seconds += SecondsSince(begin);
    } else {
      STRATA_TRY(Push(keys));
      answer.push_seconds += SecondsSince(begin);
    }
  }
  return {};
}

Status TieredPerformer::Check(TieredAnswer& answer) const {
  STRATA_ASSIGN(const auto file, RealDisk().OpenToRead(files_.model()));
  std::vector<PushSum> model(shape_.rows);
  STRATA_TRY(ReadPart(*file, 0, model));
  std::vector<bool> seen(model.size(), false);
  uint64_t found = 0;
  ScanPage page;
  page.rows_max = 16384;
  page.with_state = true;
  do {
    STRATA_TRY(holder_.table().Scan(page));
    for (size_t i = 0; i < page.keys.size(); ++i) {
      const uint64_t n = NumberOf(page.keys[i]);
      if (n >= model.size() || seen[n]) {
        ++answer.rows_wrong;
        continue;
      }
      seen[n] = true;
      ++found;
      const auto row = std::span(page.rows).subspan(i * kTieredDim, kTieredDim);
      if (IsRight(n, model[n], row, page.counters[i])) continue;
      if (answer.rows_wrong++ != 0) continue;
      PrintStderr(
          "row {}: value {} and {}, {} pushes, the last at step {}; expected {} and {}, {} "
          "pushes, the last at step {}\n",
          n, row[0], row[1], page.counters[i].frequency, page.counters[i].last_step,
          FilledValue(n, 0) + static_cast<float>(model[n].weights) * GradientStep(0),
          FilledValue(n, 1) + static_cast<float>(model[n].weights) * GradientStep(1),
          model[n].pushes, model[n].last_step);
    }
  } while (!page.done);
  answer.rows_lost = shape_.rows - found;
  if (holder_.table().Stats().rows != shape_.rows) {
    return Failed(fmt::format("the table counts {} rows, expected {}", holder_.table().Stats().rows,
                              shape_.rows));
  }
  return {};
}

}  // namespace strata::bench
