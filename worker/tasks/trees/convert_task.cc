#include "worker/tasks/trees/convert_task.h"

#include "base/file/output_file.h"
#include "worker/gbdt/model/model_format.h"
#include "worker/gbdt/model_differences.h"

namespace strata {

Status RunConvert(const TreeParameters& p, const TreeTaskContext& context, TreeTaskResult* result) {
  if (p.input_model.empty()) {
    return Invalid("input_model is missing: expected input_model = FILE");
  }
  STRATA_ASSIGN(const ModelFormat format, ModelFormatOf(p.model_format));
  STRATA_ASSIGN(const TreeModel model, ReadModelFile(context.disk, p.input_model));
  STRATA_TRY(CheckNoneContradicts(model, p));
  const Result<std::string> text = WriteModelAs(model, format);
  if (!text.ok()) return text.status().Prefixed(p.input_model);
  STRATA_TRY(WriteOutput(context.disk, p.convert_model, *text));
  result->features = model.features();
  result->rounds = model.iterations();
  result->output = p.convert_model;
  return {};
}

}  // namespace strata
