#include "worker/gbdt/catboost/pool_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/human_text.h"
#include "worker/gbdt/catboost/read_number.h"

namespace strata {
namespace {

constexpr std::pair<std::string_view, PoolColumnKind> kColumnKinds[] = {
    {"Num", PoolColumnKind::kNumber},        {"Categ", PoolColumnKind::kCategory},
    {"Label", PoolColumnKind::kLabel},       {"Target", PoolColumnKind::kLabel},
    {"Auxiliary", PoolColumnKind::kIgnored}, {"SampleId", PoolColumnKind::kSampleId},
    {"DocId", PoolColumnKind::kSampleId},    {"Weight", PoolColumnKind::kWeight},
    {"GroupId", PoolColumnKind::kGroup},     {"QueryId", PoolColumnKind::kGroup},
    {"GroupWeight", PoolColumnKind::kGroup}, {"SubgroupId", PoolColumnKind::kGroup},
    {"Timestamp", PoolColumnKind::kGroup}};

std::vector<std::string_view> FieldsOf(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const size_t end = line.find('\t');
    fields.push_back(line.substr(0, end));
    if (end == line.npos) return fields;
    line.remove_prefix(end + 1);
  }
}

Result<PoolColumnKind> KindOf(std::string_view type, const std::string& where) {
  for (const auto& [name, kind] : kColumnKinds) {
    if (name == type) return kind;
  }
  return Invalid(
      fmt::format("{}: expected Num, Categ, Label, Auxiliary, SampleId, Weight, GroupId, "
                  "GroupWeight, SubgroupId "
                  "or Timestamp, found the type '{}', which is not supported",
                  where, ShownBytes(type)));
}

bool IsFeature(const PoolColumn& column) {
  return column.kind == PoolColumnKind::kNumber || column.kind == PoolColumnKind::kCategory;
}

// A feature that the model uses.
struct UsedFeature {
  std::string name;  // empty: nobody gave one
  size_t flat = 0;
  PoolColumnKind kind = PoolColumnKind::kNumber;
  size_t place = 0;
};

std::vector<UsedFeature> UsedFeatures(const CatBoostModel& model,
                                      std::span<const uint32_t> categories) {
  std::vector<UsedFeature> used;
  for (size_t f = 0; f < model.numbers.size(); ++f) {
    const CatBoostNumber& number = model.numbers[f];
    if (number.borders.empty()) continue;
    used.push_back({number.id, number.flat_index, PoolColumnKind::kNumber, f});
  }
  std::set<size_t> in_keys(categories.begin(), categories.end());
  for (const CtrTable& table : model.tables) {
    in_keys.insert(table.projection.categories.begin(), table.projection.categories.end());
  }
  for (size_t c = 0; c < model.categories.size(); ++c) {
    const CatBoostCategory& category = model.categories[c];
    if (category.values.empty() && !in_keys.contains(c)) continue;
    used.push_back({category.id, category.flat_index, PoolColumnKind::kCategory, c});
  }
  return used;
}

// Where each feature's column is, by name; empty: names do not tell.
std::vector<size_t> PlacesByName(const std::vector<UsedFeature>& used,
                                 const std::vector<PoolColumn>& columns) {
  std::map<std::string, size_t> at;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (!IsFeature(columns[c])) continue;
    if (columns[c].name.empty() || !at.emplace(columns[c].name, c).second) return {};
  }
  std::set<std::string> seen;
  std::vector<size_t> places;
  for (const UsedFeature& feature : used) {
    const auto found = at.find(feature.name);
    if (found == at.end() || !seen.insert(feature.name).second) return {};
    places.push_back(found->second);
  }
  return places;
}

std::string Shown(const UsedFeature& feature) {
  return feature.name.empty()
             ? fmt::format("feature {}", feature.flat)
             : fmt::format("feature {} ('{}')", feature.flat, ShownBytes(feature.name));
}

Result<std::vector<size_t>> PlacesByOrder(const std::vector<UsedFeature>& used,
                                          const std::vector<PoolColumn>& columns,
                                          const std::string& name) {
  std::vector<size_t> features;  // columns
  for (size_t c = 0; c < columns.size(); ++c) {
    if (IsFeature(columns[c])) features.push_back(c);
  }
  std::vector<size_t> places;
  for (const UsedFeature& feature : used) {
    if (feature.flat >= features.size()) {
      return Invalid(
          fmt::format("{}: the model uses {}, counted from 0: expected at least {} features, found "
                      "{}; a column description, or [[feature]] of a job file, says which columns "
                      "are features",
                      name, Shown(feature), feature.flat + 1, features.size()));
    }
    const size_t column = features[feature.flat];
    const std::string& found = columns[column].name;
    if (!found.empty() && !feature.name.empty() && found != feature.name) {
      return Invalid(fmt::format("{}: column {}: expected {} of the model, found '{}'", name,
                                 column, Shown(feature), ShownBytes(found)));
    }
    places.push_back(column);
  }
  return places;
}

}  // namespace

