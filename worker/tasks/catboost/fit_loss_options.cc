#include "worker/tasks/catboost/fit_loss_options.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace strata {
namespace {

LeafMethod LeafMethodOf(const std::string& name) {
  if (name == "Newton") return LeafMethod::kNewton;
  return name == "Gradient" ? LeafMethod::kGradient : LeafMethod::kExact;
}

Status SetLeafMethod(const Settings& settings, FitParameters* p) {
  const LossFacts& facts = FactsOf(p->loss.type);
  p->leaf_method = facts.leaf_method;
  if (settings.IsSet("leaf_estimation_method")) {
    p->leaf_method = LeafMethodOf(settings.Text("leaf_estimation_method"));
  }
  const bool has_newton = facts.newton_iterations > 0;
  if (p->leaf_method == (has_newton ? LeafMethod::kExact : LeafMethod::kNewton)) {
    return Invalid(fmt::format(
        "{}: leaf_estimation_method = {} is not for {}: expected Gradient or "
        "{}",
        settings.Origin("leaf_estimation_method"), settings.Text("leaf_estimation_method"),
        facts.name, has_newton ? "Newton" : "Exact"));
  }
  if (settings.IsSet("leaf_estimation_iterations")) {
    p->leaf_iterations = static_cast<size_t>(settings.Int("leaf_estimation_iterations"));
  }
  if (p->leaf_method == LeafMethod::kExact && p->leaf_iterations.value_or(1) > 1) {
    return Invalid(
        fmt::format("{}: leaf_estimation_iterations = {}: Exact leaves take one step: expected 1",
                    settings.Origin("leaf_estimation_iterations"), *p->leaf_iterations));
  }
  const bool is_newton_score =
      p->score == ScoreFunction::kNewtonCosine || p->score == ScoreFunction::kNewtonL2;
  if (!is_newton_score || (has_newton && !IsMultiClass(p->loss.type))) return {};
  return Invalid(fmt::format("{}: score_function = {} is not for {}, {}: expected Cosine or L2",
                             settings.Origin("score_function"), settings.Text("score_function"),
                             facts.name,
                             has_newton ? "which has a second derivative for each class"
                                        : "whose second derivative is 0"));
}

Status SetEvalMetric(const Settings& settings, FitParameters* p) {
  const std::string& text = settings.Text("eval_metric");
  if (text.empty() || text == LossText(p->loss)) return {};
  const std::string origin = fmt::format("{}: eval_metric", settings.Origin("eval_metric"));
  Result<MetricSpec> metric = ParseMetric(text, p->loss.type);
  if (!metric.ok()) return metric.status().Prefixed(origin);
  if (metric->kind == MetricKind::kAuc && settings.Text("test_set").empty()) {
    return Invalid(
        fmt::format("{} = AUC has no effect without test_set (data.test of a job), whose rows it "
                    "is of: remove it",
                    origin));
  }
  p->eval_metric = *std::move(metric);
  return {};
}

}  // namespace

Status SetLossParameters(const Settings& settings, FitParameters* parameters) {
  Result<LossSpec> loss = ParseLoss(settings.Text("loss_function"));
  if (!loss.ok()) {
    return loss.status().Prefixed(
        fmt::format("{}: loss_function", settings.Origin("loss_function")));
  }
  parameters->loss = *std::move(loss);
  const LossFacts& facts = FactsOf(parameters->loss.type);
  parameters->boost_from_average = settings.IsSet("boost_from_average")
                                       ? settings.Bool("boost_from_average")
                                       : facts.starts_from_average;
  if (parameters->boost_from_average && !facts.may_start_from_average) {
    return Invalid(fmt::format("{}: boost_from_average = true is not for {}: remove it",
                               settings.Origin("boost_from_average"), facts.name));
  }
  STRATA_TRY(SetEvalMetric(settings, parameters));
  return SetLeafMethod(settings, parameters);
}

}  // namespace strata
