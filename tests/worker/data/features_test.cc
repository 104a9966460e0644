#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/worker/text_disk.h"
#include "worker/data/feature/buckets.h"
#include "worker/data/feature/feature.h"
#include "worker/data/feature/feature_statistics.h"
#include "worker/data/text/csv_batches.h"
#include "worker/data/text/csv_reader.h"

namespace strata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Rows per bucket.
std::vector<size_t> Fill(const std::vector<double>& values, const std::vector<double>& cuts) {
  std::vector<size_t> rows(cuts.size() + 1);
  for (double value : values) {
    ++rows[static_cast<size_t>(std::ranges::upper_bound(cuts, value) - cuts.begin())];
  }
  return rows;
}

TEST(CutBuckets, FewValuesAreAllApart) {
  EXPECT_THAT(CutBuckets({}, 4), ElementsAre());
  EXPECT_THAT(CutBuckets({7, 7, 7}, 4), ElementsAre());
  EXPECT_THAT(CutBuckets({1, 3, 3, 3, 3, 3, 3, 9, 3}, 3), ElementsAre(2, 6));
  EXPECT_THAT(CutBuckets({-DBL_MAX, DBL_MAX}, 2), ElementsAre(0));
  const double next = std::nextafter(1.0, 2.0);
  EXPECT_THAT(CutBuckets({1, next}, 2), ElementsAre(next));
}

TEST(CutBuckets, DistinctValuesAreSharedEvenly) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(i);
  EXPECT_THAT(Fill(values, CutBuckets(values, 10)), testing::Each(100U));
}

// 90 % zeros: plain quantiles would leave next to no bucket for the rest.
TEST(CutBuckets, HeavyValueIsKeptApart) {
  std::vector<double> values(9000, 0.0);
  for (int i = 1; i <= 1000; ++i) values.push_back(i % 2 == 0 ? i : -i);
  const std::vector<double> cuts = CutBuckets(values, 11);
  std::vector<size_t> rows = Fill(values, cuts);
  EXPECT_EQ(rows.size(), 11U);
  EXPECT_EQ(std::ranges::count(rows, 9000U), 1);
  EXPECT_EQ(std::ranges::count(rows, 100U), 10);
}

TEST(CutBuckets, RandomValuesKeepTheBounds) {
  Random random(5);
  for (int i = 0; i < 3000; ++i) {
    std::vector<double> values(random.Below(300));
    const uint64_t distinct = 1 + random.Below(60);
    for (double& value : values) {
      value = static_cast<double>(random.Below(distinct)) * static_cast<double>(random.Below(2));
    }
    const size_t buckets = 1 + random.Below(40);
    const std::vector<double> cuts = CutBuckets(values, buckets);
    const std::set<double> different(values.begin(), values.end());
    ASSERT_LT(cuts.size(), buckets);
    ASSERT_TRUE(std::ranges::is_sorted(cuts, std::ranges::less_equal()));
    ASSERT_EQ(std::ranges::count(Fill(values, cuts), 0U), values.empty() ? 1 : 0);
    if (different.size() <= buckets && !values.empty()) {
      ASSERT_EQ(cuts.size() + 1, different.size());
    }
  }
}

TEST(Moments, AgreeWithTwoPassesInAnyGrouping) {
  Random random(3);
  std::vector<double> values(1000);
  for (double& value : values) value = 1e6 + random.Uniform();
  double mean = 1e6;
  for (double value : values) mean += (value - 1e6) / 1000;
  double squares = 0;
  for (double value : values) squares += (value - mean) * (value - mean);
  for (size_t cut : {0, 1, 500, 1000}) {
    Moments moments[2];
    for (size_t i = 0; i < values.size(); ++i) moments[i < cut ? 0 : 1].Add(values[i]);
    moments[0].Merge(moments[1]);
    EXPECT_EQ(moments[0].count, 1000U);
    EXPECT_NEAR(moments[0].mean, mean, 1e-8);
    EXPECT_NEAR(moments[0].Deviation(), std::sqrt(squares / 1000), 1e-9);
  }
  EXPECT_EQ(Moments{}.Deviation(), 0);
}

