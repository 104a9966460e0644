#include "worker/gbdt/data/job_rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/worker/text_disk.h"
#include "worker/gbdt/data/tree_dataset.h"

namespace strata {
namespace {

DataSpec Spec() {
  DataSpec spec;
  spec.format.columns = {"y", "city", "q", "age in years", "w", "kind"};
  spec.format.missing = {"?"};
  FeatureSpec feature = {.column = "age in years", .kind = FeatureKind::kNumeric};
  spec.features.push_back(feature);
  feature.kind = FeatureKind::kCategorical;
  for (const char* column : {"city", "kind"}) {
    feature.column = column;
    spec.features.push_back(feature);
  }
  spec.label = "y";
  spec.label_is_number = true;
  spec.weight = "w";
  spec.query = "q";
  return spec;
}

constexpr const char* kData =
    "2.5,Rome,1,30,1,b\n-1,Bern,1,?,2,a\n0,?,3,0,0.5,b\n7,Rome,3,12,1,\"a,b\"\n";

// All values, row by row, with what is not there as 0.
std::vector<double> Values(RowSource& rows, SparseRows* block) {
  EXPECT_TRUE(rows.Next(block).ok());
  std::vector<double> all(block->rows() * rows.features(), 0);
  for (size_t row = 0; row < block->rows(); ++row) {
    for (size_t i = block->begins[row]; i < block->begins[row + 1]; ++i) {
      all[row * rows.features() + block->columns[i]] = block->values[i];
    }
  }
  return all;
}

TEST(JobRows, TextsBecomeNumbersByTheirOrder) {
  TextDisk disk;
  disk.files["d"] = kData;
  const auto rows = JobRows::Open(disk, "d", Spec(), {});
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  ASSERT_TRUE((*rows)->FindCategories(nullptr).ok());
  EXPECT_EQ((*rows)->Categories(), (CategoryTexts{{"Bern", "Rome"}, {"a", "a,b", "b"}}));
  EXPECT_EQ((*rows)->FeatureNames(), (std::vector<std::string>{"age in years", "city", "kind"}));
  for (int pass = 0; pass < 2; ++pass) {
    SparseRows block;
    const std::vector<double> values = Values(**rows, &block);
    ASSERT_EQ(values.size(), 12U);
    const double nan = std::nan("");
    const double expected[] = {30, 1, 2, nan, 0, 0, 0, nan, 2, 12, 1, 1};
    for (size_t i = 0; i < 12; ++i) {
      EXPECT_TRUE(values[i] == expected[i] || (std::isnan(values[i]) && std::isnan(expected[i])))
          << i << ": " << values[i];
    }
    EXPECT_EQ(block.labels, (std::vector<float>{2.5, -1, 0, 7}));
    EXPECT_EQ(block.weights, (std::vector<float>{1, 2, 0.5, 1}));
    EXPECT_EQ(block.queries, (std::vector<int64_t>{1, 1, 3, 3}));
    ASSERT_TRUE((*rows)->Rewind().ok());
  }
}

TEST(JobRows, AModelsTextsHoldAndOthersAreMissing) {
  TextDisk disk;
  disk.files["d"] = kData;
  const CategoryTexts known = {{"Rome", "Oslo"}, {"b"}};
  const auto rows = JobRows::Open(disk, "d", Spec(), {.known = &known});
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  SparseRows block;
  const std::vector<double> values = Values(**rows, &block);
  EXPECT_EQ(values[1], 0);
  EXPECT_TRUE(std::isnan(values[4]));
  EXPECT_TRUE(std::isnan(values[5]));
  // Unless they are asked for: then they stand behind the model's.
  ASSERT_TRUE((*rows)->FindCategories(nullptr).ok());
  EXPECT_EQ((*rows)->Categories(), (CategoryTexts{{"Rome", "Oslo", "Bern"}, {"b", "a", "a,b"}}));
  EXPECT_EQ(Values(**rows, &block)[4], 2);
  const CategoryTexts one = {{"Rome"}};
  const auto other = JobRows::Open(disk, "d", Spec(), {.known = &one});
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.status().message().find("2 categorical features, the model 1"),
            std::string::npos);
}

// Parts join to the whole, as parts of other files do.
TEST(JobRows, PartsAreTheirRows) {
  TextDisk disk;
  disk.files["d"] = kData;
  const auto rows = JobRows::Open(disk, "d", Spec(), {});
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  const auto labels = [&](const RowPart& part) {
    EXPECT_TRUE((*rows)->TakePart(part).ok());
    SparseRows block;
    EXPECT_TRUE((*rows)->Next(&block).ok());
    return block.labels;
  };
  std::vector<float> joined;
  for (const uint32_t rank : {0U, 1U, 2U}) {
    const std::vector<float> part = labels({.share = {.rank = rank, .world = 3}});
    joined.insert(joined.end(), part.begin(), part.end());
  }
  EXPECT_EQ(joined, (std::vector<float>{2.5, -1, 0, 7}));
  // From the second row on three, which go beyond the part.
  EXPECT_EQ(labels({.share = {.rank = 0, .world = 2}, .skip = 1, .rows = 3}),
            (std::vector<float>{-1, 0, 7}));
  EXPECT_EQ(labels({.share = {.rank = 0, .world = 2}, .skip = 0, .rows = 1}),
            (std::vector<float>{2.5}));
}

TEST(JobRows, LabelsMayBeMissingWhereNothingIsLearned) {
  TextDisk disk;
  disk.files["d"] = ",Rome,1,30,1,b\n";
  const auto rows = JobRows::Open(disk, "d", Spec(), {.labels_required = false});
  ASSERT_TRUE(rows.ok());
  SparseRows block;
  EXPECT_TRUE((*rows)->Next(&block).ok());
  EXPECT_EQ(block.rows(), 1U);
  DataSpec spec = Spec();
  spec.format.bad_share_max = 0;
  disk.files["d"] = "1,Rome,one,30,1,b\n";
  const auto bad = JobRows::Open(disk, "d", spec, {});
  ASSERT_TRUE(bad.ok());
  EXPECT_FALSE((*bad)->Next(&block).ok()) << "a query that is no number";
}

// Four rows with bad ones before, between and after them.
std::string WithBadRows() {
  std::string text = kData;
  text.insert(text.find("-1,Bern"), "9,Rome\n");
  return "bad\n" + text + "7,Rome,3,x,1,b\n";
}

TEST(JobRows, ToPredictForARowThatCannotBeReadKeepsItsPlace) {
  TextDisk disk;
  disk.files["d"] = WithBadRows();
  DataSpec spec = Spec();
  spec.format.bad_share_max = 0.5;
  const CategoryTexts known = {{"Rome"}, {"b"}};
  const auto rows = JobRows::Open(disk, "d", spec, {.known = &known, .labels_required = false});
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  SparseRows block;
  ASSERT_TRUE((*rows)->Next(&block).ok());
  EXPECT_EQ(block.rows(), 7U);
  std::vector<size_t> bad;
  for (const BadRow& row : block.bad) bad.push_back(row.row);
  ASSERT_EQ(bad, (std::vector<size_t>{0, 2, 6}));
  EXPECT_EQ(block.bad[1].reason, "d:3: 2 columns, expected 6");
}

// Side files count the rows of the file: what belongs to a bad row goes with it.
TEST(JobRows, SideFilesHaveLinesForBadRowsToo) {
  TextDisk disk;
  disk.files["d"] = WithBadRows();
  disk.files["d.weight"] =
      "\xef\xbb\xbf"
      "9\n1\n9\n2\n3\n4\n9\n";
  disk.files["d.init"] = "9\n-1\n9\n-2\n-3\n-4\n9\n";
  disk.files["d.query"] = "3\n2\n2\n";
  DataSpec spec = Spec();
  spec.format.bad_share_max = 0.5;
  spec.weight = spec.query = "";
  spec.ignore = {"w", "q"};
  const auto rows = JobRows::Open(disk, "d", spec, {});
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  const auto pool = WorkPool::Start("test", 1);
  ASSERT_TRUE(pool.ok());
  const DatasetOptions options = {.binning = {.min_data_in_bin = 1, .pre_filter = false},
                                  .categorical = {"1", "2"}};
  const auto data = LoadTreeDataset(disk, **rows, "d", options, nullptr, **pool);
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_EQ(data->labels, (std::vector<float>{2.5, -1, 0, 7}));
  EXPECT_EQ(data->weights, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(data->init_scores, (std::vector<double>{-1, -2, -3, -4}));
  EXPECT_EQ(data->query_begins, (std::vector<size_t>{0, 1, 3, 4}));
  EXPECT_EQ(data->bad_rows, 3U);
  EXPECT_EQ(data->WhereIs(0), "d: row 2");
  EXPECT_EQ(data->WhereIs(3), "d: row 6");
  disk.files["d.weight"] = "1\n2\n3\n4\n";
  const auto shorter = LoadTreeDataset(disk, **rows, "d", options, nullptr, **pool);
  EXPECT_EQ(shorter.status().message(),
            "d.weight: 4 weights, but the data has 7 rows, with 3 that cannot be read; side files "
            "count those, too: expected as many");
}

TEST(JobRows, ACategoryThatAModelCannotKeepIsNamed) {
  TextDisk disk;
  disk.files["d"] = "1,Rome,1,30,1,b\n1,M\xfcnchen,1,30,1,b\n";
  const auto rows = JobRows::Open(disk, "d", Spec(), {});
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ((*rows)->FindCategories(nullptr).message(),
            "d: column 'city': the category in the line at byte 16 is no UTF-8 text, and a model "
            "cannot keep it: convert the file");
}

TEST(JobRows, ToApplyAModelACategoryThatIsNoUtf8IsMissingAndWarnedOfOnce) {
  TextDisk disk;
  disk.files["d"] = "1,Rome,1,30,1,b\n1,M\xfcnchen,1,30,1,b\n1,M\xfcnchen,1,30,1,b\n";
  const CategoryTexts known = {{"Rome"}, {"b"}};
  const auto rows = JobRows::Open(disk, "d", Spec(), {.known = &known, .labels_required = false});
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  SparseRows block;
  testing::internal::CaptureStderr();
  ASSERT_TRUE((*rows)->Next(&block).ok());
  const std::string log = testing::internal::GetCapturedStderr();
  const size_t warning = log.find("column 'city': the category in the line at byte 16 is no UTF-8");
  EXPECT_NE(warning, std::string::npos) << log;
  EXPECT_EQ(log.find("no UTF-8", warning + 80), std::string::npos) << log;
  EXPECT_EQ(block.rows(), 3U);
}

TEST(CategoryTexts, AreWrittenAsLightGbmsPythonPackageDoes) {
  const CategoryTexts texts = {{"a", "b\"c"}, {}};
  EXPECT_EQ(WriteCategoryTexts(texts), R"([["a","b\"c"],[]])");
  EXPECT_EQ(*ReadCategoryTexts(WriteCategoryTexts(texts)), texts);
  EXPECT_EQ(*ReadCategoryTexts("null"), CategoryTexts());
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_EQ(ReadCategoryTexts(deep).status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(ReadCategoryTexts("[[" + deep + "]]").status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(*ReadCategoryTexts("[[1, 2.5], [\"x\"]]"), (CategoryTexts{{"1", "2.5"}, {"x"}}));
  for (const char* bad : {"[", "{}", "[1]", "[[", "\"a\""}) {
    EXPECT_EQ(ReadCategoryTexts(bad).status().code(), StatusCode::kCorrupt) << bad;
  }
}

// Names that look like numbers are names here too, as they are of a header.
TEST(JobRows, FeaturesAreFoundByNamesThatLookLikeNumbers) {
  TextDisk disk;
  disk.files["d"] = "y,Column_1,Column_0\n1,5,7\n";
  DataSpec spec;
  spec.format.header = true;
  spec.label = "y";
  spec.label_is_number = true;
  for (const char* name : {"Column_1", "Column_0"}) {
    spec.features.push_back({.column = name, .kind = FeatureKind::kNumeric});
  }
  const ExpectedFeatures expected = {{"Column_0", "Column_1"}, {true, true}, "the model"};
  const auto rows = JobRows::Open(disk, "d", spec, {.expected = &expected});
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  SparseRows block;
  ASSERT_TRUE((*rows)->Next(&block).ok());
  EXPECT_EQ(block.columns, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(block.values, (std::vector<double>{7, 5}));
}

}  // namespace
}  // namespace strata
