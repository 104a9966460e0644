// A LightGBM text model. One that is taken must say the same after it was written, and predict.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>

#include "strata/status.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/tree_model_use.h"
#include "worker/gbdt/model/lightgbm_text.h"

namespace strata::fuzz {
namespace {

constexpr std::string_view kModel = R"(tree
version=v4
num_class=2
num_tree_per_iteration=2
label_index=0
max_feature_idx=2
objective=multiclass num_class:2
feature_names=a b c
monotone_constraints=0 1 -1
feature_infos=[-1:1] none -1:3:0

Tree=0
num_leaves=4
num_cat=1
split_feature=0 2 1
split_gain=3.5 1 0.25
threshold=0.5 0 1.0000000180025095e-35
decision_type=10 1 6
left_child=1 -1 -2
right_child=2 -3 -4
leaf_value=0.1 -0.2 0.3 1e-3
leaf_weight=5 6 7 8
leaf_count=20 24 28 32
internal_value=0 0.1 0.2
internal_weight=26 12 14
internal_count=104 48 56
cat_boundaries=0 2
cat_threshold=5 1
is_linear=0
shrinkage=0.1


Tree=1
num_leaves=1
num_cat=0
split_feature=
threshold=
left_child=
right_child=
leaf_value=0.25
leaf_count=104
is_linear=0
shrinkage=1


end of trees

feature_importances:
a=1

parameters:
[boosting: gbdt]

end of parameters

pandas_categorical:null
)";

}  // namespace

std::vector<Bytes> Seeds() {
  STRATA_CHECK(ReadLightGbmText(kModel, "m").ok());
  const auto bytes = std::as_bytes(std::span(kModel));
  return {Bytes(bytes.begin(), bytes.end())};
}

}  // namespace strata::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  strata::fuzz::UseTreeModel(strata::ReadLightGbmText(text, "the model"));
  return 0;
}
