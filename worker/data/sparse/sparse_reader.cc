#include "worker/data/sparse/sparse_reader.h"

#include <utility>

namespace strata {

Result<std::unique_ptr<SparseReader>> SparseReader::Open(Disk& disk,
                                                         const std::vector<std::string>& paths,
                                                         const DataSpec& spec,
                                                         const TextOptions& options) {
  STRATA_ASSIGN(SparseFiles files, OpenSparseFiles(disk, paths, spec, options));
  return std::unique_ptr<SparseReader>(new SparseReader(disk, std::move(files), spec, options));
}

SparseReader::SparseReader(Disk& disk, SparseFiles files, const DataSpec& spec,
                           const TextOptions& options)
    : keep_bad_rows_(options.keep_bad_rows),
      lines_(disk, std::move(files.texts), spec.format.bad_share_max, options),
      parser_(spec, options.labels_required) {
  lines_.SetAdvice(std::move(files.advice));
}

Result<bool> SparseReader::Next(SparseRow* row) {
  while (true) {
    STRATA_ASSIGN(const bool read, lines_.Next(&line_));
    if (!read) return false;
    if (parser_.IsSkipped(line_.text)) continue;
    row->offset = lines_.IdOf(line_);
    row->bad = {};
    const std::string reason = parser_.Parse(line_.text, row);
    if (reason.empty()) return true;
    STRATA_ASSIGN(bad_reason_, lines_.AddBad(line_, reason));
    if (!keep_bad_rows_) continue;
    row->bad = bad_reason_;
    return true;
  }
}

}  // namespace strata
