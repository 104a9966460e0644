#include "storage/itemset/search_pace.h"

#include <algorithm>
#include <cmath>

#include "storage/itemset/planned_search.h"

namespace strata {
namespace {

constexpr double kOfTheLast = 0.125;   // what a search counts for,
constexpr double kOfTheFirst = 0.5;    // and one by an engine that was not chosen for a while
constexpr size_t kAWhile = 16;         // searches
constexpr double kDoubt = 1.0 / 256;   // that a search without an engine takes off its log,
constexpr double kMostDoubt = 1.0986;  // ln 3, altogether

double LogOfBounded(double ratio) {
  return std::clamp(std::log(ratio), -std::log(SearchPace::kMost), std::log(SearchPace::kMost));
}

}  // namespace

SearchPace::Ratios SearchPace::Look() const {
  Ratios ratios;
  const MutexLock lock(mutex_);
  for (size_t i = 0; i < kSearchEngines; ++i) {
    const double doubt = std::min(kDoubt * static_cast<double>(engines_[i].absent), kMostDoubt);
    ratios.of_engines[i] = std::exp(engines_[i].log - doubt);
  }
  ratios.waiting = std::exp(waiting_log_);
  return ratios;
}

void SearchPace::Note(const SearchReport& report) {
  std::array<double, kSearchEngines> expected = {};
  std::array<double, kSearchEngines> took = {};
  for (size_t i = 0; i < report.plan.groups.size(); ++i) {
    const auto engine = static_cast<size_t>(report.plan.groups[i].engine);
    expected[engine] += report.plan.groups[i].estimate_ns / report.ratios.of_engines[engine];
    took[engine] += report.took_ns[i];
  }
  const MutexLock lock(mutex_);
  for (size_t i = 0; i < kSearchEngines; ++i) {
    Engine& engine = engines_[i];
    if (expected[i] > 0 && took[i] > 0) {
      const double weight = engine.absent < kAWhile ? kOfTheLast : kOfTheFirst;
      engine.log += weight * (LogOfBounded(took[i] / expected[i]) - engine.log);
      engine.absent = 0;
    } else {
      ++engine.absent;
    }
  }
  if (report.threads_ns > 0 && report.passed_ns > report.threads_ns) {
    waiting_log_ +=
        kOfTheLast * (LogOfBounded(report.passed_ns / report.threads_ns) - waiting_log_);
  } else {
    waiting_log_ -= kOfTheLast * waiting_log_;
  }
}

}  // namespace strata
