// The chosen learning rate, held against what CatBoost 1.2.10 says of its own trainings.
#include "worker/gbdt/catboost/train/auto_learning_rate.h"

#include <gtest/gtest.h>

namespace strata {
namespace {

struct ChosenRate {
  FitLoss loss;
  bool use_best_model;
  bool boost_from_average;
  size_t rows;
  size_t iterations;
  float rate;  // learning_rate_ of the trained model
};

TEST(AutoLearningRate, IsThatOfCatBoost) {
  for (const ChosenRate& chosen : {
           ChosenRate{FitLoss::kLogloss, true, false, 300, 40, 0.095469F},
           ChosenRate{FitLoss::kLogloss, true, false, 2000, 7, 0.325571F},
           ChosenRate{FitLoss::kLogloss, true, false, 30, 500, 0.018018F},
           ChosenRate{FitLoss::kLogloss, false, false, 300, 40, 0.117917F},
           ChosenRate{FitLoss::kLogloss, false, false, 2000, 7, 0.5F},
           ChosenRate{FitLoss::kLogloss, false, false, 30, 500, 0.004352F},
           ChosenRate{FitLoss::kLogloss, true, true, 300, 40, 0.10309F},
           ChosenRate{FitLoss::kLogloss, true, true, 300, 500, 0.033F},
           ChosenRate{FitLoss::kLogloss, false, true, 300, 40, 0.137416F},
           ChosenRate{FitLoss::kLogloss, false, true, 300, 500, 0.013186F},
           ChosenRate{FitLoss::kRmse, true, true, 300, 40, 0.300294F},
           ChosenRate{FitLoss::kRmse, true, true, 30, 500, 0.044816F},
           ChosenRate{FitLoss::kRmse, false, true, 300, 40, 0.463543F},
           ChosenRate{FitLoss::kRmse, false, true, 30, 500, 0.041333F},
           ChosenRate{FitLoss::kRmse, true, false, 300, 40, 0.272634F},
           ChosenRate{FitLoss::kRmse, true, false, 30, 500, 0.036577F},
           ChosenRate{FitLoss::kRmse, false, false, 300, 40, 0.363716F},
           ChosenRate{FitLoss::kRmse, false, false, 30, 500, 0.035409F},
           ChosenRate{FitLoss::kMultiClass, true, false, 300, 40, 0.360482F},
           ChosenRate{FitLoss::kMultiClass, true, false, 30, 500, 0.131179F},
           ChosenRate{FitLoss::kMultiClass, false, false, 300, 500, 0.133668F},
           ChosenRate{FitLoss::kMultiClass, false, false, 30, 500, 0.118858F},
           ChosenRate{FitLoss::kMultiClassOneVsAll, false, false, 30, 500, 0.03F},
           ChosenRate{FitLoss::kCrossEntropy, false, false, 30, 10, 0.03F},
           ChosenRate{FitLoss::kMae, false, true, 30, 10, 0.03F},
       }) {
    FitParameters p;
    p.loss = chosen.loss;
    p.use_best_model = chosen.use_best_model;
    p.boost_from_average = chosen.boost_from_average;
    p.iterations = chosen.iterations;
    EXPECT_EQ(AutoLearningRate(p, chosen.rows), double{chosen.rate});
  }
}

}  // namespace
}  // namespace strata
