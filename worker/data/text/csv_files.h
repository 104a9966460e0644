// The CSV files of a data set, opened, and their columns matched with the job's.
#pragma once

#include <string>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/data/feature/data_spec.h"
#include "worker/data/text/columns.h"
#include "worker/data/text/text_files.h"

namespace strata {

struct CsvFiles {
  std::vector<OpenedText> texts;  // at least one; of several, all are closed
  ColumnPlan plan;
  // What probably is wrong with all lines if they cannot be read, and the step that helps.
  std::string advice;
};

// Opens at least one file, reads its header where the spec says that it has one, and matches
// columns. kNotFound: no such file. kInvalid: an empty file, one that is no text, or columns that
// do not match the spec or those of the first file.
Result<CsvFiles> OpenCsvFiles(Disk& disk, const std::vector<std::string>& paths,
                              const DataSpec& spec, const TextOptions& options);

}  // namespace strata
