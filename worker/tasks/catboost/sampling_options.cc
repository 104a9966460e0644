#include "worker/tasks/catboost/sampling_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "worker/tasks/catboost/device_options.h"
#include "worker/tasks/catboost/option_reading.h"

namespace strata {
namespace {

constexpr std::string_view kShared[] = {"MVS", "Bernoulli", "Poisson"};
constexpr std::string_view kBayesian[] = {"Bayesian"};
constexpr std::string_view kMvs[] = {"MVS"};

// A parameter, and the types that it has an effect on. Others may have it at `idle` alone.
struct OfType {
  const char* key;
  std::span<const std::string_view> types;
  double idle = -1;  // which none can be
};

constexpr OfType kOfTypes[] = {
    {"subsample", kShared}, {"bagging_temperature", kBayesian, 1}, {"mvs_reg", kMvs}};

BootstrapType TypeOf(std::string_view name) {
  if (name == "No") return BootstrapType::kNo;
  if (name == "Bayesian") return BootstrapType::kBayesian;
  if (name == "Bernoulli") return BootstrapType::kBernoulli;
  return name == "Poisson" ? BootstrapType::kPoisson : BootstrapType::kMvs;
}

}  // namespace

Result<BootstrapParameters> ReadSampling(const Settings& settings, FitLoss loss) {
  const bool is_chosen =
      (IsMultiClass(loss) || IsForGpus(settings)) && !settings.IsSet("bootstrap_type");
  const std::string type = is_chosen ? "Bayesian" : settings.Text("bootstrap_type");
  for (const OfType& of : kOfTypes) {
    if (!settings.IsSet(of.key) || std::ranges::find(of.types, type) != of.types.end()) continue;
    if (settings.Float(of.key) == of.idle) continue;
    return HasNoEffect(settings, of.key, fmt::format("with bootstrap_type = {}", type));
  }
  BootstrapParameters p = {.type = TypeOf(type),
                           .bagging_temperature = FloatOption(settings, "bagging_temperature")};
  p.is_per_level = settings.Text("sampling_frequency") == "PerTreeLevel";
  if (p.is_per_level && p.type == BootstrapType::kNo) {
    return Invalid(
        fmt::format("{}: sampling_frequency = PerTreeLevel has no effect with bootstrap_type = No: "
                    "remove it",
                    settings.Origin("sampling_frequency")));
  }
  if (settings.IsSet("mvs_reg")) p.mvs_reg = FloatOption(settings, "mvs_reg");
  if (settings.IsSet("subsample")) {
    p.subsample = FloatOption(settings, "subsample");
    if (*p.subsample > 0) return p;
    return Invalid(fmt::format("{}: subsample: expected a share above 0, found {}",
                               settings.Origin("subsample"), settings.Float("subsample")));
  }
  return p;
}

}  // namespace strata
