// CsvSource: batches of encoded samples from one rank's share of a CSV file, in file order.
#pragma once

#include <memory>
#include <vector>

#include "worker/data/batch.h"
#include "worker/data/csv_reader.h"
#include "worker/data/feature.h"

namespace strata {

class CsvSource : public BatchSource {
 public:
  // kInvalid unless `features`, fitted here or loaded with a model, are those of the reader's spec.
  static Result<std::unique_ptr<CsvSource>> Make(std::unique_ptr<CsvReader> reader,
                                                 std::vector<FittedFeature> features);

  Status Rewind(uint64_t epoch) override;
  Status Next(size_t samples_max, Batch* batch) override;
  double Progress() const override { return reader_->Progress(); }
  uint64_t bad_rows() const override { return reader_->bad_lines(); }

  size_t slots() const { return encoder_.slots(); }
  size_t dense_width() const { return encoder_.dense_width(); }

 private:
  CsvSource(std::unique_ptr<CsvReader> reader, std::vector<FittedFeature> features);

  std::unique_ptr<CsvReader> reader_;
  FeatureEncoder encoder_;
};

}  // namespace strata
