#include "bench/harness/workload.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/hash.h"
#include "base/random.h"
#include "base/thread/work_pool.h"
#include "storage/rocks/rocks_db.h"

namespace strata::bench {
namespace {

constexpr uint64_t kKeyMask = 0x62656e6368ULL;

// Sums of the weights of ranks 1 to n.
std::vector<double> ZipfSums(uint64_t rows) {
  std::vector<double> sums(rows);
  double sum = 0;
  for (uint64_t rank = 0; rank < rows; ++rank) {
    sum += std::pow(static_cast<double>(rank + 1), -kZipfExponent);
    sums[rank] = sum;
  }
  return sums;
}

}  // namespace

std::string_view DistributionName(Distribution distribution) {
  return distribution == Distribution::kUniform ? "uniform" : "zipf";
}

Key KeyAt(uint64_t n) { return Mix64(n ^ kKeyMask); }
uint64_t NumberOf(Key key) { return KeyOfColdHash(key) ^ kKeyMask; }  // it undoes Mix64

std::vector<Key> DrawKeys(Distribution distribution, uint64_t rows, size_t count, uint64_t seed) {
  constexpr size_t kPiece = size_t{1} << 20;  // has a sequence of its own, for any thread
  std::vector<Key> keys(count);
  const std::vector<double> sums =
      distribution == Distribution::kZipf ? ZipfSums(rows) : std::vector<double>();
  const auto draw = [&](size_t begin, size_t end) {
    Random random(Mix64(seed) + begin / kPiece);
    for (size_t i = begin; i < end; ++i) {
      if (sums.empty()) {
        keys[i] = KeyAt(random.Below(rows));
        continue;
      }
      const double drawn = random.Uniform() * sums.back();
      const auto at = std::lower_bound(sums.begin(), sums.end(), drawn);
      keys[i] = KeyAt(std::min<uint64_t>(static_cast<uint64_t>(at - sums.begin()), rows - 1));
    }
  };
  const int helpers =
      count > kPiece ? static_cast<int>(std::thread::hardware_concurrency()) - 1 : 0;
  const auto pool = WorkPool::Start("draw", std::max(helpers, 0));
  STRATA_CHECK_MSG(pool.ok(), pool.status().ToString());
  (*pool)->RunPieces(count, kPiece, draw);
  return keys;
}

std::vector<float> DrawFloats(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<float> floats(count);
  for (float& value : floats) value = static_cast<float>(random.Uniform() * 2 - 1);
  return floats;
}

}  // namespace strata::bench
