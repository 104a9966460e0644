#include "worker/tasks/trees/convert_task.h"

#include "base/file/output_file.h"
#include "worker/gbdt/from_model/model_differences.h"
#include "worker/gbdt/model/model_format.h"

namespace strata {

Status RunConvert(const TreeParameters& p, const TreeTaskContext& context, TreeTaskResult* result) {
  if (p.task.input_model.empty()) {
    return Invalid("input_model is missing: expected input_model = FILE");
  }
  STRATA_ASSIGN(const ModelFormat format, ModelFormatOf(p.task.model_format));
  STRATA_ASSIGN(const TreeModel model, ReadModelFile(context.disk, p.task.input_model));
  STRATA_TRY(CheckNoneContradicts(model, p));
  const Result<std::string> text = WriteModelAs(model, format);
  if (!text.ok()) return text.status().Prefixed(p.task.input_model);
  STRATA_TRY(WriteOutput(context.disk, p.task.convert_model, *text));
  result->features = model.features();
  result->rounds = model.iterations();
  result->output = p.task.convert_model;
  return {};
}

}  // namespace strata
