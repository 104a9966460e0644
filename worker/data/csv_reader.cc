#include "worker/data/csv_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <charconv>
#include <cmath>

#include "base/human_text.h"

namespace strata {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// A finite decimal number that a float can hold.
bool ParseNumber(std::string_view field, double* number) {
  if (!field.empty() && field[0] == '+') field.remove_prefix(1);
  const char* end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, *number);
  return error == std::errc() && stop == end && std::abs(*number) <= FLT_MAX;
}

// True for comments, and for lines of nothing but blanks.
bool IsSkipped(std::string_view line, const CsvFormat& format) {
  if (!format.comment.empty() && line.starts_with(format.comment)) return true;
  return std::ranges::all_of(
      line, [&](char c) { return (c == ' ' || c == '\t') && c != format.delimiter; });
}

bool Contains(const std::vector<std::string>& texts, std::string_view text) {
  return std::ranges::find(texts, text) != texts.end();
}

// Where the text behind a byte order mark begins.
Result<uint64_t> TextBegin(const File& file) {
  char head[3];
  STRATA_ASSIGN(const size_t read, file.ReadAt(0, std::as_writable_bytes(std::span(head))));
  const bool marked = read == 3 && std::string_view(head, 3) == kByteOrderMark;
  return uint64_t{marked ? 3U : 0U};
}

// What the file's head says: the columns of its header, and where the lines behind it begin.
struct Header {
  std::vector<std::string> columns;
  uint64_t end = 0;
  uint64_t line_number = 0;
};

Result<Header> ReadHeader(const File& file, uint64_t size, uint64_t begin,
                          const CsvFormat& format) {
  LineReader lines(&file, {{0, size}, begin, size, 1 << 16});
  CsvFields fields;
  Line line;
  Line behind;
  while (true) {
    STRATA_ASSIGN(const bool read, lines.Next(&line));
    if (!read) return Invalid("holds no header: it is empty but for blanks and comments");
    if (IsSkipped(line.text, format)) continue;
    if (const char* why = SplitCsvLine(line.text, format.delimiter, format.trim, &fields)) {
      return Invalid(fmt::format("the header in line {}: {}", lines.lines_read(), why));
    }
    Header header;
    header.columns.assign(fields.fields.begin(), fields.fields.end());
    header.line_number = lines.lines_read();
    STRATA_ASSIGN(const bool more, lines.Next(&behind));
    header.end = more ? behind.offset : size;
    return header;
  }
}

}  // namespace

Result<std::unique_ptr<CsvReader>> CsvReader::Open(Disk& disk, const std::string& path,
                                                   const DataSpec& spec,
                                                   const CsvOptions& options) {
  STRATA_CHECK(options.share.rank < options.share.world);
  Source source;
  STRATA_ASSIGN(source.file, disk.OpenToRead(path));
  STRATA_ASSIGN(source.size, source.file->Size());
  STRATA_ASSIGN(source.data_begin, TextBegin(*source.file));
  if (source.data_begin == source.size) return Invalid(path + ": the file is empty");

  std::vector<std::string> columns = spec.format.columns;
  std::string where = path;
  if (spec.format.header) {
    Result<Header> header = ReadHeader(*source.file, source.size, source.data_begin, spec.format);
    if (!header.ok()) return header.status().Prefixed(path);
    columns = std::move(header->columns);
    where = fmt::format("{}:{}", path, header->line_number);
    source.data_begin = header->end;
    source.data_first_line = header->line_number + 1;
  }
  STRATA_ASSIGN(ColumnPlan plan, PlanColumns(columns, spec, where, options.labels_required));
  return std::unique_ptr<CsvReader>(
      new CsvReader(std::move(source), path, spec, std::move(plan), options));
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

Result<bool> CsvReader::Next(CsvRow* row) {
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
    if (reason.empty()) return true;
    const uint64_t number =
        lines_.from_start() ? source_.data_first_line + lines_.lines_read() - 1 : 0;
    bad_.Add(line.offset, number, reason);
    // The estimate is rough while few lines have been read.
    if (bad_.count() >= BadLines::kShownMax) {
      STRATA_TRY(bad_.Check(lines_.lines_read(), lines_.LinesEstimated()));
    }
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

std::string CsvReader::ReadRow(const Line& line, CsvRow* row) {
  const CsvFormat& format = spec_.format;
  const char* why = SplitCsvLine(line.text, format.delimiter, format.trim, &fields_);
  if (why != nullptr) return why;
  if (fields_.fields.size() != plan_.names.size()) {
    return fmt::format("{} columns, expected {}", fields_.fields.size(), plan_.names.size());
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
  std::string reason = ReadLabel(&row->label);
  if (reason.empty()) reason = ReadWeight(&row->weight);
  if (reason.empty()) reason = ReadQuery(&row->query);
  row->offset = line.offset;
  row->fields = fields_.fields;
  row->numbers = numbers_;
  return reason;
}

std::string CsvReader::ReadNumber(size_t column) {
  const std::string_view field = fields_.fields[column];
  numbers_[column] = std::nan("");
  if (field.empty() || ParseNumber(field, &numbers_[column])) return "";
  return fmt::format("column '{}': '{}' is no finite number", plan_.names[column],
                     ShownBytes(field));
}

std::string CsvReader::ReadLabel(float* label) const {
  *label = std::nanf("");
  if (plan_.label == ColumnPlan::kNone) return "";
  const std::string_view field = fields_.fields[plan_.label];
  if (field.empty()) return options_.labels_required ? "the label is missing" : "";
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
  *weight = 1;
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
