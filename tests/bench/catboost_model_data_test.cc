#include "bench/suites/trees/catboost_model_data.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/file/disk.h"
#include "base/file/text_file.h"
#include "bench/harness/scratch_folder.h"
#include "worker/gbdt/catboost/catboost_json.h"
#include "worker/gbdt/catboost/catboost_predictor.h"
#include "worker/gbdt/catboost/pool_file.h"

namespace strata::bench {
namespace {

std::vector<double> RawOf(const CatBoostModel& model, const CatBoostRows& rows) {
  std::vector<double> raw(rows.rows());
  CatBoostPredictor(model).Raw(rows, raw);
  return raw;
}

// The peer reads the same model and rows that ours predicts for.
TEST(CatBoostModelData, FilesAreTheModelAndItsRows) {
  constexpr size_t kRows = 500;
  for (const bool has_categories : {false, true}) {
    const CatBoostModel model = MakeCatBoostModel(has_categories);
    const Result<ScratchFolder> folder = ScratchFolder::Make();
    ASSERT_TRUE(folder.ok());
    ASSERT_TRUE(WriteCatBoostPool(model, kRows, folder->path()).ok());
    const auto text = ReadTextFile(RealDisk(), folder->path() + "/model.json", 1 << 30);
    ASSERT_TRUE(text.ok()) << text.status().ToString();
    const Result<CatBoostModel> again = ReadCatBoostJson(*text, "model.json");
    ASSERT_TRUE(again.ok()) << again.status().ToString();
    const PoolOptions options = {.path = folder->path() + "/rows.tsv",
                                 .column_description = folder->path() + "/rows.cd"};
    const auto file = PoolFile::Open(RealDisk(), options, *again, [] { return Status(); });
    ASSERT_TRUE(file.ok()) << file.status().ToString();
    CatBoostRows rows(*again, kRows);
    size_t row = 0;
    TextBlock block;
    CsvFields fields;
    std::string_view id;
    for (Result<bool> more = (*file)->Next(&block); *more; more = (*file)->Next(&block)) {
      for (const Line& line : (*file)->RowsOf(block)) {
        ASSERT_LT(row, kRows);
        ASSERT_TRUE((*file)->ReadRow(line.text, row++, &rows, &fields, &id).ok());
      }
    }
    EXPECT_EQ(row, kRows);
    EXPECT_EQ(RawOf(*again, rows), RawOf(model, MakeCatBoostRows(model, kRows)));
  }
}

}  // namespace
}  // namespace strata::bench
