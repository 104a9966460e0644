// An XGBoost JSON model. One that is taken must predict and be written.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "strata/status.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/tree_model_use.h"
#include "worker/gbdt/model/xgboost_json.h"

namespace strata::fuzz {
namespace {

constexpr std::string_view kModel =
    R"({"learner":{"feature_names":["a","b"],"gradient_booster":{"gbtree":{"model":{
"tree_info":[0,0],"trees":[{"base_weights":[0,1,2,0.5,-1],"categories":[1,3,40],
"categories_nodes":[1],"categories_segments":[0],"categories_sizes":[3],
"default_left":[1,0,0,0,0],"left_children":[1,3,-1,-1,-1],"loss_changes":[9,4,0,0,0],
"right_children":[2,4,-1,-1,-1],"split_conditions":[0.5,0,2,0.5,-1],
"split_indices":[0,1,0,0,0],"split_type":[0,1,0,0,0],"sum_hessian":[20,12,8,7,5],
"tree_param":{"num_deleted":"0","size_leaf_vector":"1"}},
{"default_left":[0],"left_children":[-1],"right_children":[-1],"split_conditions":[0.25],
"split_indices":[0]}]}},"name":"dart","weight_drop":[1,0.5]},
"learner_model_param":{"base_score":"[4E-1]","num_class":"0","num_feature":"2",
"num_target":"1"},"objective":{"name":"binary:logistic"}},"version":[3,2,0]})";

}  // namespace

std::vector<Bytes> Seeds() {
  const auto model = ReadXgboostJson(kModel, "m");
  STRATA_CHECK_MSG(model.ok(), model.status().ToString());
  const auto bytes = std::as_bytes(std::span(kModel));
  return {Bytes(bytes.begin(), bytes.end())};
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  strata::fuzz::UseTreeModel(strata::ReadXgboostJson(text, "the model"));
  return 0;
}
