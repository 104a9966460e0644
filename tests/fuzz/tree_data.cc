// What trees are trained by and on: text rows, NumPy arrays, side files, files of bins, train.conf.
// The first byte says which. What is taken must be rows in order, all of them each time; what is
// refused must be named.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>

#include "base/thread/work_pool.h"
#include "strata/status.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/sim_disk.h"
#include "tests/worker/gbdt/npy_text.h"
#include "tests/worker/text_disk.h"
#include "worker/gbdt/data/dataset_file.h"
#include "worker/gbdt/data/npy_rows.h"
#include "worker/gbdt/data/side_files.h"
#include "worker/gbdt/data/text_rows.h"
#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/lightgbm/train_conf.h"

namespace strata::fuzz {
namespace {

constexpr size_t kFeaturesMax = 200;  // of data whose bins are looked for: each costs time
constexpr char kPath[] = "the data";

enum class Kind : uint8_t { kText, kTextWithHeader, kArray, kSideFiles, kBins, kConf };
constexpr size_t kKinds = 6;

void CheckNames(const Status& status) {
  STRATA_CHECK(status.message().find(kPath) != std::string::npos);
}

WorkPool& Pool() {
  static const std::unique_ptr<WorkPool> pool = std::move(*WorkPool::Start("fuzz", 0));
  return *pool;
}

DatasetOptions Options() {
  return {.binning = {.min_data_in_bin = 1, .pre_filter = false}, .categorical = {}};
}

// How many rows there are; nothing where one is refused.
std::optional<size_t> ReadAll(RowSource& source) {
  size_t count = 0;
  SparseRows rows;
  while (true) {
    const Status next = source.Next(&rows);
    if (!next.ok()) {
      CheckNames(next);
      return std::nullopt;
    }
    if (rows.rows() == 0) return count;
    STRATA_CHECK(rows.begins.size() == rows.rows() + 1 && rows.begins[0] == 0);
    STRATA_CHECK(rows.begins.back() == rows.columns.size());
    STRATA_CHECK(rows.values.size() == rows.columns.size());
    for (size_t row = 0; row < rows.rows(); ++row) {
      STRATA_CHECK(std::isfinite(rows.labels[row]) && rows.begins[row] <= rows.begins[row + 1]);
      for (size_t i = rows.begins[row]; i < rows.begins[row + 1]; ++i) {
        STRATA_CHECK(rows.columns[i] < source.features());
        STRATA_CHECK(i == rows.begins[row] || rows.columns[i - 1] < rows.columns[i]);
      }
    }
    count += rows.rows();
  }
}

template <typename Source>
void UseRows(Disk& disk, const Result<std::unique_ptr<Source>>& source) {
  if (!source.ok()) return CheckNames(source.status());
  const std::optional<size_t> rows = ReadAll(**source);
  if (!rows.has_value() || (*source)->features() > kFeaturesMax) return;
  STRATA_CHECK((*source)->Rewind().ok());
  STRATA_CHECK(ReadAll(**source) == rows);
  STRATA_CHECK((*source)->Rewind().ok());
  const Result<TreeDataset> data =
      LoadTreeDataset(disk, **source, kPath, Options(), nullptr, Pool());
  if (!data.ok()) return CheckNames(data.status());
  STRATA_CHECK(data->rows() == *rows && data->bins.rows() == *rows);
}

void UseSideFiles(TextDisk& disk, std::string_view text) {
  constexpr size_t kRows = 4;
  const SidePart kAll = {.first = 0, .rows = kRows, .all = kRows};
  for (const char* const suffix : {".weight", ".init", ".query"}) {
    disk.files = {{std::string(kPath) + suffix, std::string(text)}};
    const Result<SideFiles> side = ReadSideFiles(disk, kPath, kAll, 2, false);
    if (!side.ok()) CheckNames(side.status());
    if (side.ok() && !side->weights.empty()) STRATA_CHECK(side->weights.size() == kRows);
    if (side.ok() && !side->init_scores.empty())
      STRATA_CHECK(side->init_scores.size() == 2 * kRows);
    const Result<std::vector<size_t>> queries = ReadQueryFile(disk, kPath, kAll);
    if (!queries.ok()) CheckNames(queries.status());
    if (queries.ok() && !queries->empty()) STRATA_CHECK(queries->back() == kRows);
  }
}

void Use(Kind kind, std::string_view text) {
  TextDisk disk;
  disk.files[kPath] = text;
  switch (kind) {
    case Kind::kText:
      return UseRows(disk, TextRows::Open(disk, kPath, {}));
    case Kind::kTextWithHeader:
      return UseRows(disk, TextRows::Open(disk, kPath,
                                          {.header = true, .label = "name:y", .weight = "name:w"}));
    case Kind::kArray:
      return UseRows(disk, NpyRows::Open(disk, kPath, {}));
    case Kind::kSideFiles:
      return UseSideFiles(disk, text);
    case Kind::kBins: {
      const Result<TreeDataset> data = ReadDatasetFile(disk, kPath, Options(), nullptr, Pool());
      if (!data.ok()) return CheckNames(data.status());
      STRATA_CHECK(data->bins.rows() == data->rows());
      return;
    }
    case Kind::kConf: {
      const Result<TreeParameters> parameters = ParseLightGbmConf(text, kPath, {});
      if (!parameters.ok()) CheckNames(parameters.status());
      return;
    }
  }
}

Bytes Seed(Kind kind, std::string_view text) {
  Bytes bytes = {static_cast<std::byte>(kind)};
  const auto more = std::as_bytes(std::span(text));
  bytes.insert(bytes.end(), more.begin(), more.end());
  return bytes;
}

// A file of the bins of such text.
std::string BinsOf(const std::string& text) {
  TextDisk texts;
  texts.files[kPath] = text;
  const auto source = TextRows::Open(texts, kPath, {});
  const Result<TreeDataset> data =
      LoadTreeDataset(texts, **source, kPath, Options(), nullptr, Pool());
  SimDisk disk;
  STRATA_CHECK(WriteDatasetFile(disk, *data, Options(), kPath).ok());
  return *ReadFile(disk, kPath, 1 << 20);
}

}  // namespace

std::vector<Bytes> Seeds() {
  const std::vector<float> values = {1, 2, 0, 0, 5, NAN, 1, 7, 2, 0, 1e30F, -3};
  return {
      Seed(Kind::kText, "1,5,0,7,-1\n0,6,0,nan,2\n1,0,0,8,3e5\n0,5,,0,2\n"),
      Seed(Kind::kText, "1\t5\t0\t-0.5\n0\t6\t0\t2\n# c\n1\tna\t0\t8\n"),
      Seed(Kind::kText, "1 0:5 3:7\n0 qid:1 1:6 2:-1e3\n1 0:0.25 9:8\n"),
      Seed(Kind::kTextWithHeader, "a,y,w,b\n1,0,0.5,2\n2,1,1,\n3,0,2,7\n"),
      Seed(Kind::kArray, NpyText(NpyHeader("<f4", "(4, 3)"), values)),
      Seed(Kind::kSideFiles, "0.1\n1\n0.5\n2\n"),
      Seed(Kind::kSideFiles, "1\n2\n1\n"),
      Seed(Kind::kSideFiles, "0.1\t1\n0.2\t2\n0.3\t3\n0.4\t4\n"),
      Seed(Kind::kBins, BinsOf("1,5,0,7,-1\n0,6,0,nan,2\n1,0,0,8,3\n0,5,0,0,2\n")),
      Seed(Kind::kConf,
           "task = train\nobjective = binary\ndata = d # here\nvalid = v,w\nnum_leaves = 7\n"
           "monotone_constraints = 1,0,-1\ninteraction_constraints = [0,1],[2]\nmetric = auc,l2\n"),
  };
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  strata::fuzz::Use(static_cast<strata::fuzz::Kind>(data[0] % strata::fuzz::kKinds),
                    text.substr(1));
  return 0;
}
