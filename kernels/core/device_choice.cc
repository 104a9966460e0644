#include "kernels/core/device_choice.h"

#include <fmt/format.h>

#include <charconv>

namespace strata {

Result<DeviceChoice> ParseDevice(std::string_view text) {
  if (text == "auto") return DeviceChoice{.kind = std::nullopt, .ordinal = {}};
  if (text == "cpu") return DeviceChoice{.kind = DeviceKind::kCpu, .ordinal = {}};
  if (text == "cuda") return DeviceChoice{.kind = DeviceKind::kCuda, .ordinal = {}};
  constexpr std::string_view kNumbered = "cuda:";
  int ordinal = 0;
  if (text.starts_with(kNumbered)) {
    const std::string_view number = text.substr(kNumbered.size());
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), ordinal);
    if (error == std::errc() && end == number.data() + number.size() && ordinal >= 0) {
      return DeviceChoice{.kind = DeviceKind::kCuda, .ordinal = ordinal};
    }
  }
  const bool names_several = text.find(',') != std::string_view::npos;
  return Invalid(fmt::format(
      "must be auto, cpu, cuda or cuda:N; found '{}'{}", text,
      names_several ? "; for several GPUs: cuda, and CUDA_VISIBLE_DEVICES names them" : ""));
}

}  // namespace strata
