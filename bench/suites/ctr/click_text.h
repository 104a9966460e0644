// Click models trained from text by a whole job, as strata-worker runs it without servers.
#pragma once

#include <cstdint>
#include <string>

#include "strata/status.h"

namespace strata::bench {

// Writes rows in a data.format: "criteo" has one label, 13 numbers and 26 texts, "csv" the same
// columns, "libffm" the 26 texts as fields, and "libsvm" 26 indices with values.
Status WriteClickText(const std::string& path, const std::string& format, uint64_t rows);

// The section [data] of a job file that reads such a file.
std::string ClickTextSection(const std::string& path, const std::string& format);

// Samples a second of one epoch over such a file, once it has been read. `model` is a model.kind.
Result<double> TrainFromText(const std::string& path, const std::string& format,
                             const std::string& model, uint32_t dim, uint32_t batch_size,
                             int threads);

}  // namespace strata::bench
