#include "storage/rocks/cold_rows.h"

#include "kernels/core/initializer.h"
#include "kernels/optim/apply.h"

namespace strata {

void MakeNewRow(const TableSpec& spec, const RowSchema& schema, Key key, float* elements,
                RowCounters& counters) {
  InitialRow(spec.initializer, spec.seed, key, {elements, schema.dim});
  InitialState(spec.optimizer, {elements + schema.dim, schema.state_width});
  counters = RowCounters{};
}

void AppendRow(const RowSchema& schema, Key key, const RowView& row, bool with_state,
               ScanPage& page) {
  const size_t width = size_t{schema.dim} + (with_state ? schema.state_width : 0);
  page.keys.push_back(key);
  page.rows.insert(page.rows.end(), row.elements, row.elements + width);
  if (with_state) page.counters.push_back(*row.counters);
}

void ClearPage(ScanPage& page) {
  page.keys.clear();
  page.rows.clear();
  page.counters.clear();
}

}  // namespace strata
