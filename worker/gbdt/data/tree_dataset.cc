#include "worker/gbdt/data/tree_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/log.h"
#include "kernels/tree/bins/category.h"
#include "worker/gbdt/data/array_rows.h"
#include "worker/gbdt/data/column_roles.h"
#include "worker/gbdt/data/divided_rows.h"
#include "worker/gbdt/data/feature_bundles.h"
#include "worker/gbdt/data/feature_names.h"
#include "worker/gbdt/data/sample_rows.h"
#include "worker/gbdt/data/side_files.h"

namespace strata {
namespace {

// A model keeps a bit a category up to the largest, in each split.
constexpr int32_t kCategoryMax = (1 << 24) - 1;
constexpr size_t kRowsMax = std::numeric_limits<uint32_t>::max();

class Loader {
 public:
  Loader(RowSource& source, const std::string& path, const DatasetOptions& options, WorkPool& pool)
      : source_(source),
        path_(path),
        options_(options),
        group_(options.group != nullptr && options.group->world() > 1 ? options.group : nullptr),
        pool_(pool) {
    // Parts of an array are read block by block, and so are rows that bundles are found from.
    if (group_ == nullptr && !options.bundle) array_ = source.Array();
  }

  Result<TreeDataset> Load(Disk& disk, std::shared_ptr<const FeatureBinning> features) {
    const Share share = group_ == nullptr ? Share{}
                                          : Share{static_cast<uint32_t>(group_->rank()),
                                                  static_cast<uint32_t>(group_->world())};
    if (shares_file()) STRATA_TRY(source_.TakePart({.share = share}));
    if (group_ != nullptr) STRATA_TRY(AgreeOnColumns(*group_, path_, KnownNames()));
    if (features == nullptr) STRATA_TRY(source_.FindCategories(group_));
    STRATA_TRY(ReadLabels());
    if (group_ == nullptr && data_.rows() == 0) return Invalid(fmt::format("{}: no row", path_));
    if (group_ != nullptr) {
      STRATA_ASSIGN(data_.share, RowShare::Divide(*group_, data_.rows()));
    }
    STRATA_TRY(FindLeftOut());
    STRATA_TRY(FindQueries(disk, share));
    if (features == nullptr) {
      STRATA_ASSIGN(features, FindBins());
    } else if (source_.features() > features->mappers.size()) {
      return Invalid(fmt::format("{}: {} features, the training data has {}", path_,
                                 source_.features(), features->mappers.size()));
    }
    data_.features = std::move(features);
    STRATA_TRY(FillBins());
    const bool has_weights = !data_.weights.empty();
    if (options_.side_files) {
      STRATA_ASSIGN(SideFiles side,
                    ReadSideFiles(disk, path_, PartOfFile(), options_.classes, has_weights));
      if (!has_weights) data_.weights = std::move(side.weights);
      data_.init_scores = std::move(side.init_scores);
    }
    if (group_ != nullptr) {
      STRATA_TRY(AgreeOnNumber(*group_, path_ + ": whether rows have weights (1)",
                               data_.weights.empty() ? 0 : 1));
      STRATA_TRY(AgreeOnNumber(*group_, path_ + ": whether rows have scores to start from (1)",
                               data_.init_scores.empty() ? 0 : 1));
    }
    const auto counts = [](float weight) { return weight > 0; };
    if (!data_.weights.empty() && !data_.share.Any(std::ranges::any_of(data_.weights, counts))) {
      return data_.share.FailEverywhere(Invalid(fmt::format("{}: all weights are 0", path_)));
    }
    data_.path = path_;
    data_.rows_before = PartOfFile().first;
    return std::move(data_);
  }

 private:
  // Whether this rank reads a part of a file that others read, too.
  bool shares_file() const { return group_ != nullptr && !options_.own_files; }
  // Of features, unless rows are yet to say which there are.
  std::vector<std::string> KnownNames() const {
    return source_.features() > 0 ? source_.FeatureNames() : std::vector<std::string>();
  }
  // Which of the file's rows these are.
  SidePart PartOfFile() const {
    if (!shares_file()) {
      return {.first = 0, .rows = data_.rows(), .all = data_.rows(), .left_out = data_.left_out};
    }
    return {.first = data_.share.first_row(),
            .rows = data_.rows(),
            .all = data_.all_rows(),
            .left_out = data_.left_out};
  }

