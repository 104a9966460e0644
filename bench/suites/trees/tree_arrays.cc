#include "bench/suites/trees/tree_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <span>
#include <thread>
#include <vector>

#include "base/file/disk.h"
#include "base/large_array.h"
#include "base/random.h"
#include "base/thread/work_pool.h"
#include "kernels/tree/gradient/fixed_point.h"

namespace strata::bench {
namespace {

constexpr size_t kInformative = 20;  // features of the linear part, at most
constexpr double kSpread = 2;        // of the logits
constexpr size_t kPieceRows = 1024;

// Box and Muller's transform, both of its numbers.
class Normal {
 public:
  explicit Normal(uint64_t seed) : random_(seed) {}
  double Next() {
    if (has_second_) {
      has_second_ = false;
      return second_;
    }
    const double radius = std::sqrt(-2 * std::log(1 - random_.Uniform()));
    const double angle = 2 * std::numbers::pi * random_.Uniform();
    second_ = radius * std::sin(angle);
    has_second_ = true;
    return radius * std::cos(angle);
  }

 private:
  Random random_;
  double second_ = 0;
  bool has_second_ = false;
};

double LogitOf(std::span<const float> x, std::span<const double> weights) {
  double logit = 0;
  for (size_t f = 0; f < weights.size(); ++f) logit += 0.5 * weights[f] * x[f];
  logit += std::sin(2 * x[0]) * x[1];
  logit += x[2] > 0 ? 1.5 * x[3] : 0;
  return logit - (x[4] * x[5] > 0.3F ? 1 : 0);
}

double Deviation(const std::vector<double>& values) {
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(values.size());
  return std::sqrt(squares / count - sum / count * (sum / count));
}

// The head of a .npy file, version 1.0: its data begin at a multiple of 64 bytes.
std::string NpyHead(size_t rows, size_t columns) {
  std::string text =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  text.resize((10 + text.size() + 64) / 64 * 64 - 11, ' ');
  text += '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(text.size() & 0xff);
  head += static_cast<char>(text.size() >> 8);
  return head + text;
}

Status Write(const std::string& path, std::span<const float> values, size_t columns) {
  STRATA_ASSIGN(const std::unique_ptr<File> file, RealDisk().Create(path));
  const std::string head = NpyHead(values.size() / columns, columns);
  STRATA_TRY(file->Append(std::as_bytes(std::span(head))));
  return file->Append(std::as_bytes(values));
}

// Two classes by chance; more by how large the logit is, with some noise, each as often.
float LabelOf(const TreeShape& shape, double logit, double chance) {
  if (shape.classes == 2) return chance < 1 / (1 + std::exp(-logit)) ? 1 : 0;
  const double share = 1 / (1 + std::exp(-logit - chance + 0.5));
  return static_cast<float>(std::min(shape.classes - 1, static_cast<int>(share * shape.classes)));
}

Status WriteQueries(const TreeShape& shape, uint64_t seed, const std::string& path) {
  Random random(seed);
  std::string text;
  for (size_t rows = 0; rows < shape.train_rows();) {
    const size_t drawn = shape.query_rows / 2 + random.Below(shape.query_rows + 1);
    const size_t count = std::min(shape.train_rows() - rows, std::max<size_t>(1, drawn));
    text += fmt::format("{}\n", count);
    rows += count;
  }
  STRATA_ASSIGN(const std::unique_ptr<File> file, RealDisk().Create(path));
  return file->Append(std::as_bytes(std::span(text)));
}

}  // namespace

Status WriteTreeArrays(const TreeShape& shape, uint64_t seed, const std::string& folder) {
  const size_t columns = shape.features + 1;
  if (shape.features < 6) return Invalid("expected at least 6 features");
  Normal of_weights(seed);
  std::vector<double> weights(std::min(kInformative, shape.features));
  for (double& weight : weights) weight = of_weights.Next();
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  STRATA_ASSIGN(const std::unique_ptr<WorkPool> pool, WorkPool::Start("bench", threads - 1));
  LargeArray<float> values(shape.rows * columns);
  std::vector<double> logits(shape.rows);
  pool->RunPieces(shape.rows, kPieceRows, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      Normal normal(seed ^ Mix64(row + 1));
      const std::span<float> x = std::span(values).subspan(row * columns + 1, shape.features);
      for (float& value : x) value = static_cast<float>(normal.Next());
      logits[row] = LogitOf(x, weights);
    }
  });
  const double scale = kSpread / Deviation(logits);
  for (size_t row = 0; row < shape.rows; ++row) {
    values[row * columns] = LabelOf(shape, logits[row] * scale, RowUniform(seed, row));
  }
  if (shape.query_rows > 0) STRATA_TRY(WriteQueries(shape, seed, folder + "/train.npy.query"));
  const std::span<const float> all(values);
  STRATA_TRY(Write(folder + "/train.npy", all.first(shape.train_rows() * columns), columns));
  return Write(folder + "/test.npy", all.subspan(shape.train_rows() * columns), columns);
}

}  // namespace strata::bench
