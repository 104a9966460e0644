// Losses of one row as metrics count them, LightGBM's formulas (its src/metric). In double with our
// own exp and log, so that host and device agree to the bit.
#pragma once

#include <cstdint>

#include "kernels/core/math.h"
#include "strata/host_device.h"

namespace strata {

enum class RowLossKind : uint8_t {
  kL2,
  kL1,
  kQuantile,
  kHuber,
  kFair,
  kPoisson,
  kMape,
  kGamma,
  kGammaDeviance,
  kTweedie,
  kBinaryLogLoss,
  kBinaryError,
  kBinaryRight,
  kCrossEntropy,
  kKullbackLeibler,
  kIntensity,  // cross_entropy_lambda: the weight is within the loss
  kMultiLogLoss,
  kMultiError,
  kMultiRight,
};

// What an objective predicts from raw scores.
enum class ScoreMeaning : uint8_t { kNumber, kSigned, kSigmoid, kSoftmax, kExp, kSoftplus };

struct RowLoss {
  RowLossKind kind = RowLossKind::kL2;
  ScoreMeaning meaning = ScoreMeaning::kNumber;
  uint32_t classes = 1;
  double parameter = 0;  // alpha, c, the variance power, or how many classes may be best
  double sigmoid = 1;

  // Times the weight. score_of(k) is a row's raw score of class k; labels fit the kind.
  template <typename ScoreOf>
  STRATA_HD double operator()(const ScoreOf& score_of, double label, double weight) const {
    if (kind == RowLossKind::kIntensity) {
      const double probability = 1 - math::Exp(-weight * math::Softplus(score_of(0)));
      return CrossEntropyOf(probability, label);
    }
    if (kind >= RowLossKind::kMultiLogLoss) return OfClasses(score_of, label) * weight;
    return OfNumber(Predicted(score_of(0)), label) * weight;
  }

 private:
  STRATA_HD static double SizeOf(double x) { return x < 0 ? -x : x; }
  STRATA_HD static double AtLeast(double least, double x) { return x < least ? least : x; }
  STRATA_HD static double LogOf(double p) { return math::Log(AtLeast(1e-15, p)); }
  // Of a label from 0 to 1, with LightGBM's bound for logarithms.
  STRATA_HD static double CrossEntropyOf(double p, double label) {
    constexpr double kLeast = 1e-12;
    return -label * math::Log(AtLeast(kLeast, p)) - (1 - label) * math::Log(AtLeast(kLeast, 1 - p));
  }
  STRATA_HD static double PartOfEntropy(double p) { return p > 0 ? p * math::Log(p) : 0; }
  STRATA_HD static bool IsRight(double p, double label) { return (p > 0.5) == (label > 0); }

  // Of one score; a softmax is of all.
  STRATA_HD double Predicted(double score) const {
    switch (meaning) {
      case ScoreMeaning::kSigned:
        return score * SizeOf(score);
      case ScoreMeaning::kSigmoid:
        return math::Sigmoid(sigmoid * score);
      case ScoreMeaning::kExp:
        return math::Exp(score);
      case ScoreMeaning::kSoftplus:
        return math::Softplus(score);
      default:
        return score;
    }
  }

  STRATA_HD double OfNumber(double s, double y) const {
    switch (kind) {
      case RowLossKind::kL2:
        return (s - y) * (s - y);
      case RowLossKind::kL1:
        return SizeOf(s - y);
      case RowLossKind::kQuantile:
        return y < s ? (1 - parameter) * (s - y) : parameter * (y - s);
      case RowLossKind::kHuber: {
        const double off = SizeOf(s - y);
        return off <= parameter ? 0.5 * off * off : parameter * (off - 0.5 * parameter);
      }
      case RowLossKind::kFair: {
        const double off = SizeOf(s - y);
        return parameter * off - parameter * parameter * math::Log1p(off / parameter);
      }
      case RowLossKind::kPoisson:
        return s - y * math::Log(AtLeast(1e-10, s));
      case RowLossKind::kMape:
        return SizeOf(y - s) / AtLeast(1, SizeOf(y));
      case RowLossKind::kGamma:
        return y / s + math::Log(s);
      case RowLossKind::kGammaDeviance: {
        const double quotient = y / (s + 1e-9);
        return 2 * (quotient - LogOf(quotient) - 1);
      }
      case RowLossKind::kTweedie: {
        const double log = math::Log(AtLeast(1e-10, s));
        return -y * math::Exp((1 - parameter) * log) / (1 - parameter) +
               math::Exp((2 - parameter) * log) / (2 - parameter);
      }
      case RowLossKind::kBinaryLogLoss:
        return -LogOf(y > 0 ? s : 1 - s);
      case RowLossKind::kBinaryError:
        return IsRight(s, y) ? 0 : 1;
      case RowLossKind::kBinaryRight:
        return IsRight(s, y) ? 1 : 0;
      case RowLossKind::kCrossEntropy:
        return CrossEntropyOf(s, y);
      case RowLossKind::kKullbackLeibler:
        return CrossEntropyOf(s, y) + PartOfEntropy(y) + PartOfEntropy(1 - y);
      default:
        return 0;
    }
  }

  template <typename ScoreOf>
  STRATA_HD double OfClasses(const ScoreOf& score_of, double label) const {
    double largest = 0;
    double sum = 1;
    if (meaning == ScoreMeaning::kSoftmax) {
      largest = score_of(0);
      for (uint32_t k = 1; k < classes; ++k) largest = AtLeast(largest, score_of(k));
      sum = 0;
      for (uint32_t k = 0; k < classes; ++k) sum += math::Exp(score_of(k) - largest);
    }
    const auto predicted = [&](uint32_t k) {
      return meaning == ScoreMeaning::kSoftmax ? math::Exp(score_of(k) - largest) / sum
                                               : Predicted(score_of(k));
    };
    const double own = predicted(static_cast<uint32_t>(label));
    if (kind == RowLossKind::kMultiLogLoss) return -LogOf(own);
    uint32_t no_worse = 0;  // equal ones count as better
    for (uint32_t k = 0; k < classes; ++k) no_worse += predicted(k) >= own ? 1 : 0;
    const bool is_among_best = static_cast<double>(no_worse) <= parameter;
    return is_among_best == (kind == RowLossKind::kMultiRight) ? 1 : 0;
  }
};

}  // namespace strata
