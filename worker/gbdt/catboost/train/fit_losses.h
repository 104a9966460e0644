// WithFitLoss: from the name of a loss of one output to its functor.
#pragma once

#include "kernels/tree/oblivious/row_losses.h"
#include "worker/gbdt/catboost/train/loss_spec.h"

namespace strata {

// Calls work(loss) with the functor of the loss, which has one output.
template <typename Work>
auto WithFitLoss(const LossSpec& loss, const Work& work) {
  switch (loss.type) {
    case FitLoss::kLogloss:
    case FitLoss::kCrossEntropy:
      return work(EntropyLoss());
    case FitLoss::kMae:
      return work(QuantileLoss{.alpha = 0.5, .delta = loss.delta, .scale = 2});
    case FitLoss::kQuantile:
      return work(QuantileLoss{.alpha = loss.alpha, .delta = loss.delta});
    case FitLoss::kMape:
      return work(MapeLoss());
    case FitLoss::kPoisson:
      return work(PoissonLoss());
    case FitLoss::kTweedie:
      return work(TweedieLoss{.power = loss.variance_power});
    case FitLoss::kHuber:
      return work(HuberLoss{.delta = loss.delta});
    case FitLoss::kExpectile:
      return work(ExpectileLoss{.alpha = static_cast<float>(loss.alpha)});
    case FitLoss::kMultiClass:
    case FitLoss::kMultiClassOneVsAll:  // WithClassLoss has these two
    case FitLoss::kRmse:
      break;
  }
  return work(RmseLoss());
}

}  // namespace strata
