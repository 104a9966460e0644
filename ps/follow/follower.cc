#include "ps/follow/follower.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/out_of_memory.h"
#include "base/thread/thread.h"

namespace strata {
namespace {

constexpr TimeNs kPollEvery = 20 * kMillisecond;
constexpr TimeNs kRetryAfter = 200 * kMillisecond;  // a home that does not answer
constexpr TimeNs kAnswerWithin = 2 * kSecond;
constexpr size_t kReplyBytes = size_t{512} << 10;

}  // namespace

std::vector<std::vector<uint16_t>> Follower::HomesOf(const wire::ShardMap& map,
                                                     const wire::LaneName& lane, uint8_t copies) {
  const uint32_t servers = map.lanes.back().server + uint32_t{1};
  const auto own =
      static_cast<uint16_t>(std::ranges::count(map.lanes, lane.server, &wire::LaneName::server));
  std::vector<std::vector<uint16_t>> homes;
  for (uint32_t before = 1; before < std::min<uint32_t>(copies, servers); ++before) {
    const uint32_t server = (lane.server + servers - before) % servers;
    auto& of_server = homes.emplace_back();
    for (size_t i = 0; i < map.lanes.size(); ++i) {
      if (map.lanes[i].server == server && map.lanes[i].lane % own == lane.lane) {
        of_server.push_back(static_cast<uint16_t>(i));
      }
    }
  }
  return homes;
}

Result<std::shared_ptr<Follower>> Follower::Start(const FollowerOptions& options, Peers& peers) {
  std::shared_ptr<Follower> made(new Follower(options, peers));
  Follower* const follower = made.get();
  STRATA_ASSIGN(made->thread_, StartThread(fmt::format("lane-{}-follow", options.lane.lane),
                                           [follower] { follower->Loop(); }));
  return made;
}

Follower::~Follower() { Stop(); }

void Follower::Stop() {
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void Follower::Keep(const wire::CollectionDefinition& definition) {
  if (definition.copies == 1) return;
  auto followed = std::make_shared<Followed>();
  followed->collection = wire::CollectionIdOf(definition.name);
  const auto homes = HomesOf(*options_.map, options_.lane, definition.copies);
  for (size_t before = 1; before <= homes.size(); ++before) {
    for (const uint16_t lane : homes[before - 1]) {
      followed->homes.push_back({.lane = lane,
                                 .before = before,
                                 .copy = ItemCopy({.spec = {.attributes = definition.attributes},
                                                   .means = options_.means()})});
      followed->homes.back().shown.newest_at = options_.clock->Now();
    }
  }
  const MutexLock lock(mutex_);
  followed_[wire::ShortId(followed->collection)] = std::move(followed);
  changed_.NotifyAll();
}

void Follower::Drop(uint32_t collection) {
  std::shared_ptr<Followed> dropped;  // goes without the mutex
  const MutexLock lock(mutex_);
  const auto at = followed_.find(collection);
  if (at == followed_.end()) return;
  dropped = std::move(at->second);
  followed_.erase(at);
}

void Follower::Run(std::function<void()> work) {
  const MutexLock lock(mutex_);
  work_.push_back(std::move(work));
  changed_.NotifyAll();
}

std::shared_ptr<Follower::Followed> Follower::Find(uint32_t collection) const {
  const MutexLock lock(mutex_);
  const auto at = followed_.find(collection);
  return at == followed_.end() ? nullptr : at->second;
}

// Polls and work by turns, where both are due: one collection's searches must not keep the copies
// of another from being made.
void Follower::Loop() {
  const MustAllocate must;
  MutexLock lock(mutex_);
  TimeNs next_poll = 0;
  bool polled = false;  // and no work since
  while (!is_stopping_) {
    const TimeNs left = followed_.empty() ? kNever : next_poll - options_.clock->Now();
    if (left <= 0 && (work_.empty() || !polled)) {
      lock.Unlock();
      const TimeNs rest = Poll();
      next_poll = options_.clock->Now() + rest;
      lock.Lock();
      polled = true;
    } else if (!work_.empty()) {
      const std::function<void()> work = std::move(work_.front());
      work_.pop_front();
      lock.Unlock();
      work();
      lock.Lock();
      polled = false;
    } else if (followed_.empty()) {
      changed_.Wait(mutex_);
    } else {
      changed_.WaitFor(mutex_, left);
    }
  }
}

TimeNs Follower::Poll() {
  std::vector<std::shared_ptr<Followed>> all;
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, followed] : followed_) all.push_back(followed);
  }
  TimeNs rest = kPollEvery;
  for (const auto& followed : all) {
    std::vector<Home*> homes;
    for (Home& home : followed->homes) homes.push_back(&home);
    if (homes.empty()) continue;  // fewer lanes than this server
    const Status asked = Ask(*followed, homes);
    if (!asked.ok()) {
      rest = kRetryAfter;
      Log(LogLevel::kDebug, "copies of collection {:#018x}: {}", followed->collection,
          asked.ToString());
    } else if (rest == kPollEvery && std::ranges::any_of(homes, [](const Home* home) {
                 return !home->copy.IsWhole() || home->copy.position() < home->copy.newest();
               })) {
      rest = 0;
    }
  }
  return rest;
}

