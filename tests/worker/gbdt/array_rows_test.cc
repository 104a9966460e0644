#include "worker/gbdt/data/array_rows.h"

#include <gtest/gtest.h>

#include "tests/worker/gbdt/hard_array.h"
#include "tests/worker/text_disk.h"
#include "worker/gbdt/data/npy_rows.h"
#include "worker/gbdt/data/sort_numbers.h"
#include "worker/gbdt/data/tree_dataset.h"

namespace strata {
namespace {

// A source's rows without saying that they are an array.
class BlockByBlock : public RowSource {
 public:
  explicit BlockByBlock(std::unique_ptr<RowSource> rows) : rows_(std::move(rows)) {}
  Status Next(SparseRows* block) override { return rows_->Next(block); }
  Status Rewind() override { return rows_->Rewind(); }
  Status TakePart(const RowPart& part) override { return rows_->TakePart(part); }
  size_t features() const override { return rows_->features(); }
  std::vector<std::string> FeatureNames() const override { return rows_->FeatureNames(); }

 private:
  const std::unique_ptr<RowSource> rows_;
};

class ArrayRowsTest : public testing::Test {
 protected:
  Result<TreeDataset> Load(const std::string& text, bool as_array, DatasetOptions options = {}) {
    TextDisk disk;
    disk.files["x.npy"] = text;
    const ColumnChoice columns{.weight = "0", .ignored = {"9"}};
    STRATA_ASSIGN(std::unique_ptr<RowSource> source, NpyRows::Open(disk, "x.npy", columns));
    EXPECT_TRUE(source->Array().has_value());
    if (!as_array) source = std::make_unique<BlockByBlock>(std::move(source));
    STRATA_ASSIGN(const std::unique_ptr<WorkPool> pool, WorkPool::Start("test", 2));
    return LoadTreeDataset(disk, *source, "x.npy", options, nullptr, *pool);
  }

  void ExpectSame(const std::string& text, const DatasetOptions& options) {
    const Result<TreeDataset> found = Load(text, true, options);
    const Result<TreeDataset> expected = Load(text, false, options);
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    ASSERT_TRUE(expected.ok()) << expected.status().ToString();
    EXPECT_EQ(found->labels, expected->labels);
    EXPECT_EQ(found->weights, expected->weights);
    EXPECT_EQ(found->features->names, expected->features->names);
    EXPECT_EQ(found->features->used, expected->features->used);
    EXPECT_LT(found->features->used.size(), found->features->mappers.size());
    for (size_t f = 0; f < found->features->mappers.size(); ++f) {
      EXPECT_EQ(found->features->mappers[f].ToBytes(), expected->features->mappers[f].ToBytes());
    }
    for (size_t f = 0; f < found->bins.features(); ++f) {
      for (size_t row = 0; row < found->rows(); ++row) {
        ASSERT_EQ(found->bins.column(f).At(row), expected->bins.column(f).At(row)) << f;
      }
    }
  }
};

TEST_F(ArrayRowsTest, LoadsWhatBlocksOfRowsLoad) {
  const DatasetOptions options = {.binning = {}, .sample_rows = 3000, .categorical = {}};
  ExpectSame(HardArray<float>(1, 5000, 20), options);
  ExpectSame(HardArray<double>(2, 5000, 20), options);
  ExpectSame(HardArray<float>(3, 300, 300), options);  // several features together
  DatasetOptions zeros = options;
  zeros.binning.zero_as_missing = true;
  zeros.binning.max_bin = 1000;
  ExpectSame(HardArray<double>(4, 5000, 20), zeros);
}

TEST_F(ArrayRowsTest, TheFirstWrongLabelIsNamed) {
  constexpr size_t kColumns = 12;
  std::vector<float> values(kColumns * 100000, 1);
  values[kColumns * 75000] = NAN;
  values[kColumns * 50000] = NAN;
  values[kColumns * 97500 + 1] = -1;  // a weight
  const std::string text = NpyText(NpyHeader("<f4", "(100000, 12)"), values);
  for (const bool as_array : {true, false}) {
    const Result<TreeDataset> data = Load(text, as_array);
    ASSERT_FALSE(data.ok());
    EXPECT_EQ(data.status().message(), "x.npy: row 50001: the label is missing or infinite");
  }
}

TEST(SortNumbers, IsSorting) {
  Random random(5);
  for (const bool floats : {true, false}) {
    for (const size_t count : {0, 1, 100, 5000, 70000}) {
      std::vector<double> numbers(count);
      for (double& number : numbers) {
        number =
            (random.Uniform() - 0.5) * std::pow(10, static_cast<double>(random.Below(60)) - 30);
        if (random.Chance(0.1)) number = 42;
        if (random.Chance(0.01)) number = -std::numeric_limits<double>::infinity();
        if (floats) number = static_cast<double>(static_cast<float>(number));
      }
      std::vector<double> expected = numbers;
      std::ranges::sort(expected);
      SortNumbers(&numbers);
      ASSERT_EQ(numbers, expected) << count;
    }
  }
}

}  // namespace
}  // namespace strata
