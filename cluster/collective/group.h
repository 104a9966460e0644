// How a group (strata/group.h) is made of an Exchanger.
#pragma once

#include "base/clock.h"
#include "cluster/link/exchange/exchange.h"
#include "cluster/schedule/choice.h"
#include "strata/group.h"

namespace strata {

struct GroupOptions {
  TimeNs timeout = 600 * kSecond;  // of a call
  ChoiceTable choices = {};
};

}  // namespace strata
