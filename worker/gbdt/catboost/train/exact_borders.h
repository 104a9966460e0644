// Borders whose bins have the least sum of penalties of all, as CatBoost's MinEntropy and MaxLogSum
// choose them.
#pragma once

#include <cstddef>
#include <set>
#include <span>

namespace strata {

// What a bin of so many values costs; convex.
using BinPenalty = double (*)(double values);

// w * ln(w), so that bins are about as large as each other.
double EntropyPenalty(double values);
// -ln(w)
double LogSumPenalty(double values);

// Up to `count` borders, above 0, of sorted values, which are neither NaN nor infinite. A border
// lies half-way between two of them. Equal sums are told apart as CatBoost does. It takes time for
// count * n * log(n) of the n different values, and memory for count * n numbers.
std::set<float> ExactBorders(std::span<const float> sorted, size_t count, BinPenalty penalty);

}  // namespace strata
