// Boosted trees: 3 trees, written by Strata. x holds the values of kFeatures features, NaN for
// a missing one; out takes kOutputs numbers.
#include <cmath>
#include <cstdint>

namespace boosted_trees {

inline constexpr int kFeatures = 6;
inline constexpr int kOutputs = 1;

// Where a value goes: a missing one (NaN) is 0, or goes to a side of its own.
inline bool IsLeft(double value, double threshold) {
  return (std::isnan(value) ? 0.0 : value) <= threshold;
}

inline bool IsLeftOrNaN(double value, double threshold, bool nan_left) {
  return std::isnan(value) ? nan_left : value <= threshold;
}

inline bool IsLeftOrZero(double value, double threshold, bool zero_left) {
  const bool is_zero = std::isnan(value) || std::fabs(value) <= 1e-35F;
  return is_zero ? zero_left : value <= threshold;
}

// Bit c of the words: category c goes left.
inline bool IsIn(double value, const std::uint32_t* words, std::uint32_t count, bool nan_in) {
  if (std::isnan(value)) return nan_in;
  if (!(value > -1) || !(value < 2147483648.0)) return false;
  const auto category = static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  return category / 32 < count && (words[category / 32] >> (category % 32) & 1U) != 0;
}

inline double Tree0(const double* x) {
  if (IsLeftOrNaN(x[1], HUGE_VAL, false)) {
    if (IsLeft(x[0], 0.0778941042214928)) {
      if (IsLeft(x[0], -0.8233955204665412)) {
        return 0.37468763127542304;
      } else {
        return 0.47393239189840075;
      }
    } else {
      if (IsLeft(x[0], 1.0667981907602877)) {
        return 0.5598967653176559;
      } else {
        return 0.6672434506015656;
      }
    }
  } else {
    if (IsLeft(x[0], -0.16115298513168536)) {
      return 0.6126064652055847;
    } else {
      if (IsLeft(x[0], 0.7579585445355405)) {
        return 0.7297438132850683;
      } else {
        return 0.8361830924783429;
      }
    }
  }
}

inline double Tree1(const double* x) {
  if (IsLeftOrNaN(x[1], HUGE_VAL, false)) {
    if (IsLeft(x[0], -0.023793765782388437)) {
      if (IsLeft(x[0], -1.0152232053910406)) {
        return -0.18540308404406278;
      } else {
        return -0.09286835798532656;
      }
    } else {
      if (IsLeft(x[0], 0.8968543022862235)) {
        return -0.014807756923829291;
      } else {
        return 0.08168389763049928;
      }
    }
  } else {
    if (IsLeft(x[0], 0.038209504285441113)) {
      if (IsLeft(x[0], -1.0152232053910406)) {
        return -0.01901057260179454;
      } else {
        return 0.09272962773547454;
      }
    } else {
      return 0.20058501351468916;
    }
  }
}

inline double Tree2(const double* x) {
  if (IsLeftOrNaN(x[1], HUGE_VAL, false)) {
    if (IsLeft(x[0], 0.23663357931480145)) {
      if (IsLeft(x[0], -0.6549293064473336)) {
        return -0.14594705785567255;
      } else {
        return -0.06075335387291947;
      }
    } else {
      if (IsLeft(x[0], 1.3432733408522777)) {
        return 0.01254582787550595;
      } else {
        return 0.10749491209120264;
      }
    }
  } else {
    if (IsLeft(x[0], -0.3395076044276077)) {
      return 0.029572381454660804;
    } else {
      if (IsLeft(x[0], 0.9119361221123868)) {
        return 0.1342052233480189;
      } else {
        return 0.23940142406212106;
      }
    }
  }
}

// Sums of the trees' outputs.
inline void PredictRaw(const double* x, double* out) {
  for (int k = 0; k < kOutputs; ++k) out[k] = 0;
  out[0] += Tree0(x);
  out[0] += Tree1(x);
  out[0] += Tree2(x);
}

// What the objective 'regression' predicts.
inline void Predict(const double* x, double* out) {
  PredictRaw(x, out);
}

}  // namespace boosted_trees