  // Which rows of the file the ranks have left out while they read labels.
  Status FindLeftOut() {
    if (!shares_file()) {
      data_.bad_rows = static_cast<uint64_t>(data_.share.Sum(static_cast<int64_t>(bad_.size())));
      data_.left_out = std::move(bad_);
      return data_.share.status();
    }
    for (uint64_t& before : bad_) before += data_.share.first_row();
    std::vector<std::vector<std::byte>> all;
    STRATA_TRY(group_->Allgather(std::as_bytes(std::span(std::as_const(bad_))), &all));
    for (const std::vector<std::byte>& bytes : all) {
      const size_t begin = data_.left_out.size();
      data_.left_out.resize(begin + bytes.size() / sizeof(uint64_t));
      if (!bytes.empty()) std::memcpy(&data_.left_out[begin], bytes.data(), bytes.size());
    }
    data_.bad_rows = data_.left_out.size();
    return {};
  }

  // From a column or from a side file. Where a file is shared, rows move between neighbours until
  // no query is cut.
  Status FindQueries(Disk& disk, Share share) {
    const bool in_column = data_.share.Any(!queries_.empty());
    STRATA_TRY(data_.share.status());
    if (in_column && queries_.size() != data_.rows()) {
      return Invalid(fmt::format("{}: {} of {} rows say which query they belong to", path_,
                                 queries_.size(), data_.rows()));
    }
    std::vector<size_t> begins;
    if (!in_column && options_.side_files) {
      STRATA_ASSIGN(begins, ReadQueryFile(disk, path_, PartOfFile()));
    }
    if (shares_file() && (in_column || !begins.empty())) {
      STRATA_ASSIGN(const std::vector<uint64_t> borders,
                    BordersOfWholeQueries(*group_, data_.share, queries_, begins));
      const uint64_t first = borders[share.rank];
      const RowPart part = {.share = share,
                            .skip = first - data_.share.first_row(),
                            .rows = borders[share.rank + 1] - first};
      STRATA_TRY(source_.TakePart(part));
      STRATA_TRY(ReadLabels());
      STRATA_ASSIGN(data_.share, RowShare::Divide(*group_, data_.rows()));
    }
    if (in_column) {
      if (share.rank == 0) SayUnusedQueryFile(disk, path_);
      STRATA_ASSIGN(data_.query_begins, QueriesFromColumn(queries_, path_));
      return {};
    }
    // An empty query belongs to the rank that the next row belongs to.
    const SidePart rows = PartOfFile();
    const uint64_t end = rows.first + rows.rows;
    for (size_t q = 0; q + 1 < begins.size(); ++q) {
      if (begins[q] < rows.first || (begins[q] >= end && end != rows.all)) continue;
      data_.query_begins.push_back(begins[q] - rows.first);
    }
    if (!begins.empty()) data_.query_begins.push_back(rows.rows);
    return {};
  }

  // All but the values, which are too many to keep.
  Status ReadLabels() {
    data_.labels.clear();
    data_.weights.clear();
    queries_.clear();
    bad_.clear();
    SparseRows block;
    if (array_.has_value()) {
      STRATA_TRY(CheckRows(array_->numbers.rows));
      STRATA_TRY(ReadArrayLabels(*array_, path_, pool_, &block));
      data_.labels = std::move(block.labels);
      data_.weights = std::move(block.weights);
      queries_ = std::move(block.queries);
      return {};
    }
    while (true) {
      STRATA_TRY(source_.Next(&block));
      for (const BadRow& bad : block.bad) bad_.push_back(data_.rows() + bad.row);
      if (block.rows() == 0) break;
      STRATA_TRY(CheckRows(data_.rows() + block.rows()));
      data_.labels.insert(data_.labels.end(), block.labels.begin(), block.labels.end());
      data_.weights.insert(data_.weights.end(), block.weights.begin(), block.weights.end());
      queries_.insert(queries_.end(), block.queries.begin(), block.queries.end());
    }
    return {};
  }

  Status CheckRows(uint64_t rows) const {
    if (rows <= kRowsMax) return {};
    return Refused(fmt::format("{}: more than {} rows: train with several ranks", path_, kRowsMax));
  }

