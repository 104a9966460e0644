// TreeDataset: rows as bins, with labels, weights, queries and scores to start from.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "base/thread/work_pool.h"
#include "kernels/tree/bins/bin_matrix.h"
#include "kernels/tree/bins/gpu_bins.h"
#include "strata/status.h"
#include "worker/gbdt/data/bin_mapper.h"
#include "worker/gbdt/data/row_share.h"
#include "worker/gbdt/data/row_source.h"

namespace strata {

// How a model's features become bins. Used features, those that can be split, are numbered anew:
// what a BinMatrix has.
struct FeatureBinning {
  std::vector<std::string> names;    // of all features, as a model has them
  std::vector<BinMapper> mappers;    // of all features
  std::vector<size_t> used;          // of each used feature, which it is
  std::vector<FeatureShape> shapes;  // of each used feature
  CategoryTexts categories;          // of all categorical features, if they are texts
  // The used features of each column where some share one (BinBundles); empty: each has its own.
  // A data set whose rows do not allow it has fewer of them together.
  std::vector<std::vector<uint32_t>> columns;

  const BinMapper& mapper(size_t used_feature) const { return mappers[used[used_feature]]; }
};

struct TreeDataset {
  std::shared_ptr<const FeatureBinning> features;
  BinMatrix bins;                           // of used features
  std::shared_ptr<const GpuBins> gpu_bins;  // the same on a GPU, if that made them
  std::vector<float> labels;
  std::vector<float> weights;        // empty: all 1
  std::vector<size_t> query_begins;  // of each query, and the number of rows; empty: no queries
  std::vector<double> init_scores;   // class * rows + row; empty: none

  RowShare share;  // which part of all ranks' rows these are
  // The file, and how many of its rows come before these; "": none.
  std::string path;
  uint64_t rows_before = 0;
  // Of each row of the file that cannot be read and is left out, how many others stand before it.
  std::vector<uint64_t> left_out;
  uint64_t bad_rows = 0;  // left out by all ranks

  size_t rows() const { return labels.size(); }  // here
  uint64_t all_rows() const { return share.all_rows(rows()); }
  // "rows.csv: row 4", for messages: rows of data, from 1 on.
  std::string WhereIs(size_t row) const;
  // kInvalid names the first row whose label does not fit: "WhereIs: `needs`, found LABEL".
  Status CheckLabels(const std::function<bool(float)>& fits, const std::string& needs) const;
  // kInvalid: there are init scores, of which an average of trees cannot make use.
  Status CheckNoInitScores() const;
};

struct DatasetOptions {
  BinningRules binning;
  size_t sample_rows = 200000;
  int64_t sample_seed = 1;
  size_t classes = 1;                            // of init scores
  std::vector<std::string> categorical;          // "3", "name:age"
  std::vector<int64_t> max_bin_by_feature = {};  // of all features; empty: the rules' max_bin
  std::map<size_t, std::vector<double>> forced_bounds = {};  // of bins, by feature
  // Whether files beside `path` say weights, queries and init scores.
  bool side_files = true;
  // Which keys say what columns are read (ColumnsText). A dataset file keeps it.
  std::string columns = {};
  // Rows are divided over its ranks, in their order; null: all are here. Each reads its part of one
  // file, or, with own_files, a file of its own.
  Group* group = nullptr;
  bool own_files = false;
  // Ranks that will each take a part of the features: blocks are cut so that they can.
  size_t feature_ranks = 1;
  bool bundle = false;  // features that exclude each other share columns; changes no result
  // The GPU that makes the bins of an array of numbers; nothing, or a GPU that is not there or too
  // small: the CPU does. The bins are the same.
  std::optional<int> gpu = std::nullopt;
};

// Reads a source from end to end. With `features`, those of training data, bins are theirs (a
// validation set); without, boundaries are found from a sample of rows. `path` is the source's, for
// side files and messages. kInvalid: what does not fit; kRefused: more than 2^32 - 1 rows. With a
// group, collective; what comes out is the ranks' parts of what one rank would get.
Result<TreeDataset> LoadTreeDataset(Disk& disk, RowSource& source, const std::string& path,
                                    const DatasetOptions& options,
                                    std::shared_ptr<const FeatureBinning> features, WorkPool& pool);

}  // namespace strata
