// What the readers of CatBoost's JSON ask about features: their borders, and where they are.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "strata/status.h"
#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/model/json_at.h"

namespace strata {

// The number of the member, rounded to float. kCorrupt: there is none, or no float can hold it.
Result<float> FloatAt(const JsonAt& at, const char* key);

// The borders of the member "borders", which ascend; none where it is null or absent.
Result<std::vector<float>> BordersAt(const JsonAt& at);

// Where features are in a model's lists, by their index in the file.
class FeaturePlaces {
 public:
  explicit FeaturePlaces(const CatBoostModel& model);

  // Of the feature that the member names. kCorrupt: the model has none of that number.
  Result<size_t> NumberAt(const JsonAt& at, const char* key) const;
  Result<size_t> CategoryAt(const JsonAt& at, const char* key) const;

 private:
  std::map<int64_t, size_t> numbers_;
  std::map<int64_t, size_t> categories_;
};

}  // namespace strata
