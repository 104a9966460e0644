#include "worker/gbdt/data/side_files.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <functional>
#include <optional>
#include <unordered_set>

#include "base/file/text_file.h"
#include "base/human_text.h"
#include "base/log.h"
#include "worker/data/file/file_look.h"
#include "worker/data/file/line_reader.h"

namespace strata {
namespace {

constexpr double kRowsOfQueryMax = 1e15;

// The numbers of each line that is not blank.
Status ForEachLine(Disk& disk, const std::string& path,
                   const std::function<Status(const std::vector<double>&, uint64_t)>& use) {
  STRATA_ASSIGN(const std::unique_ptr<File> file, disk.OpenToRead(path));
  STRATA_TRY(CheckIsText(*file, path, "numbers as text"));
  STRATA_ASSIGN(const uint64_t size, file->Size());
  STRATA_ASSIGN(const uint64_t begin, TextBegin(*file));
  LineReader lines(file.get(), {.range = {0, size}, .data_begin = begin, .size = size});
  Line line;
  std::vector<double> numbers;
  while (true) {
    const Result<bool> more = lines.Next(&line);
    if (!more.ok()) return more.status().Prefixed(path);
    if (!*more) return {};
    numbers.clear();
    const char* at = line.text.data();
    const char* const end = at + line.text.size();
    while (at < end) {
      if (*at == ' ' || *at == '\t' || *at == ',' || *at == '\r') {
        ++at;
        continue;
      }
      double number = 0;
      const auto [behind, error] = std::from_chars(at, end, number);
      if (error != std::errc() || !std::isfinite(number)) {
        return Invalid(fmt::format("{}:{}: expected numbers, found '{}'", path, lines.lines_read(),
                                   ShownBytes(line.text)));
      }
      numbers.push_back(number);
      at = behind;
    }
    if (!numbers.empty()) STRATA_TRY(use(numbers, lines.lines_read()));
  }
}

// OK also when there is no such file.
Status Optional(const Status& status) {
  return status.code() == StatusCode::kNotFound ? Status::Ok() : status;
}

// Goes through the rows of a data file as the lines of a side file do.
class RowWalk {
 public:
  explicit RowWalk(const SidePart& part) : part_(part) {}

  // The place within the part of the next row; nothing: it is in another part, or left out.
  std::optional<size_t> Next() {
    if (left_out_ < part_.left_out.size() && part_.left_out[left_out_] == row_) {
      ++left_out_;
      return std::nullopt;
    }
    const uint64_t row = row_++;
    if (row < part_.first || row - part_.first >= part_.rows) return std::nullopt;
    return static_cast<size_t>(row - part_.first);
  }

  uint64_t rows() const { return row_ + left_out_; }  // gone through

