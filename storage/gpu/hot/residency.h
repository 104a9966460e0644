// Residency: how many rows of a hot table may be in the GPU's memory, and room for more of them.
#pragma once

#include <cstdint>
#include <memory>

#include "storage/gpu/device_map.h"
#include "storage/gpu/device_pool.h"
#include "storage/gpu/hot/resident_counts.h"
#include "storage/gpu/hot/row_evictor.h"
#include "storage/memory/pool_shares.h"
#include "storage/row_schema.h"
#include "storage/table_spec.h"

namespace strata {

// What the rest of the table gives it, and which outlives it.
struct ResidencyParts {
  const TableSpec& spec;
  const RowSchema& schema;
  const Exec& exec;
  const std::unique_ptr<DeviceMap>& map;  // null: no row was ever made
  DevicePool& pool;
  RowEvictor& evictor;
  ResidentCounts& counts;
};

// Not thread-safe.
class Residency {
 public:
  // `rows_max`: on the GPU, however much memory there is.
  Residency(const ResidencyParts& parts, uint64_t rows_max);

  // Asks anew what the table may take of the memory. True: `may_give_back`, and the map holds so
  // much more that it has to give it back. Arrays do not shrink: the map has to go.
  bool NoteShare(bool may_give_back);
  // The map has been made, or could not be.
  void NoteMap(const Status& made);
  // The map is gone.
  void BeginAnew();

  // Room for so many rows more; others go where there is none. kRefused where they may not, or an
  // error of RowEvictor::Evict.
  Status MakeRoom(uint64_t rows);
  Status EvictAll();
  // Whether others would have to go for so many rows.
  bool IsFullFor(uint64_t rows) const;
  // The GPU has been asked: there are just so many, until the next MakeRoom.
  void SetCounted(uint64_t rows);
  void NoteOperation() { is_counted_ = false; }
  // So many rows are on their way to it, beside those that were counted.
  void NoteOnTheirWay(uint64_t rows);

  uint64_t rows_limit() const { return rows_limit_; }

 private:
  void LimitTo(uint64_t bytes);
  uint64_t RowsIn(uint64_t bytes) const;  // of the GPU's memory

  const ResidencyParts parts_;
  const uint64_t rows_max_;
  PoolShare share_;
  uint64_t share_bytes_ = 0;
  uint64_t map_bytes_first_;  // that its map takes for the first rows
  uint64_t rows_limit_ = 0;
  bool is_counted_ = false;
  bool rows_have_gone_ = false;  // to make room, since the map was empty
};

}  // namespace strata
