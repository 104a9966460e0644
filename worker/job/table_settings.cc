#include "worker/job/table_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings/settings.h"
#include "storage/row_schema.h"
#include "worker/job/optimizer_settings.h"
#include "worker/job/wrong_setting.h"
#include "worker/model/model_shape.h"

namespace strata {
namespace {

// Of the features that no section names.
constexpr const char* kRest = "embedding";
constexpr size_t kTablesMax = 1024;

constexpr Setting kTableRows[] = {
    {.key = "name",
     .default_value = "",
     .help = "The table's name: layers take its vectors by it. On servers it is called "
             "job.name.NAME."},
    {.key = "features",
     .type = SettingType::kTextList,
     .default_value = "",
     .help =
         "The columns whose categorical and bucketised features have their rows in this table; of "
         "raw records the slots, as \"slot 0\"."},
    {.key = "dim",
     .type = SettingType::kInt,
     .default_value = "0",
     .help = "Elements of a vector. 0: model.embedding_dim.",
     .min = 0,
     .max = RowSchema::kDimMax - 1},
    {.key = "combiner",
     .type = SettingType::kChoice,
     .help = "What becomes of the rows of a slot that has several keys, of raw records. Without "
             "it, model.combiner says it.",
     .choices = "sum|mean"},
};

constexpr RefusedKey kRefused[] = {
    {.key = "placement", .why = "is one of all tables: remove it and set sparse.placement"},
    {.key = "initializer", .why = "is one of all tables: remove it and set sparse.initializer"},
    {.key = "init_scale", .why = "is one of all tables: remove it and set sparse.init_scale"},
    {.key = "value_type", .why = "is one of all tables: remove it and set sparse.value_type"},
    {.key = "state_type", .why = "is one of all tables: remove it and set sparse.state_type"},
    {.key = "ack", .why = "is one of all tables: remove it and set sparse.ack"}};

bool IsSlot(const FeatureSpec& feature) { return feature.kind != FeatureKind::kNumeric; }

class Tables {
 public:
  Tables(const Settings& settings, JobConfig* job) : settings_(settings), job_(*job) {}

  Status Read() {
    for (const Settings& section : settings_.Repeated("table")) STRATA_TRY(Add(section));
    AddRest();
    STRATA_TRY(CheckSharedKeys());
    if (job_.data.raw.has_value()) STRATA_TRY(CheckOrderOfSlots());
    SortFeatures();
    return {};
  }

 private:
  Status Add(const Settings& section) {
    const std::string& name = section.Text("name");
    if (const std::string why = WhyNoName(name); !why.empty()) {
      return WrongIn("table", section, "name", why);
    }
    if (job_.tables.size() == kTablesMax) {
      return WrongIn("table", section, "name",
                     fmt::format("is of one table more than the {} that a model may have: put "
                                 "features of one dim into one table",
                                 kTablesMax));
    }
    const auto dim = static_cast<uint32_t>(section.Int("dim"));
    GraphTable table{
        .name = name, .dim = dim == 0 ? job_.embedding_dim : dim, .place = section.Where()};
    if (section.TextList("features").empty()) {
      return WrongIn("table", section, "features", "is empty: name at least one column");
    }
    for (const std::string& column : section.TextList("features")) {
      STRATA_TRY(Take(section, column, &table));
    }
    STRATA_TRY(ReadCombiner(section, &table));
    STRATA_ASSIGN(const OptimizerSpec optimizer,
                  ReadTableOptimizer(section, job_.sparse_optimizer));
    job_.tables.push_back(std::move(table));
    job_.table_optimizers.push_back(optimizer);
    return {};
  }

