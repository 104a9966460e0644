// The [[layer]]s of a job file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/settings/settings.h"
#include "strata/status.h"
#include "worker/model/layer_graph.h"

namespace strata {

// The keys of a [[layer]].
std::span<const Setting> LayerSettingRows();

// The layers that the sections name, in their order. A linear layer of several widths becomes as
// many layers, of which the last one has its name. kInvalid: file:line, and what a section says
// that its type does not have.
Result<std::vector<LayerSpec>> ReadLayers(const Settings& settings);

// Sections that ReadLayers reads as these layers.
std::string LayersToToml(std::span<const LayerSpec> layers);

}  // namespace strata
