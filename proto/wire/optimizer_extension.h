// What a table's definition says of its optimizer beyond the fields that every version has: behind
// the table's name, on the wire and in a checkpoint's part, and only where it is needed.
//
//   | 255 u8 | bytes that follow u8 | momentum f32 | rho f32 | l1 f32 | l2 f32 | beta f32 |
//   | clip_value f32 | clip_norm f32 | weight_decay f32 | decay_power f32 |
//   | end_learning_rate f32 | warmup_steps u64 | decay_start u64 | decay_steps u64 |
//
// No name has 255 bytes, so that a reader that does not know the extension takes it for a broken
// definition and refuses the whole, wherever it stands.
#pragma once

#include <cstdint>
#include <optional>

#include "proto/wire/bytes.h"
#include "strata/status.h"

namespace strata::wire {

// The members of kernels/optim's OptimizerSpec of these names.
struct OptimizerExtension {
  float momentum = 0, rho = 0, l1 = 0, l2 = 0, beta = 0;
  float clip_value = 0, clip_norm = 0, weight_decay = 0;
  float decay_power = 0, end_learning_rate = 0;
  uint64_t warmup_steps = 0, decay_start = 0, decay_steps = 0;
  friend bool operator==(const OptimizerExtension&, const OptimizerExtension&) = default;
};

// Copies the members above between an extension and an OptimizerSpec, either way.
template <typename From, typename To>
void CopyExtension(const From& from, To* to) {
  to->momentum = from.momentum;
  to->rho = from.rho;
  to->l1 = from.l1;
  to->l2 = from.l2;
  to->beta = from.beta;
  to->clip_value = from.clip_value;
  to->clip_norm = from.clip_norm;
  to->weight_decay = from.weight_decay;
  to->decay_power = from.decay_power;
  to->end_learning_rate = from.end_learning_rate;
  to->warmup_steps = from.warmup_steps;
  to->decay_start = from.decay_start;
  to->decay_steps = from.decay_steps;
}

// What `spec`, an OptimizerSpec, needs: nothing for SGD, AdaGrad and Adam whose members above are
// as in a new spec, so that readers without extensions understand these.
template <typename Spec>
std::optional<OptimizerExtension> ExtensionOf(const Spec& spec) {
  constexpr auto kLastWithout = decltype(spec.kind){3};
  OptimizerExtension unset, set;
  CopyExtension(Spec{}, &unset);
  CopyExtension(spec, &set);
  if (spec.kind <= kLastWithout && set == unset) return std::nullopt;
  return set;
}

// Nothing where there is none.
void AppendOptimizerExtension(const std::optional<OptimizerExtension>& extension,
                              ByteWriter& writer);
// Of the definition that `reader` stands behind. kInvalid: one of another size, a newer build's, or
// one that ends early.
Result<std::optional<OptimizerExtension>> ReadOptimizerExtension(ByteReader& reader);

}  // namespace strata::wire