TEST(RowSample, KeepsTheSmallestHashesInAnyOrder) {
  constexpr uint64_t kRows = 350'000;
  std::vector<uint64_t> hashes;
  for (uint64_t row = 0; row < kRows; ++row) hashes.push_back(Mix64(row));
  std::ranges::sort(hashes);
  RowSample up;
  RowSample down;
  for (uint64_t row = 0; row < kRows; ++row) {
    up.Add(row, static_cast<double>(row));
    down.Add(kRows - 1 - row, static_cast<double>(kRows - 1 - row));
  }
  const std::vector<RowSample::Entry> a = up.Sorted();
  const std::vector<RowSample::Entry> b = down.Sorted();
  ASSERT_EQ(a.size(), RowSample::kRowsMax);
  ASSERT_EQ(b.size(), RowSample::kRowsMax);
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].hash, hashes[i]);
    ASSERT_EQ(b[i].hash, hashes[i]);
    ASSERT_EQ(Mix64(static_cast<uint64_t>(a[i].value)), a[i].hash);
  }
}

DataSpec NumbersSpec() {
  DataSpec spec;
  spec.format.columns = {"a", "b", "c", "y"};
  spec.format.missing = {"?"};
  spec.label = "y";
  spec.features = {
      {.column = "a", .kind = FeatureKind::kNumeric, .log = true, .standardise = true},
      {.column = "a", .kind = FeatureKind::kBucketised, .buckets = 8},
      {.column = "b", .kind = FeatureKind::kNumeric, .standardise = true},
      {.column = "b", .kind = FeatureKind::kNumeric},
      {.column = "c", .kind = FeatureKind::kCategorical},
  };
  return spec;
}

std::string RandomRows(size_t rows) {
  Random random(11);
  std::string text;
  for (size_t i = 0; i < rows; ++i) {
    text += random.Chance(0.1) ? "?" : fmt::format("{}", random.Below(1000));
    text += random.Chance(0.1) ? "," : fmt::format(",{:.3f}", random.Uniform() - 7);
    text += fmt::format(",t{},{}\n", random.Below(5), i % 2);
  }
  return text;
}

FeatureStatistics GatherFrom(TextDisk& disk, const DataSpec& spec, Share share) {
  auto reader = CsvReader::Open(disk, "d.csv", spec, {.share = share});
  EXPECT_TRUE(reader.ok()) << reader.status().ToString();
  Result<FeatureStatistics> statistics = FeatureStatistics::Gather(**reader, spec.features);
  EXPECT_TRUE(statistics.ok()) << statistics.status().ToString();
  return std::move(statistics).value();
}

Result<std::unique_ptr<BatchSource>> BatchesOf(TextDisk& disk, const DataSpec& spec,
                                               const std::vector<FittedFeature>& features) {
  return MakeCsvBatches(disk, OpenCsvFiles(disk, {"d.csv"}, spec, {}).value(), spec, {}, features);
}

TEST(FeatureStatistics, DoNotDependOnTheNumberOfWorkers) {
  TextDisk disk;
  disk.files["d.csv"] = RandomRows(3000);
  const DataSpec spec = NumbersSpec();
  const std::vector<FittedFeature> expected =
      FitFeatures(spec.features, GatherFrom(disk, spec, {}));
  EXPECT_EQ(expected[1].boundaries.size(), 7U);
  for (uint32_t world = 2; world <= 7; ++world) {
    FeatureStatistics merged(spec.features.size());
    for (uint32_t rank = 0; rank < world; ++rank) {
      const FeatureStatistics part = GatherFrom(disk, spec, {rank, world});
      Result<FeatureStatistics> received = FeatureStatistics::Parse(part.Serialize());
      ASSERT_TRUE(received.ok()) << received.status().ToString();
      ASSERT_TRUE(merged.Merge(*received).ok());
    }
    EXPECT_EQ(merged.rows(), 3000U);
    EXPECT_EQ(merged.content_hash(), GatherFrom(disk, spec, {}).content_hash());
    EXPECT_EQ(FitFeatures(spec.features, merged), expected) << world;
  }
}

