// Shuffling and reading ahead, over a source that yields numbered samples.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/thread/work_pool.h"
#include "tests/support/chosen_keys.h"
#include "worker/data/batch/batch.h"
#include "worker/data/batch/keys_by_table.h"
#include "worker/data/batch/pipeline.h"
#include "worker/data/batch/shuffle_source.h"
#include "worker/data/batch/unique_keys.h"

namespace strata {
namespace {

// `samples` samples; sample i has label i and, derived from i, 0 to 2 keys in each of two slots,
// two floats and a weight. Fails from sample `fail_at` on.
class NumberedSource : public BatchSource {
 public:
  explicit NumberedSource(size_t samples, size_t fail_at = SIZE_MAX, bool weighted = false)
      : samples_(samples), fail_at_(fail_at), weighted_(weighted) {}

  Status Rewind(uint64_t epoch) override {
    if (epoch == kBadEpoch) return Failed("cannot rewind");
    next_ = 0;
    return Status::Ok();
  }
  Status Next(size_t samples_max, Batch* batch) override {
    ++calls;
    *batch = Empty();
    for (; batch->samples < samples_max && next_ < samples_; ++next_) {
      if (next_ >= fail_at_) return Failed("the disk broke");
      Append(next_, batch);
    }
    if (weighted_) SetKeyWeights(batch);
    return Status::Ok();
  }
  double Progress() const override {
    return static_cast<double>(next_) / static_cast<double>(samples_);
  }

  static Batch Empty() {
    Batch batch;
    batch.slots = 2;
    batch.dense_width = 2;
    batch.offsets = {0};
    return batch;
  }
  static void Append(size_t i, Batch* batch) {
    for (size_t slot = 0; slot < 2; ++slot) {
      for (size_t k = 0; k < (i + slot) % 3; ++k) batch->keys.push_back(Mix64(i * 7 + slot + k));
      batch->offsets.push_back(static_cast<uint32_t>(batch->keys.size()));
    }
    batch->dense.push_back(static_cast<float>(i) * 2);
    batch->dense.push_back(static_cast<float>(i) * 3);
    batch->labels.push_back(static_cast<float>(i));
    batch->weights.push_back(static_cast<float>(i) + 1);
    ++batch->samples;
  }

  // A key's weight is made of the key; where samples of one block are all small numbers there is
  // none, as if all were 1.
  static float WeightOf(Key key) { return static_cast<float>(key % 97); }
  static void SetKeyWeights(Batch* batch) {
    if (batch->samples == 0 || batch->labels.back() < kUnweighted) return;
    for (const Key key : batch->keys) batch->key_weights.push_back(WeightOf(key));
  }
  static constexpr float kUnweighted = 8192;

  static constexpr uint64_t kBadEpoch = 666;
  std::atomic<int> calls = 0;

