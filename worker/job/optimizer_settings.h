// The optimizers of a job file: those of [sparse] and [dense], and that of a [[table]] of its own.
#pragma once

#include <span>
#include <string>

#include "base/settings/settings.h"
#include "strata/optimizer_spec.h"
#include "strata/status.h"

namespace strata {

// Of `section`, which is "sparse" or "dense". kInvalid: file:line, and a setting that is out of its
// bounds or that the optimizer does not use.
Result<OptimizerSpec> ReadOptimizer(const Settings& settings, const std::string& section);

// What a [[table]] says over the job's `sparse` optimizer. What it does not say is the job's, but
// for constants that its rule does not use. Errors are the same.
Result<OptimizerSpec> ReadTableOptimizer(const Settings& table, const OptimizerSpec& sparse);

// The keys of a [[table]] that ReadTableOptimizer reads, which have no defaults: one for each of
// the rows of [sparse] among `job_rows` that say how rows are updated.
std::span<const Setting> TableOptimizerRows(std::span<const Setting> job_rows);

// The lines of a [[table]] that ReadTableOptimizer reads back as `spec`; none if it is `sparse`.
std::string TableOptimizerToToml(const OptimizerSpec& spec, const OptimizerSpec& sparse);

}  // namespace strata
