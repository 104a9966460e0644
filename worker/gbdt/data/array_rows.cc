#include "worker/gbdt/data/array_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/thread/mutex.h"
#include "worker/gbdt/data/column_roles.h"

namespace strata {
namespace {

constexpr size_t kPieceBytes = 1 << 20;
constexpr size_t kSampledRows = 64;    // that one thread reads at a time
constexpr size_t kNeighbours = 16;     // features of which a cache line of a row holds values
constexpr size_t kManyFeatures = 256;  // for which it matters

double ValueAt(const std::byte* row, size_t column, size_t value_bytes) {
  if (value_bytes == sizeof(double)) {
    double value = 0;
    std::memcpy(&value, row + column * sizeof(double), sizeof value);
    return value;
  }
  float value = 0;
  std::memcpy(&value, row + column * sizeof(float), sizeof value);
  return value;
}

// The error of the earliest row.
class FirstError {
 public:
  void Keep(size_t row, Status status) {
    if (status.ok()) return;
    const MutexLock lock(mutex_);
    if (!status_.ok() && row_ < row) return;
    status_ = std::move(status);
    row_ = row;
  }
  Status status() const {
    const MutexLock lock(mutex_);
    return status_;
  }

 private:
  mutable Mutex mutex_;
  Status status_ STRATA_GUARDED_BY(mutex_);
  size_t row_ STRATA_GUARDED_BY(mutex_) = 0;
};

// The columns that are no features, with the number that each has as if it were one.
struct RoleColumn {
  size_t column;
  ColumnRole role;
  uint32_t feature;
};
std::vector<RoleColumn> RoleColumns(const ColumnRoles& roles) {
  std::vector<RoleColumn> columns;
  for (size_t column = 0; column < roles.of.size(); ++column) {
    const ColumnRole role = roles.of[column];
    if (role != ColumnRole::kFeature) columns.push_back({column, role, roles.feature_of[column]});
  }
  return columns;
}

template <typename T>
void PutPiece(const std::vector<T>& piece, size_t begin, std::vector<T>* all) {
  std::ranges::copy(piece, all->begin() + static_cast<std::ptrdiff_t>(begin));
}

}  // namespace

Status ReadArrayLabels(const ArrayRows& array, const std::string& path, WorkPool& pool,
                       SparseRows* rows) {
  const NumberArray& numbers = array.numbers;
  const std::vector<RoleColumn> columns = RoleColumns(*array.roles);
  const auto has = [&](ColumnRole role) {
    return std::ranges::any_of(columns, [role](const RoleColumn& c) { return c.role == role; });
  };
  rows->labels.resize(numbers.rows);
  if (has(ColumnRole::kWeight)) rows->weights.resize(numbers.rows);
  if (has(ColumnRole::kQuery)) rows->queries.resize(numbers.rows);
  FirstError error;
  const size_t piece_rows = std::max<size_t>(1, kPieceBytes / numbers.row_bytes());
  pool.RunPieces(numbers.rows, piece_rows, [&](size_t begin, size_t end) {
    std::vector<std::byte> bytes((end - begin) * numbers.row_bytes());
    Status read = numbers.read(begin, bytes);
    if (!read.ok()) return error.Keep(begin, std::move(read));
    SparseRows piece;
    for (size_t row = begin; row < end; ++row) {
      const std::byte* const at = bytes.data() + (row - begin) * numbers.row_bytes();
      for (const RoleColumn& c : columns) {
        const double value = ValueAt(at, c.column, numbers.value_bytes);
        const char* const wrong = array.roles->Put(c.role, c.feature, value, &piece);
        if (*wrong == 0) continue;
        return error.Keep(row, Invalid(fmt::format("{}: row {}: {}", path, row + 1, wrong)));
      }
    }
    PutPiece(piece.labels, begin, &rows->labels);
    PutPiece(piece.weights, begin, &rows->weights);
    PutPiece(piece.queries, begin, &rows->queries);
  });
  return error.status();
}

std::vector<uint32_t> ColumnsOfFeatures(const ColumnRoles& roles) {
  std::vector<uint32_t> columns(roles.features, ~0U);
  for (size_t column = 0; column < roles.of.size(); ++column) {
    if (roles.of[column] != ColumnRole::kFeature) continue;
    columns[roles.feature_of[column]] = static_cast<uint32_t>(column);
  }
  return columns;
}

Result<std::vector<BinMapper>> FindArrayMappers(const ArrayRows& array,
                                                std::span<const size_t> chosen,
                                                std::vector<FeatureSample> samples,
                                                const BinningRules& rules, WorkPool& pool) {
  const NumberArray& numbers = array.numbers;
  const size_t row_bytes = numbers.row_bytes();
  const auto bytes = std::make_unique_for_overwrite<std::byte[]>(chosen.size() * row_bytes);
  FirstError error;
  pool.RunPieces(chosen.size(), kSampledRows, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      error.Keep(chosen[i], numbers.read(chosen[i], {bytes.get() + i * row_bytes, row_bytes}));
    }
  });
  STRATA_TRY(error.status());
  const std::vector<uint32_t> columns = ColumnsOfFeatures(*array.roles);
  std::vector<BinMapper> mappers(samples.size());
  const size_t together = samples.size() < kManyFeatures ? 1 : kNeighbours;
  pool.RunPieces(samples.size(), together, [&](size_t begin, size_t end) {
    for (size_t f = begin; f < end; ++f) samples[f].values.reserve(chosen.size());
    for (size_t i = 0; i < chosen.size(); ++i) {
      for (size_t f = begin; f < end; ++f) {
        if (columns[f] == ~0U) continue;
        const double value = ValueAt(bytes.get() + i * row_bytes, columns[f], numbers.value_bytes);
        if (!(std::fabs(value) <= kZeroThreshold)) samples[f].values.push_back(value);
      }
    }
    for (size_t f = begin; f < end; ++f) mappers[f] = BinMapper::Find(std::move(samples[f]), rules);
  });
  return mappers;
}

}  // namespace strata
