// OpenRows: the rows of a data file in the format that it has.
#pragma once

#include <memory>
#include <string>

#include "base/disk.h"
#include "base/status.h"
#include "worker/gbdt/data/row_source.h"
#include "worker/gbdt/parameters.h"

namespace strata {

// NumPy arrays by their suffix .npy, everything else as text; columns as the parameters name them.
Result<std::unique_ptr<RowSource>> OpenRows(Disk& disk, const TreeParameters& parameters,
                                            const std::string& path);

}  // namespace strata
