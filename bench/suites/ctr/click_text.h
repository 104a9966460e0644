// Click models trained from text by a whole job, as strata-worker runs it without servers.
#pragma once

#include <cstdint>
#include <string>

#include "strata/status.h"

namespace strata::bench {

// Writes rows of one label, 13 numbers and 26 texts: Criteo's lines, or the same columns as CSV.
Status WriteClickText(const std::string& path, bool is_criteo, uint64_t rows);

// Samples a second of one epoch over such a file, once it has been read. `model` is a model.kind.
Result<double> TrainFromText(const std::string& path, bool is_criteo, const std::string& model,
                             uint32_t dim, uint32_t batch_size, int threads);

}  // namespace strata::bench
