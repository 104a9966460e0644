#include "worker/gbdt/data/tree_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "worker/gbdt/data/sample_rows.h"
#include "worker/gbdt/data/side_files.h"

namespace strata {
namespace {

constexpr size_t kRowsMax = std::numeric_limits<uint32_t>::max();

class Loader {
 public:
  Loader(RowSource& source, const std::string& path, const DatasetOptions& options, WorkPool& pool)
      : source_(source), path_(path), options_(options), pool_(pool) {}

  Result<TreeDataset> Load(Disk& disk, std::shared_ptr<const FeatureBinning> features) {
    STRATA_TRY(ReadLabels());
    if (data_.rows() == 0) return Invalid(fmt::format("{}: no row", path_));
    if (features == nullptr) {
      STRATA_ASSIGN(features, FindBins());
    } else if (source_.features() > features->mappers.size()) {
      return Invalid(fmt::format("{}: {} features, the training data has {}", path_,
                                 source_.features(), features->mappers.size()));
    }
    data_.features = std::move(features);
    STRATA_TRY(FillBins());
    STRATA_ASSIGN(SideFiles side, ReadSideFiles(disk, path_, data_.rows(), options_.classes));
    if (!queries_.empty()) {
      STRATA_ASSIGN(data_.query_begins, QueriesFromColumn(queries_, path_));
    } else {
      data_.query_begins = std::move(side.query_begins);
    }
    if (data_.weights.empty()) data_.weights = std::move(side.weights);
    data_.init_scores = std::move(side.init_scores);
    return std::move(data_);
  }

 private:
  // All but the values, which are too many to keep.
  Status ReadLabels() {
    SparseRows block;
    while (true) {
      STRATA_TRY(source_.Next(&block));
      if (block.rows() == 0) break;
      if (data_.rows() + block.rows() > kRowsMax) {
        return Refused(
            fmt::format("{}: more than {} rows: train with several ranks", path_, kRowsMax));
      }
      data_.labels.insert(data_.labels.end(), block.labels.begin(), block.labels.end());
      data_.weights.insert(data_.weights.end(), block.weights.begin(), block.weights.end());
      queries_.insert(queries_.end(), block.queries.begin(), block.queries.end());
    }
    if (!queries_.empty() && queries_.size() != data_.rows()) {
      return Invalid(fmt::format("{}: {} of {} rows say which query they belong to", path_,
                                 queries_.size(), data_.rows()));
    }
    return {};
  }

  Result<std::vector<bool>> CategoricalFeatures(const std::vector<std::string>& names) const {
    std::vector<bool> categorical(names.size(), false);
    for (const std::string& text : options_.categorical) {
      size_t feature = names.size();
      if (text.starts_with("name:")) {
        feature = static_cast<size_t>(std::ranges::find(names, text.substr(5)) - names.begin());
      } else {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), feature);
        if (error != std::errc() || end != text.data() + text.size()) {
          // "name:a,b,c" has its prefix once.
          feature = static_cast<size_t>(std::ranges::find(names, text) - names.begin());
        }
      }
      if (feature >= names.size()) {
        return Invalid(fmt::format("categorical_feature: '{}': {} has no such feature among {}",
                                   text, path_, names.size()));
      }
      categorical[feature] = true;
    }
    return categorical;
  }

  Result<std::shared_ptr<const FeatureBinning>> FindBins() {
    auto features = std::make_shared<FeatureBinning>();
    features->names = source_.FeatureNames();
    features->mappers.resize(source_.features());
    STRATA_ASSIGN(const std::vector<bool> categorical, CategoricalFeatures(features->names));
    std::vector<FeatureSample> samples(source_.features());
    STRATA_TRY(ReadSample(&samples));
    pool_.Run(samples.size(), [&](size_t f) {
      samples[f].categorical = categorical[f];
      features->mappers[f] = BinMapper::Find(std::move(samples[f]), options_.binning);
    });
    for (size_t f = 0; f < features->mappers.size(); ++f) {
      if (!features->mappers[f].is_used()) continue;
      features->used.push_back(f);
      features->shapes.push_back(features->mappers[f].shape());
    }
    if (features->used.empty()) {
      return Invalid(fmt::format(
          "{}: no feature can be split: each is constant, or has fewer than min_data_in_leaf = {} "
          "rows on one side of every boundary",
          path_, options_.binning.min_data_in_leaf));
    }
    return std::shared_ptr<const FeatureBinning>(std::move(features));
  }

  Status ReadSample(std::vector<FeatureSample>* samples) {
    const std::vector<size_t> chosen =
        SampleRows(data_.rows(), options_.sample_rows, options_.sample_seed);
    for (FeatureSample& sample : *samples) {
      sample.rows = chosen.size();
      sample.rows_of_data = data_.rows();
    }
    STRATA_TRY(source_.Rewind());
    SparseRows block;
    size_t next = 0;
    for (size_t begin = 0; next < chosen.size(); begin += block.rows()) {
      STRATA_TRY(source_.Next(&block));
      if (block.rows() == 0) return Failed(fmt::format("{}: became shorter meanwhile", path_));
      for (; next < chosen.size() && chosen[next] < begin + block.rows(); ++next) {
        const size_t row = chosen[next] - begin;
        for (size_t i = block.begins[row]; i < block.begins[row + 1]; ++i) {
          (*samples)[block.columns[i]].values.push_back(block.values[i]);
        }
      }
    }
    return {};
  }

  Status FillBins() {
    const FeatureBinning& features = *data_.features;
    std::vector<uint32_t> counts;
    std::vector<uint32_t> defaults;
    for (const FeatureShape& shape : features.shapes) {
      counts.push_back(shape.bins);
      defaults.push_back(shape.default_bin);
    }
    constexpr size_t kNone = static_cast<size_t>(-1);
    std::vector<size_t> used_of(features.mappers.size(), kNone);
    for (size_t used = 0; used < features.used.size(); ++used) used_of[features.used[used]] = used;
    data_.bins = BinMatrix(data_.rows(), counts);
    STRATA_TRY(source_.Rewind());
    SparseRows block;
    constexpr size_t kPieceRows = 512;
    for (size_t begin = 0; begin < data_.rows(); begin += block.rows()) {
      STRATA_TRY(source_.Next(&block));
      if (block.rows() == 0) return Failed(fmt::format("{}: became shorter meanwhile", path_));
      pool_.RunPieces(block.rows(), kPieceRows, [&](size_t from, size_t to) {
        std::vector<uint32_t> row_bins;
        for (size_t row = from; row < to; ++row) {
          row_bins = defaults;
          for (size_t i = block.begins[row]; i < block.begins[row + 1]; ++i) {
            const size_t used = used_of[block.columns[i]];
            if (used == kNone) continue;
            row_bins[used] = features.mappers[block.columns[i]].BinOf(block.values[i]);
          }
          data_.bins.SetRow(begin + row, row_bins);
        }
      });
    }
    return {};
  }

  RowSource& source_;
  const std::string& path_;
  const DatasetOptions& options_;
  WorkPool& pool_;
  TreeDataset data_;
  std::vector<int64_t> queries_;
};

}  // namespace

Result<TreeDataset> LoadTreeDataset(Disk& disk, RowSource& source, const std::string& path,
                                    const DatasetOptions& options,
                                    std::shared_ptr<const FeatureBinning> features,
                                    WorkPool& pool) {
  return Loader(source, path, options, pool).Load(disk, std::move(features));
}

}  // namespace strata
