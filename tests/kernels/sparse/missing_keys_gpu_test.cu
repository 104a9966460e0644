// What a lookup asks of the tier below, and its answers, beside the same in plain loops.
#include <algorithm>
#include <random>
#include <set>

#include "base/hash.h"
#include "kernels/core/initializer.h"
#include "kernels/core/narrow.h"
#include "kernels/sparse/missing_keys.h"
#include "tests/support/device_memory.cuh"

namespace strata {
namespace {

constexpr float kUntouched = -77.0F;

class MissingKeysOnGpu : public testing::Test {
 protected:
  void SetUp() override { STRATA_SKIP_BELOW_GPUS(1); }
};

constexpr uint64_t kSeed = 0x5eed;  // of the order by home

// The distinct ones of some keys, as listed.
struct Listed {
  explicit Listed(const std::vector<uint64_t>& missing)
      : given(missing),
        distinct_keys(missing.size()),
        numbers_of(missing.size()),
        rows_of(missing.size()),
        count_of(1),
        scratch(ListDistinctScratchBytes(missing.size())) {
    scratch.Poison();
    distinct_keys.Poison();
    rows_of.Poison();
    ListDistinct(exec, {given.data(), missing.size()}, kSeed, distinct(),
                 {scratch.data(), ListDistinctScratchBytes(missing.size())});
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    count = count_of.Get()[0];
    keys = distinct_keys.Get();
    keys.resize(count);
    numbers = numbers_of.Get();
    rows = rows_of.Get();
    rows.resize(count);
  }
  DistinctMissing distinct() {
    return {distinct_keys.data(), numbers_of.data(), rows_of.data(), count_of.data()};
  }