  Result<std::vector<bool>> CategoricalFeatures(const std::vector<std::string>& names) const {
    std::vector<bool> categorical(names.size(), false);
    for (const std::string& text : options_.categorical) {
      size_t feature = names.size();
      if (text.starts_with("name:")) {
        feature = static_cast<size_t>(std::ranges::find(names, text.substr(5)) - names.begin());
      } else {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), feature);
        if (error != std::errc() || end != text.data() + text.size()) feature = names.size();
      }
      if (feature >= names.size()) {
        return Invalid(fmt::format("categorical_feature: '{}': {} has no such feature among {}",
                                   text, path_, names.size()));
      }
      categorical[feature] = true;
    }
    return categorical;
  }

  Status ForceBounds(std::span<FeatureSample> samples) const {
    for (const auto& [feature, bounds] : options_.forced_bounds) {
      if (feature >= samples.size()) {
        return Invalid(fmt::format("forcedbins_filename: feature {}: {} has {} features", feature,
                                   path_, samples.size()));
      }
      if (samples[feature].categorical) {
        return Invalid(fmt::format(
            "forcedbins_filename: feature {} is categorical: its bins have no bounds", feature));
      }
      samples[feature].forced_bounds = bounds;
    }
    return {};
  }

  Status CheckCategories(const std::string& name, const FeatureSample& sample) const {
    for (const double value : sample.values) {
      if (CategoryOf(value) <= kCategoryMax) continue;
      return Invalid(fmt::format(
          "{}: categorical_feature {}: {} is too large: expected numbers from 0 to {}: number the "
          "categories anew",
          path_, name, value, kCategoryMax));
    }
    return {};
  }

  Result<std::shared_ptr<const FeatureBinning>> FindBins() {
    auto features = std::make_shared<FeatureBinning>();
    std::vector<std::string> names = source_.FeatureNames();
    // Rows of libsvm may have features on one rank that another has not seen.
    const auto count =
        static_cast<size_t>(data_.share.Max(static_cast<double>(source_.features())));
    if (names.size() < count) names = DefaultFeatureNames(count);
    Result<std::vector<std::string>> of_model = ModelFeatureNames(names);
    if (!of_model.ok()) return of_model.status().Prefixed(path_);
    features->names = std::move(*of_model);
    features->categories = source_.Categories();
    STRATA_ASSIGN(const std::vector<bool> categorical, CategoricalFeatures(names));
    std::vector<NonZeroRows> non_zero(options_.bundle ? count : 0);
    std::vector<FeatureSample> samples(count);
    const std::vector<size_t> chosen = ChooseRows(&samples);
    STRATA_ASSIGN(features->mappers,
                  FindMappersOf(names, chosen, categorical, std::move(samples), &non_zero));
    for (size_t f = 0; f < features->mappers.size(); ++f) {
      if (!features->mappers[f].is_used()) continue;
      features->used.push_back(f);
      features->shapes.push_back(features->mappers[f].shape());
    }
    if (count == 0) {
      return data_.share.FailEverywhere(
          Invalid(fmt::format("{}: there is no feature: expected some beside the label", path_)));
    }
    if (features->used.empty()) {
      Log(LogLevel::kWarning,
          "{}: no feature can be split: each is constant, or has fewer than min_data_in_leaf = {} "
          "rows on one side of every boundary; the model is going to be a constant",
          path_, options_.binning.min_data_in_leaf);
    }
    if (options_.bundle) features->columns = Bundled(*features, std::move(non_zero), chosen.size());
    return std::shared_ptr<const FeatureBinning>(std::move(features));
  }

  static std::vector<std::vector<uint32_t>> Bundled(const FeatureBinning& features,
                                                    std::vector<NonZeroRows> of_all,
                                                    size_t sampled) {
    std::vector<NonZeroRows> of_used;
    for (const size_t f : features.used) of_used.push_back(std::move(of_all[f]));
    std::vector<std::vector<uint32_t>> columns = FindBundles(features.shapes, of_used, sampled);
    if (columns.size() == features.used.size()) columns.clear();
    return columns;
  }

  // Rows of the sample that are here.
  std::vector<size_t> ChooseRows(std::vector<FeatureSample>* samples) const {
    const std::vector<size_t> all =
        SampleRows(data_.all_rows(), options_.sample_rows, options_.sample_seed);
    for (FeatureSample& sample : *samples) {
      sample.rows = all.size();
      sample.rows_of_data = data_.all_rows();
    }
    std::vector<size_t> chosen;
    const uint64_t first = data_.share.first_row();
    for (const size_t row : all) {
      if (row >= first && row - first < data_.rows()) chosen.push_back(row - first);
    }
    return chosen;
  }

