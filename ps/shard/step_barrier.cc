#include "ps/shard/step_barrier.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

// "step 12 of group 7 lacks the pushes of ranks 1, 3 of 4".
std::string DescribeMissing(uint32_t group, uint64_t step, uint16_t world,
                            const std::map<uint16_t, ParkedPush>* present) {
  constexpr int kNamedMax = 16;
  std::string ranks;
  int named = 0;
  for (uint16_t rank = 0; rank < world; ++rank) {
    if (present != nullptr && present->contains(rank)) continue;
    if (++named > kNamedMax) continue;
    ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", rank);
  }
  if (named > kNamedMax) ranks += fmt::format(" and {} more", named - kNamedMax);
  return fmt::format("step {} of group {} lacks the push of rank{} {} of {}", step, group,
                     named == 1 ? "" : "s", ranks, world);
}

Status CheckShape(const SyncMember& member) {
  const SyncGroup& group = member.group;
  if (group.world == 0 || group.rank >= group.world) {
    return Invalid(
        fmt::format("synchronous request: rank {} of a world of {}", group.rank, group.world));
  }
  if (group.first_step == 0 || member.step < group.first_step) {
    return Invalid(
        fmt::format("synchronous request: step {} with first step {}; steps count from "
                    "1, and none lies before the first",
                    member.step, group.first_step));
  }
  return {};
}

}  // namespace

Result<StepBarrier::Group*> StepBarrier::FindOrBegin(const SyncMember& member) {
  auto found = groups_.find(KeyOf(member));
  if (found == groups_.end()) {
    if (groups_.size() >= kGroupsMax) {
      return Refused(
          fmt::format("{} groups train on this lane, the most that are kept; try again "
                      "when a job has ended",
                      groups_.size()));
    }
    Group group;
    group.world = member.group.world;
    group.first_step = member.group.first_step;
    group.closed = group.first_step - 1;
    found = groups_.emplace(KeyOf(member), std::move(group)).first;
  }
  Group& group = found->second;
  if (group.world != member.group.world || group.first_step != member.group.first_step) {
    return Refused(
        fmt::format("group {}: rank {} says world {} and first step {}, others said {} "
                    "and {}; use a new group id for every run",
                    member.group.id, member.group.rank, member.group.world, member.group.first_step,
                    group.world, group.first_step));
  }
  return &group;
}

Status StepBarrier::Claim(const SyncMember& member, bool is_push, TimeNs now) {
  STRATA_TRY(CheckShape(member));
  STRATA_ASSIGN(Group * group, FindOrBegin(member));
  group->last_seen = now;
  const ClientId& owner = group->owners.emplace(member.group.rank, member.client).first->second;
  if (owner != member.client) {
    return Refused(
        fmt::format("rank {} of group {} is held by client {}; client {} claims it too: "
                    "two workers run with one rank",
                    member.group.rank, member.group.id, ToString(owner), ToString(member.client)));
  }
  if (is_push && member.step <= group->closed) {
    return Refused(fmt::format("step {} of group {} is closed already (open: {})", member.step,
                               member.group.id, group->closed + 1));
  }
  if (member.step > group->closed + kStepsAheadMax) {
    return Refused(
        fmt::format("step {} of group {} is more than {} steps ahead of the open step {}",
                    member.step, member.group.id, kStepsAheadMax, group->closed + 1));
  }
  const auto begun = group->pushes.find(member.step);
  if (is_push && begun != group->pushes.end() && begun->second.contains(member.group.rank)) {
    return Refused(
        fmt::format("rank {} of group {} has pushed step {} already, under another "
                    "sequence; each rank pushes once a step",
                    member.group.rank, member.group.id, member.step));
  }
  return {};
}

bool StepBarrier::CanPull(const SyncMember& member) const {
  return member.step <= Find(member).closed + 1;
}

bool StepBarrier::HasBegun(const SyncMember& member) const {
  return Find(member).pushes.contains(member.step);
}

bool StepBarrier::AllBegun(const SyncMember& member) const {
  return member.step <= FirstUnbegun(Find(member));
}

uint64_t StepBarrier::FirstUnbegun(const Group& group) {
  uint64_t step = group.closed + 1;
  while (group.pushes.contains(step)) ++step;
  return step;
}

