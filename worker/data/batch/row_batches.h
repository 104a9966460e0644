// RowBatches: batches of encoded samples from the rows of a reader, in their order. Of text,
// TextBatches makes them.
#pragma once

#include <memory>
#include <vector>

#include "worker/data/batch/batch.h"
#include "worker/data/batch/row_reader.h"
#include "worker/data/feature/feature.h"

namespace strata {

class RowBatches : public BatchSource {
 public:
  // `features` are those that the reader's plan is for.
  RowBatches(std::unique_ptr<RowReader> reader, std::vector<FittedFeature> features);

  Status Rewind(uint64_t epoch) override;
  Status Next(size_t samples_max, Batch* batch) override;
  double Progress() const override { return reader_->Progress(); }
  uint64_t bad_rows() const override { return reader_->bad_rows(); }

 private:
  std::unique_ptr<RowReader> reader_;
  FeatureEncoder encoder_;
};

}  // namespace strata