  Result<std::vector<BinMapper>> FindMappersOf(const std::vector<std::string>& names,
                                               std::span<const size_t> chosen,
                                               const std::vector<bool>& categorical,
                                               std::vector<FeatureSample> samples,
                                               std::vector<NonZeroRows>* non_zero) {
    const std::vector<int64_t>& most = options_.max_bin_by_feature;
    if (!most.empty() && most.size() != samples.size()) {
      return Invalid(fmt::format(
          "{}: max_bin_by_feature: expected a number for each of the {} features, found {}", path_,
          samples.size(), most.size()));
    }
    for (size_t f = 0; f < samples.size(); ++f) {
      samples[f].categorical = categorical[f];
      if (!most.empty()) samples[f].max_bin = static_cast<uint32_t>(most[f]);
    }
    STRATA_TRY(ForceBounds(samples));
    if (array_.has_value() && options_.categorical.empty()) {
      return FindArrayMappers(*array_, chosen, std::move(samples), options_.binning, pool_);
    }
    STRATA_TRY(ReadSample(chosen, &samples, non_zero));
    for (size_t f = 0; f < samples.size(); ++f) {
      if (categorical[f]) STRATA_TRY(CheckCategories(names[f], samples[f]));
    }
    return FindMappers(group_, data_.share, std::move(samples), options_.binning, pool_);
  }

  Status ReadSample(std::span<const size_t> chosen, std::vector<FeatureSample>* samples,
                    std::vector<NonZeroRows>* non_zero) {
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
          if (non_zero->empty()) continue;
          (*non_zero)[block.columns[i]].Add(static_cast<uint32_t>(next));
        }
      }
    }
    return {};
  }

  Status FillBins() {
    const FeatureBinning& features = *data_.features;
    BinBundles bundles{.columns = features.columns, .default_bins = {}};
    std::vector<uint32_t> counts;
    for (const FeatureShape& shape : features.shapes) {
      counts.push_back(shape.bins);
      bundles.default_bins.push_back(shape.default_bin);
    }
    // Bundles are found from a sample: among all rows some may not exclude each other.
    std::vector<std::atomic<bool>> meets_another(counts.size());
    do {
      const size_t columns = bundles.columns.empty() ? counts.size() : bundles.columns.size();
      const size_t a_rank = (columns + options_.feature_ranks - 1) / options_.feature_ranks;
      const size_t a_block = std::clamp<size_t>(a_rank, 1, BinBlock::kColumnsMax);
      data_.bins = BinMatrix(data_.rows(), counts, bundles, a_block);
      if (FillOnGpu()) return {};
      STRATA_TRY(FillOnce(&meets_another));
    } while (TakeOut(&meets_another, &bundles.columns));
    return {};
  }

  // Gives features that are marked a column each; false: none is.
  static bool TakeOut(std::vector<std::atomic<bool>>* marked,
                      std::vector<std::vector<uint32_t>>* columns) {
    std::vector<uint32_t> out;
    for (uint32_t f = 0; f < marked->size(); ++f) {
      if ((*marked)[f].exchange(false)) out.push_back(f);
    }
    for (std::vector<uint32_t>& features : *columns) {
      std::erase_if(features, [&](uint32_t f) { return std::ranges::binary_search(out, f); });
    }
    for (const uint32_t f : out) columns->push_back({f});
    std::ranges::sort(*columns);
    return !out.empty();
  }

  // Marks each feature that is out of its default bin in a row where another of its column is.
  Status FillOnce(std::vector<std::atomic<bool>>* meets_another) {
    const FeatureBinning& features = *data_.features;
    constexpr size_t kNone = static_cast<size_t>(-1);
    std::vector<size_t> used_of(features.mappers.size(), kNone);
    for (size_t used = 0; used < features.used.size(); ++used) used_of[features.used[used]] = used;
    STRATA_TRY(source_.Rewind());
    SparseRows block;
    constexpr size_t kPieceRows = 512;
    for (size_t begin = 0; begin < data_.rows(); begin += block.rows()) {
      STRATA_TRY(source_.Next(&block));
      if (block.rows() == 0) return Failed(fmt::format("{}: became shorter meanwhile", path_));
      WarnOfCategories(block, begin);
      pool_.RunPieces(block.rows(), kPieceRows, [&](size_t from, size_t to) {
        BinRow values(data_.bins);
        for (size_t row = from; row < to; ++row) {
          values.Clear();
          for (size_t i = block.begins[row]; i < block.begins[row + 1]; ++i) {
            const size_t used = used_of[block.columns[i]];
            if (used == kNone) continue;
            const uint32_t bin = features.mappers[block.columns[i]].BinOf(block.values[i]);
            if (!values.Put(used, bin)) (*meets_another)[used] = true;
          }
          data_.bins.SetRow(begin + row, values.values());
        }
      });
    }
    return {};
  }

  // Once: what are not the numbers of categories.
  void WarnOfCategories(const SparseRows& block, size_t begin) {
    if (warned_ || options_.categorical.empty()) return;
    const FeatureBinning& features = *data_.features;
    for (size_t row = 0; row < block.rows() && !warned_; ++row) {
      for (size_t i = block.begins[row]; i < block.begins[row + 1] && !warned_; ++i) {
        const double value = block.values[i];
        if (!features.mappers[block.columns[i]].shape().categorical) continue;
        const int32_t category = CategoryOf(value);
        if (std::isnan(value) || (category != kNoCategory && value == category)) continue;
        warned_ = true;
        Log(LogLevel::kWarning,
            "{}: row {}: categorical_feature {} is {}, which counts as {}, as do others like it: "
            "categories are whole numbers from 0 on",
            path_, PartOfFile().first + begin + row + 1, features.names[block.columns[i]], value,
            category == kNoCategory ? "missing" : fmt::format("{}", category));
      }
    }
  }

  // False: the CPU is to do it, whatever kept the GPU from it.
  bool FillOnGpu() {
    const FeatureBinning& features = *data_.features;
    if (!options_.gpu.has_value() || !array_.has_value() || !options_.categorical.empty() ||
        data_.bins.has_bundles() || features.used.empty()) {
      return false;
    }
    const std::vector<uint32_t> columns = ColumnsOfFeatures(*array_->roles);
    std::vector<ColumnBins> column_bins;
    for (const size_t f : features.used) {
      const BinMapper& mapper = features.mappers[f];
      column_bins.push_back({.column = columns[f],
                             .bounds = mapper.value_bounds(),
                             .zero_bin = mapper.shape().default_bin,
                             .missing_bin = mapper.missing_bin()});
    }
    Result<std::shared_ptr<const GpuBins>> made = GpuBins::Make(
        *options_.gpu, array_->numbers, column_bins, features.shapes, pool_, &data_.bins);
    if (!made.ok()) {
      Log(LogLevel::kInfo, "{}: bins are made on the CPU: {}", path_, made.status().message());
      return false;
    }
    data_.gpu_bins = std::move(*made);
    return true;
  }

  RowSource& source_;
  const std::string& path_;
  const DatasetOptions& options_;
  Group* const group_;  // null: all rows are here
  WorkPool& pool_;
  TreeDataset data_;
  std::vector<int64_t> queries_;
  std::vector<uint64_t> bad_;  // rows left out here: how many others stand before each
  bool warned_ = false;
  std::optional<ArrayRows> array_;  // where all of its rows are to be loaded
};

}  // namespace

