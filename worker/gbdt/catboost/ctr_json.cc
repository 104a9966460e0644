#include "worker/gbdt/catboost/ctr_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/human_text.h"
#include "worker/gbdt/catboost/json_features.h"
#include "worker/gbdt/catboost/read_number.h"

namespace strata {
namespace {

constexpr int64_t kClassesMax = 1 << 16;
constexpr int64_t kCountMax = INT32_MAX;  // CatBoost's own

constexpr std::pair<std::string_view, CtrType> kTypes[] = {
    {"Borders", CtrType::kBorders},
    {"Buckets", CtrType::kBuckets},
    {"BinarizedTargetMeanValue", CtrType::kBinarizedTargetMean},
    {"FloatTargetMeanValue", CtrType::kFloatTargetMean},
    {"Counter", CtrType::kCounter},
    {"FeatureFreq", CtrType::kFeatureFreq}};

constexpr const char* kCategoryElement = "cat_feature_value";
constexpr const char* kNumberElement = "float_feature";
constexpr const char* kValueElement = "cat_feature_exact_value";

Result<CtrType> TypeAt(const JsonAt& at, const char* key) {
  STRATA_ASSIGN(const JsonAt member, at.At(key));
  STRATA_ASSIGN(const std::string name, member.Text());
  for (const auto& [known, type] : kTypes) {
    if (known == name) return type;
  }
  return member.Expected(
      "Borders, Buckets, BinarizedTargetMeanValue, FloatTargetMeanValue, Counter or FeatureFreq");
}

std::string_view TypeName(CtrType type) {
  for (const auto& [known, of] : kTypes) {
    if (of == type) return known;
  }
  return "";
}

class CtrReader {
 public:
  explicit CtrReader(CatBoostModel* model) : model_(model), places_(*model) {}

  Status ReadTables(const JsonAt& data) {
    if (!data.value().is_object()) return data.Expected("an object");
    for (const auto& [key, value] : data.value().items()) {
      const JsonAt at(value, fmt::format("{}['{}']", data.where(), ShownBytes(key, 200)));
      STRATA_ASSIGN(const nlohmann::json base, ParseJson(key, at.where()));
      STRATA_TRY(ReadTable(JsonAt(base, at.where() + ": "), at));
    }
    return {};
  }

  Status ReadCtrList(const JsonAt& list) {
    STRATA_ASSIGN(const std::vector<JsonAt> items, list.Items());
    for (const JsonAt& at : items) STRATA_TRY(ReadCtr(at));
    return {};
  }

 private:
  using TableName = std::pair<CtrType, CtrProjection>;

  // `base` is what the table's name says.
  Status ReadTable(const JsonAt& base, const JsonAt& at) {
    CtrTable table;
    STRATA_ASSIGN(table.type, TypeAt(base, "type"));
    STRATA_ASSIGN(table.projection, ProjectionAt(base, "identifier"));
    STRATA_ASSIGN(const JsonAt stride_at, at.At("hash_stride"));
    STRATA_ASSIGN(const int64_t stride, stride_at.Whole(2, kClassesMax));
    const int64_t expected = table.IsMean() ? 3 : table.IsCount() ? 2 : stride;
    if (stride != expected) {
      return stride_at.Wrong(fmt::format("expected {}, as {} has it, found {}", expected,
                                         TypeName(table.type), stride));
    }
    table.width = static_cast<size_t>(stride) - 1;
    if (table.IsCount()) {
      STRATA_ASSIGN(const JsonAt denominator, at.At("counter_denominator"));
      STRATA_ASSIGN(table.denominator, denominator.Whole(0, kCountMax));
    }
    if (at.Holds("hash_map")) {
      STRATA_ASSIGN(const JsonAt map, at.At("hash_map"));
      STRATA_TRY(ReadMap(map, &table));
    }
    const auto [place, is_new] =
        tables_.emplace(TableName{table.type, table.projection}, model_->tables.size());
    if (!is_new) return at.Wrong("a table of the same type and elements stands before it");
    model_->tables.push_back(std::move(table));
    return {};
  }

