// Sparse rows: lines of libffm and libsvm, their fields, and the batches that they become.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/worker/text_disk.h"
#include "worker/data/feature/feature_key.h"
#include "worker/data/sparse/sparse_batches.h"
#include "worker/data/sparse/sparse_fields.h"
#include "worker/data/sparse/sparse_line.h"
#include "worker/data/sparse/sparse_reader.h"
#include "worker/data/text/csv_batches.h"

namespace strata {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr SparseFormat kFfm = SparseFormat::kLibffm;
constexpr SparseFormat kSvm = SparseFormat::kLibsvm;

DataSpec SparseSpec(SparseFormat format) {
  DataSpec spec;
  spec.sparse = format;
  return spec;
}

// "label|field:text:weight ...", or the reason.
std::string Split(std::string_view line, SparseFormat format) {
  SparseLine parts;
  const std::string reason = SplitSparseLine(line, format, &parts);
  if (!reason.empty()) return reason;
  std::string text = std::string(parts.label) + "|";
  for (const SparseValue& value : parts.values) {
    text += fmt::format("{}:{}:{} ", value.field, value.text, value.weight);
  }
  return text;
}

TEST(SparseLine, SplitsGoodLines) {
  EXPECT_EQ(Split("1 0:7:0.5 2:x_y:-1e2", kFfm), "1|0:7:0.5 2:x_y:-100 ");
  EXPECT_EQ(Split(" \t-1  4294967295:#a:+3\t0:007:1 \t", kFfm), "-1|4294967295:#a:3 0:007:1 ");
  EXPECT_EQ(Split("0", kFfm), "0|");
  EXPECT_EQ(Split("3:4:5", kFfm), "|3:4:5 ");
  EXPECT_EQ(Split("+1 3:1 10:0.25", kSvm), "+1|0:3:1 0:10:0.25 ");
  EXPECT_EQ(Split("1 qid:8 007:1 000:2 # 9:9 and more", kSvm), "1|0:7:1 0:0:2 ");
  EXPECT_EQ(Split("qid:8 7:1#", kSvm), "|0:7:1 ");
  EXPECT_EQ(Split("1 # none", kSvm), "1|");
  EXPECT_TRUE(IsSkippedSparseLine(" \t# all of it", kSvm));
  EXPECT_TRUE(IsSkippedSparseLine("  ", kFfm));
  EXPECT_FALSE(IsSkippedSparseLine("# no comment", kFfm));
}

TEST(SparseLine, SaysWhyALineIsNone) {
  const std::tuple<const char*, SparseFormat, const char*> cases[] = {
      {"1 0:7", kFfm, "'0:7': expected field:feature:value"},
      {"1 0:7:1:1", kFfm, "'0:7:1:1': expected field:feature:value"},
      {"1 7", kFfm, "'7': expected field:feature:value"},
      {"1 x:7:1", kFfm, "'x:7:1': the field is no whole number from 0 to 4294967295"},
      {"1 -1:7:1", kFfm, "the field is no whole number"},
      {"1 4294967296:7:1", kFfm, "the field is no whole number"},
      {"1 :7:1", kFfm, "the field is no whole number"},
      {"1 0::1", kFfm, "'0::1': the feature is empty"},
      {"1 0:7:", kFfm, "'0:7:': the value is no finite number"},
      {"1 0:7:nan", kFfm, "the value is no finite number"},
      {"1 0:7:1e39", kFfm, "the value is no finite number"},
      {"1 qid:1 0:7:1", kFfm, "'qid:1': expected field:feature:value"},
      {"1 0:7:1", kSvm, "'0:7:1': expected index:value"},
      {"1 7", kSvm, "'7': expected index:value"},
      {"1 x:1", kSvm, "'x:1': the index is no whole number"},
      {"1 :1", kSvm, "the index is no whole number"},
      {"1 7:x", kSvm, "the value is no finite number"},
      {"1 qid:x 7:1", kSvm, "'qid:x': the query is no whole number"},
      {"1 7:1 qid:1", kSvm, "'qid:1': the index is no whole number"},
  };
  for (const auto& [line, format, reason] : cases) {
    EXPECT_THAT(Split(line, format), HasSubstr(reason)) << line;
  }
}

// The rows of a file as "label|field:text:weight ...", or its bad reason; and the error.
struct SparseRows {
  std::vector<std::string> rows;
  Status status;
  uint64_t bad = 0;
};

SparseRows ReadSparse(const std::string& text, const DataSpec& spec, TextOptions options = {}) {
  TextDisk disk;
  disk.files["d.txt"] = text;
  options.log_bad_lines = false;
  auto reader = SparseReader::Open(disk, "d.txt", spec, options);
  if (!reader.ok()) return {{}, reader.status()};
  SparseRows read;
  SparseRow row;
  while (true) {
    const Result<bool> more = (*reader)->Next(&row);
    read.status = more.status();
    read.bad = (*reader)->bad_rows();
    if (!more.ok() || !*more) return read;
    std::string shown = row.bad.empty() ? fmt::format("{}|", row.label) : std::string(row.bad);
    for (const SparseValue& value : row.values) {
      shown += fmt::format("{}:{}:{} ", value.field, value.text, value.weight);
    }
    read.rows.push_back(shown);
  }
}

TEST(SparseReader, ReadsLabelsAndSkipsComments) {
  const std::string lines = "1 3:1\r\n# a comment\n\n-1 3:2\n+1 4:1 # more\n0.0 5:1\n1.0";
  EXPECT_THAT(ReadSparse(lines, SparseSpec(kSvm)).rows,
              ElementsAre("1|0:3:1 ", "0|0:3:2 ", "1|0:4:1 ", "0|0:5:1 ", "1|"));
  DataSpec texts = SparseSpec(kFfm);
  texts.label_positive = {"2", "click"};
  texts.label_negative = {"1"};
  EXPECT_THAT(ReadSparse("2 0:a:1\n1 0:a:1\nclick\n", texts).rows,
              ElementsAre("1|0:a:1 ", "0|0:a:1 ", "1|"));
  // Labels that are not required may be missing, or be any word.
  EXPECT_THAT(ReadSparse("3:1\n? 4:1\n", SparseSpec(kSvm), {.labels_required = false}).rows,
              ElementsAre("nan|0:3:1 ", "nan|0:4:1 "));
}

TEST(SparseReader, BadLinesHaveAPlaceAndAReason) {
  DataSpec spec = SparseSpec(kFfm);
  const std::pair<const char*, const char*> cases[] = {
      {"1 0:a:1\n1 0:a\n", "d.txt:2: '0:a': expected field:feature:value"},
      {"0:a:1\n", "d.txt:1: the label is missing"},
      {"2 0:a:1\n", "d.txt:1: the label '2' is neither 0 nor 1, nor -1 or +1"},
      {"-2 0:a:1\n", "the label '-2' is neither 0 nor 1, nor -1 or +1"},
      {"\n\nx 0:a:1\n", "d.txt:3: the label 'x' is neither 0 nor 1"},
      {"1 0:a:1\n\xef\xbb\xbf"
       "1 0:a:1\n",
       "d.txt:2: a byte order mark"},
      {"1 0:1\n", "The first line looks like libsvm: set data.format = \"libsvm\"."},
      {"label,x\n1,2\n", "'label,x'"},
      {"{\"label\": 1}\n", "The first line looks like JSON"},
  };
  for (const auto& [text, message] : cases) {
    const SparseRows read = ReadSparse(text, spec);
    EXPECT_EQ(read.status.code(), StatusCode::kInvalid) << text;
    EXPECT_THAT(read.status.message(), HasSubstr(message));
  }
  EXPECT_THAT(ReadSparse("1 0:1:1\n", SparseSpec(kSvm)).status.message(),
              HasSubstr("The first line looks like libffm: set data.format = \"libffm\"."));
  EXPECT_THAT(ReadSparse("", spec).status.message(), HasSubstr("d.txt: the file is empty"));

  spec.format.bad_share_max = 0.5;
  const std::string two_bad = "1 0:a:1\n1 x\n0 0:b:1\n1 y\n";
  const SparseRows left_out = ReadSparse(two_bad, spec);
  EXPECT_TRUE(left_out.status.ok()) << left_out.status.ToString();
  EXPECT_THAT(left_out.rows, ElementsAre("1|0:a:1 ", "0|0:b:1 "));
  EXPECT_EQ(left_out.bad, 2U);
  EXPECT_THAT(
      ReadSparse(two_bad, spec, {.keep_bad_rows = true}).rows,
      ElementsAre("1|0:a:1 ", HasSubstr("d.txt:2: 'x'"), "0|0:b:1 ", HasSubstr("d.txt:4: 'y'")));
  spec.format.bad_share_max = 0.4;
  EXPECT_THAT(ReadSparse(two_bad, spec).status.message(),
              HasSubstr("d.txt: 2 of the first 4 lines cannot be read"));
}

SparseStatistics GatherSparse(TextDisk& disk, SparseFormat format, Share share = {}) {
  auto reader = SparseReader::Open(disk, "d.txt", SparseSpec(format), {.share = share});
  EXPECT_TRUE(reader.ok()) << reader.status().ToString();
  Result<SparseStatistics> statistics = SparseStatistics::Gather(**reader);
  EXPECT_TRUE(statistics.ok()) << statistics.status().ToString();
  return statistics.ok() ? std::move(statistics).value() : SparseStatistics();
}

std::unique_ptr<BatchSource> OpenSparse(TextDisk& disk, SparseFormat format,
                                        const std::vector<FittedFeature>& features,
                                        TextOptions options = {}) {
  const DataSpec spec = SparseSpec(format);
  auto source = MakeSparseBatches(disk, OpenSparseFiles(disk, {"d.txt"}, spec, options).value(),
                                  spec, options, features);
  EXPECT_TRUE(source.ok()) << source.status().ToString();
  return std::move(source).value();
}

// What a sample should be, by field: its keys and their weights in the order of the line.
struct ExpectedSample {
  float label = 0;
  std::map<uint32_t, std::vector<std::pair<Key, float>>> values;
};

constexpr uint32_t kSomeFields[] = {0, 3, 4, 11, 4000000000};

// Lines with up to six values in no order, fields of which some repeat and some are missing.
std::string RandomFfm(uint64_t seed, int lines, std::vector<ExpectedSample>* expected) {
  Random random(seed);
  std::string text;
  for (int i = 0; i < lines; ++i) {
    ExpectedSample sample;
    sample.label = random.Chance(0.5) ? 1 : 0;
    text += sample.label == 1 ? "+1" : "-1";
    for (uint64_t n = random.Below(7); n > 0; --n) {
      const uint32_t field = kSomeFields[random.Below(std::size(kSomeFields))];
      const std::string feature = fmt::format("f{}", random.Below(9));
      const float weight = random.Chance(0.5) ? 1 : static_cast<float>(random.Below(1000)) / 8 - 60;
      text += fmt::format(" {}:{}:{}", field, feature, weight);
      const uint64_t salt = FeatureSalt(fmt::format("{}", field), FeatureKind::kCategorical);
      sample.values[field].emplace_back(TextKey(salt, feature), weight);
    }
    text += '\n';
    expected->push_back(sample);
  }
  return text;
}

void ExpectSamples(const Batch& batch, const std::vector<ExpectedSample>& expected, size_t first) {
  ASSERT_EQ(batch.slots, std::size(kSomeFields));
  ASSERT_EQ(batch.offsets.size(), batch.samples * batch.slots + 1);
  ASSERT_EQ(batch.labels.size(), batch.samples);
  ASSERT_EQ(batch.weights, std::vector<float>(batch.samples, 1.0F));
  EXPECT_EQ(batch.dense_width, 0U);
  ASSERT_TRUE(batch.key_weights.empty() || batch.key_weights.size() == batch.keys.size());
  for (size_t i = 0; i < batch.samples; ++i) {
    ExpectedSample sample = expected[first + i];
    EXPECT_EQ(batch.labels[i], sample.label);
    for (size_t s = 0; s < batch.slots; ++s) {
      std::vector<std::pair<Key, float>> values;
      for (size_t k = batch.offsets[i * batch.slots + s];
           k < batch.offsets[i * batch.slots + s + 1]; ++k) {
        values.emplace_back(batch.keys[k], batch.key_weights.empty() ? 1 : batch.key_weights[k]);
      }
      EXPECT_EQ(values, sample.values[kSomeFields[s]]) << "sample " << i << ", slot " << s;
    }
  }
}

TEST(SparseBatches, AgreeWithThePlainReferenceInAnyNumberOfShares) {
  TextDisk disk;
  std::vector<ExpectedSample> expected;
  disk.files["d.txt"] = RandomFfm(11, 400, &expected);
  const SparseStatistics whole = GatherSparse(disk, kFfm);
  EXPECT_EQ(whole.rows, 400U);
  EXPECT_THAT(whole.fields.all(), testing::ElementsAreArray(kSomeFields));
  const std::vector<FittedFeature> features = FeaturesOfFields(kFfm, whole.fields);
  for (const uint32_t world : {1U, 3U}) {
    size_t read = 0;
    SparseStatistics merged;
    for (uint32_t rank = 0; rank < world; ++rank) {
      const Share share = {rank, world};
      ASSERT_TRUE(merged.AddSerialized(GatherSparse(disk, kFfm, share).Serialize()).ok());
      const auto source = OpenSparse(disk, kFfm, features, {.share = share, .block_bytes = 64});
      Batch batch;
      for (size_t size = 1; true; size = size * 2 % 63) {
        ASSERT_TRUE(source->Next(size, &batch).ok());
        if (batch.samples == 0) break;
        EXPECT_LE(batch.samples, size);
        ExpectSamples(batch, expected, read);
        read += batch.samples;
      }
      ASSERT_TRUE(source->Rewind(1).ok());
      ASSERT_TRUE(source->Next(1, &batch).ok());
      EXPECT_EQ(batch.samples, 1U);
    }
    EXPECT_EQ(read, 400U);
    EXPECT_EQ(merged.rows, whole.rows);
    EXPECT_EQ(merged.content_hash, whole.content_hash);
    EXPECT_THAT(merged.fields.all(), testing::ElementsAreArray(whole.fields.all()));
  }
}

// One value of weight 1 in each field: a row of categorical columns that have the fields' names.
TEST(SparseBatches, OneValueAFieldIsARowOfCategories) {
  Random random(5);
  TextDisk disk;
  for (int i = 0; i < 100; ++i) {
    const uint64_t a = random.Below(10);
    const uint64_t b = random.Below(10);
    disk.files["d.txt"] += fmt::format("{} 7:b{}:1 2:a{}:1.0\n", i % 2, b, a);
    disk.files["d.csv"] += fmt::format("a{},b{},{}\n", a, b, i % 2);
  }
  DataSpec spec;
  spec.format.columns = {"2", "7", "y"};
  spec.label = "y";
  spec.features = {{.column = "2", .kind = FeatureKind::kCategorical},
                   {.column = "7", .kind = FeatureKind::kCategorical}};
  const std::vector<FittedFeature> features =
      FeaturesOfFields(kFfm, GatherSparse(disk, kFfm).fields);
  auto rows =
      MakeCsvBatches(disk, OpenCsvFiles(disk, {"d.csv"}, spec, {}).value(), spec, {}, features);
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  Batch of_csv;
  Batch sparse;
  ASSERT_TRUE((*rows)->Next(1000, &of_csv).ok());
  ASSERT_TRUE(OpenSparse(disk, kFfm, features)->Next(1000, &sparse).ok());
  EXPECT_EQ(sparse.samples, 100U);
  EXPECT_EQ(sparse.slots, of_csv.slots);
  EXPECT_EQ(sparse.offsets, of_csv.offsets);
  EXPECT_EQ(sparse.keys, of_csv.keys);
  EXPECT_EQ(sparse.labels, of_csv.labels);
  EXPECT_EQ(sparse.weights, of_csv.weights);
  EXPECT_TRUE(sparse.key_weights.empty());
}

TEST(SparseBatches, LibsvmHasOneSlot) {
  TextDisk disk;
  disk.files["d.txt"] = "1 9:0.5 3:1 9:1\n0\n";
  const std::vector<FittedFeature> features =
      FeaturesOfFields(kSvm, GatherSparse(disk, kSvm).fields);
  ASSERT_EQ(features.size(), 1U);
  EXPECT_EQ(features[0].spec.column, "index");
  Batch batch;
  ASSERT_TRUE(OpenSparse(disk, kSvm, features)->Next(9, &batch).ok());
  const uint64_t salt = FeatureSalt("index", FeatureKind::kCategorical);
  EXPECT_THAT(batch.keys, ElementsAre(TextKey(salt, "9"), TextKey(salt, "3"), TextKey(salt, "9")));
  EXPECT_THAT(batch.key_weights, ElementsAre(0.5F, 1.0F, 1.0F));
  EXPECT_THAT(batch.offsets, ElementsAre(0, 3, 3));
}

TEST(SparseBatches, AFieldThatTheModelDoesNotKnowIsNamed) {
  TextDisk disk;
  disk.files["d.txt"] = "1 0:a:1 2:b:1\n";
  const std::vector<FittedFeature> features =
      FeaturesOfFields(kFfm, GatherSparse(disk, kFfm).fields);
  disk.files["d.txt"] = "1 0:a:1\n0 2:b:1 1:c:1\n";
  Batch batch;
  const Status status = OpenSparse(disk, kFfm, features)->Next(9, &batch);
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_THAT(status.message(),
              HasSubstr("d.txt:2: field 1 is not among the 2 fields that the model was trained"));
}

TEST(SparseBatches, ARowThatCannotBeReadMayKeepItsPlace) {
  TextDisk disk;
  disk.files["d.txt"] = "0:a:0.5\n0:a\nx 0:b:1\n";
  DataSpec spec = SparseSpec(kFfm);
  spec.format.bad_share_max = 1;
  SparseFields fields;
  ASSERT_TRUE(fields.Add(0).ok());
  const TextOptions options = {.labels_required = false, .keep_bad_rows = true};
  auto source = MakeSparseBatches(disk, OpenSparseFiles(disk, {"d.txt"}, spec, options).value(),
                                  spec, options, FeaturesOfFields(kFfm, fields));
  Batch batch;
  ASSERT_TRUE((*source)->Next(9, &batch).ok());
  EXPECT_EQ(batch.samples, 3U);
  EXPECT_THAT(batch.offsets, ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(batch.key_weights, ElementsAre(0.5F, 1.0F));
  ASSERT_EQ(batch.bad.size(), 1U);
  EXPECT_EQ(batch.bad[0].row, 1U);
  EXPECT_THAT(batch.bad[0].reason, HasSubstr("d.txt:2: '0:a'"));
  EXPECT_TRUE(std::isnan(batch.labels[1]));
}

TEST(SparseFields, AModelOfOtherRowsIsRefused) {
  const auto feature = [](std::string column, FeatureKind kind = FeatureKind::kCategorical) {
    return FittedFeature{.spec = {.column = std::move(column), .kind = kind}, .boundaries = {}};
  };
  EXPECT_TRUE(FieldsOfFeatures(kFfm, std::vector{feature("0"), feature("10")}).ok());
  EXPECT_TRUE(FieldsOfFeatures(kSvm, std::vector{feature("index")}).ok());
  const std::pair<SparseFormat, std::vector<FittedFeature>> cases[] = {
      {kFfm, {feature("age")}},
      {kFfm, {feature("")}},
      {kFfm, {feature("01")}},
      {kFfm, {feature("4294967296")}},
      {kFfm, {feature("index")}},
      {kFfm, {feature("1"), feature("0")}},
      {kFfm, {feature("1"), feature("1")}},
      {kFfm, {feature("1", FeatureKind::kNumeric)}},
      {kSvm, {feature("0")}},
      {kSvm, {feature("index"), feature("index")}},
  };
  for (const auto& [format, features] : cases) {
    const Status status = FieldsOfFeatures(format, features).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << features[0].spec.column;
    EXPECT_THAT(status.message(), HasSubstr("expected a model that was trained with such rows"));
  }
}

TEST(SparseFields, AreBoundedAndFoundInAnyOrder) {
  SparseFields fields;
  std::set<uint32_t> all;
  Random random(2);
  while (all.size() < SparseFields::kFieldsMax) {
    const auto field = static_cast<uint32_t>(random.Below(UINT32_MAX));
    all.insert(field);
    ASSERT_TRUE(fields.Add(field).ok());
  }
  EXPECT_THAT(fields.all(), testing::ElementsAreArray(all));
  for (int i = 0; i < 1000; ++i) {
    const uint32_t field = fields.all()[random.Below(fields.all().size())];
    EXPECT_EQ(fields.all()[fields.SlotOf(field).value()], field);
    EXPECT_EQ(fields.SlotOf(field + 1).has_value(), all.contains(field + 1));
  }
  uint32_t other = 0;
  while (all.contains(other)) ++other;
  EXPECT_THAT(fields.Add(other).message(), HasSubstr("is one too many: expected at most 65536"));
  EXPECT_TRUE(fields.Add(*all.begin()).ok());
}

TEST(SparseFields, DamagedStatisticsAreRefused) {
  TextDisk disk;
  disk.files["d.txt"] = "1 0:a:1 2:b:1\n";
  const std::vector<std::byte> good = GatherSparse(disk, kFfm).Serialize();
  for (size_t size = 0; size < good.size(); ++size) {
    SparseStatistics statistics;
    const Status status = statistics.AddSerialized(std::span(good).first(size));
    // At the end of a field the bytes are those of fewer fields.
    const bool whole = size >= 24 && size % 8 == 0;
    EXPECT_EQ(status.code(), whole ? StatusCode::kOk : StatusCode::kCorrupt) << size;
  }
  for (const size_t place : {0U, 28U, 32U}) {
    std::vector<std::byte> damaged = good;
    damaged[place] ^= place == 32U ? std::byte{2} : std::byte{1};  // a second field 0
    SparseStatistics statistics;
    EXPECT_EQ(statistics.AddSerialized(damaged).code(), StatusCode::kCorrupt) << place;
  }
}

}  // namespace
}  // namespace strata
