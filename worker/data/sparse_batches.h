// SparseBatches: batches from one rank's share of sparse rows, in their order.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "strata/status.h"
#include "worker/data/batch.h"
#include "worker/data/feature.h"
#include "worker/data/sparse_fields.h"
#include "worker/data/sparse_reader.h"

namespace strata {

// A slot's keys are in the order of the line. A slot that a line does not have has no keys; one
// that it has several times has several. A batch whose values are all 1 has no weights of keys.
class SparseBatches : public BatchSource {
 public:
  // kInvalid unless `features`, fitted to such rows or loaded with a model, are of their format.
  static Result<std::unique_ptr<SparseBatches>> Make(std::unique_ptr<SparseReader> reader,
                                                     std::span<const FittedFeature> features);

  Status Rewind(uint64_t epoch) override;
  // kInvalid names file and line of a field that no feature is for, besides what BatchSource and
  // SparseReader say.
  Status Next(size_t samples_max, Batch* batch) override;
  double Progress() const override { return reader_->Progress(); }
  uint64_t bad_rows() const override { return reader_->bad_rows(); }

 private:
  struct Entry {
    size_t slot;
    Key key;
    float weight;
  };

  SparseBatches(std::unique_ptr<SparseReader> reader, SparseFields fields);
  Status Append(const SparseRow& row, Batch* batch);
  Status FindEntries(const SparseRow& row);

  std::unique_ptr<SparseReader> reader_;
  SparseFields fields_;
  std::vector<uint64_t> salts_;  // by slot
  // Of the row that is being appended.
  std::vector<Entry> entries_;
  std::vector<uint32_t> lengths_;
  std::vector<Key> keys_;
  std::vector<float> weights_;
};

}  // namespace strata
