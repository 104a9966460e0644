// The names of metrics, LightGBM's others included.
#pragma once

#include <string>
#include <string_view>

namespace strata {

// "mse" is "l2", an objective's name its own metric; a name that means no other stays.
std::string CanonicalMetric(std::string_view name);

// Whether it measures anything: not none, null, na, custom. Of canonical names.
bool MeasuresNothing(std::string_view name);
bool IsMetric(std::string_view name);
// Whether it is for several classes alone.
bool IsMetricOfClasses(std::string_view name);

// What metrics there are, for messages: "l1, l2, ...".
std::string MetricNames();

}  // namespace strata
