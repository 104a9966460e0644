// The constants of an OptimizerSpec by name, with their bounds and who uses them: one table for
// validation, for what differs between two specs, and for job files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "strata/optimizer_spec.h"
#include "strata/status.h"
#include "strata/table_spec.h"

namespace strata {

// Most steps that a constant may count: a job of a thousand steps a second takes 30,000 years.
constexpr uint64_t kOptimizerStepsMax = 1'000'000'000'000'000;

// By name: nvcc spells them out in a way that its host compiler warns of.
using RealConstant = float OptimizerSpec::*;
using StepsConstant = uint64_t OptimizerSpec::*;

struct OptimizerField {
  std::string_view name;  // as in job files: "momentum" of sparse.momentum
  // Which member it is: one of the two.
  RealConstant real = nullptr;
  StepsConstant steps = nullptr;
  bool (*is_used)(const OptimizerSpec& spec);
  // Of a real: low <= value < high, or low < value < high.
  float low = 0.0F;
  float high = 1e30F;
  bool above_low = false;
  // In every build. Tables may hold any value here that their rule does not use: there are some
  // that do.
  bool from_start = false;

  // kInvalid with the bound and what was found; so is one that is not used and was set.
  Status Validate(const OptimizerSpec& spec) const;
  // Whether specs of that kind use it; some constants of the decay only with decay_steps.
  bool IsFor(OptimizerKind kind) const;
  // "all", "momentum and nesterov", "all, with decay_steps".
  std::string Users() const;
  // "on optimizer sgd (it is for momentum and nesterov)", "without decay_steps": of a spec that
  // does not use it.
  std::string WhyUnused(const OptimizerSpec& spec) const;
  // 0.5, or 1000.
  std::string TextIn(const OptimizerSpec& spec) const;
};
std::span<const OptimizerField> OptimizerFields();

// kInvalid with the field's name behind `section` ("sparse" gives "sparse.momentum"), the bound and
// what was found.
Status ValidateOptimizer(const OptimizerSpec& spec, std::string_view section);

struct OptimizerName {
  OptimizerKind kind;
  std::string_view name;
};
std::span<const OptimizerName> Optimizers();
std::string OptimizerNames();  // "sgd, momentum, ... or ftrl"
// Whether an update depends on the step that it is made at.
bool GoesByTime(const OptimizerSpec& spec);
// Whether rows hold more for it than their value.
bool HasState(OptimizerKind kind);
// Why what concerns state has no effect where there is none: "on optimizer sgd (it is for momentum,
// ... and ftrl)".
std::string WhyStateless(OptimizerKind kind);

}  // namespace strata
