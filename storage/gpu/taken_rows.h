// TakenRows: rows of a map on their way from the GPU to the host.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "storage/gpu/device_buffer.h"
#include "storage/gpu/pinned_pool.h"
#include "storage/row_schema.h"
#include "storage/table.h"
#include "strata/exec.h"
#include "strata/gpu/hash_map.h"
#include "strata/status.h"

namespace strata {

// Rows in host memory, as they are stored on the GPU.
struct StoredRows {
  std::shared_ptr<float[]> memory;  // pinned
  std::span<const SlotHeader> headers;
  std::span<const float> rows;  // headers.size() x stored_words() of the schema
};

// Not thread-safe. All that is passed in outlives it.
class TakenRows {
 public:
  TakenRows(const Exec& exec, const RowSchema& schema, PinnedPool& host)
      : exec_(exec), schema_(schema), host_(host) {}

  // A list on the GPU with room for so many rows, which kernels fill. There is one list at a time.
  // kRefused when the GPU has no memory for it.
  Result<RowList> RoomFor(size_t rows);
  // Waits for the listed rows, and appends them to the page as fp32.
  void Bring(const RowList& list, bool with_state, ScanPage* page);
  // Begins to copy the listed rows to the host. What was begun before is there when it returns.
  StoredRows BringStored(const RowList& list);

 private:
  uint32_t CountOf(const RowList& list);

  const Exec& exec_;
  const RowSchema& schema_;
  PinnedPool& host_;
  DeviceBuffer headers_;
  DeviceBuffer rows_;
  DeviceBuffer count_;
};

}  // namespace strata
