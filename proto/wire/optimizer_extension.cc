#include "proto/wire/optimizer_extension.h"

#include <fmt/format.h>

#include <array>

namespace strata::wire {
namespace {

constexpr uint8_t kMark = 255;
constexpr uint8_t kBytes = 10 * 4 + 3 * 8;  // behind mark and length

template <typename Extension>
auto FloatsOf(Extension& of) {
  return std::array{
      &of.momentum,   &of.rho,       &of.l1,           &of.l2,          &of.beta,
      &of.clip_value, &of.clip_norm, &of.weight_decay, &of.decay_power, &of.end_learning_rate};
}
template <typename Extension>
auto StepsOf(Extension& of) {
  return std::array{&of.warmup_steps, &of.decay_start, &of.decay_steps};
}

}  // namespace

void AppendOptimizerExtension(const std::optional<OptimizerExtension>& extension,
                              ByteWriter& writer) {
  if (!extension.has_value()) return;
  writer.Put(kMark);
  writer.Put(kBytes);
  for (const float* value : FloatsOf(*extension)) writer.PutFloat(*value);
  for (const uint64_t* value : StepsOf(*extension)) writer.Put(*value);
}

Result<std::optional<OptimizerExtension>> ReadOptimizerExtension(ByteReader& reader) {
  if (!reader.NextIs(kMark)) return std::optional<OptimizerExtension>();
  reader.Get<uint8_t>();
  const auto bytes = reader.Get<uint8_t>();
  if (bytes != kBytes || reader.left() < kBytes) {
    return Invalid(
        fmt::format("table definition: an optimizer's extension of {} bytes announced, {} follow; "
                    "expected {}",
                    bytes, reader.left(), kBytes));
  }
  OptimizerExtension extension;
  for (float* value : FloatsOf(extension)) *value = reader.GetFloat();
  for (uint64_t* value : StepsOf(extension)) *value = reader.Get<uint64_t>();
  return std::optional(extension);
}

}  // namespace strata::wire
