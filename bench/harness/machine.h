// What the figures were taken on.
#pragma once

#include <string>

namespace strata::bench {

// "cpu: AMD EPYC, 2 cores, 23 GiB"
std::string MachineName();
// Programs that ran or waited to run, on average over the last minute.
double LoadAverage();
int Cores();

}  // namespace strata::bench
