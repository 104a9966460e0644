// ClassLabels: the classes of a training, and how CatBoost numbers them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace strata {

// More classes than these are taken for labels of another kind.
inline constexpr size_t kFitClassesMax = 1000;

struct ClassLabels {
  std::vector<std::string> names;    // of the classes by number; empty: the labels are no classes
  std::vector<uint32_t> of_outputs;  // the classes that training rows have, ascending
  bool are_counted = false;          // classes_count gave them: they are numbers from 0 on
};

// CatBoost's order of classes: by number where all of them are numbers, else by their bytes.
void SortClasses(std::span<std::string> names);

// "a, b, c" of names of classes, for people; of many the first ten.
std::string ShownClasses(std::span<const std::string> names);

// Whether all of them are whole numbers as integers are written: "-3", but not "3.0" or "03".
bool AreIntegers(std::span<const std::string> names);

}  // namespace strata
