#include "worker/gbdt/catboost/pool_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cfloat>
#include <cmath>
#include <limits>
#include <utility>

#include "base/file/text_file.h"
#include "base/human_text.h"
#include "base/log.h"
#include "worker/data/file/line_reader.h"
#include "worker/gbdt/catboost/category_hash.h"
#include "worker/gbdt/catboost/read_number.h"

namespace strata {
namespace {

constexpr uint64_t kDescriptionBytesMax = 64 << 20;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// CatBoost's list.
constexpr std::string_view kMissingTexts[] = {
    "",     "-",    "NA",   "Na",       "na",     "nan",     "NaN",     "NAN",
    "#NA",  "N/A",  "n/a",  "#N/A",     "-NaN",   "-nan",    "NULL",    "null",
    "Null", "none", "None", "#N/A N/A", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"};

bool IsInfinity(std::string_view text) {
  const auto is = [text](std::string_view word) {
    return std::ranges::equal(text, word, [](char a, char b) {
      return std::tolower(static_cast<unsigned char>(a)) == b;
    });
  };
  return is("inf") || is("infinity");
}

// The first lines that are not blank, and where the rows begin.
struct FirstLines {
  std::string header;
  std::string row;
};

Result<FirstLines> ReadFirstLines(OpenedText* text, bool has_header) {
  LineReader lines(LinesOf(*text, {0, text->size}, 1 << 16));
  FirstLines first;
  Line line;
  bool header_read = !has_header;
  while (true) {
    const Result<bool> more = lines.Next(&line);
    if (!more.ok()) return more.status().Prefixed(text->path);
    if (!*more) break;
    if (line.text.empty()) continue;
    if (header_read) {
      first.row = line.text;
      return first;
    }
    header_read = true;
    first.header = line.text;
    text->rows_begin = line.end;
    text->first_line = lines.lines_read() + 1;
  }
  return Invalid(fmt::format("{}: no row: expected one row a line{}", text->path,
                             has_header ? " after the header" : ""));
}

}  // namespace

bool ReadPoolNumber(std::string_view field, float* number) {
  std::string_view digits = field;
  digits.remove_prefix(std::min(digits.find_first_not_of(" \t\n\v\f\r"), digits.size()));
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  double value = 0;
  if (ReadNumber(digits, &value) && std::isfinite(value)) {
    *number = PoolFloat(value);
    return true;
  }
  if (std::ranges::find(kMissingTexts, field) != std::end(kMissingTexts)) {
    *number = std::numeric_limits<float>::quiet_NaN();
    return true;
  }
  const bool is_negative = field.starts_with('-');
  if (!IsInfinity(is_negative ? field.substr(1) : field)) return false;
  *number = is_negative ? -kInfinity : kInfinity;
  return true;
}

float PoolFloat(double number) {
  if (std::abs(number) > FLT_MAX) return number > 0 ? kInfinity : -kInfinity;
  const auto rounded = static_cast<float>(number);
  return rounded == 0 ? 0 : rounded;
}

PoolFile::PoolFile(Disk& disk, OpenedText text, const TextOptions& texts,
                   const PoolOptions& options)
    : delimiter_(options.delimiter),
      has_header_(options.has_header),
      path_(text.path),
      blocks_(
          disk,
          [&text] {
            std::vector<OpenedText> list;
            list.push_back(std::move(text));
            return list;
          }(),
          texts) {}

Result<std::unique_ptr<PoolFile>> PoolFile::OpenColumns(Disk& disk, const PoolOptions& options,
                                                        const std::function<Status()>& check) {
  STRATA_ASSIGN(OpenedText text, OpenText(disk, options.path, check));
  STRATA_ASSIGN(const FirstLines first, ReadFirstLines(&text, options.has_header));
  std::unique_ptr<PoolFile> file(new PoolFile(disk, std::move(text), {.check = check}, options));
  STRATA_TRY(file->FindColumns(disk, options, first.header, first.row));
  return file;
}

Result<std::unique_ptr<PoolFile>> PoolFile::Open(Disk& disk, const PoolOptions& options,
                                                 const CatBoostModel& model,
                                                 const std::function<Status()>& check,
                                                 std::span<const uint32_t> categories) {
  STRATA_ASSIGN(std::unique_ptr<PoolFile> file, OpenColumns(disk, options, check));
  STRATA_ASSIGN(file->of_model_, MatchColumns(model, file->columns_, file->path_, categories));
  return file;
}

Result<std::unique_ptr<PoolFile>> PoolFile::OpenToLearn(Disk& disk, const PoolOptions& options,
                                                        const std::function<Status()>& check,
                                                        CatBoostModel* model) {
  STRATA_ASSIGN(std::unique_ptr<PoolFile> file, OpenColumns(disk, options, check));
  file->of_model_ = AddFeatures(file->columns_, model);
  return file;
}

Status PoolFile::FindColumns(Disk& disk, const PoolOptions& options, std::string_view header,
                             std::string_view row) {
  CsvFields fields;
  if (const char* why = SplitCsvLine(row, delimiter_, false, &fields)) {
    return Invalid(fmt::format("{}: the first row: {}", path_, why));
  }
  const size_t count = fields.fields.size();
  columns_ = DefaultColumns(count);
  if (!options.column_description.empty()) {
    STRATA_ASSIGN(const std::string text,
                  ReadTextFile(disk, options.column_description, kDescriptionBytesMax));
    STRATA_ASSIGN(columns_, ParseColumnDescription(text, options.column_description, path_, count));
  }
  if (options.has_header) {
    CsvFields names;
    const char* const why = SplitCsvLine(header, delimiter_, false, &names);
    if (why != nullptr) return Invalid(fmt::format("{}: the header: {}", path_, why));
    if (names.fields.size() != count) {
      return Invalid(fmt::format("{}: the header names {}, and the first row has {}", path_,
                                 Counted(names.fields.size(), "column"), count));
    }
    std::string differs;
    for (size_t c = 0; c < count; ++c) {
      std::string& name = columns_[c].name;
      if (name.empty()) name = names.fields[c];
      if (name != names.fields[c] && differs.empty()) {
        differs = fmt::format("column {} is '{}' in the first line and '{}' in {}", c,
                              names.fields[c], name, options.column_description);
      }
    }
    if (!differs.empty()) {
      Log(LogLevel::kWarning,
          "{}: {}, which counts; a first line that is a row is lost with has_header=true", path_,
          differs);
    }
  }
  const auto id = std::ranges::find(columns_, PoolColumnKind::kSampleId, &PoolColumn::kind);
  if (id != columns_.end()) sample_id_ = static_cast<size_t>(id - columns_.begin());
  return {};
}

std::vector<Line> PoolFile::RowsOf(const TextBlock& block) const {
  std::vector<Line> rows;
  LineCursor cursor;
  for (Line line; cursor.Next(block.lines, &line);) {
    if (!line.text.empty() || columns_.size() == 1) rows.push_back(line);
  }
  return rows;
}

Status PoolFile::Placed(const Status& error, const TextBlock& block, const Line& line) const {
  const Status placed = error.Prefixed(block.PlaceOf(line));
  if (has_header_ || block.LinesRead(line) != 1) return placed;
  return Status(placed.code(),
                fmt::format("{}; if the first line names the columns, say has_header=true",
                            placed.message()));
}

Status PoolFile::ReadRow(std::string_view line, size_t row, CatBoostRows* rows, CsvFields* fields,
                         std::string_view* sample_id) const {
  if (const char* why = SplitCsvLine(line, delimiter_, false, fields)) return Invalid(why);
  if (fields->fields.size() != columns_.size()) {
    return Invalid(
        fmt::format("expected {} columns, found {}", columns_.size(), fields->fields.size()));
  }
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (!of_model_[c].is_read) continue;
    const std::string_view field = fields->fields[c];
    if (columns_[c].kind == PoolColumnKind::kCategory) {
      rows->Category(of_model_[c].feature)[row] = CategoryHash(field);
    } else if (!ReadPoolNumber(field, &rows->Number(of_model_[c].feature)[row])) {
      return Invalid(fmt::format(
          "column {}: expected a number, found '{}': a category has the type Categ in the column "
          "description",
          c, ShownBytes(field)));
    }
  }
  if (sample_id_.has_value()) *sample_id = fields->fields[*sample_id_];
  return {};
}

}  // namespace strata
