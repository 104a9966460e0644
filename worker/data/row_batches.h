// RowBatches: batches of encoded samples from one rank's share of the rows, in their order.
#pragma once

#include <memory>
#include <vector>

#include "worker/data/batch.h"
#include "worker/data/csv_reader.h"
#include "worker/data/feature.h"
#include "worker/data/row_reader.h"

namespace strata {

class RowBatches : public BatchSource {
 public:
  // `features` are those that the reader's plan is for.
  RowBatches(std::unique_ptr<RowReader> reader, std::vector<FittedFeature> features);
  // kInvalid unless `features`, fitted here or loaded with a model, are those of the job file that
  // the reader has.
  static Result<std::unique_ptr<RowBatches>> Make(std::unique_ptr<CsvReader> reader,
                                                  std::vector<FittedFeature> features);

  Status Rewind(uint64_t epoch) override;
  Status Next(size_t samples_max, Batch* batch) override;
  double Progress() const override { return reader_->Progress(); }
  uint64_t bad_rows() const override { return reader_->bad_rows(); }

  size_t slots() const { return encoder_.slots(); }
  size_t dense_width() const { return encoder_.dense_width(); }

 private:
  std::unique_ptr<RowReader> reader_;
  FeatureEncoder encoder_;
  size_t group_column_;  // ColumnPlan::kNone: rows are in no groups
};

}  // namespace strata
