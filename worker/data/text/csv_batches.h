// Batches of the rows of CSV files.
#pragma once

#include <memory>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/data/batch/batch.h"
#include "worker/data/feature/data_spec.h"
#include "worker/data/feature/feature.h"
#include "worker/data/text/csv_files.h"

namespace strata {

// The files were opened with this spec and these options. The disk outlives the source. kInvalid
// unless `features`, fitted here or loaded with a model, are those of the job file, which the spec
// has. kRefused: the system has no more threads.
Result<std::unique_ptr<BatchSource>> MakeCsvBatches(Disk& disk, CsvFiles files,
                                                    const DataSpec& spec,
                                                    const TextOptions& options,
                                                    std::vector<FittedFeature> features);

}  // namespace strata