  // WhyNoName says what is wrong with a table's name; "" means nothing is.
  std::string WhyNoName(const std::string& name) const {
    if (name.empty()) return "is empty: name the table";
    if (name == kDenseInput || name == kEmbeddingsInput) {
      return fmt::format("is '{}', by which layers take all features of a kind: name it otherwise",
                         name);
    }
    if (name == kRest) {
      return fmt::format(
          "is '{}', the table of the features that no [[table]] names: name it otherwise", name);
    }
    const auto other = std::ranges::find(job_.tables, name, &GraphTable::name);
    if (other == job_.tables.end()) return "";
    return fmt::format("is '{}', the name of the [[table]] at {}: name one of them otherwise", name,
                       other->place);
  }

  // Puts a column's slots into the table.
  Status Take(const Settings& section, const std::string& column, GraphTable* table) {
    const auto slots = static_cast<uint32_t>(std::ranges::count_if(
        job_.data.features,
        [&](const FeatureSpec& feature) { return feature.column == column && IsSlot(feature); }));
    if (slots == 0) {
      return WrongIn("table", section, "features",
                     fmt::format("names '{}': expected {}{}", column,
                                 job_.data.raw.has_value()
                                     ? fmt::format("'slot 0' to 'slot {}'",
                                                   job_.data.raw->slot_keys.size() - 1)
                                     : "a column with a categorical or bucketised feature "
                                       "([[feature]])",
                                 job_.data.raw.has_value() ? "" : SlotHint(column)));
    }
    const auto [entry, is_new] = table_of_.emplace(column, job_.tables.size());
    if (!is_new) {
      const bool is_own = entry->second == job_.tables.size();
      return WrongIn("table", section, "features",
                     is_own ? fmt::format("names '{}' twice: keep one", column)
                            : fmt::format("names '{}', which is in {} too: keep one", column,
                                          TextOf(entry->second)));
    }
    table->slots += slots;
    return {};
  }

  // Whether the column is a slot of raw records that has more than one key.
  bool HasSeveralKeys(const std::string& column) const {
    if (!job_.data.raw.has_value()) return false;
    size_t slot = 0;
    for (const FeatureSpec& feature : job_.data.features) {
      if (feature.column == column) return job_.data.raw->slot_keys[slot] > 1;
      if (IsSlot(feature)) ++slot;
    }
    return false;
  }

  Status ReadCombiner(const Settings& section, GraphTable* table) const {
    const bool has_several =
        std::ranges::any_of(section.TextList("features"),
                            [this](const std::string& column) { return HasSeveralKeys(column); });
    // Of a slot of one key the row itself is all there is.
    table->combiner = has_several ? job_.combiner : Combiner::kSum;
    if (!section.IsSet("combiner")) return {};
    table->combiner = CombinerOf(section.Text("combiner")).value();  // a choice
    if (table->combiner == Combiner::kSum || has_several) return {};
    return WrongIn("table", section, "combiner",
                   fmt::format("is \"mean\", but each feature of table '{}' has one key a {}: "
                               "remove it",
                               table->name, job_.data.raw.has_value() ? "record" : "row"));
  }

  std::string SlotHint(const std::string& column) const {
    std::vector<std::string_view> columns;
    for (const FeatureSpec& feature : job_.data.features) {
      if (IsSlot(feature)) columns.emplace_back(feature.column);
    }
    return NearestHint(column, columns);
  }

  // "table 'people' (job.toml:12:1)", or that it is in none.
  std::string TextOf(size_t table) const {
    if (table >= job_.tables.size() || job_.tables[table].name == kRest) return "no [[table]]";
    return fmt::format("table '{}' ({})", job_.tables[table].name, job_.tables[table].place);
  }

  void AddRest() {
    GraphTable rest{.name = kRest, .dim = job_.embedding_dim};
    for (const FeatureSpec& feature : job_.data.features) {
      if (!IsSlot(feature) || table_of_.contains(feature.column)) continue;
      ++rest.slots;
      if (HasSeveralKeys(feature.column)) rest.combiner = job_.combiner;
    }
    if (rest.slots == 0) return;
    job_.tables.push_back(std::move(rest));
    job_.table_optimizers.push_back(job_.sparse_optimizer);
  }