  const Exec exec{DeviceKind::kCuda, 0, nullptr};
  DeviceArray<uint64_t> given;
  DeviceArray<uint64_t> distinct_keys;
  DeviceArray<uint32_t> numbers_of;
  DeviceArray<uint32_t> rows_of;
  DeviceArray<uint32_t> count_of;
  DeviceArray<std::byte> scratch;
  uint32_t count = 0;
  std::vector<uint64_t> keys;
  std::vector<uint32_t> numbers;
  std::vector<uint32_t> rows;
};

void CheckListed(const std::vector<uint64_t>& missing) {
  SCOPED_TRACE(testing::Message() << missing.size() << " keys");
  const Listed listed(missing);
  const std::set<uint64_t> wanted(missing.begin(), missing.end());
  ASSERT_EQ(listed.count, wanted.size());
  ASSERT_EQ(std::set<uint64_t>(listed.keys.begin(), listed.keys.end()), wanted);
  for (size_t m = 0; m < missing.size(); ++m) {
    ASSERT_LT(listed.numbers[m], listed.count);
    ASSERT_EQ(listed.keys[listed.numbers[m]], missing[m]) << m;
  }
  for (const uint32_t row : listed.rows) ASSERT_EQ(row, DistinctMissing::kNoRow);
}

TEST_F(MissingKeysOnGpu, EachIsListedOnce) {
  std::mt19937_64 random(1);
  for (const size_t count : {0, 1, 31, 33, 1000, 20'000, 300'000}) {
    std::vector<uint64_t> keys(count);
    for (uint64_t& key : keys) key = random();
    CheckListed(keys);
    for (uint64_t& key : keys) key = random() % (count / 3 + 1);
    CheckListed(keys);
    for (uint64_t& key : keys) key = random() % 2 == 0 ? UINT64_MAX : random() % 7;
    CheckListed(keys);
  }
}

TEST_F(MissingKeysOnGpu, TheyComeByHome) {
  std::mt19937_64 random(2);
  std::vector<uint64_t> missing(100'000);
  for (uint64_t& key : missing) key = random();
  const Listed listed(missing);
  const auto order = [&](size_t j) { return SeededMix(listed.keys[j], kSeed); };
  size_t ascending = 0;
  for (size_t j = 1; j < listed.keys.size(); ++j) ascending += order(j - 1) < order(j) ? 1 : 0;
  EXPECT_GT(ascending, listed.keys.size() * 3 / 4);
  // And few are far from their place.
  std::vector<uint64_t> orders;
  for (size_t j = 0; j < listed.keys.size(); ++j) orders.push_back(order(j));
  std::vector<uint64_t> sorted = orders;
  std::ranges::sort(sorted);
  size_t near = 0;
  for (size_t j = 0; j < orders.size(); ++j) {
    const auto place = std::ranges::lower_bound(sorted, orders[j]) - sorted.begin();
    near += std::abs(place - static_cast<ptrdiff_t>(j)) < 300 ? 1 : 0;
  }
  EXPECT_GT(near, orders.size() * 98 / 100);
}

// Rows of two keys in three come, in chunks and in no order; the others begin as rows do.
void CheckAnswers(uint32_t dim, ElementType type, uint32_t state_words) {
  SCOPED_TRACE(testing::Message() << "dim " << dim << " type " << static_cast<int>(type));
  std::mt19937_64 random(dim);
  constexpr size_t kCount = 5'000;
  std::vector<uint64_t> missing(kCount);
  for (uint64_t& key : missing) key = random() % 3 == 0 ? 5 : random() % 3'000;
  std::vector<uint32_t> positions(kCount);
  for (uint32_t m = 0; m < kCount; ++m) positions[m] = 2 * m + 1;
  std::ranges::shuffle(positions, random);
  Listed listed(missing);
  DeviceArray<uint32_t> positions_on_gpu(positions);
  const MissingKeys keys{{listed.given.data(), kCount}, positions_on_gpu.data()};

  MapRef map;
  map.dim = dim;
  map.value_type = type;
  map.state_types = {type, type};
  map.row_words = (dim * static_cast<uint32_t>(BytesOf(type)) + 3) / 4 + state_words;
  const auto element = [&](uint64_t key, uint32_t e) {
    const auto x = static_cast<float>(key) + 0.25F * static_cast<float>(e);
    return type == ElementType::kFp32 ? x : narrow::FromBits(type, narrow::ToBits(type, x));
  };
  const auto has_row = [](uint64_t key) { return key % 3 != 0; };
  DeviceArray<float> out(std::vector<float>(2 * (kCount + 1) * dim, kUntouched));
  constexpr uint32_t kChunk = 700;
  for (uint32_t first = 0; first < listed.count; first += kChunk) {
    const uint32_t places = std::min(kChunk, listed.count - first);
    std::vector<uint32_t> numbers;
    for (uint32_t j = first; j < first + places; ++j) {
      if (has_row(listed.keys[j])) numbers.push_back(j);
    }
    std::ranges::shuffle(numbers, random);
    std::vector<float> rows(numbers.size() * map.row_words, kUntouched);
    for (size_t r = 0; r < numbers.size(); ++r) {
      float* row = rows.data() + r * map.row_words;
      for (uint32_t e = 0; e < dim; ++e) {
        const float x = element(listed.keys[numbers[r]], e);
        if (type == ElementType::kFp32) {
          row[e] = x;
        } else {
          reinterpret_cast<uint16_t*>(row)[e] = narrow::ToBits(type, x);
        }
      }
    }
    DeviceArray<float> rows_on_gpu(rows);
    DeviceArray<uint32_t> numbers_on_gpu(numbers);
    AnswerRows(listed.exec, map,
               {rows_on_gpu.data(), numbers_on_gpu.data(), static_cast<uint32_t>(numbers.size()),
                first, places},
               keys, listed.distinct(), out.data());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  RowStart start;
  start.initializer = {.kind = InitializerKind::kUniform, .scale = 0.5F};
  start.seed = 9;
  DeviceArray<unsigned long long> hits(std::vector<unsigned long long>{10});
  AnswerInitial(listed.exec, map, start, keys, listed.distinct(), out.data(), hits.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);

  std::vector<float> wanted(2 * (kCount + 1) * dim, kUntouched);
  uint64_t answered = 0;
  for (size_t m = 0; m < kCount; ++m) {
    float* row = wanted.data() + size_t{positions[m]} * dim;
    if (has_row(missing[m])) {
      ++answered;
      for (uint32_t e = 0; e < dim; ++e) row[e] = element(missing[m], e);
    } else {
      InitialRow(start.initializer, start.seed, missing[m], {row, dim});
      for (uint32_t e = 0; e < dim && type != ElementType::kFp32; ++e) {
        row[e] = narrow::FromBits(type, narrow::ToBits(type, row[e]));
      }
    }
  }
  EXPECT_EQ(out.Get(), wanted);
  EXPECT_EQ(hits.Get()[0], 10 + answered);
}

TEST_F(MissingKeysOnGpu, AllPlacesOfAKeyAreAnswered) {
  for (const uint32_t state_words : {0U, 1U}) {
    for (const uint32_t dim : {1U, 4U, 7U, 64U, 130U}) {
      CheckAnswers(dim, ElementType::kFp32, state_words);
    }
    for (const uint32_t dim : {3U, 8U, 64U}) {
      CheckAnswers(dim, ElementType::kBf16, state_words);
      CheckAnswers(dim, ElementType::kFp16, state_words);
    }
  }
}

}  // namespace
}  // namespace strata
