// PoolFile: a file of rows for a model of CatBoost: text with fields parted by a character, plain
// or compressed, or standard input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/data/feature/data_spec.h"
#include "worker/data/file/line_blocks.h"
#include "worker/data/text/csv_line.h"
#include "worker/data/text/text_blocks.h"
#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/catboost_rows.h"
#include "worker/gbdt/catboost/pool_columns.h"

namespace strata {

struct PoolOptions {
  // Set: the rows are those of a job file, and of the rest `path` alone counts (job_pool.h).
  std::optional<DataSpec> of_job = {};
  std::string path;                // "-": standard input
  std::string column_description;  // its path; empty: none
  char delimiter = '\t';
  bool has_header = false;  // the first line holds the columns' names
};

// Reads a field as the number that CatBoost reads: NaN for its texts of missing values, 0 for
// minus 0, and an infinity for a double beyond the floats. Blanks may stand before a number, and
// not behind it. False: the field is no number.
bool ReadPoolNumber(std::string_view field, float* number);
// A number as a feature has it: a float, infinite beyond those, and 0 for minus 0. NaN stays.
float PoolFloat(double number);

// One thread at a time; of const functions any number.
class PoolFile {
 public:
  // Disk and model outlive it. `check` is asked while standard input gives nothing. kNotFound:
  // there is no such file. kInvalid: the file has no row, or columns that do not fit the model.
  // `categories` of the model are read, too, where nothing of it uses them yet.
  static Result<std::unique_ptr<PoolFile>> Open(Disk& disk, const PoolOptions& options,
                                                const CatBoostModel& model,
                                                const std::function<Status()>& check,
                                                std::span<const uint32_t> categories = {});

  // The same of rows to learn from: `model`, an empty one, gets a number or category for each
  // feature, in the order of the columns.
  static Result<std::unique_ptr<PoolFile>> OpenToLearn(Disk& disk, const PoolOptions& options,
                                                       const std::function<Status()>& check,
                                                       CatBoostModel* model);

  const std::vector<PoolColumn>& columns() const { return columns_; }

  // The next lines; false at the end.
  Result<bool> Next(TextBlock* block) { return blocks_.Next(block); }
  // The lines that are rows. A blank one is none, unless rows have one column, which it then
  // misses.
  std::vector<Line> RowsOf(const TextBlock& block) const;

  // Reads a line into the row of this number, which is below rows->rows(). `fields` gets the line's
  // fields; the next line may use its memory again. `sample_id` becomes the text of that column,
  // where there is one, and may point into `fields`. kInvalid: what is wrong with the line; the
  // message does not name its place.
  Status ReadRow(std::string_view line, size_t row, CatBoostRows* rows, CsvFields* fields,
                 std::string_view* sample_id) const;
  // The error with the line's place in front. That of a first line which is read as a row asks
  // whether it holds the columns' names.
  Status Placed(const Status& error, const TextBlock& block, const Line& line) const;
  bool has_sample_ids() const { return sample_id_.has_value(); }

 private:
  PoolFile(Disk& disk, OpenedText text, const TextOptions& texts, const PoolOptions& options);
  // The file, with its columns found.
  static Result<std::unique_ptr<PoolFile>> OpenColumns(Disk& disk, const PoolOptions& options,
                                                       const std::function<Status()>& check);
  Status FindColumns(Disk& disk, const PoolOptions& options, std::string_view header,
                     std::string_view row);

  const char delimiter_;
  const bool has_header_;
  std::string path_;
  TextBlocks blocks_;
  std::vector<PoolColumn> columns_;
  std::vector<ModelColumn> of_model_;
  std::optional<size_t> sample_id_;
};

}  // namespace strata
