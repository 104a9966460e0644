// ModelKind: which function of click probability a model is (ctr_model.h).
#pragma once

#include <cstdint>

namespace strata {

enum class ModelKind : uint8_t { kLogistic, kFm, kDeepFm };

// "logistic", "fm", "deepfm": as the job file and saved models have it.
constexpr const char* ModelKindName(ModelKind kind) {
  switch (kind) {
    case ModelKind::kLogistic:
      return "logistic";
    case ModelKind::kFm:
      return "fm";
    case ModelKind::kDeepFm:
      return "deepfm";
  }
  return "";
}

}  // namespace strata
