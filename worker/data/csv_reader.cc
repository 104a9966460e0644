#include "worker/data/csv_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/file/text_file.h"
#include "base/human_text.h"
#include "worker/data/file_look.h"
#include "worker/data/number_text.h"

namespace strata {
namespace {

// True for comments, and for lines of nothing but blanks.
bool IsSkipped(std::string_view line, const CsvFormat& format) {
  if (!format.comment.empty() && line.starts_with(format.comment)) return true;
  return std::ranges::all_of(
      line, [&](char c) { return (c == ' ' || c == '\t') && c != format.delimiter; });
}

bool Contains(const std::vector<std::string>& texts, std::string_view text) {
  return std::ranges::find(texts, text) != texts.end();
}

// The first line that is neither blank nor a comment, and where the one after it begins.
struct FirstLine {
  std::string text;  // "": there is none
  uint64_t end = 0;
  uint64_t number = 0;
};

Result<FirstLine> ReadFirstLine(const File& file, uint64_t size, uint64_t begin,
                                const CsvFormat& format) {
  LineReader lines(&file, {{0, size}, begin, size, 1 << 16});
  Line line;
  FirstLine first;
  while (first.text.empty()) {
    STRATA_ASSIGN(const bool read, lines.Next(&line));
    if (!read) return first;
    if (!IsSkipped(line.text, format)) first.text = line.text;
  }
  first.number = lines.lines_read();
  STRATA_ASSIGN(const bool more, lines.Next(&line));
  first.end = more ? line.offset : size;
  return first;
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

// Whether a line of Criteo's has all columns but the label's.
bool LacksLabel(const std::string& line, const CsvFormat& format) {
  CsvFields fields;
  return format.is_criteo &&
         SplitCsvLine(line, format.delimiter, format.trim, &fields) == nullptr &&
         fields.fields.size() + 1 == format.columns.size();
}

// What a first line that does not fit the job looks like, and the step that helps; "": unknown.
std::string AdviceFor(const std::string& line, const DataSpec& spec, bool labels_required) {
  const CsvFormat& format = spec.format;
  if (LacksLabel(line, format)) {
    const size_t found = format.columns.size() - 1;
    return labels_required
               ? fmt::format(
                     "The first line has {} fields: the label seems to be missing, as in "
                     "the test.txt of the Kaggle challenge, which one can only predict.",
                     found)
               : fmt::format(
                     "The first line has {} fields, so that the file was read as one "
                     "without labels: correct the line if it has them.",
                     found);
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
    return "The first line looks like libsvm (label index:value), which a job file does not read: "
           "train trees from it by a train.conf (--lightgbm-conf), or write it as columns (CSV).";
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
  used.insert(used.end(), {spec.label, spec.weight, spec.query});
  double number = 0;
  return std::ranges::any_of(columns,
                             [&](const auto& text) { return ParseNumber(text, &number); }) &&
         std::ranges::none_of(columns, [&](const auto& text) { return Contains(used, text); });
}

}  // namespace

Result<std::unique_ptr<CsvReader>> CsvReader::Open(Disk& disk, const std::string& path,
                                                   const DataSpec& spec,
                                                   const CsvOptions& options) {
  STRATA_CHECK(options.share.rank < options.share.world);
  Source source;
  STRATA_ASSIGN(source.file, disk.OpenToRead(path));
  STRATA_ASSIGN(source.size, source.file->Size());
  STRATA_TRY(CheckIsText(*source.file, path));
  STRATA_ASSIGN(source.data_begin, TextBegin(*source.file));
  if (source.data_begin == source.size) return Invalid(path + ": the file is empty");

  const Result<FirstLine> first =
      ReadFirstLine(*source.file, source.size, source.data_begin, spec.format);
  if (!first.ok()) return WithForeignLook(first.status(), *source.file, path);
  const std::string advice = AdviceFor(first->text, spec, options.labels_required);
  std::vector<std::string> columns = spec.format.columns;
  if (!options.labels_required && LacksLabel(first->text, spec.format)) {
    columns.erase(columns.begin());
  }
  std::string where = path;
  if (spec.format.header) {
    Result<std::vector<std::string>> header = ReadHeader(*first, spec.format);
    if (!header.ok()) return WithAdvice(header.status().Prefixed(path), advice);
    columns = std::move(header).value();
    where = fmt::format("{}:{}", path, first->number);
    if (advice.empty() && LooksLikeData(columns, spec)) {
      return Invalid(
          fmt::format("{}: expected the names of columns, found '{}', which looks like a row of "
                      "data: set data.header = false, and list the names in data.columns",
                      where, ShownBytes(first->text)));
    }
    source.data_begin = first->end;
    source.data_first_line = first->number + 1;
  }
  Result<ColumnPlan> plan = PlanColumns(columns, spec, where, options.labels_required);
  if (!plan.ok()) return WithAdvice(plan.status(), advice);
  std::unique_ptr<CsvReader> reader(
      new CsvReader(std::move(source), path, spec, std::move(plan).value(), options));
  if (!spec.format.header) reader->bad_.SetAdvice(advice);
  return reader;
}

CsvReader::CsvReader(Source source, std::string path, const DataSpec& spec, ColumnPlan plan,
                     const CsvOptions& options)
    : source_(std::move(source)),
      path_(std::move(path)),
      spec_(spec),
      plan_(std::move(plan)),
      options_(options),
      lines_(source_.file.get(), RangeOptions(options.share, false)),
      bad_(path_, spec.format.bad_share_max),
      numbers_(plan_.names.size(), std::nan("")) {}

Result<bool> CsvReader::Next(DataRow* row) {
  Line line;
  while (true) {
    Result<bool> read = lines_.Next(&line);
    if (!read.ok()) return read.status().Prefixed(path_);
    if (!*read) {
      STRATA_TRY(bad_.Check(lines_.lines_read(), lines_.lines_read()));
      if (options_.log_bad_lines) bad_.LogExamples();
      options_.log_bad_lines = false;  // later passes would say the same
      return false;
    }
    if (IsSkipped(line.text, spec_.format)) continue;
    const std::string reason = ReadRow(line, row);
    row->bad = {};
    if (reason.empty()) return true;
    const uint64_t number =
        lines_.from_start() ? source_.data_first_line + lines_.lines_read() - 1 : 0;
    bad_reason_ = bad_.Add(line.offset, number, reason);
    // The estimate is rough while few lines have been read.
    if (bad_.count() >= BadLines::kShownMax) {
      STRATA_TRY(bad_.Check(lines_.lines_read(), lines_.LinesEstimated()));
    }
    if (!options_.keep_bad_rows) continue;
    MakeMissing(row);
    return true;
  }
}

void CsvReader::Rewind() {
  lines_.Rewind();
  bad_.Reset();
}

void CsvReader::TakeShare(Share share, bool to_end) {
  lines_ = LineReader(source_.file.get(), RangeOptions(share, to_end));
  Rewind();
}

LineReader::Options CsvReader::RangeOptions(Share share, bool to_end) const {
  ByteRange range = RangeOf(source_.size, share);
  if (to_end) range.end = source_.size;
  return {range, source_.data_begin, source_.size, options_.block_bytes};
}

std::string CsvReader::ReadRow(const Line& line, DataRow* row) {
  const CsvFormat& format = spec_.format;
  row->offset = line.offset;
  if (line.text.starts_with(kByteOrderMark)) return HiddenLook(line.text);
  const char* why = SplitCsvLine(line.text, format.delimiter, format.trim, &fields_);
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
      if (Contains(format.missing, field)) field = {};
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

std::string CsvReader::ReadLearned(DataRow* row) const {
  row->label = std::nanf("");
  row->weight = 1;
  row->query = 0;
  if (!options_.labels_required) return "";
  std::string reason = ReadLabel(&row->label);
  if (reason.empty()) reason = ReadWeight(&row->weight);
  if (reason.empty()) reason = ReadQuery(&row->query);
  return reason;
}

bool CsvReader::NamesColumns() const {
  return plan_.names.size() > 1 && fields_.fields[0] == plan_.names[0] &&
         std::ranges::equal(fields_.fields, plan_.names);
}

void CsvReader::MakeMissing(DataRow* row) {
  fields_.fields.assign(plan_.names.size(), {});
  std::ranges::fill(numbers_, std::nan(""));
  *row = {.bad = bad_reason_,
          .offset = row->offset,
          .fields = fields_.fields,
          .numbers = numbers_,
          .label = std::nanf("")};
}

std::string CsvReader::ReadNumber(size_t column) {
  const std::string_view field = fields_.fields[column];
  numbers_[column] = std::nan("");
  if (field.empty() || ParseNumber(field, &numbers_[column])) return "";
  return fmt::format("column '{}': '{}' is no finite number", plan_.names[column],
                     ShownBytes(field));
}

std::string CsvReader::ReadLabel(float* label) const {
  const std::string_view field = fields_.fields[plan_.label];
  if (field.empty()) return "the label is missing";
  if (!spec_.label_positive.empty()) {
    const bool positive = Contains(spec_.label_positive, field);
    if (positive || Contains(spec_.label_negative, field)) {
      *label = positive ? 1 : 0;
      return "";
    }
    return fmt::format("the label '{}' is neither in data.label_positive nor in label_negative",
                       ShownBytes(field));
  }
  double number = 0;
  const bool read = ParseNumber(field, &number);
  if (spec_.label_is_number && !read) {
    return fmt::format("the label '{}' is no finite number", ShownBytes(field));
  }
  if (!read || (!spec_.label_is_number && number != 0 && number != 1)) {
    return fmt::format("the label '{}' is neither 0 nor 1", ShownBytes(field));
  }
  *label = static_cast<float>(number);
  return "";
}

std::string CsvReader::ReadWeight(float* weight) const {
  if (plan_.weight == ColumnPlan::kNone) return "";
  const std::string_view field = fields_.fields[plan_.weight];
  double number = 0;
  if (!ParseNumber(field, &number) || number < 0) {
    return fmt::format("the weight '{}' is no number of at least 0", ShownBytes(field));
  }
  *weight = static_cast<float>(number);
  return "";
}

std::string CsvReader::ReadQuery(int64_t* query) const {
  if (plan_.query == ColumnPlan::kNone) return "";
  const std::string_view field = fields_.fields[plan_.query];
  const char* end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, *query);
  if (error == std::errc() && stop == end) return "";
  return fmt::format("the query '{}' is no whole number", ShownBytes(field));
}

}  // namespace strata
