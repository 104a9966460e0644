// The files of libffm or libsvm of a data set, opened.
#pragma once

#include <string>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/data/feature/data_spec.h"
#include "worker/data/text/text_files.h"

namespace strata {

struct SparseFiles {
  std::vector<OpenedText> texts;  // at least one; of several, all are closed
  // What probably is wrong with all lines if they cannot be read, and the step that helps.
  std::string advice;
};

// Opens at least one file of the format DataSpec::sparse. kNotFound: no such file. kInvalid: an
// empty file, or one that is no text.
Result<SparseFiles> OpenSparseFiles(Disk& disk, const std::vector<std::string>& paths,
                                    const DataSpec& spec, const TextOptions& options);

}  // namespace strata
