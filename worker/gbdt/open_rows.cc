#include "worker/gbdt/open_rows.h"

#include "worker/gbdt/data/npy_rows.h"
#include "worker/gbdt/data/text_rows.h"

namespace strata {

Result<std::unique_ptr<RowSource>> OpenRows(Disk& disk, const TreeParameters& parameters,
                                            const std::string& path) {
  const ColumnChoice columns = {.header = parameters.header,
                                .label = parameters.label_column,
                                .weight = parameters.weight_column,
                                .query = parameters.group_column,
                                .ignored = parameters.ignore_column};
  if (path.ends_with(".npy")) {
    STRATA_ASSIGN(std::unique_ptr<NpyRows> rows, NpyRows::Open(disk, path, columns));
    return std::unique_ptr<RowSource>(std::move(rows));
  }
  STRATA_ASSIGN(std::unique_ptr<TextRows> rows, TextRows::Open(disk, path, columns));
  return std::unique_ptr<RowSource>(std::move(rows));
}

}  // namespace strata