TEST(FeatureStatistics, EveryFieldAndTheOrderOfTheRowsAreInTheContentHash) {
  TextDisk disk;
  const DataSpec spec = NumbersSpec();
  std::set<uint64_t> hashes;
  for (const char* rows : {"1,2,ta,0\n3,4,tb,1\n", "3,4,tb,1\n1,2,ta,0\n", "1,2,tb,0\n3,4,ta,1\n",
                           "1,2,ta,1\n3,4,tb,0\n", "2,1,ta,0\n3,4,tb,1\n"}) {
    disk.files["d.csv"] = rows;
    hashes.insert(GatherFrom(disk, spec, {}).content_hash());
  }
  EXPECT_EQ(hashes.size(), 5U);
}

TEST(FeatureStatistics, ParseRefusesWhatIsNotWhole) {
  TextDisk disk;
  disk.files["d.csv"] = RandomRows(20);
  std::vector<std::byte> bytes = GatherFrom(disk, NumbersSpec(), {}).Serialize();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Status status = FeatureStatistics::Parse(std::span(bytes).first(size)).status();
    ASSERT_EQ(status.code(), StatusCode::kCorrupt) << size;
  }
  bytes.push_back(std::byte{0});
  EXPECT_EQ(FeatureStatistics::Parse(bytes).status().code(), StatusCode::kCorrupt);
  FeatureStatistics other(2);
  EXPECT_EQ(other.Merge(FeatureStatistics(3)).code(), StatusCode::kInvalid);
}

// Random bytes flipped: an error or some statistics, never a crash.
TEST(FeatureStatistics, ParseOfFlippedBytesIsSafe) {
  TextDisk disk;
  disk.files["d.csv"] = RandomRows(20);
  const std::vector<std::byte> bytes = GatherFrom(disk, NumbersSpec(), {}).Serialize();
  Random random(1);
  for (int i = 0; i < 5000; ++i) {
    std::vector<std::byte> flipped = bytes;
    flipped[random.Below(flipped.size())] ^= std::byte{1} << random.Below(8);
    const Result<FeatureStatistics> parsed = FeatureStatistics::Parse(flipped);
    if (parsed.ok()) {
      EXPECT_LE(parsed->features().size(), 5U);
    }
  }
}

// The whole way of a row, against formulas written down again.
TEST(FeatureEncoder, EncodesLikeTheReference) {
  TextDisk disk;
  const std::string text = RandomRows(500);
  disk.files["d.csv"] = text;
  const DataSpec spec = NumbersSpec();
  const std::vector<FittedFeature> fitted = FitFeatures(spec.features, GatherFrom(disk, spec, {}));
  auto source = BatchesOf(disk, spec, fitted);
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  Batch batch;
  ASSERT_TRUE((*source)->Next(1000, &batch).ok());
  EXPECT_EQ(batch.slots, 2U);
  EXPECT_EQ(batch.dense_width, 3U);
  ASSERT_EQ(batch.samples, 500U);
  ASSERT_EQ(batch.offsets.size(), 1001U);

  std::map<std::string, std::set<Key>> keys;  // of each text or bucket
  size_t begin = 0;
  for (size_t i = 0; i < batch.samples; ++i) {
    const std::string line = text.substr(begin, text.find('\n', begin) - begin);
    begin += line.size() + 1;
    const size_t comma = line.find(',');
    const size_t comma2 = line.find(',', comma + 1);
    const std::string a = line.substr(0, comma);
    const std::string b = line.substr(comma + 1, comma2 - comma - 1);
    const double log_a = a == "?" ? fitted[0].mean : std::log1p(std::stod(a));
    EXPECT_FLOAT_EQ(batch.dense[3 * i],
                    static_cast<float>((log_a - fitted[0].mean) / fitted[0].deviation));
    const double raw_b = b.empty() ? fitted[2].mean : std::stod(b);
    EXPECT_FLOAT_EQ(batch.dense[3 * i + 1],
                    static_cast<float>((raw_b - fitted[2].mean) / fitted[2].deviation));
    EXPECT_FLOAT_EQ(batch.dense[3 * i + 2], static_cast<float>(raw_b));
    int64_t bucket = -1;
    if (a != "?") {
      bucket =
          std::ranges::count_if(fitted[1].boundaries, [&](double x) { return x <= std::stod(a); });
    }
    ASSERT_EQ(batch.offsets[2 * i + 1], 2 * i + 1);
    keys[fmt::format("a{}", bucket)].insert(batch.keys[2 * i]);
    keys[line.substr(comma2 + 1, 2)].insert(batch.keys[2 * i + 1]);
    ASSERT_EQ(batch.labels[i], static_cast<float>(i % 2));
    ASSERT_EQ(batch.weights[i], 1);
  }
  EXPECT_EQ(keys.size(), 9U + 5U);  // 8 buckets and the missing one, 5 texts
  std::set<Key> all;
  for (const auto& [name, set] : keys) {
    EXPECT_EQ(set.size(), 1U) << name;
    all.insert(set.begin(), set.end());
  }
  EXPECT_EQ(all.size(), keys.size());
  ASSERT_TRUE((*source)->Next(10, &batch).ok());
  EXPECT_EQ(batch.samples, 0U);
}

