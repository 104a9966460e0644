// The bins of many numbers, by how many borders they are above.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/tree/score/bin_columns.h"

namespace strata {

// Writes the bin of each number, as BorderColumn::BinOf has it. `borders` are those of all columns.
// Any thread.
void BinNumbers(const BorderColumn& column, std::span<const float> borders,
                std::span<const float> numbers, uint8_t* bins);

}  // namespace strata
