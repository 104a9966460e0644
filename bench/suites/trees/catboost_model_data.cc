#include "bench/suites/trees/catboost_model_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/file/disk.h"
#include "base/random.h"
#include "kernels/tree/score/bin_columns.h"
#include "worker/gbdt/catboost/catboost_json.h"
#include "worker/gbdt/catboost/category_hash.h"

namespace strata::bench {
namespace {

constexpr size_t kTrees = 100;
constexpr size_t kDepth = 6;
constexpr size_t kBorders = 32;           // of a number
constexpr size_t kStatisticBorders = 15;  // as CatBoost has them
constexpr uint32_t kCardinalities[] = {5, 50, 1000, 20000};
constexpr uint64_t kRowSeed = 11;

uint32_t CategoryValue(size_t row, size_t category) {
  return static_cast<uint32_t>(Mix64(kRowSeed ^ (row * std::size(kCardinalities) + category)) %
                               kCardinalities[category]);
}

uint32_t HashOfValue(uint32_t value) { return CategoryHash(fmt::format("{}", value)); }

float NumberValue(size_t row, size_t feature) {
  return static_cast<float>(Mix64((kRowSeed + 1 + feature) << 40 ^ row) >> 44) / 1048576;
}

void AddNumbers(uint32_t count, Random& random, CatBoostModel* model) {
  for (uint32_t f = 0; f < count; ++f) {
    CatBoostNumber number{.id = "", .index = f, .flat_index = f, .borders = {}};
    for (size_t i = 0; i < kBorders; ++i) {
      const double inside = (static_cast<double>(random.Below(1000)) + 1) / 1002;
      number.borders.push_back(static_cast<float>((static_cast<double>(i) + inside) / kBorders));
    }
    model->numbers.push_back(std::move(number));
  }
}

// A key for each combination of the categories' values.
std::vector<uint64_t> KeysOf(const std::vector<uint32_t>& categories) {
  std::vector<uint64_t> keys = {0};
  for (const uint32_t category : categories) {
    std::vector<uint64_t> longer;
    for (const uint64_t key : keys) {
      for (uint32_t value = 0; value < kCardinalities[category]; ++value) {
        longer.push_back(CombinedKey(key, KeyOfCategory(HashOfValue(value))));
      }
    }
    keys = std::move(longer);
  }
  return keys;
}

void AddStatistics(const std::vector<uint32_t>& categories, Random& random, CatBoostModel* model) {
  for (const CtrType type : {CtrType::kBorders, CtrType::kCounter}) {
    CtrTable table;
    table.projection.categories = categories;
    table.type = type;
    table.keys = KeysOf(categories);
    table.width = type == CtrType::kBorders ? 2 : 1;
    table.denominator = type == CtrType::kCounter ? 100 : 0;
    for (size_t i = 0; i < table.keys.size() * table.width; ++i) {
      table.numbers.push_back(static_cast<double>(random.Below(100)));
    }
    for (const float prior : {0.0F, 0.5F, 1.0F}) {
      if (type == CtrType::kCounter && prior > 0) continue;
      CatBoostCtr ctr{.table = model->tables.size(),
                      .target_border = 0,
                      .prior_numerator = prior,
                      .prior_denominator = 1,
                      .shift = 0,
                      .scale = kStatisticBorders,
                      .borders = {}};
      for (size_t i = 0; i < kStatisticBorders; ++i) {
        ctr.borders.push_back(static_cast<float>(i) + 0.999999F);
      }
      model->ctrs.push_back(std::move(ctr));
    }
    model->tables.push_back(std::move(table));
  }
}

}  // namespace

CatBoostModel MakeCatBoostModel(bool has_categories) {
  CatBoostModel model;
  Random random(3);
  model.bias = {0.25};
  AddNumbers(has_categories ? 5 : 28, random, &model);
  if (has_categories) {
    for (uint32_t c = 0; c < std::size(kCardinalities); ++c) {
      CatBoostCategory category{
          .id = "", .index = c, .flat_index = 5 + c, .values = {}, .string_values = {}};
      for (uint32_t value = 0; c == 0 && value < kCardinalities[c]; ++value) {
        category.values.push_back(static_cast<int32_t>(HashOfValue(value)));
      }
      model.categories.push_back(std::move(category));
    }
  }
  model.ListFeatureSplits();
  if (has_categories) {
    const std::vector<uint32_t> projections[] = {{1}, {1, 2}, {2}, {3}};
    for (const std::vector<uint32_t>& categories : projections) {
      AddStatistics(categories, random, &model);
    }
    model.ListCtrSplits();
  }
  for (size_t t = 0; t < kTrees; ++t) {
    CatBoostTree tree;
    for (size_t k = 0; k < kDepth; ++k) {
      tree.splits.push_back(static_cast<uint32_t>(random.Below(model.splits.size())));
    }
    for (size_t leaf = 0; leaf < size_t{1} << kDepth; ++leaf) {
      tree.values.push_back((static_cast<double>(random.Below(2001)) - 1000) / 8192);
    }
    model.trees.push_back(std::move(tree));
  }
  return model;
}

CatBoostRows MakeCatBoostRows(const CatBoostModel& model, size_t rows) {
  CatBoostRows made(model, rows);
  for (size_t f = 0; f < model.numbers.size(); ++f) {
    const std::span<float> numbers = made.Number(f);
    for (size_t row = 0; row < rows; ++row) numbers[row] = NumberValue(row, f);
  }
  for (size_t c = 0; c < model.categories.size(); ++c) {
    std::vector<uint32_t> hashes;
    for (uint32_t value = 0; value < kCardinalities[c]; ++value) {
      hashes.push_back(HashOfValue(value));
    }
    const std::span<uint32_t> categories = made.Category(c);
    for (size_t row = 0; row < rows; ++row) categories[row] = hashes[CategoryValue(row, c)];
  }
  return made;
}

Status WriteCatBoostPool(const CatBoostModel& model, size_t rows, const std::string& folder) {
  STRATA_ASSIGN(const std::string json, WriteCatBoostJson(model));
  STRATA_TRY(WriteFileAtomically(RealDisk(), folder + "/model.json", json));
  std::string description = "0\tNum\n";
  for (const CatBoostCategory& category : model.categories) {
    description += fmt::format("{}\tCateg\n", category.flat_index);
  }
  STRATA_TRY(WriteFileAtomically(RealDisk(), folder + "/rows.cd", description));
  std::string text;
  for (size_t row = 0; row < rows; ++row) {
    for (size_t f = 0; f < model.numbers.size(); ++f) {
      text += fmt::format("{}{}", f == 0 ? "" : "\t", NumberValue(row, f));
    }
    for (size_t c = 0; c < model.categories.size(); ++c) {
      text += fmt::format("\t{}", CategoryValue(row, c));
    }
    text += '\n';
  }
  return WriteFileAtomically(RealDisk(), folder + "/rows.tsv", text);
}

}  // namespace strata::bench