TEST(FeatureEncoder, EqualTextsInTwoSlotsAreTwoKeys) {
  DataSpec spec;
  spec.features = {{.column = "a", .kind = FeatureKind::kCategorical},
                   {.column = "b", .kind = FeatureKind::kCategorical}};
  ColumnPlan plan;
  plan.names = {"a", "b"};
  plan.feature_columns = {0, 1};
  std::vector<FittedFeature> fitted(2);
  fitted[0].spec = spec.features[0];
  fitted[1].spec = spec.features[1];
  const FeatureEncoder encoder(fitted, plan);
  const std::vector<std::string_view> fields[] = {{"x", "x"}, {"", ""}};
  Batch batch;
  encoder.Start(&batch);
  for (const auto& row : fields) encoder.Append({.fields = row, .numbers = {}}, &batch);
  EXPECT_EQ(std::set<Key>(batch.keys.begin(), batch.keys.end()).size(), 4U);
}

TEST(FeatureEncoder, ConstantAndEmptyColumnsStayFinite) {
  TextDisk disk;
  DataSpec spec = NumbersSpec();
  disk.files["d.csv"] = "?,3,t,1\n?,3,t,0\n";
  const std::vector<FittedFeature> fitted = FitFeatures(spec.features, GatherFrom(disk, spec, {}));
  EXPECT_EQ(fitted[0].deviation, 1);
  EXPECT_EQ(fitted[2].deviation, 1);
  disk.files["d.csv"] = "?,3,t,1\n3e38,-3e38,t,0\n";
  auto source = BatchesOf(disk, spec, fitted);
  ASSERT_TRUE(source.ok());
  Batch batch;
  ASSERT_TRUE((*source)->Next(9, &batch).ok());
  for (float x : batch.dense) EXPECT_TRUE(std::isfinite(x));
  EXPECT_EQ(batch.dense[0], 0);
  EXPECT_EQ(batch.dense[1], 0);
}

TEST(FeatureText, RoundTripsExactly) {
  TextDisk disk;
  disk.files["d.csv"] = RandomRows(500);
  const DataSpec spec = NumbersSpec();
  std::vector<FittedFeature> fitted = FitFeatures(spec.features, GatherFrom(disk, spec, {}));
  fitted[0].mean = 0.1 + 0.2;
  fitted[0].deviation = DBL_MIN;
  fitted[4].spec.column = "ü \"quoted\", {tab}\t\n";
  const std::string text = FeaturesToText(fitted);
  const Result<std::vector<FittedFeature>> parsed = FeaturesFromText(text, "features");
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(*parsed, fitted);
  // No prefix is a whole text.
  for (size_t size = 0; size < text.size(); ++size) {
    ASSERT_EQ(FeaturesFromText(text.substr(0, size), "f").status().code(), StatusCode::kCorrupt);
  }
}

