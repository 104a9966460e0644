#include "worker/tasks/catboost/device_options.h"

#include <fmt/format.h>

namespace strata {

bool IsForGpus(const Settings& settings) { return settings.Text("task_type") == "GPU"; }

Result<DeviceChoice> ReadFitDevice(const Settings& settings) {
  if (!settings.IsSet("device")) return ParseDevice(IsForGpus(settings) ? "auto" : "cpu");
  const Result<DeviceChoice> device = ParseDevice(settings.Text("device"));
  if (device.ok()) return device;
  return device.status().Prefixed(fmt::format("{}: device", settings.Origin("device")));
}

}  // namespace strata
