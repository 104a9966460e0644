#include "worker/gbdt/input/dataset_options.h"

#include "kernels/core/device_choice.h"
#include "worker/gbdt/input/binned_rows.h"

namespace strata {

DatasetOptions DatasetOptionsOf(const TreeParameters& parameters) {
  const DataParameters& data = parameters.data;
  return {.binning = data.binning,
          .sample_rows = static_cast<size_t>(data.bin_construct_sample_cnt),
          .sample_seed = data.data_random_seed,
          .classes = static_cast<size_t>(parameters.objective.num_class),
          .categorical = data.categorical_feature,
          .max_bin_by_feature = data.max_bin_by_feature,
          .columns = ColumnsText(data),
          .bundle = data.enable_bundle &&
                    ParseDevice(parameters.machine.device_type)->kind != DeviceKind::kCuda};
}

}  // namespace strata
