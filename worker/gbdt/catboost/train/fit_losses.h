// ObliviousLossOf: from the name of a loss of one output to its functor.
#pragma once

#include <variant>

#include "kernels/tree/oblivious/row_losses.h"
#include "worker/gbdt/catboost/train/loss_spec.h"

namespace strata {

// The loss has one output.
inline ObliviousLoss ObliviousLossOf(const LossSpec& loss) {
  switch (loss.type) {
    case FitLoss::kLogloss:
    case FitLoss::kCrossEntropy:
      return EntropyLoss();
    case FitLoss::kMae:
      return QuantileLoss{.alpha = 0.5, .delta = loss.delta, .scale = 2};
    case FitLoss::kQuantile:
      return QuantileLoss{.alpha = loss.alpha, .delta = loss.delta};
    case FitLoss::kMape:
      return MapeLoss();
    case FitLoss::kPoisson:
      return PoissonLoss();
    case FitLoss::kTweedie:
      return TweedieLoss{.power = loss.variance_power};
    case FitLoss::kHuber:
      return HuberLoss{.delta = loss.delta};
    case FitLoss::kExpectile:
      return ExpectileLoss{.alpha = static_cast<float>(loss.alpha)};
    case FitLoss::kMultiClass:
    case FitLoss::kMultiClassOneVsAll:  // WithClassLoss has these two
    case FitLoss::kRmse:
      break;
  }
  return RmseLoss();
}

// Calls work(loss) with the functor of the loss, which has one output.
template <typename Work>
auto WithFitLoss(const LossSpec& loss, const Work& work) {
  return std::visit(work, ObliviousLossOf(loss));
}

}  // namespace strata
