#include "worker/data/text/csv_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/file/text_file.h"
#include "base/human_text.h"
#include "worker/data/feature/label.h"
#include "worker/data/feature/number_text.h"
#include "worker/data/file/file_look.h"

namespace strata {

bool IsSkippedCsvLine(std::string_view line, const CsvFormat& format) {
  if (!format.comment.empty() && line.starts_with(format.comment)) return true;
  return std::ranges::all_of(
      line, [&](char c) { return (c == ' ' || c == '\t') && c != format.delimiter; });
}

CsvRowParser::CsvRowParser(DataSpec spec, ColumnPlan plan, bool labels_required)
    : spec_(std::move(spec)),
      plan_(std::move(plan)),
      labels_required_(labels_required),
      numbers_(plan_.names.size(), std::nan("")) {}

std::string CsvRowParser::Parse(std::string_view line, DataRow* row) {
  const CsvFormat& format = spec_.format;
  if (line.starts_with(kByteOrderMark)) return HiddenLook(line);
  const char* why = SplitCsvLine(line, format.delimiter, format.trim, &fields_);
  if (why != nullptr) return why;
  if (fields_.fields.size() != plan_.names.size()) {
    return fmt::format("{}, expected {}", Counted(fields_.fields.size(), "column"),
                       plan_.names.size());
  }
  if (NamesColumns()) {
    if (format.is_criteo)
      return "the columns' names, which Criteo's logs have not: remove the line";
    return format.header ? "the header is repeated: remove the line"
                         : "the columns' names: set data.header = true, without data.columns";
  }
  if (!format.missing.empty()) {
    for (std::string_view& field : fields_.fields) {
      if (std::ranges::count(format.missing, field) != 0) field = {};
    }
  }
  for (const size_t column : plan_.numeric_columns) {
    std::string reason = ReadNumber(column);
    if (!reason.empty()) return reason;
  }
  row->fields = fields_.fields;
  row->numbers = numbers_;
  return ReadLearned(row);
}

std::string CsvRowParser::ReadLearned(DataRow* row) const {
  row->label = std::nanf("");
  row->weight = 1;
  row->query = 0;
  if (!labels_required_) return "";
  std::string reason = ReadLabel(spec_, fields_.fields[plan_.label], &row->label);
  if (reason.empty()) reason = ReadWeight(&row->weight);
  if (reason.empty()) reason = ReadQuery(&row->query);
  return reason;
}

bool CsvRowParser::NamesColumns() const {
  return plan_.names.size() > 1 && fields_.fields[0] == plan_.names[0] &&
         std::ranges::equal(fields_.fields, plan_.names);
}

void CsvRowParser::MakeMissing(DataRow* row) {
  fields_.fields.assign(plan_.names.size(), {});
  std::ranges::fill(numbers_, std::nan(""));
  *row = {.bad = row->bad,
          .offset = row->offset,
          .fields = fields_.fields,
          .numbers = numbers_,
          .label = std::nanf("")};
}

std::string CsvRowParser::ReadNumber(size_t column) {
  const std::string_view field = fields_.fields[column];
  numbers_[column] = std::nan("");
  if (field.empty() || ParseNumber(field, &numbers_[column])) return "";
  return fmt::format("column '{}': '{}' is no finite number", plan_.names[column],
                     ShownBytes(field));
}

std::string CsvRowParser::ReadWeight(float* weight) const {
  if (plan_.weight == ColumnPlan::kNone) return "";
  const std::string_view field = fields_.fields[plan_.weight];
  double number = 0;
  if (!ParseNumber(field, &number) || number < 0) {
    return fmt::format("the weight '{}' is no number of at least 0", ShownBytes(field));
  }
  *weight = static_cast<float>(number);
  return "";
}

std::string CsvRowParser::ReadQuery(int64_t* query) const {
  if (plan_.query == ColumnPlan::kNone) return "";
  const std::string_view field = fields_.fields[plan_.query];
  const char* end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, *query);
  if (error == std::errc() && stop == end) return "";
  return fmt::format("the query '{}' is no whole number", ShownBytes(field));
}

}  // namespace strata
