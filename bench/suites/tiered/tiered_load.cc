#include "bench/suites/tiered/tiered_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/file/disk.h"
#include "bench/harness/workload.h"
#include "storage/rocks/rocks_db.h"

namespace strata::bench {
namespace {

constexpr uint64_t kExactMax = uint64_t{1} << 24;  // whole numbers that a float holds

template <typename T>
Status WriteAll(const std::string& path, const std::vector<T>& values) {
  STRATA_ASSIGN(const auto file, RealDisk().Create(path));
  return file->Append(std::as_bytes(std::span(values)));
}

std::vector<Key> KeysByHash(uint64_t rows) {
  std::vector<Key> keys(rows);
  for (uint64_t n = 0; n < rows; ++n) keys[n] = ColdHashOf(KeyAt(n));
  std::sort(keys.begin(), keys.end());
  for (Key& key : keys) key = KeyOfColdHash(key);
  return keys;
}

}  // namespace

TieredShape TieredShapeOf(uint64_t budget, uint64_t warm_up, uint64_t batches, uint64_t turns) {
  const uint64_t row_bytes = SchemaOf(TieredSpec()).row_bytes() + sizeof(Key);
  return {.budget = budget,
          .rows = kTablePerBudget * budget / row_bytes,
          .warm_up = warm_up,
          .batches = batches,
          .turns = turns};
}

TableSpec TieredSpec() {
  TableSpec spec;
  spec.name = "bench";
  spec.dim = kTieredDim;
  spec.optimizer.kind = OptimizerKind::kSgd;
  spec.optimizer.learning_rate = 1.0F;
  spec.initializer = {InitializerKind::kZero, 0.0F};
  return spec;
}

Status WriteTieredFiles(const TieredShape& shape, const TieredFiles& files) {
  STRATA_TRY(WriteAll(files.fill(), KeysByHash(shape.rows)));
  // One more than are run: the last one's hint.
  const uint64_t batches = shape.warm_up + shape.AllBatches() + 1;
  const std::vector<Key> keys =
      DrawKeys(Distribution::kZipf, shape.rows, batches * kTieredBatch, 7);
  STRATA_TRY(WriteAll(files.batches(), keys));
  std::vector<PushSum> model(shape.rows);
  uint64_t step = 0;
  for (uint64_t batch = 0; batch < shape.AllBatches(); ++batch) {
    if (IsPull(batch)) continue;
    ++step;
    const std::span<const Key> pushed =
        std::span(keys).subspan((shape.warm_up + batch) * kTieredBatch, kTieredBatch);
    for (size_t place = 0; place < pushed.size(); ++place) {
      PushSum& sum = model[NumberOf(pushed[place])];
      sum.weights += PushWeight(place);
      if (sum.last_step != step) ++sum.pushes;
      sum.last_step = step;
    }
  }
  for (const PushSum& sum : model) {
    if (uint64_t{sum.weights} * 4 + 8192 < kExactMax) continue;
    return Failed(fmt::format("a row is pushed {} times: its sums are not exact", sum.pushes));
  }
  return WriteAll(files.model(), model);
}

}  // namespace strata::bench
