// Regroup: after a failure, which is final for a Links, its ranks form a new group: the survivors
// alone, with new contiguous ranks in the old order, or all ranks once each lost one has been
// replaced by a new process.
//
// A group of generation g is followed by at most one of generation g + 1. More than half of its
// ranks must take part in it, or exactly half with rank 0 among them: of a network that is cut in
// two, one side goes on at most. A rank that is not among the members, because it was stopped or
// cut off for too long, is told so and never works with them again; generations are part of the
// handshake, so that nothing of an old one enters a new one. Which algorithm this is: ballot.h.
#pragma once

#include <memory>

#include "base/clock.h"
#include "cluster/link/links.h"
#include "strata/status.h"

namespace strata {

struct RegroupOptions {
  // Whether lost ranks are waited for, until a new process takes the place of each. All ranks
  // choose alike.
  bool replacements = false;
  // How long survivors wait for a rank that is silent or has not come to regroup, before they go on
  // without it (of a rank at whose address nobody listens they do so at once), and how long the
  // members of the new group have to link up.
  TimeNs patience = 20 * kSecond;
  TimeNs timeout = 120 * kSecond;  // of all together
};

// Takes over the listening port of a group that has failed, and returns a group that is connected.
// Its members may fail meanwhile: those that are left then form another generation. Status
// providers, control handlers and failure callbacks are those of a Links: to be set anew.
// kLost after the timeout: names who is missing. kRefused: this rank is out. kInvalid: the group
// was never connected or has not failed, or another rank chose otherwise. Blocks; an error is final
// for this process.
Result<std::unique_ptr<Links>> Regroup(std::unique_ptr<Links> failed,
                                       const RegroupOptions& options);

// A new process for a lost rank: `options` are those of its group's first generation or of the one
// that has failed, with its old address, where nobody listens now. Waits for the survivors to call
// Regroup with `replacements`. Errors as above and as those of Links::Listen.
Result<std::unique_ptr<Links>> JoinAsReplacement(const LinkOptions& options,
                                                 const RegroupOptions& regroup);

}  // namespace strata
