#include "worker/data/batch/row_batches.h"

#include <string>
#include <utility>

namespace strata {

RowBatches::RowBatches(std::unique_ptr<RowReader> reader, std::vector<FittedFeature> features)
    : reader_(std::move(reader)), encoder_(std::move(features), reader_->plan()) {}

Status RowBatches::Rewind(uint64_t epoch) {
  reader_->BeginEpoch(epoch);
  return Status::Ok();
}

Status RowBatches::Next(size_t samples_max, Batch* batch) {
  encoder_.Start(batch);
  DataRow row;
  while (batch->samples < samples_max) {
    STRATA_ASSIGN(const bool read, reader_->Next(&row));
    if (!read) break;
    if (!row.bad.empty()) batch->bad.push_back({batch->samples, std::string(row.bad)});
    encoder_.Append(row, batch);
  }
  return Status::Ok();
}

}  // namespace strata
