// strata-admin push: one gradient for one row, for a look at what the table's rule makes of it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "storage/optimizer_fields.h"
#include "tools/admin/commands.h"
#include "tools/admin/tables/store.h"
#include "tools/admin/text/json_line.h"

namespace strata::admin {
namespace {

// One number stands for all elements.
Result<std::vector<float>> GradientOf(const Request& request, const TableSpec& spec) {
  if (request.values.size() == 1) return std::vector<float>(spec.dim, request.values[0]);
  if (request.values.size() == spec.dim) return request.values;
  return Invalid(
      fmt::format("table '{}' has dimension {}: expected as many numbers, or one for all, found {}",
                  spec.name, spec.dim, request.values.size()));
}

// A wrong time would move the row by another amount than a training step does, so it is not
// guessed.
Result<uint64_t> StepOf(const Request& request, const TableSpec& spec) {
  if (request.step != 0) return request.step;
  if (!GoesByTime(spec.optimizer)) return uint64_t{1};
  return Invalid(
      fmt::format("what a push does to table '{}' depends on the optimizer's time: name it with "
                  "--step=N; a training that has made N - 1 steps would be at N",
                  spec.name));
}

}  // namespace

Status RunPush(const Request& request, std::string* out) {
  STRATA_ASSIGN(const ReachableStore reachable, ConnectReachable(request));
  STRATA_ASSIGN(const TableSpec spec, FindTable(reachable, request.table));
  STRATA_TRY(reachable.CheckAllReachable(request.keys));
  STRATA_ASSIGN(const std::vector<float> gradient, GradientOf(request, spec));
  STRATA_ASSIGN(const uint64_t step, StepOf(request, spec));
  std::vector<float> row(spec.dim);
  Operation operation;
  operation.kind = OpKind::kUpdateLookup;
  operation.step = step;
  operation.parts = {
      {.table = spec.id(), .keys = request.keys, .in = gradient, .out = row, .then = request.keys}};
  STRATA_TRY(SubmitAndWait(*reachable.store, std::move(operation)).status);
  *out =
      request.output == Request::Output::kJson
          ? JsonLine(
                {{"table", spec.name}, {"key", request.keys[0]}, {"step", step}, {"values", row}})
          : fmt::format("pushed to key {} of table {} at step {}; its row is now {}\n",
                        request.keys[0], spec.name, step, fmt::join(row, " "));
  return {};
}

}  // namespace strata::admin
