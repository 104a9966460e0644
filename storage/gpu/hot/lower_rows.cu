#include "kernels/hashmap/residents.h"
#include "storage/gpu/hot/lower_rows.h"

namespace strata {

Status LowerRows::Read(std::span<const Key> keys, const ReadOptions& options,
                       const RowVisit& visit) {
  const ReaderLock lock(mutex_);
  return table_.ReadRows(keys, options, workers_, visit);
}

Status LowerRows::Write(std::span<const SlotHeader> headers, std::span<const float> rows) {
  constexpr size_t kPiece = 4096;
  const size_t count = headers.size();
  if (count == 0) return {};
  keys_.resize(count);
  counters_.resize(count);
  known_.resize(count);
  workers_.RunPieces(count, kPiece, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const SlotHeader& header = headers[i];
      keys_[i] = header.key;
      counters_[i] = {.frequency = header.frequency,
                      .checkpoint_epoch = header.checkpoint_epoch,
                      .last_step = header.last_step};
      known_[i] = (header.score & kScoreCopied) != 0 ? 1 : 0;
    }
  });
  {
    const WriterLock lock(mutex_);
    STRATA_TRY(table_.WriteRows({keys_, rows, counters_, known_}, workers_));
  }
  rows_written_ += count;
  bytes_written_ += headers.size_bytes() + rows.size_bytes();
  return {};
}

}  // namespace strata
