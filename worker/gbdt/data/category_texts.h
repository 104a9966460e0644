// CategoryTexts: the texts of categorical features, whose places are the numbers that trees know.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "strata/status.h"

namespace strata {

// Of each categorical feature, in the order of the features: category i is texts[i]. Empty: the
// data holds numbers. LightGBM's Python package keeps the same of pandas' categorical columns, at
// the end of a text model, and maps data frames by it.
using CategoryTexts = std::vector<std::vector<std::string>>;
// The same without numbers, which texts get in this order.
using CategoryTextSets = std::vector<std::set<std::string, std::less<>>>;

// What a text model says of them: [["a","b"],["x"]]. It holds those alone that are UTF-8.
std::string WriteCategoryTexts(const CategoryTexts& texts);
// Reads it. "" and null: none. Numbers among the categories become their texts. kCorrupt: another
// form.
Result<CategoryTexts> ReadCategoryTexts(std::string_view text);

}  // namespace strata