std::string TreeDataset::WhereIs(size_t row) const {
  const uint64_t used_before = rows_before + row;
  const auto left_out_before = std::ranges::upper_bound(left_out, used_before) - left_out.begin();
  return fmt::format("{}{}row {}", path, path.empty() ? "" : ": ",
                     used_before + static_cast<uint64_t>(left_out_before) + 1);
}

Status TreeDataset::CheckLabels(const std::function<bool(float)>& fits,
                                const std::string& needs) const {
  const auto wrong = std::ranges::find_if_not(labels, fits);
  if (wrong == labels.end()) return {};
  return Invalid(fmt::format("{}: {}, found {}",
                             WhereIs(static_cast<size_t>(wrong - labels.begin())), needs, *wrong));
}

Status TreeDataset::CheckNoInitScores() const {
  if (init_scores.empty()) return {};
  return Invalid(fmt::format(
      "{}.init: a random forest (boosting = rf) averages its trees, and cannot begin with "
      "init scores: remove the file",
      path));
}

Result<TreeDataset> LoadTreeDataset(Disk& disk, RowSource& source, const std::string& path,
                                    const DatasetOptions& options,
                                    std::shared_ptr<const FeatureBinning> features,
                                    WorkPool& pool) {
  return Loader(source, path, options, pool).Load(disk, std::move(features));
}

}  // namespace strata
