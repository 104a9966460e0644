// HugeCTR's raw records: what a batch holds of them, whoever reads which, and what is wrong with
// files and layouts.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/worker/compress.h"
#include "tests/worker/text_disk.h"
#include "worker/data/raw/raw_batches.h"
#include "worker/data/raw/raw_features.h"

namespace strata {
namespace {

using testing::HasSubstr;

template <typename T>
void Put(T value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void PutNumber(RawNumber type, int32_t value, std::string* bytes) {
  if (type == RawNumber::kInt) return Put(value, bytes);
  Put(static_cast<float>(value), bytes);
}

// Files of random records, and what a reader must make of them.
struct RawData {
  RawLayout layout;
  TextDisk disk;
  std::vector<std::string> paths;
  std::vector<float> labels;
  std::vector<float> dense;
  std::vector<Key> keys;
  std::vector<uint32_t> offsets = {0};
};

RawData RandomData(Random& random) {
  RawData data;
  RawLayout& layout = data.layout;
  layout.label = random.Chance(0.5) ? RawNumber::kInt : RawNumber::kFloat;
  layout.dense = random.Chance(0.5) ? RawNumber::kInt : RawNumber::kFloat;
  layout.dense_width = random.Below(4);
  layout.slot_keys.resize(1 + random.Below(5));
  for (uint32_t& keys : layout.slot_keys) keys = static_cast<uint32_t>(1 + random.Below(3));
  for (uint64_t file = 0; file < 1 + random.Below(4); ++file) {
    std::string bytes;
    for (uint64_t i = 0; i < 1 + random.Below(40); ++i) {
      const int label = random.Chance(0.5) ? 1 : 0;
      PutNumber(layout.label, label, &bytes);
      data.labels.push_back(static_cast<float>(label));
      for (size_t d = 0; d < layout.dense_width; ++d) {
        const auto x = static_cast<int32_t>(random.Below(1000));
        PutNumber(layout.dense, x, &bytes);
        const auto number = static_cast<float>(x);
        data.dense.push_back(layout.dense == RawNumber::kInt ? std::log(number + 1) : number);
      }
      for (uint32_t slot = 0; slot < layout.slot_keys.size(); ++slot) {
        for (uint32_t k = 0; k < layout.slot_keys[slot]; ++k) {
          const auto value = static_cast<uint32_t>(random.Below(UINT64_C(1) << 32));
          Put(value, &bytes);
          data.keys.push_back(Mix64(slot * (UINT64_C(1) << 32) + value));
        }
        data.offsets.push_back(static_cast<uint32_t>(data.keys.size()));
      }
    }
    data.paths.push_back(fmt::format("f{}", file));
    data.disk.files[data.paths.back()] = bytes;
  }
  return data;
}

TEST(RawBatches, HoldEveryRecordOnceInOrderWhereverTheSharesAreCut) {
  Random random(6);
  for (int round = 0; round < 300; ++round) {
    RawData data = RandomData(random);
    const auto world = static_cast<uint32_t>(1 + random.Below(6));
    Batch all;
    all.offsets = {0};
    uint64_t hash = 0;
    for (uint32_t rank = 0; rank < world; ++rank) {
      auto source = RawBatches::Open(
          data.disk, data.paths, data.layout,
          {.share = {rank, world}, .threads = static_cast<int>(1 + random.Below(3))});
      ASSERT_TRUE(source.ok()) << source.status().ToString();
      EXPECT_EQ((*source)->records_of_all(), data.labels.size());
      hash += (*source)->HashOfRest().value();
      ASSERT_TRUE((*source)->Rewind(0).ok());
      Batch batch;
      while (true) {
        ASSERT_TRUE((*source)->Next(1 + random.Below(20), &batch).ok());
        if (batch.samples == 0) break;
        EXPECT_EQ(batch.slots, data.layout.slot_keys.size());
        EXPECT_EQ(batch.dense_width, data.layout.dense_width);
        EXPECT_EQ(batch.weights, std::vector<float>(batch.samples, 1));
        EXPECT_TRUE(batch.key_weights.empty() && batch.bad.empty());
        const auto before = static_cast<uint32_t>(all.keys.size());
        for (size_t i = 1; i < batch.offsets.size(); ++i) {
          all.offsets.push_back(before + batch.offsets[i]);
        }
        all.labels.insert(all.labels.end(), batch.labels.begin(), batch.labels.end());
        all.dense.insert(all.dense.end(), batch.dense.begin(), batch.dense.end());
        all.keys.insert(all.keys.end(), batch.keys.begin(), batch.keys.end());
      }
      EXPECT_EQ((*source)->Progress(), 1);
    }
    EXPECT_EQ(all.labels, data.labels);
    EXPECT_EQ(all.dense, data.dense);
    EXPECT_EQ(all.keys, data.keys);
    EXPECT_EQ(all.offsets, data.offsets);
    auto whole = RawBatches::Open(data.disk, data.paths, data.layout, {}).value();
    EXPECT_EQ(whole->HashOfRest().value(), hash);
    // Another bit or place is another hash.
    std::string& bytes = data.disk.files["f0"];
    bytes[random.Below(bytes.size())] ^= 1;
    whole = RawBatches::Open(data.disk, data.paths, data.layout, {}).value();
    EXPECT_NE(whole->HashOfRest().value(), hash);
  }
}

// More records than a block holds.
TEST(RawBatches, LargeFilesAreReadInBlocks) {
  const RawLayout layout = {.slot_keys = {1000}};
  TextDisk disk;
  std::string& bytes = disk.files["f"];
  for (uint32_t i = 0; i < 700; ++i) {
    Put(static_cast<float>(i % 2), &bytes);
    for (uint32_t k = 0; k < 1000; ++k) Put(1000 * i + k, &bytes);
  }
  auto source = RawBatches::Open(disk, {"f"}, layout, {.threads = 3}).value();
  Batch batch;
  ASSERT_TRUE(source->Next(600, &batch).ok());
  ASSERT_EQ(batch.keys.size(), 600'000U);
  for (uint32_t i = 0; i < 600'000; ++i) ASSERT_EQ(batch.keys[i], Mix64(i));
  ASSERT_TRUE(source->Next(600, &batch).ok());
  EXPECT_EQ(batch.samples, 100U);
  EXPECT_EQ(batch.keys[0], Mix64(600'000));
}

// Threads come to them in any order.
TEST(RawBatches, OfSeveralMistakesTheFirstIsNamed) {
  const RawLayout layout = {.slot_keys = {1000}};
  TextDisk disk;
  std::string& bytes = disk.files["f"];
  for (uint32_t i = 0; i < 700; ++i) {
    Put(i == 300 || i == 450 || i == 690 ? 5.0F : 1.0F, &bytes);
    for (uint32_t k = 0; k < 1000; ++k) Put(k, &bytes);
  }
  for (const int threads : {1, 4}) {
    auto source = RawBatches::Open(disk, {"f"}, layout, {.threads = threads}).value();
    Batch batch;
    EXPECT_THAT(source->Next(700, &batch).message(), HasSubstr("f: byte 1201200: expected"));
  }
}

TEST(RawKey, CanBeUndone) {
  EXPECT_EQ(Unmix64(RawKey(25, 99)), (UINT64_C(25) << 32) + 99);
  EXPECT_EQ(Unmix64(RawKey(0, 0xFFFFFFFF)), 0xFFFFFFFF);
}

TEST(RawBatches, TheOrderOfTheFilesIsAFunctionOfSeedAndEpoch) {
  const RawLayout layout = {.slot_keys = {1}};
  TextDisk disk;
  std::vector<std::string> paths;
  for (uint32_t file = 0; file < 6; ++file) {
    paths.push_back(fmt::format("f{}", file));
    for (uint32_t i = 0; i < 2; ++i) {
      Put(0.0F, &disk.files[paths.back()]);
      Put(10 * file + i, &disk.files[paths.back()]);
    }
  }
  const auto keys_of = [&](BatchSource& source, uint64_t epoch) {
    EXPECT_TRUE(source.Rewind(epoch).ok());
    Batch batch;
    EXPECT_TRUE(source.Next(100, &batch).ok());
    return batch.keys;
  };
  auto one = RawBatches::Open(disk, paths, layout, {.order_seed = 1}).value();
  std::set<std::vector<Key>> orders;
  for (uint64_t epoch = 0; epoch < 8; ++epoch) {
    std::vector<Key> keys = keys_of(*one, epoch);
    orders.insert(keys);
    auto fresh = RawBatches::Open(disk, paths, layout, {.order_seed = 1}).value();
    EXPECT_EQ(keys_of(*fresh, epoch), keys);
    for (size_t i = 0; i < keys.size(); i += 2)
      EXPECT_EQ(Unmix64(keys[i]) + 1, Unmix64(keys[i + 1]));
    std::ranges::sort(keys);
    EXPECT_EQ(std::ranges::unique(keys).size(), 0U);
    EXPECT_EQ(keys.size(), 12U);
  }
  EXPECT_GE(orders.size(), 6U);
}

TEST(RawBatches, PredictionLooksAtNoLabels) {
  const RawLayout layout = {.slot_keys = {1}};
  TextDisk disk;
  Put(std::numeric_limits<float>::quiet_NaN(), &disk.files["f"]);
  Put(uint32_t{5}, &disk.files["f"]);
  auto source = RawBatches::Open(disk, {"f"}, layout, {.labels_required = false}).value();
  Batch batch;
  ASSERT_TRUE(source->Next(10, &batch).ok());
  ASSERT_EQ(batch.samples, 1U);
  EXPECT_TRUE(std::isnan(batch.labels[0]));
  EXPECT_EQ(batch.keys[0], RawKey(0, 5));
}

// One record of a float label, two floats and a key, as words.
std::string Record(float label, float a, float b, uint32_t key) {
  std::string bytes;
  for (const float number : {label, a, b}) Put(number, &bytes);
  Put(key, &bytes);
  return bytes;
}

TEST(RawBatches, MistakesNameFileByteExpectedAndFound) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const RawLayout floats = {.dense_width = 2, .slot_keys = {1}};
  RawLayout ints = floats;
  ints.label = RawNumber::kInt;
  ints.dense = RawNumber::kInt;
  const std::string good = Record(1, 0.5F, -3, 7);
  std::string negative;
  for (const int32_t word : {1, 4, -1, 7}) Put(word, &negative);
  std::string two = negative;
  two[0] = 2;
  const struct {
    std::string bytes;
    const RawLayout& layout;
    std::vector<std::string> texts;
  } cases[] = {
      {"", floats, {"f: the file is empty: expected at least one record"}},
      {good + "xyz",
       floats,
       {"f: has 19 bytes, so that 3 are left behind the last record, from byte 16 on",
        "expected a multiple of 16", "a float label, 2 float numbers and 1 key in 1 slot",
        "give the whole file, or its layout (data.raw_*)"}},
      {good + Record(0.5F, 0, 0, 7),
       floats,
       {"f: byte 16: expected a label that is the float 0 or 1, found 0.5", "records of 16 bytes"}},
      {good + good + Record(nan, 0, 0, 7), floats, {"f: byte 32: ", "found nan"}},
      {good,
       ints,
       {"f: byte 0: expected a label that is the whole number 0 or 1, found 1065353216"}},
      {two, ints, {"f: byte 0: ", "found 2"}},
      {good + Record(1, 0, nan, 7),
       floats,
       {"f: byte 24: expected a finite float as number 2 of 2"}},
      {good + Record(1, -inf, 0, 7), floats, {"f: byte 20: expected a finite float", "found -inf"}},
      {negative,
       ints,
       {"f: byte 8: expected a whole number of at least 0 as number 2 of 2", "found -1"}},
      {Gzip(good), floats, {"f: is compressed", "unpack it first"}},
      {Zstd(good), floats, {"f: is compressed"}},
  };
  for (const auto& c : cases) {
    TextDisk disk;
    disk.files["f"] = c.bytes;
    auto source = RawBatches::Open(disk, {"f"}, c.layout, {});
    Batch batch;
    const Status status = source.ok() ? (*source)->Next(100, &batch) : source.status();
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << c.texts[0];
    for (const std::string& text : c.texts) EXPECT_THAT(status.message(), HasSubstr(text));
  }
  TextDisk disk;
  EXPECT_EQ(RawBatches::Open(disk, {"f"}, floats, {}).status().code(), StatusCode::kNotFound);
  RawLayout placed = floats;
  placed.settings = "data.raw_slots at job.toml:6:1";
  disk.files = {{"f", good + "x"}, {"g", two}};
  EXPECT_THAT(RawBatches::Open(disk, {"f"}, placed, {}).status().message(),
              HasSubstr("or its layout (data.raw_slots at job.toml:6:1)"));
  Batch wrong;
  EXPECT_THAT(RawBatches::Open(disk, {"g"}, placed, {}).value()->Next(1, &wrong).message(),
              HasSubstr("or its layout (data.raw_slots at job.toml:6:1)"));
  disk.files = {{"f", good}, {"g", good + good}};
  auto source = RawBatches::Open(disk, {"f", "g"}, floats, {}).value();
  disk.files["g"] = good;
  Batch batch;
  EXPECT_THAT(source->Next(10, &batch).message(),
              HasSubstr("g: the file ended at byte 16, but had 2 records of 16 bytes"));
}

TEST(RawFeatures, KeepTheLayoutThroughAModelsText) {
  Random random(1);
  for (int round = 0; round < 100; ++round) {
    const RawLayout layout = RandomData(random).layout;
    const std::vector<FittedFeature> features = RawFeatures(layout);
    const auto read = FeaturesFromText(FeaturesToText(features), "f");
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(*read, features);
    const auto found = RawLayoutOf(*read);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->slot_keys, layout.slot_keys);
    EXPECT_EQ(found->dense_width, layout.dense_width);
    EXPECT_TRUE(CheckRawFeatures(layout, *read).ok());
    RawLayout other = layout;
    ++other.slot_keys.back();
    other.settings = "data.raw_keys at job.toml:6:1";
    EXPECT_THAT(CheckRawFeatures(other, *read).message(),
                testing::AllOf(HasSubstr("but the model was trained with"),
                               HasSubstr("; data.raw_keys at job.toml:6:1)")));
    other = layout;
    ++other.dense_width;
    EXPECT_FALSE(CheckRawFeatures(other, *read).ok());
    if (layout.dense_width == 0) continue;
    other = layout;
    other.dense = layout.dense == RawNumber::kInt ? RawNumber::kFloat : RawNumber::kInt;
    EXPECT_FALSE(CheckRawFeatures(other, *read).ok());
  }
  const std::vector<FittedFeature> texts = {
      {.spec = {.column = "slot 0", .kind = FeatureKind::kCategorical}, .boundaries = {}}};
  EXPECT_THAT(CheckRawFeatures({.slot_keys = {1}}, texts).message(),
              HasSubstr("expected a model that was trained with such records, found one with the"));
  const std::string head = "{\"format\":\"strata-features\",\"version\":1,\"features\":1}\n";
  for (const char* keys : {"0", "-1", "65537", "1.5", "\"1\""}) {
    const std::string line =
        fmt::format("{{\"column\":\"slot 0\",\"kind\":\"raw\",\"keys\":{}}}\n", keys);
    EXPECT_THAT(FeaturesFromText(head + line, "f").status().message(),
                HasSubstr("f:2: 'keys' must be an integer from 1 to 65536"));
  }
}

}  // namespace
}  // namespace strata