 private:
  const SidePart& part_;
  uint64_t row_ = 0;
  size_t left_out_ = 0;
};

// `found` says what the file has: "1,999 weights".
Status CheckRows(const std::string& path, const std::string& found, uint64_t rows,
                 const SidePart& part) {
  const uint64_t left_out = part.left_out.size();
  if (rows == part.all + left_out) {
    // Of ranks that share a data file one says so.
    if (part.first == 0) Log(LogLevel::kInfo, "{}: {} are used", path, found);
    return {};
  }
  const std::string bad =
      left_out == 0
          ? ""
          : fmt::format(", with {} that cannot be read; side files count those, too", left_out);
  return Invalid(fmt::format("{}: {}, but the data has {}{}: expected as many", path, found,
                             Counted(part.all + left_out, "row"), bad));
}

Status ReadWeights(Disk& disk, const std::string& path, const SidePart& part, SideFiles* out) {
  RowWalk walk(part);
  STRATA_TRY(ForEachLine(disk, path, [&](const std::vector<double>& numbers, uint64_t line) {
    if (numbers.size() != 1 || numbers[0] < 0) {
      return Invalid(fmt::format("{}:{}: expected one weight of at least 0", path, line));
    }
    if (walk.Next().has_value()) out->weights.push_back(static_cast<float>(numbers[0]));
    return Status::Ok();
  }));
  return CheckRows(path, Counted(walk.rows(), "weight"), walk.rows(), part);
}

// Rows that are left out leave the queries that they are in.
void LeaveOut(std::span<const uint64_t> left_out, std::vector<size_t>* begins) {
  size_t before = 0;  // rows left out before a query
  for (size_t& begin : *begins) {
    while (before < left_out.size() && left_out[before] + before < begin) ++before;
    begin -= before;
  }
}

Status ReadQueries(Disk& disk, const std::string& path, const SidePart& part,
                   std::vector<size_t>* begins) {
  *begins = {0};
  STRATA_TRY(ForEachLine(disk, path, [&](const std::vector<double>& numbers, uint64_t line) {
    if (numbers.size() != 1 || numbers[0] < 0 || numbers[0] > kRowsOfQueryMax ||
        numbers[0] != std::floor(numbers[0])) {
      return Invalid(fmt::format("{}:{}: expected one number of rows", path, line));
    }
    begins->push_back(begins->back() + static_cast<size_t>(numbers[0]));
    return Status::Ok();
  }));
  const std::string found = fmt::format("queries of {} together", Counted(begins->back(), "row"));
  STRATA_TRY(CheckRows(path, found, begins->back(), part));
  LeaveOut(part.left_out, begins);
  return {};
}

Status ReadInitScores(Disk& disk, const std::string& path, const SidePart& part, size_t classes,
                      SideFiles* out) {
  std::vector<double> scores(part.rows * classes);
  RowWalk walk(part);
  STRATA_TRY(ForEachLine(disk, path, [&](const std::vector<double>& numbers, uint64_t line) {
    if (numbers.size() != classes) {
      return Invalid(fmt::format("{}:{}: expected {}, found {}", path, line,
                                 Counted(classes, "score"), numbers.size()));
    }
    if (const std::optional<size_t> row = walk.Next(); row.has_value()) {
      for (size_t k = 0; k < classes; ++k) scores[k * part.rows + *row] = numbers[k];
    }
    return Status::Ok();
  }));
  const std::string found = fmt::format("scores of {}", Counted(walk.rows(), "row"));
  STRATA_TRY(CheckRows(path, found, walk.rows(), part));
  out->init_scores = std::move(scores);
  return {};
}

}  // namespace

Result<SideFiles> ReadSideFiles(Disk& disk, const std::string& data_path, const SidePart& part,
                                size_t classes, bool has_weights) {
  SideFiles out;
  const std::string weights = data_path + ".weight";
  if (!has_weights) {
    STRATA_TRY(Optional(ReadWeights(disk, weights, part, &out)));
  } else if (part.first == 0 && disk.OpenToRead(weights).ok()) {
    Log(LogLevel::kInfo, "{}: is not used: a column of the data has the weights", weights);
  }
  STRATA_TRY(Optional(ReadInitScores(disk, data_path + ".init", part, classes, &out)));
  return out;
}

void SayUnusedQueryFile(Disk& disk, const std::string& data_path) {
  const std::string queries = data_path + ".query";
  if (!disk.OpenToRead(queries).ok()) return;
  Log(LogLevel::kInfo, "{}: is not used: the data says which query a row belongs to", queries);
}

Result<bool> HasPositionFile(Disk& disk, const std::string& data_path) {
  const Status opened = disk.OpenToRead(data_path + ".position").status();
  if (opened.code() == StatusCode::kNotFound) return false;
  STRATA_TRY(opened);
  return true;
}

Result<std::vector<size_t>> ReadQueryFile(Disk& disk, const std::string& data_path,
                                          const SidePart& part) {
  std::vector<size_t> begins;
  const Status read = ReadQueries(disk, data_path + ".query", part, &begins);
  STRATA_TRY(Optional(read));
  if (!read.ok()) begins.clear();
  return begins;
}

Result<std::vector<size_t>> QueriesFromColumn(const std::vector<int64_t>& query_of_row,
                                              const std::string& path) {
  std::vector<size_t> begins;
  std::unordered_set<int64_t> seen;
  for (size_t row = 0; row < query_of_row.size(); ++row) {
    if (row > 0 && query_of_row[row] == query_of_row[row - 1]) continue;
    if (!seen.insert(query_of_row[row]).second) {
      return Invalid(fmt::format("{}: the rows of query {} do not stand together: row {} is apart",
                                 path, query_of_row[row], row + 1));
    }
    begins.push_back(row);
  }
  begins.push_back(query_of_row.size());
  return begins;
}

}  // namespace strata
