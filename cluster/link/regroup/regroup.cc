#include "cluster/link/regroup/regroup.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "cluster/link/regroup/agreement.h"

namespace strata {
namespace {

using link_internal::Agreement;
using link_internal::Generation;
using link_internal::Member;

void Advance(const Generation& next, LinkOptions* group) {
  group->generation = next.number;
  group->rank = next.rank;
  group->workers.clear();
  group->processes.clear();
  for (const Member& member : next.members) {
    group->workers.push_back(member.machine);
    group->workers.back().rank = static_cast<int>(group->workers.size()) - 1;
    group->processes.push_back(member.process);
  }
}

Result<std::unique_ptr<Links>> Rebuild(LinkOptions group, Listener listener, bool votes,
                                       const RegroupOptions& options) {
  const TimeNs deadline = RealClock().Now() + options.timeout;
  for (;;) {
    Generation next;
    {
      Agreement agreement(group, options, std::move(listener), votes);
      STRATA_ASSIGN(next, agreement.Reach(deadline));
      listener = agreement.TakeListener();
    }
    Advance(next, &group);
    votes = true;
    Log(LogLevel::kInfo, "link: rank {} of {} in generation {} of the group", group.rank,
        group.workers.size(), group.generation);
    group.connect_timeout = std::clamp<TimeNs>(deadline - RealClock().Now(), 0, options.patience);
    STRATA_ASSIGN(auto links, Links::Listen(group, std::move(listener)));
    const Status connected = links->Connect();
    if (connected.ok()) return links;
    if (RealClock().Now() >= deadline) {
      return connected.Prefixed(fmt::format("generation {} of the group", group.generation));
    }
    Log(LogLevel::kInfo, "link: generation {} of the group has failed: {}", group.generation,
        connected.message());
    listener = links->Close();
  }
}

}  // namespace

Result<std::unique_ptr<Links>> Regroup(std::unique_ptr<Links> failed,
                                       const RegroupOptions& options) {
  // A process that was never in the group knows nothing of what one before it has promised.
  if (failed->Failure().ok() || !failed->connected()) {
    return Invalid("only a group that was connected and has failed can be rebuilt");
  }
  LinkOptions group = failed->options();
  Listener listener = failed->Close();
  failed.reset();
  return Rebuild(std::move(group), std::move(listener), true, options);
}

Result<std::unique_ptr<Links>> JoinAsReplacement(const LinkOptions& options,
                                                 const RegroupOptions& regroup) {
  STRATA_ASSIGN(Listener listener, Links::Open(options));
  return Rebuild(options, std::move(listener), false, regroup);
}

}  // namespace strata
