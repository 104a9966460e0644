#include "worker/job/data_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/human_text.h"
#include "worker/data/text/columns.h"
#include "worker/data/text/criteo.h"
#include "worker/job/raw_settings.h"
#include "worker/job/tree_settings.h"
#include "worker/job/wrong_setting.h"

namespace strata {
namespace {

// A command line has no easy way to write the character itself.
std::string Delimiter(const std::string& text) {
  return text == "\\t" || text == "tab" ? "\t" : text;
}

Status ReadColumns(const Settings& settings, CsvFormat* format) {
  const std::string delimiter = Delimiter(settings.Text("data.delimiter"));
  if (delimiter.size() != 1 || std::string_view("\"\n\r").find(delimiter[0]) != std::string::npos) {
    return Wrong(
        settings, "data.delimiter",
        fmt::format("must be one character, not a quote or a line end, or \\t, or tab; found '{}'",
                    ShownBytes(delimiter)));
  }
  format->delimiter = delimiter[0];
  format->header = settings.Bool("data.header");
  format->columns = settings.TextList("data.columns");
  if (format->header && !format->columns.empty()) {
    return Wrong(settings, "data.columns",
                 "is for files without a header: remove it, or set data.header = false");
  }
  if (!format->header && format->columns.empty()) {
    return Wrong(settings, "data.columns",
                 "is empty: name the columns in order, or set data.header = true");
  }
  return Status::Ok();
}

// Settings that say what the format says anyway are fine.
Status ReadCriteo(const Settings& settings, CsvFormat* format) {
  *format = CriteoFormat();
  const std::string delimiter(1, format->delimiter);
  if (settings.IsSet("data.delimiter") && Delimiter(settings.Text("data.delimiter")) != delimiter) {
    return Contradicts(settings, "data.delimiter", "fields are separated by tabs");
  }
  if (settings.Bool("data.header")) {
    return Contradicts(settings, "data.header", "files have no header");
  }
  if (settings.IsSet("data.columns") && settings.TextList("data.columns") != format->columns) {
    return Contradicts(settings, "data.columns",
                       "columns are label, I1 to I13 and C1 to C26, and need not be named");
  }
  if (settings.IsSet("data.label") && settings.Text("data.label") != kCriteoLabel) {
    return Contradicts(settings, "data.label",
                       fmt::format("label is the column '{}', the first", kCriteoLabel));
  }
  return Status::Ok();
}

bool IsCriteo(const Settings& settings) { return settings.Text("data.format") == "criteo"; }

Status ReadFormat(const Settings& settings, CsvFormat* format) {
  STRATA_TRY(IsCriteo(settings) ? ReadCriteo(settings, format) : ReadColumns(settings, format));
  format->missing = settings.TextList("data.missing");
  format->trim = settings.Bool("data.trim");
  format->comment = settings.Text("data.comment");
  format->bad_share_max = settings.Float("data.bad_share_max");
  return Status::Ok();
}

Status ReadLabelTexts(const Settings& settings, DataSpec* data) {
  data->label_positive = settings.TextList("data.label_positive");
  data->label_negative = settings.TextList("data.label_negative");
  if (data->label_positive.empty() != data->label_negative.empty()) {
    const bool no_positive = data->label_positive.empty();
    return Wrong(settings, no_positive ? "data.label_negative" : "data.label_positive",
                 fmt::format("needs data.label_{} too: list the texts that mean {}",
                             no_positive ? "positive" : "negative", no_positive ? 1 : 0));
  }
  for (const std::string& text : data->label_positive) {
    if (std::ranges::count(data->label_negative, text) != 0) {
      return Wrong(settings, "data.label_positive",
                   fmt::format("and data.label_negative both hold '{}': keep one", text));
    }
  }
  return Status::Ok();
}

Status ReadLabelColumn(const Settings& settings, DataSpec* data) {
  data->label = IsCriteo(settings) ? kCriteoLabel : settings.Text("data.label");
  if (data->label.empty()) {
    return Wrong(settings, "data.label", "is empty: name the column to learn");
  }
  return Status::Ok();
}

Status WrongFeature(const Settings& element, std::string_view key, std::string_view what) {
  return WrongIn("feature", element, key, what);
}

Status ReadTransforms(const Settings& element, FeatureSpec* feature) {
  for (const std::string& transform : element.TextList("transforms")) {
    if (feature->kind != FeatureKind::kNumeric) {
      return WrongFeature(element, "transforms",
                          fmt::format("are for kind = \"numeric\"; this is a {} feature",
                                      FeatureKindName(feature->kind)));
    }
    if (transform == "log" && !feature->log && !feature->standardise) {
      feature->log = true;
    } else if (transform == "standardise" && !feature->standardise) {
      feature->standardise = true;
    } else {
      return WrongFeature(element, "transforms",
                          fmt::format("must be log, standardise, or log and then standardise; "
                                      "found '{}'",
                                      transform));
    }
  }
  return Status::Ok();
}

// Appends the features of one [[feature]] section.
Status ReadFeature(const Settings& element, std::vector<FeatureSpec>* features) {
  FeatureSpec feature;
  const std::string& kind = element.Text("kind");
  if (kind == "bucketised") feature.kind = FeatureKind::kBucketised;
  if (kind == "categorical") feature.kind = FeatureKind::kCategorical;
  STRATA_TRY(ReadTransforms(element, &feature));
  if (feature.kind == FeatureKind::kBucketised) {
    feature.buckets = static_cast<uint32_t>(element.Int("buckets"));
  } else if (element.IsSet("buckets")) {
    return WrongFeature(element, "buckets",
                        fmt::format("is for kind = \"bucketised\"; this is a {} feature",
                                    FeatureKindName(feature.kind)));
  }
  if (element.TextList("columns").empty()) {
    return WrongFeature(element, "columns", "is empty: name at least one column");
  }
  feature.keys_of = element.Text("keys_of");
  if (!feature.keys_of.empty() && feature.kind != FeatureKind::kCategorical) {
    return WrongFeature(element, "keys_of",
                        fmt::format("is for kind = \"categorical\"; this is a {} feature",
                                    FeatureKindName(feature.kind)));
  }
  for (const std::string& column : element.TextList("columns")) {
    feature.column = column;
    const bool twice = std::ranges::any_of(*features, [&](const FeatureSpec& other) {
      return other.column == column && other.kind == feature.kind;
    });
    if (twice) {
      return WrongFeature(element, "columns",
                          fmt::format("names '{}' a second time as {}: keep one", column, kind));
    }
    features->push_back(feature);
  }
  return Status::Ok();
}

std::optional<SparseFormat> SparseFormatOf(const Settings& settings) {
  for (const SparseFormat format : {SparseFormat::kLibffm, SparseFormat::kLibsvm}) {
    if (settings.Text("data.format") == SparseFormatName(format)) return format;
  }
  return std::nullopt;
}

// Sparse rows have no columns, and name their features themselves.
Status ReadSparse(const Settings& settings, JobConfig* job) {
  const bool is_libffm = job->data.sparse == SparseFormat::kLibffm;
  STRATA_TRY(RefuseColumns(settings, is_libffm ? "lines are \"label field:feature:value ...\""
                                               : "lines are \"label index:value ...\""));
  if (settings.Text("model.kind") == "gbdt") {
    return Wrong(settings, "data.format",
                 fmt::format("= \"{}\" is for click models: {}", settings.Text("data.format"),
                             is_libffm ? "trees need columns; use data.format = \"csv\""
                                       : "train trees from libsvm by a train.conf "
                                         "(--lightgbm-conf)"));
  }
  if (settings.Bool("output.dictionary")) {
    return Wrong(
        settings, "output.dictionary",
        fmt::format("is for columns of texts, which data.format = \"{}\" has not: remove it",
                    settings.Text("data.format")));
  }
  if (!is_libffm && settings.Text("model.kind") == "fm") {
    job->warnings.push_back(fmt::format(
        "{}: model.kind = \"fm\" is the same as \"logistic\" for data.format = \"libsvm\": it "
        "multiplies vectors of different slots, and there is one; libffm has several",
        settings.Origin("model.kind")));
  }
  job->data.format.bad_share_max = settings.Float("data.bad_share_max");
  return ReadLabelTexts(settings, &job->data);
}

// A column that is no feature: what the job file says of it, or which one may be meant.
std::string WhyNoFeature(const DataSpec& data, const std::string& column) {
  if (std::ranges::count(data.ignore, column) > 0) {
    return ", which data.ignore leaves out: make it a categorical feature, or name another column";
  }
  for (const auto& [key, name] : {std::pair{"data.label", &data.label},
                                  {"data.weight", &data.weight},
                                  {"data.query", &data.query},
                                  {"data.group", &data.group}}) {
    if (*name != column) continue;
    return fmt::format(", which is {} and no feature: name a categorical feature's column", key);
  }
  std::vector<std::string_view> columns;
  for (const FeatureSpec& feature : data.features) {
    if (feature.kind == FeatureKind::kCategorical && feature.keys_of.empty()) {
      columns.emplace_back(feature.column);
    }
  }
  const std::string hint = NearestHint(column, columns);
  return ", but no [[feature]] has this column" +
         (hint.empty() ? ": name a categorical feature's" : hint);
}

// Why a [[feature]] cannot have the keys of `source`; "": it can.
std::string WhyNoKeysOf(const DataSpec& data, const Settings& element, const std::string& source) {
  if (std::ranges::count(element.TextList("columns"), source) > 0) {
    return ", a column of the same section: name another, or leave keys_of out, as a column has "
           "its own keys anyway";
  }
  const auto is_source = [&](const FeatureSpec& feature) { return feature.column == source; };
  const auto any = std::ranges::find_if(data.features, is_source);
  if (any == data.features.end()) return WhyNoFeature(data, source);
  const auto found = std::ranges::find_if(data.features, [&](const FeatureSpec& feature) {
    return is_source(feature) && feature.kind == FeatureKind::kCategorical;
  });
  if (found == data.features.end()) {
    return fmt::format(", which is a {} feature: keys of texts are those of categorical ones",
                       FeatureKindName(any->kind));
  }
  if (found->keys_of.empty()) return "";
  return fmt::format(", which itself has the keys of '{}': name a column that has its own",
                     found->keys_of);
}

Status CheckKeysOf(const Settings& settings, const DataSpec& data) {
  for (const Settings& element : settings.Repeated("feature")) {
    const std::string& source = element.Text("keys_of");
    if (source.empty()) continue;
    const std::string why = WhyNoKeysOf(data, element, source);
    if (why.empty()) continue;
    return WrongFeature(element, "keys_of", fmt::format("is '{}'{}", source, why));
  }
  return {};
}

Status ReadFeatures(const Settings& settings, const std::string& file, DataSpec* data) {
  for (const Settings& element : settings.Repeated("feature")) {
    STRATA_TRY(ReadFeature(element, &data->features));
  }
  if (data->features.empty() && IsCriteo(settings)) {
    std::vector<std::string> unused = data->ignore;
    unused.insert(unused.end(), {data->weight, data->query});
    // Trees need no logarithm: it changes the order of no values.
    data->features = CriteoFeatures(settings.Text("model.kind") != "gbdt", unused);
  }
  if (data->features.empty()) {
    return Invalid(fmt::format("{}: there is no [[feature]]: the model needs an input", file));
  }
  return CheckKeysOf(settings, *data);
}

}  // namespace

Status ReadDataSettings(const Settings& settings, const std::string& task, JobConfig* job) {
  job->train_files = JobPaths(settings, "data.train", job->file);
  job->test_files = JobPaths(settings, "data.test", job->file);
  job->data.threads = static_cast<int>(settings.Int("data.threads"));
  if (settings.Text("data.format") == "raw") return ReadRawSettings(settings, job);
  STRATA_TRY(RefuseRawSettings(settings));
  DataSpec& data = job->data;
  data.sparse = SparseFormatOf(settings);
  if (data.sparse.has_value()) return ReadSparse(settings, job);
  STRATA_TRY(ReadFormat(settings, &data.format));
  STRATA_TRY(ReadLabelColumn(settings, &data));
  STRATA_TRY(ReadLabelTexts(settings, &data));
  data.weight = settings.Text("data.weight");
  data.query = settings.Text("data.query");
  data.group = settings.Text("data.group");
  data.ignore = settings.TextList("data.ignore");
  STRATA_TRY(ReadFeatures(settings, job->file, &data));
  if (data.format.header) return Status::Ok();
  const std::string where = settings.Origin(IsCriteo(settings) ? "data.format" : "data.columns");
  return PlanColumns(data.format.columns, data, where, task != "predict").status();
}

Status Contradicts(const Settings& settings, std::string_view key, std::string_view fixed) {
  return Wrong(
      settings, key,
      fmt::format("contradicts data.format = \"{}\", whose {}: remove {}, or use data.format = "
                  "\"csv\"",
                  settings.Text("data.format"), fixed, key));
}

Status RefuseColumns(const Settings& settings, std::string_view fixed) {
  constexpr std::string_view kOfColumns[] = {
      "data.delimiter", "data.header", "data.columns", "data.missing", "data.trim",  "data.comment",
      "data.label",     "data.weight", "data.query",   "data.group",   "data.ignore"};
  for (const std::string_view key : kOfColumns) {
    if (settings.IsSet(key)) return Contradicts(settings, key, fixed);
  }
  if (!settings.Repeated("feature").empty()) {
    return Invalid(fmt::format(
        "{}: [[feature]] contradicts data.format = \"{}\", whose {}: remove the section",
        settings.Repeated("feature")[0].Where(), settings.Text("data.format"), fixed));
  }
  return {};
}

}  // namespace strata
