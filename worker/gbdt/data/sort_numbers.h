// Sorting many numbers: by digits, as comparing takes several times as long.
#pragma once

#include <vector>

namespace strata {

// Ascending; none is NaN, and zeros have no sign to keep.
void SortNumbers(std::vector<double>* numbers);

}  // namespace strata
