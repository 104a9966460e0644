#include "worker/data/text/csv_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/human_text.h"
#include "worker/data/feature/number_text.h"
#include "worker/data/file/file_look.h"
#include "worker/data/text/csv_line.h"
#include "worker/data/text/csv_row.h"

namespace strata {
namespace {

bool Contains(const std::vector<std::string>& texts, std::string_view text) {
  return std::ranges::find(texts, text) != texts.end();
}

// The columns that a header names.
Result<std::vector<std::string>> ReadHeader(const FirstLine& line, const CsvFormat& format) {
  if (line.text.empty()) {
    return Invalid("holds no header: it is empty but for blanks and comments");
  }
  CsvFields fields;
  if (const char* why = SplitCsvLine(line.text, format.delimiter, format.trim, &fields)) {
    return Invalid(fmt::format("the header in line {}: {}", line.number, why));
  }
  return std::vector<std::string>(fields.fields.begin(), fields.fields.end());
}

// Every name that the job expects a header to have, but for the label's.
std::vector<std::string> FeatureColumns(const DataSpec& spec) {
  std::vector<std::string> names;
  for (const FeatureSpec& feature : spec.features) names.push_back(feature.column);
  return names;
}

// Whether a line of a file without a header has all columns but the label's. One whose fields seem
// to be separated by another character only looks so.
bool LacksLabel(const std::string& line, const DataSpec& spec) {
  const CsvFormat& format = spec.format;
  CsvFields fields;
  return !format.header && Contains(format.columns, spec.label) &&
         SplitCsvLine(line, format.delimiter, format.trim, &fields) == nullptr &&
         fields.fields.size() + 1 == format.columns.size() &&
         LikelyDelimiter(line, format.delimiter, format.columns.size(), {}) == '\0';
}

// What a first line that does not fit the job looks like, and the step that helps; "": unknown.
std::string AdviceFor(const std::string& line, const DataSpec& spec, bool labels_required) {
  const CsvFormat& format = spec.format;
  if (LacksLabel(line, spec)) {
    const std::string found = Counted(format.columns.size() - 1, "field");
    if (!labels_required) {
      return fmt::format(
          "The first line has {}, so that the file was read as one without labels: correct the "
          "line if it has them.",
          found);
    }
    return fmt::format("The first line has {}: the label seems to be missing{}.", found,
                       format.is_criteo
                           ? ", as in the test.txt of the Kaggle challenge, which one can only "
                             "predict"
                           : "; a file without labels one can only predict");
  }
  CsvFields fields;
  const bool fits = !format.header &&
                    SplitCsvLine(line, format.delimiter, format.trim, &fields) == nullptr &&
                    fields.fields.size() == format.columns.size();
  if (fits) return "";
  if (std::string look = ForeignTextLook(line); !look.empty()) {
    return fmt::format("The first line looks like {}.", look);
  }
  if (const std::string look = HiddenLook(line); !look.empty()) {
    return fmt::format("In the first line, {}.", look);
  }
  if (LooksLikeLibsvm(line)) {
    return "The first line looks like libsvm (label index:value): set data.format = \"libsvm\" for "
           "a click model; train trees from it by a train.conf (--lightgbm-conf).";
  }
  const std::vector<std::string> names =
      format.header ? FeatureColumns(spec) : std::vector<std::string>();
  const char likely = LikelyDelimiter(line, format.delimiter, format.columns.size(), names);
  if (likely == '\0') return "";
  const std::string shown = likely == '\t' ? "\\t" : std::string(1, likely);
  if (format.is_criteo) {
    return fmt::format(
        "The first line's fields seem to be separated by '{}', where Criteo's logs have tabs: use "
        "data.format = \"csv\" and data.delimiter = \"{}\".",
        shown, shown);
  }
  return fmt::format(
      "The first line's fields seem to be separated by '{}', not by '{}': set data.delimiter = "
      "\"{}\".",
      shown, ShownBytes({&format.delimiter, 1}), shown);
}

// What was wrong with the first line, and what it looks like, where that is known.
Status WithAdvice(const Status& why, const std::string& advice) {
  return advice.empty() ? why : Invalid(fmt::format("{}. {}", why.message(), advice));
}

// Whether a header has numbers for names, and none of those that the job uses.
bool LooksLikeData(const std::vector<std::string>& columns, const DataSpec& spec) {
  std::vector<std::string> used = FeatureColumns(spec);
  used.insert(used.end(), spec.ignore.begin(), spec.ignore.end());
  used.insert(used.end(), {spec.label, spec.weight, spec.query, spec.group});
  double number = 0;
  return std::ranges::any_of(columns,
                             [&](const auto& text) { return ParseNumber(text, &number); }) &&
         std::ranges::none_of(columns, [&](const auto& text) { return Contains(used, text); });
}

// A file and what its first line says.
struct OpenedCsv {
  OpenedText text;
  std::vector<std::string> columns;
  std::string where;   // the columns are named
  std::string advice;  // "": the first line fits the job
};

Result<OpenedCsv> OpenCsv(Disk& disk, const std::string& name, const DataSpec& spec,
                          const TextOptions& options) {
  OpenedCsv csv;
  STRATA_ASSIGN(csv.text, OpenText(disk, name, options.check));
  const std::string& path = csv.text.path;
  const bool labels_required = options.labels_required;
  STRATA_ASSIGN(const FirstLine first, ReadFirstLine(csv.text, [&](std::string_view line) {
                  return IsSkippedCsvLine(line, spec.format);
                }));
  csv.advice = AdviceFor(first.text, spec, labels_required);
  csv.columns = spec.format.columns;
  csv.where = path;
  if (!labels_required && LacksLabel(first.text, spec)) std::erase(csv.columns, spec.label);
  if (!spec.format.header) return csv;
  Result<std::vector<std::string>> header = ReadHeader(first, spec.format);
  if (!header.ok()) return WithAdvice(header.status().Prefixed(path), csv.advice);
  csv.columns = std::move(header).value();
  csv.where = fmt::format("{}:{}", path, first.number);
  if (csv.advice.empty() && LooksLikeData(csv.columns, spec)) {
    return Invalid(
        fmt::format("{}: expected the names of columns, found '{}', which looks like a row of "
                    "data: set data.header = false, and list the names in data.columns",
                    csv.where, ShownBytes(first.text)));
  }
  csv.text.rows_begin = first.end;
  csv.text.first_line = first.number + 1;
  return csv;
}

// All files have the columns of the first one.
Status CheckSameColumns(const OpenedCsv& csv, const OpenedCsv& first, const CsvFormat& format) {
  if (csv.columns == first.columns) return {};
  if (!format.header) {
    const auto fields = [](const OpenedCsv& of) { return Counted(of.columns.size(), "field"); };
    return Invalid(fmt::format(
        "{}: the first line has {}, and {} that of {}: expected that all files of a job have "
        "labels, or none of them has",
        csv.where, fields(csv), fields(first), first.where));
  }
  const auto [here, there] = std::ranges::mismatch(csv.columns, first.columns);
  const auto name = [](const std::vector<std::string>& columns, auto at) {
    return at == columns.end() ? std::string("nothing more") : "'" + ShownBytes(*at) + "'";
  };
  return Invalid(
      fmt::format("{}: column {} of the header is {}, expected {}, as {} has it: all files of a "
                  "job must have the same header",
                  csv.where, here - csv.columns.begin() + 1, name(csv.columns, here),
                  name(first.columns, there), first.where));
}

}  // namespace

Result<CsvFiles> OpenCsvFiles(Disk& disk, const std::vector<std::string>& paths,
                              const DataSpec& spec, const TextOptions& options) {
  STRATA_CHECK(!paths.empty());
  STRATA_ASSIGN(OpenedCsv first, OpenCsv(disk, paths[0], spec, options));
  Result<ColumnPlan> plan = PlanColumns(first.columns, spec, first.where, options.labels_required);
  if (!plan.ok()) return WithAdvice(plan.status(), first.advice);
  CsvFiles files{.texts = {}, .plan = std::move(plan).value(), .advice = first.advice};
  for (size_t i = 1; i < paths.size(); ++i) {
    STRATA_ASSIGN(OpenedCsv csv, OpenCsv(disk, paths[i], spec, options));
    const Status same = CheckSameColumns(csv, first, spec.format);
    if (!same.ok()) return WithAdvice(same, csv.advice);
    if (files.advice.empty() && !csv.advice.empty()) {
      files.advice = fmt::format("{}: {}", paths[i], csv.advice);
    }
    csv.text.file.reset();
    files.texts.push_back(std::move(csv.text));
  }
  if (!files.texts.empty()) first.text.file.reset();
  files.texts.insert(files.texts.begin(), std::move(first.text));
  if (spec.format.header) files.advice.clear();  // the header fits the job
  return files;
}

}  // namespace strata
