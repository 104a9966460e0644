// Which optimizer updates a parameter, and with what constants. In the formulas: w weight, g
// gradient (summed over the occurrences of a row, then clipped and decayed), t = 1, 2, ... the
// optimizer's time, lr the learning rate at t.
//
//   SGD        w -= lr g                                                        no state
//   momentum   m = f m - lr g;  w += m                                          state: m
//              (B. Polyak, USSR Comp. Math. 1964)
//   Nesterov   a' = f a - lr g;  w += (1 + f) a' - f a;  a = a'                 state: a
//              (Y. Nesterov, 1983, as I. Sutskever et al., ICML 2013, w being the point ahead)
//   AdaGrad    n += g^2;  w -= lr g / (sqrt(n) + eps)                           state: n
//              (J. Duchi, E. Hazan, Y. Singer, JMLR 2011)
//   row-wise   n += mean of g^2 over the row;  w -= lr g / (sqrt(n) + eps)      state: one n a row
//   AdaGrad    (FBGEMM's; D. Mudigere et al., ISCA 2022)
//   RMSProp    v = rho v + (1 - rho) g^2;  w -= lr g / (sqrt(v) + eps)          state: v
//              (T. Tieleman, G. Hinton, 2012)
//   FTRL       n' = n + g^2;  s = (sqrt(n' + e) - sqrt(n + e)) / lr             state: n, z
//              z += g - s w;  n = n'
//              w = 0 where |z| <= l1, elsewhere
//              w = (sign(z) l1 - z) / (sqrt(n' + e) / lr + l2 + beta / lr)
//              (H. B. McMahan et al., KDD 2013. e = 2^-23 as in HugeCTR keeps w finite where n
//              and beta are 0. s is computed as g^2 / (sqrt(n' + e) + sqrt(n + e)) / lr, which is
//              the same number and loses no digits to the difference of two close roots. What a
//              weight began with counts through s w: the less, the larger beta.)
//   Adam       m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2                  state: m, v
//              w -= a_t m / (sqrt(v) + eps),  a_t = lr sqrt(1 - b2^t) / (1 - b1^t)
//              (D. Kingma, J. Ba, ICLR 2015, end of section 2: eps outside the bias correction.
//              Only the rows of a batch move; t counts batches, not touches of the row.)
//   lazy Adam  w -= lr / (1 - b1) sqrt(1 - b2^p) / (1 - b1^p) (1 - b1^k) m / (sqrt(v) + eps)
//              m = b1^k m + (1 - b1) g;  v = b2^k v + (1 - b2) g^2              state: m, v
//              p the row's time: that of its last update, 1 before the first; k = t - p, 0 where
//              time ran backward. (HugeCTR's LazyGlobal: what Adam would have done to the row in
//              steps p to t - 1, had v stayed as it was. So a gradient reaches w at the row's next
//              update, and a row's first update only fills m and v.)
//
// A row's summed gradient is changed before the rule sees it, in this order:
//
//   clip_value     each element is brought into [-clip_value, clip_value]
//   clip_norm      a gradient whose Euclidean norm is above clip_norm is scaled to that norm
//                  (R. Pascanu, T. Mikolov, Y. Bengio, ICML 2013)
//   weight_decay   weight_decay x weight is added to each element: the gradient of an L2 penalty
//                  of weight_decay / 2 times the sum of squares, on the rows of a batch alone
//
// The learning rate at time t, with base = learning_rate (HugeCTR's warm-up and decay):
//
//   t <= warmup_steps                base t / warmup_steps
//   no decay, or t <= decay_start    base
//   t <= decay_start + decay_steps   max(end_learning_rate, base x^decay_power),
//                                    x = (decay_start + decay_steps - t) / decay_steps
//   afterwards                       end_learning_rate
#pragma once

#include <cstdint>

namespace strata {

// The numbers travel on the wire and to disk: never change or reuse one.
enum class OptimizerKind : uint8_t {
  kSgd = 1,
  kAdaGrad = 2,
  kAdam = 3,
  kMomentum = 4,
  kNesterov = 5,
  kRowwiseAdaGrad = 6,  // one accumulator a row
  kRmsProp = 7,
  kFtrl = 8,
  kLazyAdam = 9,  // makes up for the steps that did not touch the row
};

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::kSgd;
  float learning_rate = 0.01F;
  float epsilon = 1e-7F;             // AdaGrad, row-wise AdaGrad, RMSProp, Adam, lazy Adam
  float beta1 = 0.9F;                // Adam, lazy Adam
  float beta2 = 0.999F;              // Adam, lazy Adam
  float initial_accumulator = 0.0F;  // AdaGrad, row-wise AdaGrad
  float momentum = 0.9F;             // momentum, Nesterov
  float rho = 0.9F;                  // RMSProp: decay of the mean squared gradient
  float l1 = 0.0F;                   // FTRL
  float l2 = 0.0F;                   // FTRL
  float beta = 0.0F;                 // FTRL

  // These change a row's summed gradient before the rule sees it. At 0 they change nothing.
  float clip_value = 0.0F;
  float clip_norm = 0.0F;
  float weight_decay = 0.0F;

  // How the learning rate follows the optimizer's time.
  uint64_t warmup_steps = 0;
  uint64_t decay_start = 0;
  uint64_t decay_steps = 0;  // 0: no decay, and the three others have no meaning
  float decay_power = 2.0F;
  float end_learning_rate = 0.0F;

  friend bool operator==(const OptimizerSpec&, const OptimizerSpec&) = default;
};

}  // namespace strata