  // A key, its numbers, the next key, ...
  static Status ReadMap(const JsonAt& map, CtrTable* table) {
    const nlohmann::json& items = map.value();
    const size_t stride = table->width + 1;
    if (!items.is_array() || items.size() % stride != 0) {
      return map.Expected(fmt::format("an array of keys with {} numbers each", table->width));
    }
    table->keys.reserve(items.size() / stride);
    table->numbers.reserve(items.size() / stride * table->width);
    for (size_t i = 0; i < items.size(); ++i) {
      const auto item = [&] { return JsonAt(items[i], fmt::format("{}[{}]", map.where(), i)); };
      if (i % stride == 0) {
        uint64_t key = 0;
        if (!ReadKey(items[i], &key)) return item().Expected("a key, a text of up to 20 digits");
        table->keys.push_back(key);
        continue;
      }
      // A sum of means may be a fraction.
      const bool is_sum = table->IsMean() && i % stride == 1;
      const double number = items[i].is_number() ? items[i].get<double>() : NAN;
      const bool is_count = number >= 0 && number <= kCountMax && number == std::floor(number);
      if (is_sum ? !(std::abs(number) <= FLT_MAX) : !is_count) {
        return item().Expected(is_sum ? "a number that a float can hold"
                                      : fmt::format("a count up to {}", kCountMax));
      }
      table->numbers.push_back(number);
    }
    std::vector<uint64_t> sorted = table->keys;
    std::ranges::sort(sorted);
    const auto twice = std::ranges::adjacent_find(sorted);
    if (twice == sorted.end()) return {};
    return map.Wrong(fmt::format("the key {} stands there twice", *twice));
  }

  static bool ReadKey(const nlohmann::json& item, uint64_t* key) {
    const auto* const text = item.get_ptr<const std::string*>();
    return text != nullptr && ReadNumber(*text, key);
  }

  Result<CtrProjection> ProjectionAt(const JsonAt& holder, const char* key) const {
    STRATA_ASSIGN(const JsonAt list, holder.At(key));
    STRATA_ASSIGN(const std::vector<JsonAt> items, list.Items());
    CtrProjection projection;
    std::vector<uint32_t> values;  // keys take them last
    for (const JsonAt& at : items) {
      STRATA_ASSIGN(const JsonAt kind_at, at.At("combination_element"));
      STRATA_ASSIGN(const std::string kind, kind_at.Text());
      if (kind == kCategoryElement) {
        STRATA_ASSIGN(const size_t place, places_.CategoryAt(at, "cat_feature_index"));
        projection.categories.push_back(static_cast<uint32_t>(place));
      } else if (kind == kNumberElement) {
        STRATA_ASSIGN(const uint32_t split, NumberSplitAt(at));
        projection.splits.push_back(split);
      } else if (kind == kValueElement) {
        STRATA_ASSIGN(const uint32_t split, ValueSplitAt(at));
        values.push_back(split);
      } else {
        return kind_at.Expected(
            fmt::format("{}, {} or {}", kCategoryElement, kNumberElement, kValueElement));
      }
    }
    projection.splits.insert(projection.splits.end(), values.begin(), values.end());
    return projection;
  }

  Result<uint32_t> NumberSplitAt(const JsonAt& at) const {
    STRATA_ASSIGN(const size_t place, places_.NumberAt(at, "float_feature_index"));
    STRATA_ASSIGN(const float border, FloatAt(at, "border"));
    const std::vector<float>& borders = model_->numbers[place].borders;
    const auto found = std::ranges::find(borders, border);
    if (found == borders.end()) {
      return at.Wrong(fmt::format("border {} is none of the {} of float feature {}", border,
                                  borders.size(), model_->numbers[place].index));
    }
    return *model_->FindSplit({.kind = SplitKind::kNumber,
                               .of = place,
                               .place = static_cast<size_t>(found - borders.begin())});
  }

  Result<uint32_t> ValueSplitAt(const JsonAt& at) const {
    STRATA_ASSIGN(const size_t place, places_.CategoryAt(at, "cat_feature_index"));
    STRATA_ASSIGN(const JsonAt value_at, at.At("value"));
    STRATA_ASSIGN(const int64_t value, value_at.Whole(INT32_MIN, INT32_MAX));
    const std::vector<int32_t>& values = model_->categories[place].values;
    const auto found = std::ranges::find(values, static_cast<int32_t>(value));
    if (found == values.end()) {
      return at.Wrong(fmt::format("value {} is none of the {} of categorical feature {}", value,
                                  values.size(), model_->categories[place].index));
    }
    return *model_->FindSplit({.kind = SplitKind::kExactValue,
                               .of = place,
                               .place = static_cast<size_t>(found - values.begin())});
  }

  Status ReadCtr(const JsonAt& at) {
    CatBoostCtr ctr;
    STRATA_ASSIGN(const CtrType type, TypeAt(at, "ctr_type"));
    STRATA_ASSIGN(CtrProjection projection, ProjectionAt(at, "elements"));
    const auto table = tables_.find(TableName{type, std::move(projection)});
    if (table == tables_.end()) {
      return at.Wrong(
          fmt::format("ctr_data has no table of type {} and these elements: expected "
                      "one of its {} tables",
                      TypeName(type), tables_.size()));
    }
    ctr.table = table->second;
    const auto classes = static_cast<int64_t>(model_->tables[ctr.table].width);
    const int64_t last = type == CtrType::kBorders   ? classes - 2
                         : type == CtrType::kBuckets ? classes - 1
                                                     : kClassesMax;
    STRATA_ASSIGN(const JsonAt border_at, at.At("target_border_idx"));
    STRATA_ASSIGN(const int64_t border, border_at.Whole(0, last));
    ctr.target_border = static_cast<uint32_t>(border);
    STRATA_ASSIGN(ctr.prior_numerator, FloatAt(at, "prior_numerator"));
    STRATA_ASSIGN(ctr.prior_denominator, FloatAt(at, "prior_denomerator"));  // CatBoost's spelling
    STRATA_ASSIGN(ctr.shift, FloatAt(at, "shift"));
    STRATA_ASSIGN(ctr.scale, FloatAt(at, "scale"));
    STRATA_ASSIGN(ctr.borders, BordersAt(at));
    model_->ctrs.push_back(std::move(ctr));
    return {};
  }

