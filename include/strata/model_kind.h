// ModelKind: which function of click probability a model is (strata/click_model.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

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

// Nothing: there is no model of this name.
constexpr std::optional<ModelKind> ModelKindOf(std::string_view name) {
  for (const ModelKind kind : {ModelKind::kLogistic, ModelKind::kFm, ModelKind::kDeepFm}) {
    if (name == ModelKindName(kind)) return kind;
  }
  return std::nullopt;
}

}  // namespace strata
