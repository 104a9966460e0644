// JobPool: rows of a file as a job file describes it, for a model of CatBoost.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/data/feature/data_spec.h"
#include "worker/data/file/bad_rows.h"
#include "worker/data/text/csv_reader.h"
#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/catboost_rows.h"
#include "worker/gbdt/catboost/pool_columns.h"

namespace strata {

// Some rows, one after another. Without labels the first three lists are empty.
struct JobBlock {
  std::vector<std::string> labels;  // as the file has them; "1" and "0" of texts that mean these
  std::vector<float> weights;       // 1 where no column has weights
  std::vector<uint64_t> offsets;    // of the lines: their first bytes
  CatBoostRows features;
  std::vector<BadRow> bad;  // rows that cannot be read, whose features are missing
};

// One thread at a time.
class JobPool {
 public:
  // Disk outlives it. Without labels, rows that cannot be read keep their places; with them they
  // are left out. kNotFound: no such file. kInvalid: columns that do not fit the job.
  static Result<std::unique_ptr<JobPool>> Open(Disk& disk, const std::string& path,
                                               const DataSpec& spec, bool has_labels);

  // The job's features, in its order.
  std::vector<PoolColumn> Features() const;
  // What each of them is to the model that rows are read for; called before Next.
  void SetPlaces(std::vector<ModelColumn> places) { places_ = std::move(places); }
  // The next rows; none at the end. kInvalid: too many lines cannot be read.
  Result<JobBlock> Next(const CatBoostModel& model);
  uint64_t bad_rows() const { return reader_->bad_rows(); }

 private:
  JobPool(std::unique_ptr<CsvReader> reader, bool has_labels)
      : reader_(std::move(reader)), has_labels_(has_labels) {}
  struct Columns;
  void Add(const DataRow& row, Columns* columns, JobBlock* block) const;

  std::unique_ptr<CsvReader> reader_;
  const bool has_labels_;
  std::vector<ModelColumn> places_;
};

}  // namespace strata
