#include "worker/gbdt/data/side_files.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <functional>
#include <unordered_set>

#include "base/human_text.h"
#include "worker/data/line_reader.h"

namespace strata {
namespace {

constexpr double kRowsOfQueryMax = 1e15;

// The numbers of each line that is not blank.
Status ForEachLine(Disk& disk, const std::string& path,
                   const std::function<Status(const std::vector<double>&, uint64_t)>& use) {
  STRATA_ASSIGN(const std::unique_ptr<File> file, disk.OpenToRead(path));
  STRATA_ASSIGN(const uint64_t size, file->Size());
  LineReader lines(file.get(), {.range = {0, size}, .data_begin = 0, .size = size});
  Line line;
  std::vector<double> numbers;
  while (true) {
    STRATA_ASSIGN(const bool more, lines.Next(&line));
    if (!more) return {};
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

Status ReadWeights(Disk& disk, const std::string& path, const SidePart& part, SideFiles* out) {
  uint64_t row = 0;
  STRATA_TRY(ForEachLine(disk, path, [&](const std::vector<double>& numbers, uint64_t line) {
    if (numbers.size() != 1 || numbers[0] < 0) {
      return Invalid(fmt::format("{}:{}: expected one weight of at least 0", path, line));
    }
    if (row >= part.first && row - part.first < part.rows) {
      out->weights.push_back(static_cast<float>(numbers[0]));
    }
    ++row;
    return Status::Ok();
  }));
  if (row == part.all) return {};
  return Invalid(fmt::format("{}: {} weights for {} rows of data", path, row, part.all));
}

Status ReadQueries(Disk& disk, const std::string& path, uint64_t rows,
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
  if (begins->back() == rows) return {};
  return Invalid(fmt::format("{}: its queries have {} rows together, the data has {}", path,
                             begins->back(), rows));
}

Status ReadInitScores(Disk& disk, const std::string& path, const SidePart& part, size_t classes,
                      SideFiles* out) {
  std::vector<double> scores(part.rows * classes);
  uint64_t row = 0;
  STRATA_TRY(ForEachLine(disk, path, [&](const std::vector<double>& numbers, uint64_t line) {
    if (numbers.size() != classes) {
      return Invalid(
          fmt::format("{}:{}: expected {} scores, found {}", path, line, classes, numbers.size()));
    }
    if (row >= part.first && row - part.first < part.rows) {
      for (size_t k = 0; k < classes; ++k) {
        scores[k * part.rows + (row - part.first)] = numbers[k];
      }
    }
    ++row;
    return Status::Ok();
  }));
  if (row != part.all) {
    return Invalid(fmt::format("{}: scores of {} rows, the data has {}", path, row, part.all));
  }
  out->init_scores = std::move(scores);
  return {};
}

}  // namespace

Result<SideFiles> ReadSideFiles(Disk& disk, const std::string& data_path, const SidePart& part,
                                size_t classes) {
  SideFiles out;
  STRATA_TRY(Optional(ReadWeights(disk, data_path + ".weight", part, &out)));
  STRATA_TRY(Optional(ReadInitScores(disk, data_path + ".init", part, classes, &out)));
  return out;
}

Result<bool> HasPositionFile(Disk& disk, const std::string& data_path) {
  const Status opened = disk.OpenToRead(data_path + ".position").status();
  if (opened.code() == StatusCode::kNotFound) return false;
  STRATA_TRY(opened);
  return true;
}

Result<std::vector<size_t>> ReadQueryFile(Disk& disk, const std::string& data_path, uint64_t all) {
  std::vector<size_t> begins;
  const Status read = ReadQueries(disk, data_path + ".query", all, &begins);
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