  CatBoostModel* model_;
  FeaturePlaces places_;
  std::map<TableName, size_t> tables_;
};

nlohmann::json ProjectionJson(const CatBoostModel& model, const CtrProjection& projection) {
  nlohmann::json list = nlohmann::json::array();
  for (const uint32_t c : projection.categories) {
    list.push_back({{"cat_feature_index", model.categories[c].index},
                    {"combination_element", kCategoryElement}});
  }
  for (const uint32_t s : projection.splits) {
    const CatBoostSplit& split = model.splits[s];
    if (split.kind == SplitKind::kNumber) {
      list.push_back({{"border", model.numbers[split.of].borders[split.place]},
                      {"float_feature_index", model.numbers[split.of].index},
                      {"combination_element", kNumberElement}});
    } else {
      list.push_back({{"value", model.categories[split.of].values[split.place]},
                      {"cat_feature_index", model.categories[split.of].index},
                      {"combination_element", kValueElement}});
    }
  }
  return list;
}

nlohmann::json WholeIfItIs(double number) {
  if (number == std::floor(number) && std::abs(number) <= kCountMax) {
    return static_cast<int64_t>(number);
  }
  return number;
}

nlohmann::json TableJson(const CtrTable& table) {
  nlohmann::json map = nlohmann::json::array();
  for (size_t i = 0; i < table.keys.size(); ++i) {
    map.push_back(fmt::format("{}", table.keys[i]));
    for (size_t k = 0; k < table.width; ++k) {
      map.push_back(WholeIfItIs(table.numbers[i * table.width + k]));
    }
  }
  return {{"hash_map", std::move(map)},
          {"hash_stride", table.width + 1},
          {"counter_denominator", table.denominator}};
}

Status CheckSums(const CtrTable& table, const std::string& name) {
  if (!table.IsMean()) return {};
  for (size_t i = 0; i < table.numbers.size(); i += table.width) {
    if (WholeIfItIs(table.numbers[i]).is_number_integer()) continue;
    return Invalid(fmt::format(
        "the table {} holds the sum {}: CatBoost reads the sums of {} as whole numbers, so that it "
        "would predict something else; train with one target border, or with another type",
        name, table.numbers[i], TypeName(table.type)));
  }
  return {};
}

}  // namespace

Status ReadCtrs(const JsonAt& document, CatBoostModel* model) {
  CtrReader reader(model);
  if (document.Holds("ctr_data")) {
    STRATA_ASSIGN(const JsonAt data, document.At("ctr_data"));
    STRATA_TRY(reader.ReadTables(data));
  }
  STRATA_ASSIGN(const JsonAt features, document.At("features_info"));
  if (features.Holds("ctrs")) {
    STRATA_ASSIGN(const JsonAt list, features.At("ctrs"));
    STRATA_TRY(reader.ReadCtrList(list));
  }
  model->ListCtrSplits();
  return {};
}

Status WriteCtrs(const CatBoostModel& model, nlohmann::json* document) {
  if (model.ctrs.empty()) return {};
  nlohmann::json& data = (*document)["ctr_data"];
  nlohmann::json& list = (*document)["features_info"]["ctrs"];
  std::vector<std::string> names;
  for (const CtrTable& table : model.tables) {
    names.push_back(nlohmann::json({{"identifier", ProjectionJson(model, table.projection)},
                                    {"type", TypeName(table.type)}})
                        .dump());
    STRATA_TRY(CheckSums(table, names.back()));
    data[names.back()] = TableJson(table);
  }
  for (const CatBoostCtr& ctr : model.ctrs) {
    const CtrTable& table = model.tables[ctr.table];
    list.push_back({{"identifier", names[ctr.table]},
                    {"elements", ProjectionJson(model, table.projection)},
                    {"ctr_type", TypeName(table.type)},
                    {"prior_numerator", ctr.prior_numerator},
                    {"prior_denomerator", ctr.prior_denominator},
                    {"shift", ctr.shift},
                    {"scale", ctr.scale},
                    {"target_border_idx", ctr.target_border},
                    {"borders", ctr.borders}});
  }
  return {};
}

}  // namespace strata
