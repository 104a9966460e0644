#include "worker/gbdt/data/sample_rows.h"

#include <cmath>
#include <numeric>
#include <set>

namespace strata {
namespace {

// A linear congruential generator with the constants of Microsoft's C library.
class Congruential {
 public:
  explicit Congruential(int64_t seed) : state_(static_cast<uint32_t>(seed)) {}
  float Uniform() { return static_cast<float>((Step() >> 16) & 0x7fff) / 32768.0F; }
  size_t Below(size_t n) { return (Step() & 0x7fffffff) % n; }

 private:
  uint32_t Step() { return state_ = 214013U * state_ + 2531011U; }
  uint32_t state_;
};

}  // namespace

std::vector<size_t> SampleRows(size_t rows, size_t wanted, int64_t seed) {
  std::vector<size_t> chosen;
  if (wanted >= rows) {
    chosen.resize(rows);
    std::iota(chosen.begin(), chosen.end(), size_t{0});
    return chosen;
  }
  Congruential random(seed);
  if (wanted > 1 && static_cast<double>(wanted) > static_cast<double>(rows) / std::log2(wanted)) {
    for (size_t row = 0; row < rows; ++row) {
      const double share =
          static_cast<double>(wanted - chosen.size()) / static_cast<double>(rows - row);
      if (random.Uniform() < share) chosen.push_back(row);
    }
    return chosen;
  }
  std::set<size_t> few;  // R. Floyd's sampling without replacement
  for (size_t row = rows - wanted; row < rows; ++row) {
    if (row == 0 || !few.insert(random.Below(row)).second) few.insert(row);
  }
  chosen.assign(few.begin(), few.end());
  return chosen;
}

}  // namespace strata
