// KeepRows: drops rows from a page with state.
#pragma once

#include <algorithm>
#include <cstddef>

#include "storage/table.h"

namespace strata {

// Keeps, in order, the rows of which keep(i) says so.
template <typename Keep>
void KeepRows(ScanPage* page, Keep keep) {
  const size_t width = page->keys.empty() ? 0 : page->rows.size() / page->keys.size();
  size_t kept = 0;
  for (size_t i = 0; i < page->keys.size(); ++i) {
    if (!keep(i)) continue;
    if (kept != i) {
      page->keys[kept] = page->keys[i];
      page->counters[kept] = page->counters[i];
      std::copy_n(page->rows.begin() + static_cast<ptrdiff_t>(i * width), width,
                  page->rows.begin() + static_cast<ptrdiff_t>(kept * width));
    }
    ++kept;
  }
  page->keys.resize(kept);
  page->counters.resize(kept);
  page->rows.resize(kept * width);
}

}  // namespace strata