 private:
  size_t samples_;
  size_t fail_at_;
  bool weighted_;
  size_t next_ = 0;
};

// The labels in order; each batch must be what NumberedSource would make of its labels.
std::vector<size_t> ReadLabels(BatchSource& source, size_t samples_max) {
  std::vector<size_t> labels;
  Batch batch;
  while (true) {
    const Status status = source.Next(samples_max, &batch);
    EXPECT_TRUE(status.ok()) << status.ToString();
    if (!status.ok() || batch.samples == 0) break;
    EXPECT_LE(batch.samples, samples_max);
    Batch expected = NumberedSource::Empty();
    for (float label : batch.labels) {
      labels.push_back(static_cast<size_t>(label));
      NumberedSource::Append(labels.back(), &expected);
    }
    EXPECT_EQ(batch.samples, expected.samples);
    EXPECT_EQ(batch.offsets, expected.offsets);
    EXPECT_EQ(batch.keys, expected.keys);
    EXPECT_EQ(batch.dense, expected.dense);
    EXPECT_EQ(batch.weights, expected.weights);
  }
  EXPECT_EQ(batch.slots, 2U);
  EXPECT_EQ(batch.dense_width, 2U);
  EXPECT_EQ(batch.offsets, std::vector<uint32_t>{0});
  return labels;
}

std::vector<size_t> InOrder(size_t samples) {
  std::vector<size_t> labels(samples);
  for (size_t i = 0; i < samples; ++i) labels[i] = i;
  return labels;
}

// The order of `samples` samples through a buffer of `rows`, drawn one after the other.
std::vector<size_t> DrawnOrder(size_t samples, size_t rows, uint64_t seed, uint64_t epoch) {
  Random random(Mix64(seed) ^ epoch);
  std::vector<size_t> buffer;
  std::vector<size_t> order;
  size_t next = 0;
  while (buffer.size() < rows && next < samples) buffer.push_back(next++);
  while (!buffer.empty()) {
    size_t& place = buffer[random.Below(buffer.size())];
    order.push_back(place);
    place = next < samples ? next++ : buffer.back();
    if (order.size() + buffer.size() > samples) buffer.pop_back();
  }
  return order;
}

TEST(ShuffleSource, YieldsEachSampleOnceInAnotherOrder) {
  for (size_t samples : {0, 1, 5, 3000}) {
    for (size_t rows : {1, 2, 100, 5000}) {
      ShuffleSource source(std::make_unique<NumberedSource>(samples), rows, 42);
      ASSERT_TRUE(source.Rewind(0).ok());
      const std::vector<size_t> labels = ReadLabels(source, 64);
      EXPECT_EQ(labels, DrawnOrder(samples, rows, 42, 0));
      if (rows == 1) {
        EXPECT_EQ(labels, InOrder(samples));
      } else if (samples == 3000) {
        EXPECT_NE(labels, InOrder(samples));
      }
      std::vector<size_t> sorted = labels;
      std::ranges::sort(sorted);
      EXPECT_EQ(sorted, InOrder(samples));
      // A sample leaves at most `rows` - 1 places early.
      for (size_t i = 0; i < labels.size(); ++i) EXPECT_LT(labels[i], i + rows);
    }
  }
}

// The source gives the first 8,192 of the 20,000 samples without weights of keys.
TEST(ShuffleSource, KeysKeepTheirWeights) {
  ShuffleSource plain(std::make_unique<NumberedSource>(20000), 9000, 5);
  ShuffleSource weighted(std::make_unique<NumberedSource>(20000, SIZE_MAX, true), 9000, 5);
  ASSERT_TRUE(plain.Rewind(0).ok() && weighted.Rewind(0).ok());
  Batch without;
  Batch with;
  size_t weights = 0;
  do {
    ASSERT_TRUE(plain.Next(64, &without).ok() && weighted.Next(64, &with).ok());
    EXPECT_EQ(with.labels, without.labels);
    EXPECT_EQ(with.keys, without.keys);
    EXPECT_TRUE(without.key_weights.empty());
    if (with.key_weights.empty()) continue;
    ASSERT_EQ(with.key_weights.size(), with.keys.size());
    for (size_t i = 0; i < with.samples; ++i) {
      for (size_t k = with.offsets[2 * i]; k < with.offsets[2 * i + 2]; ++k) {
        const bool has = with.labels[i] >= NumberedSource::kUnweighted;
        EXPECT_EQ(with.key_weights[k], has ? NumberedSource::WeightOf(with.keys[k]) : 1);
        weights += has ? 1 : 0;
      }
    }
  } while (with.samples > 0);
  EXPECT_GT(weights, 1000U);
  // A pass over samples without weights follows one over samples with them.
  ShuffleSource short_one(std::make_unique<NumberedSource>(1000, SIZE_MAX, true), 10, 1);
  ASSERT_TRUE(short_one.Next(64, &with).ok());
  EXPECT_TRUE(with.key_weights.empty());
}

// Small buffers have samples that come and go within one piece of work of the threads.
TEST(ShuffleSource, ThreadsChangeNothing) {
  for (const size_t rows : {10, 3000, 50000}) {
    ShuffleSource alone(std::make_unique<NumberedSource>(30000, SIZE_MAX, true), rows, 5);
    ShuffleSource shared(std::make_unique<NumberedSource>(30000, SIZE_MAX, true), rows, 5,
                         WorkPool::Start("shuffle", 3).value());
    for (const uint64_t epoch : {0, 1}) {
      ASSERT_TRUE(alone.Rewind(epoch).ok() && shared.Rewind(epoch).ok());
      Batch one;
      Batch other;
      do {
        ASSERT_TRUE(alone.Next(7000, &one).ok() && shared.Next(7000, &other).ok());
        EXPECT_EQ(one.labels, other.labels);
        EXPECT_EQ(one.weights, other.weights);
        EXPECT_EQ(one.dense, other.dense);
        EXPECT_EQ(one.offsets, other.offsets);
        EXPECT_EQ(one.keys, other.keys);
        EXPECT_EQ(one.key_weights, other.key_weights);
      } while (one.samples > 0);
    }
  }
}

TEST(ShuffleSource, OrderIsAFunctionOfSeedAndEpoch) {
  ShuffleSource a(std::make_unique<NumberedSource>(500), 100, 1);
  ShuffleSource b(std::make_unique<NumberedSource>(500), 100, 1);
  ShuffleSource c(std::make_unique<NumberedSource>(500), 100, 2);
  const std::vector<size_t> unrewound = ReadLabels(a, 7);
  ASSERT_TRUE(a.Rewind(0).ok() && b.Rewind(3).ok() && c.Rewind(0).ok());
  const std::vector<size_t> epoch0 = ReadLabels(a, 50);
  EXPECT_EQ(unrewound, epoch0);
  const std::vector<size_t> epoch3 = ReadLabels(b, 50);
  EXPECT_NE(epoch0, epoch3);
  EXPECT_NE(epoch0, ReadLabels(c, 50));
  Batch batch;
  ASSERT_TRUE(a.Next(1, &batch).ok());
  ASSERT_TRUE(a.Rewind(3).ok() && b.Rewind(0).ok());
  EXPECT_EQ(ReadLabels(a, 50), epoch3);
  EXPECT_EQ(ReadLabels(b, 50), epoch0);
}

// Uniform over a full buffer: the first sample lands in each of ten places about equally often.
TEST(ShuffleSource, FullBufferIsAFairShuffle) {
  std::map<size_t, int> places;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    ShuffleSource source(std::make_unique<NumberedSource>(10), 10, seed);
    const std::vector<size_t> labels = ReadLabels(source, 10);
    ++places[static_cast<size_t>(std::ranges::find(labels, 0U) - labels.begin())];
  }
  for (size_t place = 0; place < 10; ++place) {
    EXPECT_NEAR(places[place], 500, 110) << place;  // five standard deviations
  }
}

TEST(ShuffleSource, PassesErrorsOn) {
  ShuffleSource source(std::make_unique<NumberedSource>(3000, 2000), 100, 1);
  EXPECT_EQ(source.Rewind(NumberedSource::kBadEpoch).code(), StatusCode::kFailed);
  ASSERT_TRUE(source.Rewind(0).ok());
  Batch batch;
  Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) status = source.Next(100, &batch);
  EXPECT_EQ(status.message(), "the disk broke");
}