Status StepBarrier::Reserve(const Group& group, uint64_t step, bool is_push, size_t bytes) {
  const bool closes = is_push && step == group.closed + 1;
  const size_t limit = closes ? bytes_max_ : bytes_max_ / 2;
  if (parked_bytes_ + bytes <= limit) return {};
  return Refused(
      fmt::format("{} bytes of requests wait on this lane for a step to close; {} more "
                  "are above the limit of {}: try again later, or raise the queue limit",
                  parked_bytes_, bytes, limit));
}

void StepBarrier::Park(TimeNs deadline, size_t bytes) {
  next_deadline_ = std::min(next_deadline_, deadline);
  parked_bytes_ += bytes;
  ++parked_;
}

void StepBarrier::Unpark(size_t bytes) {
  parked_bytes_ -= bytes;
  --parked_;
}

Status StepBarrier::AddPush(const SyncMember& member, ParkedPush push) {
  Group& group = Find(member);
  STRATA_TRY(Reserve(group, member.step, true, push.bytes()));
  Park(push.deadline, push.bytes());
  group.pushes[member.step].emplace(member.group.rank, std::move(push));
  return {};
}

Status StepBarrier::AddPull(const SyncMember& member, ParkedPull pull) {
  Group& group = Find(member);
  STRATA_TRY(Reserve(group, member.step, false, pull.bytes()));
  Park(pull.deadline, pull.bytes());
  group.pulls.push_back(std::move(pull));
  return {};
}

bool StepBarrier::AddRetry(const SyncMember& member, ReplyTo retry, TimeNs deadline) {
  const auto group = groups_.find(KeyOf(member));
  if (group == groups_.end()) return false;
  const auto step = group->second.pushes.find(member.step);
  if (step == group->second.pushes.end()) return false;
  const auto waiting = step->second.find(member.group.rank);
  if (waiting == step->second.end() || waiting->second.client != member.client) return false;
  ParkedPush& push = waiting->second;
  if (push.reply_to.size() >= kParkedAttemptsMax) push.reply_to.erase(push.reply_to.begin());
  push.reply_to.push_back(std::move(retry));
  push.deadline = std::max(push.deadline, deadline);
  return true;
}

uint64_t StepBarrier::OpenStep(const SyncMember& member) const { return Find(member).closed + 1; }

std::optional<std::vector<ParkedPush>> StepBarrier::TakeComplete(const SyncMember& member) {
  Group& group = Find(member);
  const auto step = group.pushes.find(group.closed + 1);
  if (step == group.pushes.end() || step->second.size() != group.world) return std::nullopt;
  std::vector<ParkedPush> complete;
  complete.reserve(group.world);
  for (auto& [rank, push] : step->second) {
    Unpark(push.bytes());
    complete.push_back(std::move(push));
  }
  group.pushes.erase(step);
  return complete;
}

std::vector<ParkedPull> StepBarrier::Close(const SyncMember& member) {
  Group& group = Find(member);
  ++group.closed;
  return TakePulls(group, group.closed + 1);
}

void StepBarrier::RestoreClosed(std::span<const SyncMember> members, TimeNs now) {
  const SyncMember& first = members.front();
  Group group;
  group.world = first.group.world;
  group.first_step = first.group.first_step;
  group.closed = first.step;
  group.last_seen = now;
  for (const SyncMember& member : members) group.owners[member.group.rank] = member.client;
  groups_.insert_or_assign(KeyOf(first), std::move(group));
}

std::vector<ParkedPull> StepBarrier::TakePulls(const SyncMember& member) {
  return TakePulls(Find(member), UINT64_MAX);
}

std::vector<ParkedPull> StepBarrier::TakePulls(Group& group, uint64_t last) {
  std::vector<ParkedPull> taken;
  std::erase_if(group.pulls, [&](ParkedPull& pull) {
    if (pull.step > last) return false;
    Unpark(pull.bytes());
    taken.push_back(std::move(pull));
    return true;
  });
  return taken;
}

