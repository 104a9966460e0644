// A CatBoost JSON model. One that is taken must predict, and be read again as it is written.
#include "worker/gbdt/catboost/catboost_json.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/status.h"
#include "tests/fuzz/fuzz_target.h"
#include "worker/gbdt/catboost/catboost_predictor.h"

namespace strata::fuzz {
namespace {

constexpr std::string_view kOblivious =
    R"({"features_info":{"float_features":[{"feature_index":0,"flat_feature_index":0,
"feature_id":"f","borders":[-1.5,0.25],"has_nans":true,"nan_value_treatment":"AsTrue"}],
"categorical_features":[{"feature_index":0,"flat_feature_index":1,"feature_id":"c",
"values":[7,-3]}],"ctrs":[{"borders":[2.5],"ctr_type":"Borders","elements":[
{"cat_feature_index":0,"combination_element":"cat_feature_value"},
{"border":0.25,"combination_element":"float_feature","float_feature_index":0}],
"identifier":"x","prior_denomerator":1,"prior_numerator":0.5,"scale":15,"shift":0,
"target_border_idx":0}],"cat_features_hash":[{"hash":7,"value":"a"}]},
"ctr_data":{)"
    R"("{\"identifier\":[{\"cat_feature_index\":0,)"
    R"(\"combination_element\":\"cat_feature_value\"},)"
    R"({\"border\":0.25,\"combination_element\":\"float_feature\",)"
    R"(\"float_feature_index\":0}],\"type\":\"Borders\"}":
{"hash_map":["18446744073709551615",2,3,"17",1,0],"hash_stride":3,"counter_denominator":0}},
"model_info":{"class_params":{"class_names":["n","y"],"class_to_label":[0,1],"classes_count":0},
"params":{"loss_function":{"type":"Logloss","params":{}}}},
"oblivious_trees":[{"splits":[{"split_index":1},{"split_index":4},{"split_index":2}],
"leaf_values":[0,1,2,3,4,5,6,7],"leaf_weights":[1,1,1,1,1,1,1,1]}],"scale_and_bias":[1,[0.5]]})";

constexpr std::string_view kOther =
    R"({"features_info":{"float_features":[{"feature_index":0,"flat_feature_index":0,
"feature_id":"","borders":[1],"has_nans":false,"nan_value_treatment":"AsIs"}]},
"trees":[{"split":{"split_index":0,"split_type":"FloatFeature","float_feature_index":0},
"left":{"value":[1,2],"weight":3},"right":{"value":[3,4],"weight":5}}],
"scale_and_bias":[1,[0,0]]})";

}  // namespace

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (const std::string_view text : {kOblivious, kOther}) {
    const auto model = ReadCatBoostJson(text, "m");
    STRATA_CHECK_MSG(model.ok(), model.status().ToString());
    const auto bytes = std::as_bytes(std::span(text));
    seeds.emplace_back(bytes.begin(), bytes.end());
  }
  return seeds;
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto model = strata::ReadCatBoostJson(text, "the model");
  if (!model.ok()) return 0;
  const strata::CatBoostRows rows(*model, 3);
  std::vector<double> raw(3 * model->outputs);
  strata::CatBoostPredictor(*model).Raw(rows, raw);
  const strata::Result<std::string> written = strata::WriteCatBoostJson(*model);
  if (!written.ok()) return 0;
  const auto again = strata::ReadCatBoostJson(*written, "written");
  STRATA_CHECK_MSG(again.ok(), again.status().ToString());
  const strata::Result<std::string> twice = strata::WriteCatBoostJson(*again);
  STRATA_CHECK(twice.ok() && *twice == *written);
  return 0;
}