Result<std::vector<PoolColumn>> ParseColumnDescription(std::string_view text,
                                                       const std::string& name,
                                                       const std::string& rows, size_t count) {
  std::vector<PoolColumn> columns(count);
  std::set<size_t> seen;
  std::map<std::string, size_t> named;  // the columns of features
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::string where = fmt::format("{}:{}", name, number);
    const std::vector<std::string_view> fields = FieldsOf(line);
    if (fields.size() != 2 && fields.size() != 3) {
      return Invalid(
          fmt::format("{}: expected 'place<tab>type' or 'place<tab>type<tab>name', found {}", where,
                      Counted(fields.size(), "field")));
    }
    size_t place = 0;
    if (!ReadNumber(fields[0], &place) || place >= count) {
      return Invalid(
          fmt::format("{}: expected the place of a column, from 0 to {}, found '{}': {} has {} in "
                      "its first row with this delimiter",
                      where, count - 1, ShownBytes(fields[0]), rows, Counted(count, "column")));
    }
    if (!seen.insert(place).second) {
      return Invalid(fmt::format("{}: column {} stands there twice", where, place));
    }
    STRATA_ASSIGN(columns[place].kind, KindOf(fields[1], where));
    if (fields.size() == 2) continue;
    columns[place].name = fields[2];
    if (!IsFeature(columns[place]) || fields[2].empty()) continue;
    const auto [first, is_new] = named.emplace(fields[2], place);
    if (is_new) continue;
    return Invalid(fmt::format(
        "{}: column {} is '{}', and so is column {}: expected different names of features", where,
        place, ShownBytes(fields[2]), first->second));
  }
  return columns;
}

std::vector<PoolColumn> DefaultColumns(size_t count) {
  std::vector<PoolColumn> columns(count);
  if (count > 0) columns[0].kind = PoolColumnKind::kLabel;
  return columns;
}

std::vector<ModelColumn> AddFeatures(const std::vector<PoolColumn>& columns, CatBoostModel* model) {
  std::vector<ModelColumn> added(columns.size());
  for (size_t c = 0; c < columns.size(); ++c) {
    const PoolColumn& column = columns[c];
    const auto flat_index = static_cast<uint32_t>(model->numbers.size() + model->categories.size());
    if (column.kind == PoolColumnKind::kCategory) {
      const auto index = static_cast<uint32_t>(model->categories.size());
      added[c] = {.is_read = true, .feature = index};
      CatBoostCategory& category = model->categories.emplace_back();
      category.id = column.name;
      category.index = index;
      category.flat_index = flat_index;
    } else if (column.kind == PoolColumnKind::kNumber) {
      const auto index = static_cast<uint32_t>(model->numbers.size());
      added[c] = {.is_read = true, .feature = index};
      CatBoostNumber& number = model->numbers.emplace_back();
      number.id = column.name;
      number.index = index;
      number.flat_index = flat_index;
    }
  }
  return added;
}

Result<std::vector<ModelColumn>> MatchColumns(const CatBoostModel& model,
                                              const std::vector<PoolColumn>& columns,
                                              const std::string& name,
                                              std::span<const uint32_t> categories) {
  const std::vector<UsedFeature> used = UsedFeatures(model, categories);
  std::vector<size_t> places = PlacesByName(used, columns);
  if (places.empty()) {
    STRATA_ASSIGN(places, PlacesByOrder(used, columns, name));
  }
  std::vector<ModelColumn> found(columns.size());
  for (size_t i = 0; i < used.size(); ++i) {
    const size_t column = places[i];
    if (columns[column].kind != used[i].kind) {
      return Invalid(fmt::format(
          "{}: column {}: {} of the model is {} in the column description, or in a job "
          "file kind = \"{}\"",
          name, column, Shown(used[i]),
          used[i].kind == PoolColumnKind::kNumber ? "a number: expected the type Num"
                                                  : "categorical: expected the type Categ",
          used[i].kind == PoolColumnKind::kNumber ? "numeric" : "categorical"));
    }
    found[column] = {.is_read = true, .feature = used[i].place};
  }
  return found;
}

}  // namespace strata
