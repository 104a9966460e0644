#include "worker/data/feature/buckets.h"

#include <algorithm>

namespace strata {
namespace {

struct Value {
  double value;
  size_t rows;
  bool heavy;  // holds more rows than a bucket should
};

std::vector<Value> CountValues(std::vector<double> values) {
  std::ranges::sort(values);
  std::vector<Value> counted;
  for (const double value : values) {
    if (counted.empty() || counted.back().value < value) counted.push_back({value, 0, false});
    ++counted.back().rows;
  }
  return counted;
}

// What is to be shared by the values that are not heavy.
struct Rest {
  size_t rows;
  size_t buckets;

  // Rows that the next bucket should hold.
  double Target() const { return static_cast<double>(rows) / static_cast<double>(buckets); }
};

// Marks values as heavy, the heaviest first: each leaves fewer rows to a bucket for the rest.
Rest MarkHeavy(std::vector<Value>& values, size_t rows, size_t buckets) {
  std::vector<Value*> by_rows;
  for (Value& value : values) by_rows.push_back(&value);
  std::ranges::stable_sort(by_rows, std::ranges::greater(), &Value::rows);
  Rest rest{rows, buckets};
  for (Value* value : by_rows) {
    if (rest.buckets <= 1 || static_cast<double>(value->rows) <= rest.Target()) break;
    value->heavy = true;
    rest.rows -= value->rows;
    --rest.buckets;
  }
  return rest;
}

double Between(double low, double high) {
  const double middle = low / 2 + high / 2;  // cannot overflow
  return middle > low && middle <= high ? middle : high;
}

}  // namespace

std::vector<double> CutBuckets(std::vector<double> values, size_t buckets) {
  const size_t rows = values.size();
  std::vector<Value> counted = CountValues(std::move(values));
  const bool all_apart = counted.size() <= buckets;
  Rest rest = MarkHeavy(counted, rows, buckets);
  std::vector<double> boundaries;
  size_t light_rows = 0;  // in the bucket that is being filled
  for (size_t i = 0; i + 1 < counted.size() && boundaries.size() + 1 < buckets; ++i) {
    const Value& value = counted[i];
    const Value& next = counted[i + 1];
    if (!value.heavy) light_rows += value.rows;
    const auto filled = static_cast<double>(light_rows);
    // A bucket that is half full ends before a heavy value; a smaller one joins it.
    const bool full = rest.buckets > 0 && light_rows > 0 &&
                      (filled >= rest.Target() || (next.heavy && 2 * filled >= rest.Target()));
    if (!all_apart && !value.heavy && !full) continue;
    boundaries.push_back(Between(value.value, next.value));
    if (light_rows > 0 && rest.buckets > 0 && !value.heavy) --rest.buckets;
    rest.rows -= light_rows;
    light_rows = 0;
  }
  return boundaries;
}

}  // namespace strata
