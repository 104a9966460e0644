// What tables and checkpoints do with the rows of a ScanPage.
#pragma once

#include <algorithm>
#include <cstddef>

#include "storage/table.h"

namespace strata {

// Takes all rows out of the page. What it asks for stays.
inline void ClearPage(ScanPage& page) {
  page.keys.clear();
  page.rows.clear();
  page.counters.clear();
}

// Keeps, in order, the rows i for which keep(i) is true. The page may have no counters.
template <typename Keep>
void KeepRows(ScanPage* page, const Keep& keep) {
  const size_t width = page->keys.empty() ? 0 : page->rows.size() / page->keys.size();
  const bool has_counters = !page->counters.empty();
  size_t kept = 0;
  for (size_t i = 0; i < page->keys.size(); ++i) {
    if (!keep(i)) continue;
    if (kept != i) {
      page->keys[kept] = page->keys[i];
      if (has_counters) page->counters[kept] = page->counters[i];
      std::copy_n(page->rows.data() + i * width, width, page->rows.data() + kept * width);
    }
    ++kept;
  }
  page->keys.resize(kept);
  if (has_counters) page->counters.resize(kept);
  page->rows.resize(kept * width);
}

}  // namespace strata
