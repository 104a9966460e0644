// ModelKind: which function of click probability a model is (strata/click_model.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace strata {

enum class ModelKind : uint8_t {
  kLogistic,  // logistic regression
  kFm,        // factorisation machine (Rendle, ICDM 2010)
  kDeepFm,    // one with a network beside it (Guo et al., IJCAI 2017)
  kWideDeep,  // logistic regression with a network beside it (Cheng et al., DLRS 2016)
  kDlrm,      // dot products of the features' vectors (Naumov et al., 2019)
  kDcn,       // cross layers beside a network (Wang et al., ADKDD 2017)
  kDcnV2,     // low-rank cross layers below a network (Wang et al., WWW 2021)
  kLayers,    // the layers that a job file names; a program can apply such a model, not train it
};

// "logistic", "fm", "deepfm", ...: as the job file and saved models have it.
constexpr const char* ModelKindName(ModelKind kind) {
  switch (kind) {
    case ModelKind::kLogistic:
      return "logistic";
    case ModelKind::kFm:
      return "fm";
    case ModelKind::kDeepFm:
      return "deepfm";
    case ModelKind::kWideDeep:
      return "wide_deep";
    case ModelKind::kDlrm:
      return "dlrm";
    case ModelKind::kDcn:
      return "dcn";
    case ModelKind::kDcnV2:
      return "dcn_v2";
    case ModelKind::kLayers:
      return "layers";
  }
  return "";
}

// Nothing: there is no model of this name.
constexpr std::optional<ModelKind> ModelKindOf(std::string_view name) {
  for (const ModelKind kind :
       {ModelKind::kLogistic, ModelKind::kFm, ModelKind::kDeepFm, ModelKind::kWideDeep,
        ModelKind::kDlrm, ModelKind::kDcn, ModelKind::kDcnV2, ModelKind::kLayers}) {
    if (name == ModelKindName(kind)) return kind;
  }
  return std::nullopt;
}

}  // namespace strata
