// Second-order interactions of a factorisation machine (Rendle, "Factorization Machines", ICDM
// 2010, equation 5): sum over slots s < t of <v_s, v_t> = 0.5 * (|sum of v_s|^2 - sum of |v_s|^2).
#pragma once

#include <cstddef>
#include <span>

#include "strata/exec.h"

namespace strata {

// Vector s of sample i is v[i * stride + s * dim .. + dim).
struct FmShape {
  size_t samples = 0;
  size_t slots = 0;
  size_t dim = 0;
  size_t stride = 0;  // slots * dim or more

  // Elements from the first to the last.
  size_t extent() const { return samples == 0 ? 0 : (samples - 1) * stride + slots * dim; }
};

// logits[i] += interactions of sample i; sums (samples x dim) keeps the sums over slots for the
// backward pass.
void FmForward(const Exec& exec, const FmShape& shape, std::span<const float> v,
               std::span<float> sums, std::span<float> logits);

// dv[i, s] += dlogits[i] * (sums[i] - v[i, s]); dv lies like v.
void FmBackward(const Exec& exec, const FmShape& shape, std::span<const float> v,
                std::span<const float> sums, std::span<const float> dlogits, std::span<float> dv);

}  // namespace strata