TEST(FeatureText, SaysWhatIsWrong) {
  const std::string head = R"({"format":"strata-features","version":1,"features":1})"
                           "\n";
  const std::pair<std::string, const char*> cases[] = {
      {"", "f: 0 features, expected 0: the file is incomplete"},
      {"no json\n", "f:1: this is no JSON"},
      {"[]\n", "f:1: expected a JSON object"},
      {R"({"format":"x","version":1,"features":1})"
       "\n",
       "'format' must be strata-features"},
      {R"({"format":"strata-features","version":2,"features":1})"
       "\n",
       "version 2 is not known"},
      {R"({"format":"strata-features","version":1,"features":-1})"
       "\n",
       "must be a count"},
      {head, "0 features, expected 1"},
      {head + R"({"column":"a"})"
              "\n",
       "f:2: expected a JSON object with the texts"},
      {head + R"({"column":"a","kind":"other"})"
              "\n",
       "unknown kind 'other'"},
      {head + R"({"column":"a","kind":"categorical","x":1})"
              "\n",
       "unknown member 'x'"},
      {head + R"({"column":"a","kind":"bucketised","buckets":4})"
              "\n",
       "'boundaries' is missing"},
      {head + R"({"column":"a","kind":"bucketised","buckets":1,"boundaries":[]})"
              "\n",
       "from 2 to"},
      {head + R"({"column":"a","kind":"bucketised","buckets":4,"boundaries":[1,1]})"
              "\n",
       "ascend"},
      {head + R"({"column":"a","kind":"bucketised","buckets":2,"boundaries":[1,2]})"
              "\n",
       "fewer"},
      {head + R"({"column":"a","kind":"bucketised","buckets":4,"boundaries":["1"]})"
              "\n",
       "finite"},
      {head + R"({"column":"a","kind":"numeric","log":1,"standardise":true,"mean":0,"deviation":1})"
              "\n",
       "'log' must be true or false"},
      {head +
           R"({"column":"a","kind":"numeric","log":true,"standardise":true,"mean":0,"deviation":0})"
           "\n",
       "'deviation' must be above 0"},
      {head + R"({"column":"a","kind":"numeric","log":true,"standardise":true,"mean":1e999,)"
              R"("deviation":1})"
              "\n",
       "f:2: "},
  };
  for (const auto& [text, message] : cases) {
    const Result<std::vector<FittedFeature>> parsed = FeaturesFromText(text, "f");
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code(), StatusCode::kCorrupt);
    EXPECT_THAT(parsed.status().message(), HasSubstr(message));
  }
}

// Random damage: an error, or features that can be written and read again.
TEST(FeatureText, DamagedTextIsSafe) {
  TextDisk disk;
  disk.files["d.csv"] = RandomRows(100);
  const DataSpec spec = NumbersSpec();
  const std::string text = FeaturesToText(FitFeatures(spec.features, GatherFrom(disk, spec, {})));
  Random random(8);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = text;
    for (uint64_t n = 1 + random.Below(3); n > 0; --n) {
      damaged[random.Below(damaged.size())] = static_cast<char>(random.Below(256));
    }
    const Result<std::vector<FittedFeature>> parsed = FeaturesFromText(damaged, "f");
    if (!parsed.ok()) continue;
    const Result<std::vector<FittedFeature>> again = FeaturesFromText(FeaturesToText(*parsed), "f");
    ASSERT_TRUE(again.ok()) << again.status().ToString();
    ASSERT_EQ(*again, *parsed);
  }
}

TEST(CsvBatches, RefuseOtherFeatures) {
  TextDisk disk;
  disk.files["d.csv"] = "1,2,t,1\n";
  const DataSpec spec = NumbersSpec();
  std::vector<FittedFeature> fitted = FitFeatures(spec.features, GatherFrom(disk, spec, {}));
  const auto make = [&] { return BatchesOf(disk, spec, fitted).status(); };
  EXPECT_TRUE(make().ok());
  fitted[1].spec.buckets = 9;
  EXPECT_THAT(make().message(),
              HasSubstr("[[feature]]: feature 2 is bucketised 'a' (buckets 8) in the job file, but "
                        "bucketised 'a' (buckets 9) in the model"));
  fitted.resize(1);
  EXPECT_THAT(make().message(), HasSubstr("5 features, but the model was trained with 1"));
}

}  // namespace
}  // namespace strata
