// What the engines' units of work take on this machine.
#pragma once

#include "base/clock.h"
#include "base/thread/work_pool.h"
#include "kernels/setops/search_plan.h"
#include "storage/itemset/item_gpu.h"
#include "strata/status.h"

namespace strata {

// Runs both engines on small blocks that are made for it, some tenths of a second on one thread.
// Of a GPU it says what SearchRates does.
SearchRates MeasureSearchRates(const Clock& clock);

// Those of a GPU, with documents that pass through it. Counting's units keep the proportions that
// they have in GpuRates. kRefused: it has no memory for them, or they may not pass.
Result<GpuRates> MeasureGpuRates(ItemGpu& gpu, WorkPool& pool, const Clock& clock);

}  // namespace strata