  // Columns of no section are in the last table.
  size_t TableOf(const std::string& column) const {
    const auto found = table_of_.find(column);
    return found == table_of_.end() ? job_.tables.size() : found->second;
  }

  Status CheckSharedKeys() const {
    for (const FeatureSpec& feature : job_.data.features) {
      if (feature.keys_of.empty()) continue;
      const size_t its = TableOf(feature.column);
      const size_t other = TableOf(feature.keys_of);
      if (its == other) continue;
      return Invalid(fmt::format(
          "{}: feature '{}' has the keys of '{}' (keys_of), but '{}' is in {} and '{}' in {}: put "
          "both into one [[table]]",
          job_.tables[std::min(its, other)].place, feature.column, feature.keys_of, feature.column,
          TextOf(its), feature.keys_of, TextOf(other)));
    }
    return {};
  }

  // Records are read as they are, so that tables follow them.
  Status CheckOrderOfSlots() const {
    size_t table = 0;
    std::string_view before;
    for (const FeatureSpec& feature : job_.data.features) {
      if (!IsSlot(feature)) continue;
      const size_t its = TableOf(feature.column);
      if (its < table) {
        return Invalid(fmt::format(
            "{}: '{}' is in {}, but '{}' before it is in {}: expected the tables of raw records in "
            "the order of their slots, each of slots side by side; slots of no [[table]] come last",
            job_.tables[its].place, feature.column, TextOf(its), before, TextOf(table)));
      }
      table = its;
      before = feature.column;
    }
    return {};
  }

  // Numeric features keep their places among themselves, and slots theirs within a table.
  void SortFeatures() {
    std::ranges::stable_sort(job_.data.features, {}, [&](const FeatureSpec& feature) {
      return IsSlot(feature) ? TableOf(feature.column) : 0;
    });
  }

  const Settings& settings_;
  JobConfig& job_;
  std::map<std::string, size_t> table_of_;  // by column
};

}  // namespace

std::span<const Setting> TableSettingRows() { return kTableRows; }
std::span<const RefusedKey> RefusedTableKeys() { return kRefused; }

Status ReadTables(const Settings& settings, JobConfig* job) {
  const std::vector<Settings>& sections = settings.Repeated("table");
  if (sections.empty()) return {};
  const std::string& where = sections[0].Where();
  if (!WidthsOf(job->model).embedding_dim) {
    return Invalid(fmt::format(
        "{}: [[table]] has no effect on model.kind = \"{}\", which has no vectors: remove it",
        where, ModelKindName(job->model)));
  }
  if (job->data.sparse.has_value()) {
    return Invalid(fmt::format(
        "{}: [[table]] is for data whose slots are known before they are read, and those of "
        "data.format = \"{}\" are not: remove it",
        where, settings.Text("data.format")));
  }
  return Tables(settings, job).Read();
}

// The slots of a table stand side by side. A column is one of them, or two: as a text and in
// buckets.
std::string TablesToToml(const JobConfig& job) {
  std::vector<std::string> columns;  // by slot
  for (const FeatureSpec& feature : job.data.features) {
    if (IsSlot(feature)) columns.push_back(feature.column);
  }
  std::string text;
  size_t slot = 0;
  for (size_t t = 0; t < job.tables.size(); ++t) {
    const GraphTable& table = job.tables[t];
    std::vector<std::string> own;
    for (const size_t end = slot + table.slots; slot < end; ++slot) {
      if (std::ranges::count(own, columns[slot]) == 0) own.push_back(columns[slot]);
    }
    if (table.name == kRest) continue;
    text += fmt::format("[[table]]\nname = {:?}\nfeatures = {}\ndim = {}\n", table.name, own,
                        table.dim);
    if (table.combiner != job.combiner) {
      text += fmt::format("combiner = \"{}\"\n", CombinerName(table.combiner));
    }
    text += TableOptimizerToToml(job.table_optimizers[t], job.sparse_optimizer) + "\n";
  }
  return text;
}

}  // namespace strata
