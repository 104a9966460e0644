// Boosted trees: 5 trees, written by Strata. x holds the values of kFeatures features, NaN for
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
  static constexpr std::uint32_t kSet0[] = {153391716U};
  if (IsLeft(x[0], -0.5617122894900192)) {
    if (IsLeftOrNaN(x[1], 0.6333266291739691, false)) {
      return 0.14305358161375514;
    } else {
      return 0.2176756198599756;
    }
  } else {
    if (IsLeft(x[2], -1.0000000180025095e-35)) {
      if (IsLeft(x[0], 0.7579585445355405)) {
        return 0.16757546689597616;
      } else {
        return 0.2851398964880039;
      }
    } else {
      if (IsIn(x[4], kSet0, sizeof kSet0 / sizeof *kSet0, false)) {
        if (IsLeftOrNaN(x[1], 0.2000489059297622, false)) {
          return 0.1953853049442702;
        } else {
          return 0.31145139609270706;
        }
      } else {
        return 0.3433430478407359;
      }
    }
  }
}

inline double Tree1(const double* x) {
  static constexpr std::uint32_t kSet0[] = {68355218U, 128U};
  static constexpr std::uint32_t kSet1[] = {4U};
  if (IsLeft(x[0], 1.0000000180025095e-35)) {
    if (IsIn(x[4], kSet0, sizeof kSet0 / sizeof *kSet0, false)) {
      if (IsLeft(x[2], -0.0656211275312222)) {
        return -0.09403511578861795;
      } else {
        if (IsLeft(x[0], -1.2808601513588525)) {
          return -0.05267137019777233;
        } else {
          return 0.06780465167094507;
        }
      }
    } else {
      if (IsIn(x[5], kSet1, sizeof kSet1 / sizeof *kSet1, false)) {
        return -0.01141359675044774;
      } else {
        return -0.09803934600311048;
      }
    }
  } else {
    if (IsLeft(x[2], -0.45310888117322073)) {
      return -0.06146902610175428;
    } else {
      return 0.07030089461155534;
    }
  }
}

inline double Tree2(const double* x) {
  static constexpr std::uint32_t kSet0[] = {102442131U, 128U};
  if (IsLeft(x[0], 1.0000000180025095e-35)) {
    if (IsIn(x[4], kSet0, sizeof kSet0 / sizeof *kSet0, false)) {
      if (IsLeftOrNaN(x[1], -0.15741558459029872, false)) {
        return -0.0717161266549562;
      } else {
        if (IsLeft(x[2], -0.030346464513680362)) {
          return -0.07332509935874847;
        } else {
          if (IsLeft(x[0], -1.2808601513588525)) {
            return -0.042219254015613765;
          } else {
            return 0.08301171201113644;
          }
        }
      }
    } else {
      return -0.07672224993799832;
    }
  } else {
    if (IsLeft(x[2], -0.10640435760375322)) {
      return -0.03457318433082275;
    } else {
      return 0.06962646338882256;
    }
  }
}

inline double Tree3(const double* x) {
  static constexpr std::uint32_t kSet0[] = {1092916076U};
  if (IsLeft(x[0], 0.3303397601131631)) {
    if (IsIn(x[4], kSet0, sizeof kSet0 / sizeof *kSet0, false)) {
      return -0.07680084721939674;
    } else {
      if (IsLeft(x[2], -0.0656211275312222)) {
        return -0.08206752937363843;
      } else {
        if (IsLeft(x[0], -0.8330739422910042)) {
          return -0.02921568603657116;
        } else {
          if (IsLeftOrNaN(x[1], -0.713923782316429, false)) {
            return -0.029804250709290738;
          } else {
            return 0.0766224039083762;
          }
        }
      }
    }
  } else {
    if (IsLeft(x[2], -0.4660372401564063)) {
      return -0.03565364803402753;
    } else {
      return 0.07349906803937499;
    }
  }
}

inline double Tree4(const double* x) {
  static constexpr std::uint32_t kSet0[] = {153400100U};
  if (IsLeft(x[0], -0.5781773389185011)) {
    if (IsLeftOrNaN(x[1], 0.6333266291739691, false)) {
      return -0.087389374653086;
    } else {
      return -0.028052157318869776;
    }
  } else {
    if (IsLeft(x[2], -1.0000000180025095e-35)) {
      return -0.04366878906822789;
    } else {
      if (IsIn(x[4], kSet0, sizeof kSet0 / sizeof *kSet0, false)) {
        if (IsLeftOrNaN(x[1], 0.49839805235362256, false)) {
          if (IsLeft(x[0], 1.0667981907602877)) {
            return -0.07940260525547631;
          } else {
            return 0.08453887487796871;
          }
        } else {
          return 0.04972963665611433;
        }
      } else {
        return 0.06783087728722441;
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
  out[0] += Tree3(x);
  out[0] += Tree4(x);
}

// What the objective 'binary' predicts.
inline void Predict(const double* x, double* out) {
  PredictRaw(x, out);
  for (int k = 0; k < kOutputs; ++k) out[k] = 1 / (1 + std::exp(-1.5 * out[k]));
}

}  // namespace boosted_trees
