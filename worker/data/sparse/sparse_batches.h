// Batches of sparse rows.
#pragma once

#include <memory>
#include <span>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/data/batch/batch.h"
#include "worker/data/feature/data_spec.h"
#include "worker/data/feature/feature.h"
#include "worker/data/sparse/sparse_files.h"

namespace strata {

// A slot's keys are in the order of the line. A slot that a line does not have has no keys; one
// that it has several times has several. A batch whose values are all 1 has no weights of keys.
//
// The files were opened with this spec and these options. The disk outlives the source. kInvalid
// unless `features`, fitted to such rows or loaded with a model, are of their format. kRefused: the
// system has no more threads. The source's Next: kInvalid names file and line of a field that no
// feature is for.
Result<std::unique_ptr<BatchSource>> MakeSparseBatches(Disk& disk, SparseFiles files,
                                                       const DataSpec& spec,
                                                       const TextOptions& options,
                                                       std::span<const FittedFeature> features);

}  // namespace strata