Status Follower::Ask(Followed& followed, const std::vector<Home*>& homes) {
  STRATA_ASSIGN(const std::shared_ptr<RemoteStore> peers, peers_.Get());
  LaneMessages messages{.command = wire::Command::kFollowItems,
                        .collection = followed.collection,
                        .deadline = options_.clock->Now() + kAnswerWithin};
  for (const Home* const home : homes) {
    messages.parts.push_back({.lane = home->lane,
                              .flags = home->copy.WantsDocuments() ? uint32_t{wire::kFlagFull} : 0,
                              .reply_bytes = kReplyBytes,
                              .payload = {wire::EncodeFollowRequest(home->copy.Next())}});
  }
  const auto replies = peers->Exchange(std::move(messages));
  if (replies.status().code() == StatusCode::kLost) peers_.Drop(peers);
  STRATA_TRY(replies.status());
  Status all;
  for (size_t i = 0; i < homes.size(); ++i) {
    Home& home = *homes[i];
    const Status taken = home.copy.Take((*replies)[i]);
    if (!taken.ok()) {
      Log(home.failed ? LogLevel::kDebug : LogLevel::kWarning,
          "a copy of lane {} of collection {:#018x} is begun anew: {}", home.lane,
          followed.collection, taken.ToString());
      all = taken;
    }
    home.failed = !taken.ok();
    const MutexLock lock(mutex_);
    home.shown.set = home.copy.set();
    home.shown.is_whole = home.copy.IsWhole();
    home.shown.lacking = home.copy.newest() - home.copy.position();
    home.shown.begun = home.copy.begun();
    if (home.shown.is_whole && home.shown.lacking == 0) {
      home.shown.newest_at = options_.clock->Now();
    }
  }
  return all;
}

Result<CollectionCopies::Sets> Follower::CatchUp(uint32_t collection, size_t servers) {
  const std::shared_ptr<Followed> followed = Find(collection);
  if (followed == nullptr) return Refused("there are no copies of this collection here");
  std::vector<Home*> homes;
  for (Home& home : followed->homes) {
    if (home.before <= servers) homes.push_back(&home);
  }
  const auto refuse = [](std::string_view why) {
    return Refused(fmt::format("a copy of other servers' documents cannot be searched: {}", why));
  };
  const auto check_whole = [&]() -> Status {
    if (std::ranges::all_of(homes, [](const Home* home) { return home->copy.IsWhole(); }))
      return {};
    return refuse("it is being made");
  };
  STRATA_TRY(check_whole());
  std::vector<uint64_t> targets;  // what the home had when it answered first
  const TimeNs end = options_.clock->Now() + kAnswerWithin;
  std::vector<Home*> behind = homes;
  while (!behind.empty()) {
    const Status asked = Ask(*followed, behind);
    if (!asked.ok()) return refuse(asked.message());
    STRATA_TRY(check_whole());
    if (targets.empty()) {
      for (const Home* const home : homes) targets.push_back(home->copy.newest());
    }
    behind.clear();
    for (size_t i = 0; i < homes.size(); ++i) {
      if (homes[i]->copy.position() < targets[i]) behind.push_back(homes[i]);
    }
    if (!behind.empty() && options_.clock->Now() >= end) return refuse("it is too far behind");
  }
  Sets sets;
  for (const Home* const home : homes) sets.push_back(home->copy.set());
  return sets;
}

void Follower::AddStats(uint32_t collection, wire::CollectionStatsReply* stats) const {
  std::vector<Shown> shown;
  {
    const MutexLock lock(mutex_);
    const auto at = followed_.find(collection);
    if (at == followed_.end()) return;
    for (const Home& home : at->second->homes) shown.push_back(home.shown);
  }
  const TimeNs now = options_.clock->Now();
  for (const Shown& copy : shown) {
    stats->copies += 1;
    stats->copies_ready += copy.is_whole ? 1 : 0;
    stats->copy_lacking += copy.lacking;
    stats->copies_begun += copy.begun;
    stats->copy_behind_ns = std::max(
        stats->copy_behind_ns, static_cast<uint64_t>(std::max<TimeNs>(0, now - copy.newest_at)));
    if (copy.set == nullptr) continue;
    const ItemSetStats of_set = copy.set->Stats();
    stats->copy_documents += of_set.documents;
    stats->copy_bytes += of_set.bytes;
  }
}

}  // namespace strata