TEST(PrefetchSource, YieldsWhatTheSourceYields) {
  for (size_t samples : {0, 1, 9, 10, 1005}) {
    for (size_t ahead : {1, 2, 8}) {
      PrefetchSource source(std::make_unique<NumberedSource>(samples), 10, ahead);
      for (uint64_t epoch = 0; epoch < 3; ++epoch) {
        if (epoch > 0) {
          ASSERT_TRUE(source.Rewind(epoch).ok());
        }
        EXPECT_EQ(ReadLabels(source, 10), InOrder(samples));
        Batch batch;
        ASSERT_TRUE(source.Next(10, &batch).ok());
        EXPECT_EQ(batch.samples, 0U) << "the end comes again";
      }
    }
  }
}

TEST(PrefetchSource, KeysKeepTheirWeights) {
  PrefetchSource source(std::make_unique<NumberedSource>(10000, SIZE_MAX, true), 1000, 2);
  Batch batch;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(source.Next(1000, &batch).ok());
    ASSERT_EQ(batch.samples, 1000U);
    std::vector<float> expected;
    for (const Key key : batch.keys) expected.push_back(NumberedSource::WeightOf(key));
    if (i < 8) expected.clear();
    EXPECT_EQ(batch.key_weights, expected) << i;
  }
}

