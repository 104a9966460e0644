#include <vector>

#include "storage/gpu/gpu_calls.cuh"
#include "storage/gpu/taken_rows.h"
#include "storage/row_elements.h"

namespace strata {

Result<RowList> TakenRows::RoomFor(size_t rows) {
  STRATA_TRY(headers_.ReserveFor<SlotHeader>(rows));
  STRATA_TRY(rows_.ReserveFor<float>(rows * schema_.stored_words()));
  STRATA_TRY(count_.ReserveFor<uint32_t>(1));
  return RowList{headers_.as<SlotHeader>(), rows_.as<float>(), count_.as<uint32_t>()};
}

uint32_t TakenRows::CountOf(const RowList& list) {
  uint32_t count = 0;
  CopyDown<uint32_t>(exec_, list.count, {&count, 1});
  Wait(exec_);
  return count;
}

void TakenRows::Bring(const RowList& list, bool with_state, ScanPage* page) {
  const uint32_t count = CountOf(list);
  const size_t words = schema_.stored_words();
  std::vector<SlotHeader> headers(count);
  std::vector<float> rows(count * words);
  CopyDown<SlotHeader>(exec_, list.headers, headers);
  CopyDown<float>(exec_, list.rows, rows);
  Wait(exec_);
  const size_t elements = schema_.dim + (with_state ? schema_.state_width : 0);
  for (size_t i = 0; i < count; ++i) {
    const SlotHeader& header = headers[i];
    page->keys.push_back(header.key);
    AppendElements(schema_, rows.data() + i * words, elements, page->rows);
    if (!with_state) continue;
    page->counters.push_back({.frequency = header.frequency,
                              .checkpoint_epoch = header.checkpoint_epoch,
                              .last_step = header.last_step});
  }
}

StoredRows TakenRows::BringStored(const RowList& list) {
  const uint32_t count = CountOf(list);
  if (count == 0) return {};
  constexpr size_t kHeaderWords = sizeof(SlotHeader) / sizeof(float);
  const size_t words = schema_.stored_words();
  StoredRows stored;
  stored.memory = host_.Take(count * (kHeaderWords + words));
  const std::span<SlotHeader> headers(reinterpret_cast<SlotHeader*>(stored.memory.get()), count);
  const std::span<float> rows(stored.memory.get() + count * kHeaderWords, count * words);
  CopyDown<SlotHeader>(exec_, list.headers, headers);
  CopyDown<float>(exec_, list.rows, rows);
  stored.headers = headers;
  stored.rows = rows;
  return stored;
}

}  // namespace strata
