#include "storage/rocks/cold_rows.h"

#include "storage/row_elements.h"

namespace strata {

void MakeNewRow(const TableSpec& spec, const RowSchema& schema, Key key, float* elements,
                RowCounters& counters) {
  WriteInitialValue(spec, schema, key, elements);
  WriteInitialState(spec, schema, elements);
  counters = RowCounters{};
}

void AppendRow(const RowSchema& schema, Key key, const RowView& row, bool with_state,
               ScanPage& page) {
  const size_t width = size_t{schema.dim} + (with_state ? schema.state_width : 0);
  page.keys.push_back(key);
  AppendElements(schema, row.elements, width, page.rows);
  if (with_state) page.counters.push_back(*row.counters);
}

}  // namespace strata
