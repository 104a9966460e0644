// Criteo's logs of displayed advertisements, as the Display Advertising Challenge and the 1 TB
// Click Logs have them. A line has a label, 13 integers and 26 categories of hexadecimal digits.
// Fields are separated by tabs, and an empty field is a missing value.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "worker/data/feature/data_spec.h"

namespace strata {

// The name of the label's column, which is the first: "label".
extern const char* const kCriteoLabel;

// How such a file is written, and the names of its 40 columns: label, I1 to I13, C1 to C26.
CsvFormat CriteoFormat();

// The inputs that its columns are without a word about them. I1 to I13 are numbers, with the
// logarithm if `log`; C1 to C26 are texts. Columns in `unused` are left out.
std::vector<FeatureSpec> CriteoFeatures(bool log, std::span<const std::string> unused);

}  // namespace strata
