#include "worker/gbdt/catboost/train/learn_rows.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "base/human_text.h"
#include "worker/gbdt/catboost/train/job_learn_rows.h"
#include "worker/gbdt/catboost/train/label_column.h"
#include "worker/gbdt/catboost/train/row_checks.h"

namespace strata {
namespace {

constexpr size_t kPieceRows = 256;  // that one thread reads at a time

// Columns that are no features.
struct LearnColumns {
  size_t label = 0;
  std::optional<size_t> weight;
};

Result<LearnColumns> FindLearnColumns(const std::vector<PoolColumn>& columns,
                                      const std::string& path) {
  LearnColumns found;
  size_t labels = 0;
  size_t features = 0;
  for (size_t c = 0; c < columns.size(); ++c) {
    const PoolColumnKind kind = columns[c].kind;
    if (kind == PoolColumnKind::kNumber || kind == PoolColumnKind::kCategory) ++features;
    if (kind == PoolColumnKind::kLabel) {
      found.label = c;
      ++labels;
    } else if (kind == PoolColumnKind::kWeight) {
      if (found.weight.has_value()) {
        return Invalid(
            fmt::format("{}: expected one column of the type Weight, found columns {} "
                        "and {}: give one of them the type Auxiliary",
                        path, *found.weight, c));
      }
      found.weight = c;
    } else if (kind == PoolColumnKind::kGroup) {
      return Invalid(fmt::format(
          "{}: column {}: training by groups or times of rows is not there yet: expected Num, "
          "Categ, Label, Weight, SampleId or Auxiliary; Auxiliary leaves the column out",
          path, c));
    }
  }
  if (labels != 1) {
    return Invalid(
        fmt::format("{}: expected one column of the type Label in the column description, found {}",
                    path, labels));
  }
  if (features == 0) {
    return Invalid(fmt::format("{}: expected a column of the type Num or Categ", path));
  }
  return found;
}

class Reading {
 public:
  Reading(const LearnReader& reader, const PoolFile& file, const CatBoostModel& model,
          const LearnColumns& columns, LabelColumn* labels)
      : reader_(reader), file_(file), model_(model), columns_(columns), labels_(*labels) {}

  Status Add(const TextBlock& block) {
    const std::vector<Line> lines = file_.RowsOf(block);
    const size_t before = rows_.labels.size();
    if (!lines.empty()) {
      STRATA_TRY(CheckRowCount(before + lines.size(), block.PlaceOf(lines[0])));
    }
    CatBoostRows& rows = rows_.blocks.emplace_back(model_, lines.size());
    rows_.labels.resize(before + lines.size());
    rows_.weights.resize(before + lines.size(), 1);
    std::vector<Status> pieces((lines.size() + kPieceRows - 1) / kPieceRows);
    reader_.pool.RunPieces(lines.size(), kPieceRows, [&](size_t begin, size_t end) {
      CsvFields fields;
      for (size_t row = begin; row < end; ++row) {
        const Status read = ReadRow(lines[row].text, row, before, &rows, &fields);
        if (read.ok()) continue;
        pieces[begin / kPieceRows] = file_.Placed(read, block, lines[row]);
        return;
      }
    });
    for (const Status& status : pieces) STRATA_TRY(status);
    return {};
  }

  Result<LearnRows> Finish(const std::string& path) && {
    STRATA_TRY(FinishRows(std::move(labels_), path, &rows_));
    rows_.columns = file_.columns().size();
    return std::move(rows_);
  }

 private:
  Status ReadRow(std::string_view line, size_t row, size_t before, CatBoostRows* rows,
                 CsvFields* fields) {
    std::string_view id;
    STRATA_TRY(file_.ReadRow(line, row, rows, fields, &id));
    const std::string_view label = fields->fields[columns_.label];
    const Status read = labels_.Read(label, &rows_.labels[before + row]);
    if (!read.ok()) return read.Prefixed(fmt::format("column {}", columns_.label));
    STRATA_TRY(ReadWeight(fields->fields, &rows_.weights[before + row]));
    return CheckMissing(reader_.parameters, model_, *rows, row);
  }

  Status ReadWeight(const std::vector<std::string_view>& fields, float* weight) const {
    if (!columns_.weight.has_value()) return {};
    const std::string_view field = fields[*columns_.weight];
    if (ReadPoolNumber(field, weight) && *weight >= 0 && std::isfinite(*weight)) return {};
    return Invalid(fmt::format("column {}: expected a weight of 0 or above, found '{}'",
                               *columns_.weight, ShownBytes(field)));
  }

  const LearnReader& reader_;
  const PoolFile& file_;
  const CatBoostModel& model_;
  const LearnColumns columns_;
  LabelColumn& labels_;
  LearnRows rows_;
};

Result<LearnRows> ReadAll(const LearnReader& reader, PoolFile* file, const CatBoostModel& model,
                          LabelColumn* labels, const std::string& path) {
  STRATA_ASSIGN(const LearnColumns columns, FindLearnColumns(file->columns(), path));
  Reading reading(reader, *file, model, columns, labels);
  TextBlock block;
  while (true) {
    STRATA_TRY(reader.check());
    STRATA_ASSIGN(const bool more, file->Next(&block));
    if (!more) return std::move(reading).Finish(path);
    STRATA_TRY(reading.Add(block));
  }
}

}  // namespace

Result<LearnRows> ReadRowsToLearn(const LearnReader& reader, const PoolOptions& options,
                                  CatBoostModel* model) {
  if (options.of_job.has_value()) return ReadJobRowsToLearn(reader, options, model);
  STRATA_ASSIGN(const std::unique_ptr<PoolFile> file,
                PoolFile::OpenToLearn(reader.disk, options, reader.check, model));
  LabelColumn labels(reader.parameters);
  return ReadAll(reader, file.get(), *model, &labels, options.path);
}

Result<LearnRows> ReadRowsToTest(const LearnReader& reader, const PoolOptions& options,
                                 const CatBoostModel& model, const LearnedColumns& learned) {
  if (options.of_job.has_value()) return ReadJobRowsToTest(reader, options, model, learned);
  STRATA_ASSIGN(const std::unique_ptr<PoolFile> file,
                PoolFile::Open(reader.disk, options, model, reader.check, learned.categories));
  if (file->columns().size() != learned.columns) {
    return Invalid(fmt::format(
        "{}: expected {}, as the rows to learn from have them, found {} in the first row",
        options.path, Counted(learned.columns, "column"), file->columns().size()));
  }
  LabelColumn labels(reader.parameters, learned.classes);
  return ReadAll(reader, file.get(), model, &labels, options.path);
}

}  // namespace strata
