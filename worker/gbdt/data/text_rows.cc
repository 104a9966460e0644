#include "worker/gbdt/data/text_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "base/file/text_file.h"
#include "base/human_text.h"
#include "worker/data/file/file_look.h"

namespace strata {
namespace {

constexpr size_t kBlockRows = 4096;
constexpr size_t kBlockValues = 1 << 20;
constexpr size_t kFeaturesMax = 1 << 24;
constexpr std::string_view kBlanks = " \t\r";

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Tabs part fields, which may all be empty.
bool IsBlank(std::string_view line) { return line.find_first_not_of(" \r") == line.npos; }

char LowerCase(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool IsMissing(std::string_view text) {
  if (text.empty() || text == "?") return true;
  if (text.size() > 4) return false;
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), LowerCase);
  return lower == "na" || lower == "nan" || lower == "null" || lower == "n/a";
}

// A decimal number, "inf" or a missing value; nothing for any other text.
bool ReadNumber(std::string_view text, double* value) {
  text = Trimmed(text);
  if (IsMissing(text)) {
    *value = std::numeric_limits<double>::quiet_NaN();
    return true;
  }
  if (text.front() == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error == std::errc::result_out_of_range) return false;
  return error == std::errc() && end == text.data() + text.size();
}

// Whether a field that is no number begins as a word does.
bool IsWord(std::string_view text) {
  text = Trimmed(text);
  const auto is_quote = [](char c) { return c == '"' || c == '\''; };
  while (!text.empty() && is_quote(text.front())) text.remove_prefix(1);
  if (text.empty()) return false;
  const char first = LowerCase(text.front());
  return (first >= 'a' && first <= 'z') || static_cast<unsigned char>(first) >= 0x80;
}

// Whether any field of a line of CSV or TSV is a number, as no header's is.
bool HoldsNumber(std::string_view line) {
  while (!line.empty()) {
    const size_t end = std::min(line.find_first_of(",\t"), line.size());
    const std::string_view field = Trimmed(line.substr(0, end));
    double number = 0;
    if (!IsMissing(field) && ReadNumber(field, &number)) return true;
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return false;
}

std::vector<std::string_view> SplitAt(std::string_view line, char delimiter) {
  std::vector<std::string_view> fields;
  while (true) {
    const size_t end = line.find(delimiter);
    fields.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
  }
}

// What helps where another character than LightGBM's separates the fields.
std::string OtherDelimiter(char delimiter) {
  return fmt::format(
      "fields seem to be separated by '{0}': change them to commas or tabs, or use a job file with "
      "data.delimiter = \"{0}\"",
      delimiter);
}

// By the delimiters of a line: "1 3:0.5 7:2" is libsvm, then tabs, then commas.
Result<TextFormat> FormatOf(std::string_view line, const std::string& path) {
  const std::vector<std::string_view> words = SplitAt(Trimmed(line), ' ');
  const auto has_colon = [](std::string_view word) { return word.find(':') != word.npos; };
  if (words.size() > 1 && std::ranges::any_of(words, has_colon)) return TextFormat::kLibsvm;
  if (line.find('\t') != line.npos) {
    const std::vector<std::string_view> fields = SplitAt(line, '\t');
    if (fields.size() > 1 && has_colon(fields[1])) return TextFormat::kLibsvm;
    return TextFormat::kTsv;
  }
  if (line.find(',') != line.npos) return TextFormat::kCsv;
  double label = 0;
  // A label alone: libsvm, all features 0.
  if (words.size() == 1 && ReadNumber(words[0], &label)) return TextFormat::kLibsvm;
  std::string advice;
  for (const char other : {' ', '|', ';'}) {
    if (Trimmed(line).find(other) != line.npos) advice = ": " + OtherDelimiter(other);
  }
  return Invalid(
      fmt::format("{}: unknown format: expected comma- or tab-separated numbers, or libsvm ('label "
                  "index:value ...'); found '{}'{}",
                  path, ShownBytes(line, 80), advice));
}

}  // namespace

TextRows::TextRows(std::unique_ptr<File> file, std::string path, TextFormat format, uint64_t begin,
                   uint64_t size)
    : file_(std::move(file)),
      path_(std::move(path)),
      format_(format),
      lines_(file_.get(), {.range = {0, size}, .data_begin = begin, .size = size}),
      begin_(begin),
      size_(size) {}

Result<std::unique_ptr<TextRows>> TextRows::Open(Disk& disk, const std::string& path,
                                                 const ColumnChoice& columns) {
  STRATA_ASSIGN(std::unique_ptr<File> file, disk.OpenToRead(path));
  STRATA_ASSIGN(const uint64_t size, file->Size());
  STRATA_TRY(CheckIsText(*file, path));
  STRATA_ASSIGN(const uint64_t text_begin, TextBegin(*file));
  LineReader lines(file.get(), {.range = {0, size}, .data_begin = text_begin, .size = size});
  std::vector<std::string> first;  // two lines that are not blank
  uint64_t first_begin = 0;
  Line line;
  while (first.size() < 2) {
    const Result<bool> more = lines.Next(&line);
    if (!more.ok()) return WithForeignLook(more.status(), *file, path);
    if (!*more) break;
    if (IsBlank(line.text) || (!columns.header && line.text.front() == '#')) continue;
    if (first.empty()) first_begin = line.offset;
    first.emplace_back(line.text);
  }
  if (first.size() <= (columns.header ? 1U : 0U)) {
    return Invalid(fmt::format("{}: no row: expected one row a line{}", path,
                               columns.header ? " behind the header" : ""));
  }
  const std::string& row = first[columns.header ? 1 : 0];
  if (const std::string look = ForeignTextLook(row); !look.empty()) {
    return Invalid(fmt::format("{}: looks like {}", path, look));
  }
  STRATA_ASSIGN(TextFormat format, FormatOf(row, path));
  if (columns.predicts && columns.expected != nullptr && columns.expected->names.size() == 1 &&
      row.find_first_of(": ,\t") == row.npos) {
    format = TextFormat::kCsv;  // a feature alone, not a label
  }
  const char delimiter = format == TextFormat::kTsv ? '\t' : ',';
  std::vector<std::string> names;
  if (columns.header) {
    for (const std::string_view name :
         SplitAt(first[0], format == TextFormat::kLibsvm ? ' ' : delimiter)) {
      names.emplace_back(Trimmed(name));
    }
  }
  const size_t fields = format == TextFormat::kLibsvm ? 0 : SplitAt(row, delimiter).size();
  std::unique_ptr<TextRows> rows(new TextRows(std::move(file), path, format, text_begin, size));
  if (columns.header) rows->header_ = first_begin;
  if (format != TextFormat::kLibsvm) {
    STRATA_ASSIGN(rows->roles_, ColumnRoles::Find(columns, std::move(names), fields, path));
    return rows;
  }
  // A label has no colon.
  const std::string_view begin = Trimmed(row);
  if (columns.expected != nullptr) {  // what no row has is 0 in all of them
    rows->roles_.features = columns.expected->names.size();
    rows->roles_.names = columns.expected->names;
  }
  rows->roles_.reads_label = !columns.predicts;
  rows->roles_.has_label = rows->roles_.reads_label ||
                           begin.substr(0, begin.find_first_of(kBlanks)).find(':') == row.npos;
  for (const std::string* column : {&columns.weight, &columns.query}) {
    if (column->empty()) continue;
    return Invalid(
        fmt::format("{}: column '{}': libsvm rows have no columns: use the side files "
                    "{}.weight and {}.query",
                    path, *column, path, path));
  }
  return rows;
}

Status TextRows::Wrong(const std::string& what) const {
  // Who reads another part than the first does not know how many lines there are before it.
  if (!lines_.from_start()) {
    return Invalid(fmt::format("{}: the line at byte {}: {}", path_, line_.offset, what));
  }
  return Invalid(fmt::format("{}:{}: {}", path_, lines_.lines_read(), what));
}

Result<double> TextRows::Number(std::string_view text) const {
  double value = 0;
  if (ReadNumber(text, &value)) return value;
  const bool may_be_names = format_ != TextFormat::kLibsvm && lines_.from_start() &&
                            lines_.lines_read() == 1 && !header_.has_value() &&
                            !HoldsNumber(line_.text);
  std::string advice;
  const size_t other = text.find_first_of(";|");
  if (const std::string look = HiddenLook(text); !look.empty()) {
    advice = ": " + look;
  } else if (other != text.npos && ReadNumber(text.substr(0, other), &value)) {
    advice = ": " + OtherDelimiter(text[other]);
  } else if (may_be_names) {
    advice = ": a first line of names needs header = true";
  } else if (format_ != TextFormat::kLibsvm && IsWord(text)) {
    advice = ": job files (--job) read texts as categories: see docs/trees.md";
  }
  return Wrong(fmt::format("expected a number, found '{}'{}", ShownBytes(Trimmed(text)), advice));
}

// A blank line, which in TSV has no tabs, or in libsvm a comment.
bool TextRows::IsNoRow(std::string_view line) const {
  if (format_ == TextFormat::kTsv) return IsBlank(line);
  const std::string_view text = Trimmed(line);
  return text.empty() || (format_ == TextFormat::kLibsvm && text.front() == '#');
}

Status TextRows::Next(SparseRows* block) {
  block->Clear();
  while (block->rows() < kBlockRows && block->values.size() < kBlockValues) {
    if (part_.rows.has_value() && rows_seen_ >= part_.skip + *part_.rows) return {};
    const Result<bool> more = lines_.Next(&line_);
    if (!more.ok()) return more.status().Prefixed(path_);
    if (!*more) return {};
    if (IsNoRow(line_.text) || line_.offset == header_) continue;
    if (rows_seen_++ < part_.skip) continue;
    STRATA_TRY(format_ == TextFormat::kLibsvm ? ReadPairs(line_.text, block)
                                              : ReadFields(line_.text, block));
    block->begins.push_back(block->values.size());
  }
  return {};
}

Status TextRows::ReadFields(std::string_view line, SparseRows* block) {
  const char delimiter = format_ == TextFormat::kTsv ? '\t' : ',';
  size_t column = 0;
  for (bool more = true; more; ++column) {
    const size_t end = line.find(delimiter);
    more = end != std::string_view::npos;
    if (column >= roles_.of.size()) {
      ++column;  // one that should not be there
      break;
    }
    const std::string_view text = line.substr(0, end);
    if (more) line.remove_prefix(end + 1);
    const ColumnRole role = roles_.of[column];
    if (roles_.Reads(role)) {
      STRATA_ASSIGN(const double value, Number(text));
      const char* const wrong = roles_.Put(role, roles_.feature_of[column], value, block);
      if (*wrong != 0) return Wrong(wrong);
    }
  }
  if (column != roles_.of.size()) {
    return Wrong(fmt::format("expected {} columns, found {}", roles_.of.size(),
                             column < roles_.of.size() ? fmt::format("{}", column) : "more"));
  }
  roles_.PutNoLabel(block);
  return {};
}

Status TextRows::ReadPairs(std::string_view line, SparseRows* block) {
  roles_.PutNoLabel(block);
  bool first = roles_.has_label;
  int64_t last = -1;
  while (true) {
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) break;
    line.remove_prefix(begin);
    if (line.front() == '#') break;  // a comment, as LETOR files have it
    const std::string_view word = line.substr(0, line.find_first_of(" \t\r"));
    line.remove_prefix(word.size());
    if (first) {
      first = false;
      if (!roles_.reads_label) continue;
      STRATA_ASSIGN(const double label, Number(word));
      const char* const wrong = roles_.Put(ColumnRole::kLabel, 0, label, block);
      if (*wrong != 0) return Wrong(wrong);
      continue;
    }
    const size_t colon = word.find(':');
    if (word.starts_with("qid:")) {
      int64_t query = 0;
      const auto [end, error] = std::from_chars(word.data() + 4, word.data() + word.size(), query);
      if (error != std::errc() || end != word.data() + word.size()) {
        return Wrong(fmt::format("expected qid:NUMBER, found '{}'", ShownBytes(word)));
      }
      block->queries.push_back(query);
      continue;
    }
    int64_t index = -1;
    const auto [end, error] =
        std::from_chars(word.data(), word.data() + std::min(colon, word.size()), index);
    if (colon == std::string_view::npos || error != std::errc() || end != word.data() + colon ||
        index < 0) {
      return Wrong(fmt::format("expected index:value, found '{}'", ShownBytes(word)));
    }
    if (index >= static_cast<int64_t>(kFeaturesMax)) {
      return Wrong(
          fmt::format("feature {}: at most {} features are supported", index, kFeaturesMax));
    }
    if (index <= last) {
      return Wrong(fmt::format("feature {} behind {}: expected ascending indices", index, last));
    }
    last = index;
    STRATA_ASSIGN(const double value, Number(word.substr(colon + 1)));
    roles_.features = std::max(roles_.features, static_cast<size_t>(index) + 1);
    roles_.Put(ColumnRole::kFeature, static_cast<uint32_t>(index), value, block);
  }
  return {};
}

Status TextRows::Rewind() {
  lines_.Rewind();
  rows_seen_ = 0;
  return {};
}

Status TextRows::TakePart(const RowPart& part) {
  part_ = part;
  ByteRange range = RangeOf(size_, part.share);
  if (part.rows.has_value()) range.end = size_;
  lines_ = LineReader(file_.get(), {.range = range, .data_begin = begin_, .size = size_});
  return Rewind();
}

}  // namespace strata
