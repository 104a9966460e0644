// A dataset as a file: what save_binary leaves beside the data (FILE.bin), so that the next run
// neither parses nor looks for bins. Version 3, little-endian:
//   "STRATADS", u32 version, u32 0, then sections: u64 bytes, u64 XXH3 of them, the bytes.
//   Sections: the rules that bins were found by; the keys that named columns; numbers of rows,
//   features and used features; names; bins of features; where features share columns, for each
//   column how many and which used ones; labels; weights; begins of queries; scores to start from;
//   then values of 65,536 rows each, column by column, a byte where the column has up to 256
//   values, else two. Version 2 has no section of keys. Version 1 has no section of shared columns
//   besides: each used feature has its own.
#pragma once

#include <memory>
#include <string>

#include "base/file/disk.h"
#include "base/thread/work_pool.h"
#include "strata/status.h"
#include "worker/gbdt/data/tree_dataset.h"

namespace strata {

// Replaces the file once all is written. kInvalid: rows are divided over ranks, or
// categories are texts.
Status WriteDatasetFile(Disk& disk, const TreeDataset& data, const DatasetOptions& options,
                        const std::string& path);

// Whether the file begins as one of these. kNotFound: there is no file.
Result<bool> IsDatasetFile(Disk& disk, const std::string& path);

// The dataset that was written. With `features`, those of training data, bins must be theirs.
// kCorrupt: damaged, or none of these; kInvalid: written by other rules or column keys than
// `options` has, with other bins than the training data's, or by a version that is not known.
Result<TreeDataset> ReadDatasetFile(Disk& disk, const std::string& path,
                                    const DatasetOptions& options,
                                    std::shared_ptr<const FeatureBinning> features, WorkPool& pool);

}  // namespace strata
