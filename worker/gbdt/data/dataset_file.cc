#include "worker/gbdt/data/dataset_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/little_endian.h"
#include "base/xxh3.h"
#include "worker/gbdt/data/feature_names.h"

namespace strata {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

constexpr std::string_view kMagic = "STRATADS";
constexpr uint32_t kVersion = 3;
constexpr uint32_t kVersionWithoutKeys = 2;  // and those before it
constexpr uint32_t kVersionWithoutBundles = 1;
constexpr size_t kHeadBytes = 16;
constexpr size_t kSectionHeadBytes = 16;
constexpr size_t kChunkRows = 1 << 16;
constexpr size_t kPieceRows = 512;
constexpr size_t kNarrowValues = 256;

template <typename T>
std::span<const std::byte> BytesOf(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

// What bins depend on, as one reads it in an error.
std::string RulesText(const DatasetOptions& options) {
  const BinningRules& rules = options.binning;
  const std::string forced =
      options.forced_bounds.empty() ? "" : fmt::format(", forced bins = {}", options.forced_bounds);
  return fmt::format(
      "max_bin = {}, min_data_in_bin = {}, use_missing = {}, zero_as_missing = {}, "
      "feature_pre_filter = {}, min_data_in_leaf = {}, bin_construct_sample_cnt = {}, "
      "data_random_seed = {}, categorical_feature = {}, max_bin_by_feature = {}{}",
      rules.max_bin, rules.min_data_in_bin, rules.use_missing, rules.zero_as_missing,
      rules.pre_filter, rules.pre_filter ? rules.min_data_in_leaf : 0, options.sample_rows,
      options.sample_seed, fmt::join(options.categorical, ","),
      fmt::join(options.max_bin_by_feature, ","), forced);
}

// Texts or bytes one behind the other, each with its length.
class Lists {
 public:
  void Add(std::span<const std::byte> bytes) {
    std::byte length[8];
    StoreLittle<uint64_t>(bytes.size(), length);
    all_.insert(all_.end(), std::begin(length), std::end(length));
    all_.insert(all_.end(), bytes.begin(), bytes.end());
  }
  const std::vector<std::byte>& bytes() const { return all_; }

 private:
  std::vector<std::byte> all_;
};

// False: the bytes are no such list.
bool ReadLists(std::span<const std::byte> bytes, std::vector<std::span<const std::byte>>* lists) {
  while (!bytes.empty()) {
    if (bytes.size() < 8) return false;
    const auto length = LoadLittle<uint64_t>(bytes.data());
    bytes = bytes.subspan(8);
    if (length > bytes.size()) return false;
    lists->push_back(bytes.first(length));
    bytes = bytes.subspan(length);
  }
  return true;
}

size_t BytesOfValue(size_t values) { return values > kNarrowValues ? 2 : 1; }

class Writer {
 public:
  explicit Writer(File& file) : file_(file) {}

  Status Head() {
    std::byte head[kHeadBytes] = {};
    std::memcpy(head, kMagic.data(), kMagic.size());
    StoreLittle<uint32_t>(kVersion, head + 8);
    return file_.Append(head);
  }

  Status Section(std::span<const std::byte> bytes) {
    std::byte head[kSectionHeadBytes];
    StoreLittle<uint64_t>(bytes.size(), head);
    StoreLittle<uint64_t>(XXH3_64bits(bytes.data(), bytes.size()), head + 8);
    STRATA_TRY(file_.Append(head));
    return bytes.empty() ? Status() : file_.Append(bytes);
  }

  Status Bins(const BinMatrix& bins) {
    std::vector<std::byte> chunk;
    for (size_t begin = 0; begin < bins.rows(); begin += kChunkRows) {
      const size_t rows = std::min(kChunkRows, bins.rows() - begin);
      chunk.clear();
      for (size_t column = 0; column < bins.columns(); ++column) {
        const bool wide = BytesOfValue(bins.values_of(column)) == 2;
        for (size_t row = begin; row < begin + rows; ++row) {
          const uint32_t value = bins.column_at(column).At(row);
          chunk.push_back(static_cast<std::byte>(value & 0xff));
          if (wide) chunk.push_back(static_cast<std::byte>(value >> 8));
        }
      }
      STRATA_TRY(Section(chunk));
    }
    return {};
  }

 private:
  File& file_;
};

class Reader {
 public:
  Reader(const File& file, const std::string& path, uint64_t size)
      : file_(file), path_(path), size_(size) {}

  Status Head() {
    std::byte head[kHeadBytes] = {};
    STRATA_ASSIGN(const size_t got, file_.ReadAt(0, head));
    if (got < kHeadBytes || std::memcmp(head, kMagic.data(), kMagic.size()) != 0) {
      return Corrupt(fmt::format("{}: no dataset file of Strata", path_));
    }
    version_ = LoadLittle<uint32_t>(head + 8);
    if (version_ < kVersionWithoutBundles || version_ > kVersion) {
      return Invalid(
          fmt::format("{}: version {} of dataset files, expected {}: remove it, and save "
                      "it again with save_binary = true",
                      path_, version_, kVersion));
    }
    if (LoadLittle<uint32_t>(head + 12) != 0) return Damaged("its head");
    at_ = kHeadBytes;
    return {};
  }

  // `what` it holds, for errors.
  Result<std::span<const std::byte>> Section(const std::string& what) {
    std::byte head[kSectionHeadBytes];
    STRATA_ASSIGN(const size_t got, file_.ReadAt(at_, head));
    if (got < kSectionHeadBytes) return Damaged(what);
    at_ += kSectionHeadBytes;
    const auto bytes = LoadLittle<uint64_t>(head);
    if (at_ > size_ || bytes > size_ - at_) return Damaged(what);
    section_.resize(bytes);
    STRATA_ASSIGN(const size_t read, file_.ReadAt(at_, section_));
    at_ += bytes;
    if (read != bytes || XXH3_64bits(section_.data(), bytes) != LoadLittle<uint64_t>(head + 8)) {
      return Damaged(what);
    }
    return std::span<const std::byte>(section_);
  }

  // One number each, `count` of them unless there are none.
  template <typename T>
  Status Numbers(const std::string& what, std::vector<T>* numbers) {
    STRATA_ASSIGN(const std::span<const std::byte> bytes, Section(what));
    if (bytes.size() % sizeof(T) != 0) return Damaged(what);
    numbers->resize(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(numbers->data(), bytes.data(), bytes.size());
    return {};
  }

  bool has_bundles() const { return version_ > kVersionWithoutBundles; }
  bool has_keys() const { return version_ > kVersionWithoutKeys; }
  const std::string& path() const { return path_; }
  bool is_at_end() const { return at_ == size_; }
  uint64_t left() const { return size_ - std::min(at_, size_); }
  Status Damaged(const std::string& what) const {
    return Corrupt(fmt::format(
        "{}: {} is cut or damaged: remove the file, and save it again with save_binary = true",
        path_, what));
  }

 private:
  const File& file_;
  const std::string& path_;
  const uint64_t size_;
  uint64_t at_ = 0;
  uint32_t version_ = 0;
  std::vector<std::byte> section_;
};

Result<std::shared_ptr<const FeatureBinning>> ReadFeatures(Reader& in, uint64_t features,
                                                           uint64_t used) {
  auto binning = std::make_shared<FeatureBinning>();
  std::vector<std::span<const std::byte>> lists;
  STRATA_ASSIGN(std::span<const std::byte> bytes, in.Section("the features' names"));
  if (!ReadLists(bytes, &lists) || lists.size() != features) return in.Damaged("names");
  std::vector<std::string> names;
  for (const auto& name : lists) {
    names.emplace_back(reinterpret_cast<const char*>(name.data()), name.size());
  }
  // Earlier versions kept the names that the data had.
  Result<std::vector<std::string>> of_model = ModelFeatureNames(names);
  if (!of_model.ok()) return of_model.status().Prefixed(in.path());
  binning->names = std::move(*of_model);
  lists.clear();
  STRATA_ASSIGN(bytes, in.Section("the features' bins"));
  if (!ReadLists(bytes, &lists) || lists.size() != features) return in.Damaged("bins of features");
  for (const auto& mapper_bytes : lists) {
    STRATA_ASSIGN(BinMapper mapper, BinMapper::FromBytes(mapper_bytes));
    if (mapper.is_used()) {
      binning->used.push_back(binning->mappers.size());
      binning->shapes.push_back(mapper.shape());
    }
    binning->mappers.push_back(std::move(mapper));
  }
  if (binning->used.size() != used || features == 0) return in.Damaged("the list of features");
  return std::shared_ptr<const FeatureBinning>(std::move(binning));
}

bool AreAlike(const FeatureBinning& a, const FeatureBinning& b) {
  return a.names == b.names && a.mappers.size() == b.mappers.size() &&
         std::ranges::equal(a.mappers, b.mappers, [](const BinMapper& x, const BinMapper& y) {
           return x.ToBytes() == y.ToBytes();
         });
}

// The features of each column behind their number, where features share columns.
std::vector<uint64_t> ColumnsOf(const BinMatrix& bins) {
  std::vector<uint64_t> numbers;
  for (size_t column = 0; bins.has_bundles() && column < bins.columns(); ++column) {
    const std::span<const uint32_t> features = bins.features_of(column);
    numbers.push_back(features.size());
    numbers.insert(numbers.end(), features.begin(), features.end());
  }
  return numbers;
}

// False: the numbers are none of ColumnsOf.
bool ReadColumns(std::span<const uint64_t> numbers, std::span<const uint32_t> counts,
                 std::vector<std::vector<uint32_t>>* columns) {
  std::vector<bool> placed(counts.size(), false);
  while (!numbers.empty()) {
    const uint64_t count = numbers[0];
    numbers = numbers.subspan(1);
    if (count == 0 || count > numbers.size()) return false;
    std::vector<uint32_t>& features = columns->emplace_back();
    for (const uint64_t f : numbers.first(count)) {
      if (f >= counts.size() || placed[f]) return false;
      placed[f] = true;
      features.push_back(static_cast<uint32_t>(f));
    }
    if (count > 1 && BinBundles::ValuesOf(features, counts) > kNarrowValues) return false;
    numbers = numbers.subspan(count);
  }
  return columns->empty() || std::ranges::find(placed, false) == placed.end();
}

// Whether the data was saved with the column keys that are given now.
Status CheckColumns(Reader& in, const std::string& now) {
  const auto shown = [](const std::string& keys) {
    return keys.empty() ? "no key that names columns" : keys;
  };
  if (!in.has_keys()) {
    if (now.empty()) return {};
    return Invalid(fmt::format(
        "{}: an older version has saved it, which does not say with which columns: expected no key "
        "that names columns, found {}; remove the file, and save it again",
        in.path(), now));
  }
  STRATA_ASSIGN(const std::span<const std::byte> bytes, in.Section("the keys of columns"));
  const std::string saved(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (saved == now) return {};
  return Invalid(fmt::format(
      "{}: it was saved with {}; found {}: give the same, or remove the file and save it again",
      in.path(), shown(saved), shown(now)));
}

// That the file has of each row.
uint64_t RowBytesOf(const BinBundles& bundles, std::span<const uint32_t> counts) {
  uint64_t bytes = 0;
  for (const std::vector<uint32_t>& features : bundles.columns) {
    bytes += BytesOfValue(BinBundles::ValuesOf(features, counts));
  }
  if (!bundles.columns.empty()) return bytes;
  for (const uint32_t values : counts) bytes += BytesOfValue(values);
  return bytes;
}

Status ReadBins(Reader& in, size_t rows, const FeatureBinning& features,
                std::span<const uint64_t> numbers, WorkPool& pool, BinMatrix* bins) {
  std::vector<uint32_t> counts;
  BinBundles bundles;
  for (const FeatureShape& shape : features.shapes) {
    counts.push_back(shape.bins);
    bundles.default_bins.push_back(shape.default_bin);
  }
  if (!ReadColumns(numbers, counts, &bundles.columns)) return in.Damaged("the list of columns");
  const uint64_t row_bytes = RowBytesOf(bundles, counts);
  // The matrix takes so much memory, and a few bytes of a file can ask for any number of rows.
  if (row_bytes > in.left() / rows) return in.Damaged(fmt::format("{} rows", rows));
  *bins = BinMatrix(rows, counts, bundles);
  for (size_t begin = 0; begin < rows; begin += kChunkRows) {
    const size_t here = std::min(kChunkRows, rows - begin);
    const std::string what = fmt::format("rows {} to {}", begin + 1, begin + here);
    STRATA_ASSIGN(const std::span<const std::byte> chunk, in.Section(what));
    if (chunk.size() != here * row_bytes) return in.Damaged(what);
    std::atomic<bool> fits = true;
    pool.RunPieces(here, kPieceRows, [&](size_t from, size_t to) {
      std::vector<uint32_t> values(bins->columns());
      for (size_t row = from; row < to; ++row) {
        const std::byte* column = chunk.data();
        for (size_t c = 0; c < values.size(); ++c) {
          const size_t width = BytesOfValue(bins->values_of(c));
          const std::byte* const at = column + row * width;
          values[c] = width == 1 ? std::to_integer<uint32_t>(*at) : LoadLittle<uint16_t>(at);
          if (values[c] >= bins->values_of(c)) fits = false;
          column += here * width;
        }
        if (fits) bins->SetRow(begin + row, values);
      }
    });
    if (!fits) return in.Damaged(what);
  }
  return {};
}

Status Write(Writer out, const TreeDataset& data, const DatasetOptions& options) {
  const FeatureBinning& features = *data.features;
  STRATA_TRY(out.Head());
  const std::string rules = RulesText(options);
  STRATA_TRY(out.Section(std::as_bytes(std::span(rules))));
  STRATA_TRY(out.Section(std::as_bytes(std::span(options.columns))));
  STRATA_TRY(out.Section(
      BytesOf(std::vector<uint64_t>{data.rows(), features.names.size(), features.used.size()})));
  Lists names;
  for (const std::string& name : features.names) names.Add(std::as_bytes(std::span(name)));
  STRATA_TRY(out.Section(names.bytes()));
  Lists mappers;
  for (const BinMapper& mapper : features.mappers) mappers.Add(mapper.ToBytes());
  STRATA_TRY(out.Section(mappers.bytes()));
  STRATA_TRY(out.Section(BytesOf(ColumnsOf(data.bins))));
  STRATA_TRY(out.Section(BytesOf(data.labels)));
  STRATA_TRY(out.Section(BytesOf(data.weights)));
  STRATA_TRY(out.Section(
      BytesOf(std::vector<uint64_t>(data.query_begins.begin(), data.query_begins.end()))));
  STRATA_TRY(out.Section(BytesOf(data.init_scores)));
  return out.Bins(data.bins);
}

Status WriteWhole(Disk& disk, const TreeDataset& data, const DatasetOptions& options,
                  const std::string& path) {
  STRATA_ASSIGN(const std::unique_ptr<File> file, disk.Create(path));
  STRATA_TRY(Write(Writer(*file), data, options));
  return file->Sync();
}

}  // namespace

Status WriteDatasetFile(Disk& disk, const TreeDataset& data, const DatasetOptions& options,
                        const std::string& path) {
  if (!data.share.is_whole()) {
    return Invalid("save_binary: the rows are divided over ranks: save them from one process");
  }
  if (!data.features->categories.empty()) {
    return Invalid("save_binary: categories that are texts are not kept: leave it out");
  }
  const std::string unfinished = path + ".unfinished";
  Status written = WriteWhole(disk, data, options, unfinished);
  if (written.ok()) written = disk.Rename(unfinished, path);
  if (written.ok()) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    return disk.SyncFolder(folder.empty() ? "." : folder).Prefixed(path);
  }
  static_cast<void>(disk.Remove(unfinished));
  return written.Prefixed(path);
}

Result<bool> IsDatasetFile(Disk& disk, const std::string& path) {
  STRATA_ASSIGN(const std::unique_ptr<File> file, disk.OpenToRead(path));
  std::byte start[kMagic.size()] = {};
  STRATA_ASSIGN(const size_t got, file->ReadAt(0, start));
  return got == kMagic.size() && std::memcmp(start, kMagic.data(), kMagic.size()) == 0;
}

Result<TreeDataset> ReadDatasetFile(Disk& disk, const std::string& path,
                                    const DatasetOptions& options,
                                    std::shared_ptr<const FeatureBinning> features,
                                    WorkPool& pool) {
  STRATA_ASSIGN(const std::unique_ptr<File> file, disk.OpenToRead(path));
  STRATA_ASSIGN(const uint64_t size, file->Size());
  Reader in(*file, path, size);
  STRATA_TRY(in.Head());
  STRATA_ASSIGN(const std::span<const std::byte> rules, in.Section("the rules of bins"));
  const std::string written(reinterpret_cast<const char*>(rules.data()), rules.size());
  if (features == nullptr && written != RulesText(options)) {
    return Invalid(
        fmt::format("{}: its bins were found with {}; expected {}: give the same, or "
                    "remove the file and save it again",
                    path, written, RulesText(options)));
  }
  STRATA_TRY(CheckColumns(in, options.columns));
  std::vector<uint64_t> counts;
  STRATA_TRY(in.Numbers("the number of rows", &counts));
  if (counts.size() != 3 || counts[0] == 0 || counts[0] > std::numeric_limits<uint32_t>::max()) {
    return in.Damaged("the number of rows");
  }
  TreeDataset data;
  STRATA_ASSIGN(data.features, ReadFeatures(in, counts[1], counts[2]));
  std::vector<uint64_t> columns;
  if (in.has_bundles()) STRATA_TRY(in.Numbers("the list of columns", &columns));
  if (features != nullptr) {
    if (!AreAlike(*features, *data.features)) {
      return Invalid(fmt::format("{}: other features or bins than the training data's", path));
    }
    data.features = std::move(features);
  }
  const uint64_t rows = counts[0];
  STRATA_TRY(in.Numbers("labels", &data.labels));
  STRATA_TRY(in.Numbers("weights", &data.weights));
  STRATA_TRY(in.Numbers("queries", &data.query_begins));
  STRATA_TRY(in.Numbers("scores to start from", &data.init_scores));
  const auto& queries = data.query_begins;
  const bool queries_fit = queries.empty() || (queries.front() == 0 && queries.back() == rows &&
                                               std::ranges::is_sorted(queries));
  if (data.labels.size() != rows || (!data.weights.empty() && data.weights.size() != rows) ||
      !queries_fit) {
    return in.Damaged("what belongs to rows");
  }
  if (!data.init_scores.empty() && data.init_scores.size() != rows * options.classes) {
    return Invalid(fmt::format("{}: {} scores to start from, expected {} rows x {} classes", path,
                               data.init_scores.size(), rows, options.classes));
  }
  STRATA_TRY(ReadBins(in, rows, *data.features, columns, pool, &data.bins));
  if (!in.is_at_end()) return in.Damaged("what stands behind the rows");
  return data;
}

}  // namespace strata