void StepBarrier::EndGroup(Group& group, uint64_t closed, const Status& reason, Ended* ended) {
  const auto begin = group.pushes.upper_bound(closed);
  for (auto step = begin; step != group.pushes.end(); ++step) {
    for (auto& [rank, push] : step->second) {
      Unpark(push.bytes());
      ended->pushes.emplace_back(std::move(push), reason);
    }
  }
  group.pushes.erase(begin, group.pushes.end());
  std::erase_if(group.pulls, [&](ParkedPull& pull) {
    if (pull.step <= closed) return false;
    Unpark(pull.bytes());
    ended->pulls.emplace_back(std::move(pull), reason);
    return true;
  });
}

StepBarrier::Ended StepBarrier::DropTable(uint32_t table, const Status& reason) {
  Ended ended = EndTable(table, reason);
  std::erase_if(groups_, [&](const auto& group) { return group.first.first == table; });
  return ended;
}

StepBarrier::Ended StepBarrier::EndTable(uint32_t table, const Status& reason) {
  Ended ended;
  for (auto at = groups_.lower_bound({table, 0}); at != groups_.end() && at->first.first == table;
       ++at) {
    EndGroup(at->second, 0, reason, &ended);
  }
  return ended;
}

StepBarrier::Ended StepBarrier::EndAll(const Status& reason) {
  Ended ended;
  for (auto& [key, group] : groups_) EndGroup(group, 0, reason, &ended);
  return ended;
}

StepBarrier::Ended StepBarrier::EndUnbegun(const Status& reason) {
  Ended ended;
  for (auto& [key, group] : groups_) EndGroup(group, FirstUnbegun(group), reason, &ended);
  return ended;
}

void StepBarrier::ExpireGroup(uint32_t id, Group& group, TimeNs now, Ended* ended) {
  const uint64_t open = group.closed + 1;
  const auto present = group.pushes.find(open);
  // Said before anything is taken out: those that expire together are not missing.
  const Status late = DeadlineExceeded(DescribeMissing(
      id, open, group.world, present == group.pushes.end() ? nullptr : &present->second));
  for (auto step = group.pushes.begin(); step != group.pushes.end();) {
    std::map<uint16_t, ParkedPush>& pushes = step->second;
    for (auto entry = pushes.begin(); entry != pushes.end();) {
      ParkedPush& push = entry->second;
      if (push.deadline > now) {
        next_deadline_ = std::min(next_deadline_, push.deadline);
        ++entry;
        continue;
      }
      Unpark(push.bytes());
      ended->pushes.emplace_back(std::move(push), late);
      entry = pushes.erase(entry);
    }
    step = pushes.empty() ? group.pushes.erase(step) : std::next(step);
  }
  std::erase_if(group.pulls, [&](ParkedPull& pull) {
    if (pull.deadline > now) {
      next_deadline_ = std::min(next_deadline_, pull.deadline);
      return false;
    }
    Unpark(pull.bytes());
    ended->pulls.emplace_back(std::move(pull), late);
    return true;
  });
}

StepBarrier::Ended StepBarrier::Expire(TimeNs now) {
  Ended ended;
  next_deadline_ = kNever;
  for (auto& [key, group] : groups_) ExpireGroup(key.second, group, now, &ended);
  std::erase_if(groups_, [&](const auto& entry) {
    const Group& group = entry.second;
    return group.pushes.empty() && group.pulls.empty() && now - group.last_seen >= kGroupIdle;
  });
  return ended;
}

void StepBarrier::SaveTo(format::LaneImage* image) const {
  for (const auto& [key, group] : groups_) {
    format::LaneImage::Group& saved = image->groups.emplace_back();
    saved.table = key.first;
    saved.id = key.second;
    saved.world = group.world;
    saved.first_step = group.first_step;
    saved.closed = group.closed;
    for (const auto& [rank, client] : group.owners) {
      saved.owners.push_back({rank, {client.hi, client.lo}});
    }
  }
}

void StepBarrier::LoadFrom(const format::LaneImage& image, TimeNs now) {
  groups_.clear();
  for (const format::LaneImage::Group& saved : image.groups) {
    Group& group = groups_[{saved.table, saved.id}];
    group.world = saved.world;
    group.first_step = saved.first_step;
    group.closed = saved.closed;
    group.last_seen = now;
    for (const format::LaneImage::Owner& owner : saved.owners) {
      group.owners[owner.rank] = {owner.client.hi, owner.client.lo};
    }
  }
}

}  // namespace strata
