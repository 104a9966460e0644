#include "storage/optimizer_fields.h"

#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "kernels/optim/apply.h"

namespace strata {
namespace {

constexpr OptimizerName kOptimizers[] = {{OptimizerKind::kSgd, "sgd"},
                                         {OptimizerKind::kMomentum, "momentum"},
                                         {OptimizerKind::kNesterov, "nesterov"},
                                         {OptimizerKind::kAdaGrad, "adagrad"},
                                         {OptimizerKind::kRowwiseAdaGrad, "rowwise_adagrad"},
                                         {OptimizerKind::kRmsProp, "rmsprop"},
                                         {OptimizerKind::kAdam, "adam"},
                                         {OptimizerKind::kLazyAdam, "lazy_adam"},
                                         {OptimizerKind::kFtrl, "ftrl"}};

template <OptimizerKind... Kinds>
bool Is(const OptimizerSpec& spec) {
  return ((spec.kind == Kinds) || ...);
}
bool Always(const OptimizerSpec&) { return true; }
bool Decays(const OptimizerSpec& spec) { return spec.decay_steps != 0; }

using enum OptimizerKind;
using Spec = OptimizerSpec;

constexpr OptimizerField kFields[] = {
    {.name = "learning_rate",
     .real = &Spec::learning_rate,
     .is_used = Always,
     .above_low = true,
     .from_start = true},
    {.name = "epsilon",
     .real = &Spec::epsilon,
     .is_used = Is<kAdaGrad, kRowwiseAdaGrad, kRmsProp, kAdam, kLazyAdam>,
     .above_low = true,
     .from_start = true},
    {.name = "beta1",
     .real = &Spec::beta1,
     .is_used = Is<kAdam, kLazyAdam>,
     .high = 1.0F,
     .from_start = true},
    {.name = "beta2",
     .real = &Spec::beta2,
     .is_used = Is<kAdam, kLazyAdam>,
     .high = 1.0F,
     .from_start = true},
    {.name = "initial_accumulator",
     .real = &Spec::initial_accumulator,
     .is_used = Is<kAdaGrad, kRowwiseAdaGrad>,
     .from_start = true},
    {.name = "momentum",
     .real = &Spec::momentum,
     .is_used = Is<kMomentum, kNesterov>,
     .high = 1.0F},
    {.name = "rho", .real = &Spec::rho, .is_used = Is<kRmsProp>, .high = 1.0F},
    {.name = "l1", .real = &Spec::l1, .is_used = Is<kFtrl>},
    {.name = "l2", .real = &Spec::l2, .is_used = Is<kFtrl>},
    {.name = "beta", .real = &Spec::beta, .is_used = Is<kFtrl>},
    {.name = "clip_value", .real = &Spec::clip_value, .is_used = Always},
    {.name = "clip_norm", .real = &Spec::clip_norm, .is_used = Always},
    {.name = "weight_decay", .real = &Spec::weight_decay, .is_used = Always},
    {.name = "warmup_steps", .steps = &Spec::warmup_steps, .is_used = Always},
    {.name = "decay_start", .steps = &Spec::decay_start, .is_used = Decays},
    {.name = "decay_steps", .steps = &Spec::decay_steps, .is_used = Always},
    {.name = "decay_power", .real = &Spec::decay_power, .is_used = Decays, .above_low = true},
    {.name = "end_learning_rate", .real = &Spec::end_learning_rate, .is_used = Decays},
};

// "a, b and c"
std::string Enumerated(std::span<const std::string_view> names, std::string_view last) {
  std::string text;
  for (const std::string_view& name : names) {
    if (!text.empty()) text += &name == &names.back() ? fmt::format(" {} ", last) : ", ";
    text += name;
  }
  return text;
}

Status ValidateDecay(const OptimizerSpec& spec, std::string_view section) {
  if (spec.decay_start < spec.warmup_steps) {
    return Invalid(fmt::format("{}.decay_start: expected at least warmup_steps, {}, found {}",
                               section, spec.warmup_steps, spec.decay_start));
  }
  if (spec.end_learning_rate > spec.learning_rate) {
    return Invalid(fmt::format("{}.end_learning_rate: expected at most learning_rate, {}, found {}",
                               section, spec.learning_rate, spec.end_learning_rate));
  }
  if (spec.kind == kFtrl && spec.end_learning_rate == 0) {
    return Invalid(fmt::format(
        "{}.end_learning_rate: expected a number above 0, by which ftrl divides, found 0",
        section));
  }
  return {};
}

}  // namespace

bool OptimizerField::IsFor(OptimizerKind kind) const {
  return is_used({.kind = kind, .decay_steps = 1});
}

std::string OptimizerField::Users() const {
  if (is_used == Decays) return "all, with decay_steps";
  std::vector<std::string_view> users;
  for (const OptimizerName& entry : kOptimizers) {
    if (IsFor(entry.kind)) users.push_back(entry.name);
  }
  return users.size() == std::size(kOptimizers) ? "all" : Enumerated(users, "and");
}

std::string OptimizerField::WhyUnused(const OptimizerSpec& spec) const {
  if (is_used == Decays) return "without decay_steps";
  return fmt::format("on optimizer {} (it is for {})", OptimizerKindName(spec.kind), Users());
}

Status OptimizerField::Validate(const OptimizerSpec& spec) const {
  if (!is_used(spec)) {
    const OptimizerSpec unset;
    if (from_start || TextIn(spec) == TextIn(unset)) return {};
    return Invalid(fmt::format("has no effect {}: expected {}, found {}", WhyUnused(spec),
                               TextIn(unset), TextIn(spec)));
  }
  if (real == nullptr) return {};
  const float value = spec.*real;
  const bool fits = above_low ? value > low : value >= low;
  if (fits && value < high) return {};  // a NaN is neither
  return Invalid(fmt::format("expected a number {} {} and below {}, found {}",
                             above_low ? "above" : "of at least", low, high, value));
}

std::string OptimizerField::TextIn(const OptimizerSpec& spec) const {
  return real != nullptr ? fmt::to_string(spec.*real) : fmt::to_string(spec.*steps);
}

std::span<const OptimizerField> OptimizerFields() { return kFields; }

Status ValidateOptimizer(const OptimizerSpec& spec, std::string_view section) {
  if (OptimizerKindName(spec.kind) == "unknown") {
    return Invalid(fmt::format("{}.kind: expected 1 to {}, found {}", section,
                               std::size(kOptimizers), static_cast<int>(spec.kind)));
  }
  for (const OptimizerField& field : kFields) {
    STRATA_TRY(field.Validate(spec).Prefixed(fmt::format("{}.{}", section, field.name)));
  }
  return Decays(spec) ? ValidateDecay(spec, section) : Status::Ok();
}

std::span<const OptimizerName> Optimizers() { return kOptimizers; }

bool GoesByTime(const OptimizerSpec& spec) {
  if (spec.warmup_steps != 0 || spec.decay_steps != 0) return true;
  switch (spec.kind) {
    case OptimizerKind::kAdam:
    case OptimizerKind::kLazyAdam:
      return true;
    case OptimizerKind::kSgd:
    case OptimizerKind::kMomentum:
    case OptimizerKind::kNesterov:
    case OptimizerKind::kAdaGrad:
    case OptimizerKind::kRowwiseAdaGrad:
    case OptimizerKind::kRmsProp:
    case OptimizerKind::kFtrl:
      return false;
  }
  return false;
}

std::string_view OptimizerKindName(OptimizerKind kind) {
  for (const OptimizerName& entry : kOptimizers) {
    if (entry.kind == kind) return entry.name;
  }
  return "unknown";
}

Result<OptimizerKind> ParseOptimizerKind(std::string_view name) {
  for (const OptimizerName& entry : kOptimizers) {
    if (entry.name == name) return entry.kind;
  }
  return Invalid(fmt::format("optimizer '{}': expected {}", name, OptimizerNames()));
}

std::string OptimizerNames() {
  std::vector<std::string_view> names;
  for (const OptimizerName& entry : kOptimizers) names.push_back(entry.name);
  return Enumerated(names, "or");
}

bool HasState(OptimizerKind kind) { return StateWidth({.kind = kind}, 1) != 0; }

std::string WhyStateless(OptimizerKind kind) {
  std::vector<std::string_view> users;
  for (const OptimizerName& entry : kOptimizers) {
    if (HasState(entry.kind)) users.push_back(entry.name);
  }
  return fmt::format("on optimizer {} (it is for {})", OptimizerKindName(kind),
                     Enumerated(users, "and"));
}

}  // namespace strata