TEST(PrefetchSource, ReadsNoFurtherAheadThanItsCredits) {
  auto numbered = std::make_unique<NumberedSource>(1'000'000);
  const NumberedSource& counts = *numbered;
  PrefetchSource source(std::move(numbered), 10, 3);
  Batch batch;
  for (int i = 1; i <= 50; ++i) {
    ASSERT_TRUE(source.Next(10, &batch).ok());
    EXPECT_LE(counts.calls.load(), i + 3);
  }
  EXPECT_NEAR(source.Progress(), 0.0005, 1e-9);
}

// A batch takes a millisecond.
class SlowSource final : public NumberedSource {
 public:
  SlowSource(size_t samples, SimClock& clock) : NumberedSource(samples), clock_(clock) {}
  Status Next(size_t samples_max, Batch* batch) override {
    clock_.Advance(kMillisecond);
    return NumberedSource::Next(samples_max, batch);
  }

 private:
  SimClock& clock_;
};

TEST(PrefetchSource, KnowsHowLongItHasRead) {
  SimClock clock;
  PrefetchSource source(std::make_unique<SlowSource>(100, clock), 10, 3, clock);
  EXPECT_EQ(source.reading_time(), 0);
  for (const int passes : {1, 2}) {
    ASSERT_TRUE(source.Rewind(0).ok());
    Batch batch;
    do {
      ASSERT_TRUE(source.Next(10, &batch).ok());
    } while (batch.samples > 0);
    EXPECT_EQ(source.reading_time(), passes * 11 * kMillisecond);  // the last one was empty
  }
}

TEST(PrefetchSource, StopsAndRewindsInTheMiddle) {
  for (int taken = 0; taken < 20; ++taken) {
    PrefetchSource source(std::make_unique<NumberedSource>(1000), 10, 4);
    Batch batch;
    for (int i = 0; i < taken; ++i) ASSERT_TRUE(source.Next(10, &batch).ok());
    ASSERT_TRUE(source.Rewind(1).ok());
    for (int i = 0; i < taken; ++i) {
      ASSERT_TRUE(source.Next(10, &batch).ok());
      EXPECT_EQ(batch.labels[0], static_cast<float>(10 * i));
    }
  }
}

TEST(PrefetchSource, PassesErrorsOnBehindTheGoodBatches) {
  PrefetchSource source(std::make_unique<NumberedSource>(1000, 35), 10, 2);
  for (int pass = 0; pass < 2; ++pass) {
    ASSERT_TRUE(source.Rewind(0).ok());
    Batch batch;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(source.Next(10, &batch).ok());
    for (int i = 0; i < 2; ++i) EXPECT_EQ(source.Next(10, &batch).message(), "the disk broke");
  }
  EXPECT_EQ(source.Rewind(NumberedSource::kBadEpoch).message(), "cannot rewind");
}

// A batch of one sample with these keys in one slot.
Batch BatchOf(const std::vector<Key>& keys) {
  Batch batch;
  batch.samples = 1;
  batch.slots = 1;
  batch.keys = keys;
  batch.offsets = {0, static_cast<uint32_t>(keys.size())};
  return batch;
}

constexpr uint32_t kOneSlot[] = {1};

// The distinct ones of `keys`, as a finder gives them.
std::vector<Key> DistinctInOrder(const std::vector<Key>& keys) {
  std::unordered_set<Key> seen;
  std::vector<Key> distinct;
  for (const Key key : keys) {
    if (seen.insert(key).second) distinct.push_back(key);
  }
  std::ranges::stable_sort(distinct, {}, KeyGroup);
  return distinct;
}

TEST(UniqueFinder, AgreesWithASet) {
  Random random(4);
  UniqueFinder finder;
  UniqueKeys unique;
  for (int i = 0; i < 300; ++i) {
    std::vector<Key> keys(random.Below(2000));
    const uint64_t range = 1 + random.Below(3000);
    for (Key& key : keys)
      key = random.Chance(0.5) ? random.Below(range) : UINT64_MAX - random.Below(range);
    finder.Find(BatchOf(keys), kOneSlot, &unique);
    ASSERT_EQ(unique.keys, DistinctInOrder(keys));
    ASSERT_EQ(unique.index.size(), keys.size());
    for (size_t k = 0; k < keys.size(); ++k) ASSERT_EQ(unique.keys.at(unique.index[k]), keys[k]);
  }
}

