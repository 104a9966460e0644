#include "worker/data/text/csv_reader.h"

#include <utility>

namespace strata {

Result<std::unique_ptr<CsvReader>> CsvReader::Open(Disk& disk,
                                                   const std::vector<std::string>& paths,
                                                   const DataSpec& spec,
                                                   const TextOptions& options) {
  STRATA_ASSIGN(CsvFiles files, OpenCsvFiles(disk, paths, spec, options));
  return std::unique_ptr<CsvReader>(new CsvReader(disk, std::move(files), spec, options));
}

CsvReader::CsvReader(Disk& disk, CsvFiles files, const DataSpec& spec, const TextOptions& options)
    : keep_bad_rows_(options.keep_bad_rows),
      lines_(disk, std::move(files.texts), spec.format.bad_share_max, options),
      parser_(spec, std::move(files.plan), options.labels_required) {
  lines_.SetAdvice(std::move(files.advice));
}

Result<bool> CsvReader::Next(DataRow* row) {
  Line line;
  while (true) {
    STRATA_ASSIGN(const bool read, lines_.Next(&line));
    if (!read) return false;
    if (parser_.IsSkipped(line.text)) continue;
    row->offset = lines_.IdOf(line);
    row->bad = {};
    const std::string reason = parser_.Parse(line.text, row);
    if (reason.empty()) return true;
    STRATA_ASSIGN(bad_reason_, lines_.AddBad(line, reason));
    if (!keep_bad_rows_) continue;
    row->bad = bad_reason_;
    parser_.MakeMissing(row);
    return true;
  }
}

}  // namespace strata