// Equal keys of two tables are two, those of two slots of one table are one.
TEST(UniqueFinder, TablesHaveKeysOfTheirOwn) {
  Random random(5);
  const std::vector<uint32_t> table_slots = {2, 1, 3};
  UniqueFinder finder;
  UniqueKeys unique;
  for (int pass = 0; pass < 50; ++pass) {
    Batch batch;
    batch.samples = random.Below(40);
    batch.slots = 6;
    batch.offsets = {0};
    for (size_t bag = 0; bag < batch.samples * batch.slots; ++bag) {
      for (uint64_t keys = random.Below(3); keys > 0; --keys)
        batch.keys.push_back(random.Below(30));
      batch.offsets.push_back(static_cast<uint32_t>(batch.keys.size()));
    }
    finder.Find(batch, table_slots, &unique);
    std::vector<std::vector<Key>> keys(3);
    for (size_t bag = 0; bag < batch.samples * batch.slots; ++bag) {
      const size_t table = bag % 6 < 2 ? 0 : bag % 6 < 3 ? 1 : 2;
      for (uint32_t k = batch.offsets[bag]; k < batch.offsets[bag + 1]; ++k) {
        keys[table].push_back(batch.keys[k]);
        ASSERT_LT(unique.index[k], unique.of_table(table).size());
        ASSERT_EQ(unique.of_table(table)[unique.index[k]], batch.keys[k]);
      }
    }
    for (size_t table = 0; table < 3; ++table) {
      EXPECT_THAT(unique.of_table(table), testing::ElementsAreArray(DistinctInOrder(keys[table])));
    }
  }
}

// Large batches are dealt into parts and runs, of all slots or of some.
TEST(UniqueFinder, ThreadsChangeNothing) {
  Random random(6);
  auto pool = WorkPool::Start("unique", 3);
  ASSERT_TRUE(pool.ok());
  Batch batch;
  batch.samples = 70'000;
  batch.slots = 3;
  batch.offsets = {0};
  for (size_t bag = 0; bag < batch.samples * batch.slots; ++bag) {
    for (uint64_t keys = random.Below(3); keys > 0; --keys) {
      batch.keys.push_back(random.Below(random.Chance(0.5) ? 100 : 50'000));
    }
    batch.offsets.push_back(static_cast<uint32_t>(batch.keys.size()));
  }
  UniqueFinder alone;
  UniqueFinder helped(pool->get());
  for (const std::vector<uint32_t>& table_slots : {std::vector<uint32_t>{3}, {1, 2}, {2, 1}}) {
    std::vector<std::vector<Key>> keys(table_slots.size());
    std::vector<size_t> table_of;
    for (size_t bag = 0; bag < batch.samples * batch.slots; ++bag) {
      const size_t table = bag % 3 < table_slots[0] ? 0 : 1;
      for (uint32_t k = batch.offsets[bag]; k < batch.offsets[bag + 1]; ++k) {
        keys[table].push_back(batch.keys[k]);
        table_of.push_back(table);
      }
    }
    for (UniqueFinder* const finder : {&alone, &helped}) {
      UniqueKeys unique;
      finder->Find(batch, table_slots, &unique);
      for (size_t table = 0; table < keys.size(); ++table) {
        const std::span<const Key> found = unique.of_table(table);
        EXPECT_TRUE(std::ranges::equal(found, DistinctInOrder(keys[table])));
      }
      bool is_there = true;
      for (size_t k = 0; k < batch.keys.size(); ++k) {
        is_there &= unique.of_table(table_of[k])[unique.index[k]] == batch.keys[k];
      }
      EXPECT_TRUE(is_there);
    }
  }
}

// Beside each key's table, found by its slot.
TEST(KeysByTable, AreInTheOrderOfTables) {
  Random random(7);
  auto pool = WorkPool::Start("by table", 2);
  ASSERT_TRUE(pool.ok());
  for (const std::vector<uint32_t>& table_slots : {std::vector<uint32_t>{6}, {2, 1, 3}, {1, 5}}) {
    std::vector<size_t> table_of;  // by slot
    for (size_t table = 0; table < table_slots.size(); ++table) {
      table_of.insert(table_of.end(), table_slots[table], table);
    }
    KeysByTable by_table(table_slots, **pool);
    for (const auto& [samples, is_ragged] :
         {std::pair{0, false}, {0, true}, {1, true}, {40, false}, {40, true}, {20'000, false}}) {
      SCOPED_TRACE(fmt::format("{} tables, {} samples", table_slots.size(), samples));
      Batch batch;
      batch.samples = static_cast<size_t>(samples);
      batch.slots = 6;
      batch.offsets = {0};
      std::vector<std::vector<Key>> keys(table_slots.size());
      std::vector<std::vector<uint32_t>> offsets(table_slots.size(), {0});
      for (size_t bag = 0; bag < batch.samples * batch.slots; ++bag) {
        const size_t table = table_of[bag % 6];
        for (uint64_t count = is_ragged ? random.Below(3) : 1; count > 0; --count) {
          batch.keys.push_back(random.Below(1'000'000));
          keys[table].push_back(batch.keys.back());
        }
        batch.offsets.push_back(static_cast<uint32_t>(batch.keys.size()));
        offsets[table].push_back(static_cast<uint32_t>(keys[table].size()));
      }
      by_table.Set(batch);
      std::vector<Key> scratch;
      const std::span<const Key> found = by_table.Ordered<Key>(batch.keys, &scratch);
      ASSERT_EQ(by_table.begins().size(), table_slots.size() + 1);
      ASSERT_EQ(by_table.has_key_a_bag(), !is_ragged || samples == 0);
      EXPECT_EQ(by_table.offsets().empty(), by_table.has_key_a_bag());
      for (size_t table = 0; table < keys.size(); ++table) {
        const size_t begin = by_table.begins()[table];
        ASSERT_EQ(by_table.begins()[table + 1] - begin, keys[table].size());
        EXPECT_TRUE(std::ranges::equal(found.subspan(begin, keys[table].size()), keys[table]));
        if (by_table.has_key_a_bag()) continue;
        EXPECT_TRUE(std::ranges::equal(
            by_table.offsets().subspan(by_table.FirstOffset(table), offsets[table].size()),
            offsets[table]));
      }
      EXPECT_TRUE(by_table.Ordered<Key>({}, &scratch).empty());
    }
  }
}

// There are as many keys as bags, but one bag has none.
TEST(KeysByTable, ABagWithoutAKeyIsSeen) {
  auto pool = WorkPool::Start("by table", 0);
  ASSERT_TRUE(pool.ok());
  Batch batch = BatchOf({5, 6});
  batch.samples = 1;
  batch.slots = 2;
  batch.offsets = {0, 2, 2};
  const std::vector<uint32_t> table_slots = {1, 1};
  KeysByTable by_table(table_slots, **pool);
  by_table.Set(batch);
  EXPECT_FALSE(by_table.has_key_a_bag());
  EXPECT_THAT(by_table.begins(), testing::ElementsAre(0, 2, 2));
  EXPECT_THAT(by_table.offsets(), testing::ElementsAre(0, 2, 0, 0));
}

TEST(UniqueFinder, KeepsItsMemory) {
  std::vector<Key> keys(1000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  UniqueFinder finder;
  UniqueKeys unique;
  finder.Find(BatchOf(keys), kOneSlot, &unique);
  const void* before[] = {unique.keys.data(), unique.index.data()};
  keys.resize(700);
  finder.Find(BatchOf(keys), kOneSlot, &unique);
  const void* after[] = {unique.keys.data(), unique.index.data()};
  EXPECT_THAT(after, testing::ElementsAreArray(before));
}

// At most half of the places are taken: one in two keys passes another one's.
TEST(UniqueFinder, ChosenKeysCostNoMoreThanOthers) {
  for (const std::vector<Key>& keys : test::ChosenKeys(40'000)) {
    UniqueFinder finder;
    UniqueKeys unique;
    finder.Find(BatchOf(keys), kOneSlot, &unique);
    EXPECT_EQ(unique.keys, DistinctInOrder(keys));
    EXPECT_LT(finder.passed(), keys.size());
  }
}

}  // namespace
}  // namespace strata
