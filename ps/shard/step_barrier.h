// StepBarrier: synchronous training on one lane. For each table and group it collects the pushes of
// a step until all ranks have come, hands them out in rank order, and holds back pulls until the
// step before theirs is closed. It moves and counts; applying and answering are the lane's work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "proto/format/lane_image.h"
#include "proto/wire/header.h"
#include "ps/shard/dedup_window.h"
#include "storage/table.h"
#include "strata/status.h"

namespace strata {

// Whom to answer.
struct ReplyTo {
  std::string peer;
  wire::Header request;
};

// Rows that a request brought, where it came or in memory of the table's choice.
struct RowsIn {
  std::shared_ptr<const float[]> memory = {};
  size_t elements = 0;
  std::span<const float> span() const { return {memory.get(), elements}; }
};

// What a request that waits takes besides what it brought: entries of lists, and its peer's name.
constexpr size_t kParkedExtraBytes = 256;
// Attempts that are answered for one push.
constexpr size_t kParkedAttemptsMax = 5;

struct ParkedPush {
  std::vector<ReplyTo> reply_to;  // the first attempt and its latest retries
  wire::Header request;           // of the first attempt, for the log
  ClientId client;
  uint64_t sequence = 0;
  std::vector<Key> keys;
  RowsIn gradients;
  std::optional<std::vector<Key>> then =
      std::nullopt;  // PUSH_PULL: looked up once the step is closed
  TimeNs deadline = kNever;
  // That it holds, with room for all attempts.
  size_t bytes() const {
    constexpr size_t kCopiesOfKeys = 2;  // they may lie beside the gradients too
    return sizeof(ParkedPush) + kParkedAttemptsMax * sizeof(ReplyTo) + kParkedExtraBytes +
           kCopiesOfKeys * (keys.size() + (then ? then->size() : 0)) * sizeof(Key) +
           gradients.elements * sizeof(float);
  }
};

struct ParkedPull {
  ReplyTo reply_to;
  uint64_t step = 0;
  std::vector<Key> keys;
  TimeNs deadline = kNever;
  size_t bytes() const {
    return sizeof(ParkedPull) + kParkedExtraBytes + keys.size() * sizeof(Key);
  }
};

// One rank's claim, as a request's header states it.
struct SyncMember {
  uint32_t table = 0;  // as messages name it
  SyncGroup group;
  uint64_t step = 0;
  ClientId client;
};

// Not thread-safe.
class StepBarrier {
 public:
  // How far ahead of the open step a rank may be: pulls that are prefetched, pushes not yet
  // acknowledged. More is a mistake of the sender.
  static constexpr uint64_t kStepsAheadMax = 64;
  static constexpr size_t kGroupsMax = 4096;                // tables x groups
  static constexpr TimeNs kGroupIdle = 6 * 3600 * kSecond;  // then a group is forgotten

  // `bytes_max`: what all that is parked may hold. Requests ahead of the open step get half of it,
  // so that they cannot keep out the pushes that would close it.
  explicit StepBarrier(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Registers the member's claim to its rank; a group that is not known begins, with all steps
  // below its first step closed. kInvalid: rank, world or steps make no sense. kRefused: another
  // client holds the rank (both are named), the group's world or first step differ from what others
  // said, the step is closed already or too far ahead, the rank has pushed it already, or there are
  // too many groups.
  Status Claim(const SyncMember& member, bool is_push, TimeNs now);

  // After Claim, which must have succeeded.
  bool CanPull(const SyncMember& member) const;               // the step before is closed
  bool HasBegun(const SyncMember& member) const;              // somebody's push for this step waits
  bool AllBegun(const SyncMember& member) const;              // all open steps before this one have
  Status AddPush(const SyncMember& member, ParkedPush push);  // kRefused: budget
  Status AddPull(const SyncMember& member, ParkedPull pull);  // kRefused: budget
  // A retry of a push that waits: it is answered with the others. False: it does not wait here.
  bool AddRetry(const SyncMember& member, ReplyTo retry, TimeNs deadline);

  // The pushes of the open step in rank order once all are there; they no longer wait here. The
  // caller applies them and then calls Close, or answers them with an error and calls TakePulls.
  std::optional<std::vector<ParkedPush>> TakeComplete(const SyncMember& member);
  uint64_t OpenStep(const SyncMember& member) const;
  // Closes the open step; returns the pulls that no longer have to wait.
  std::vector<ParkedPull> Close(const SyncMember& member);
  // The log says that the members' step was closed, by one member a rank: as if their pushes had
  // come. What was known of the group otherwise gives way.
  void RestoreClosed(std::span<const SyncMember> members, TimeNs now);
  // The open step could not be applied: all pulls of the group, which wait for it.
  std::vector<ParkedPull> TakePulls(const SyncMember& member);

  // What ends without effect, with the reason.
  struct Ended {
    std::vector<std::pair<ParkedPush, Status>> pushes;
    std::vector<std::pair<ParkedPull, Status>> pulls;
  };
  // Requests whose deadline has passed, named with the ranks that are missing; forgets idle groups.
  Ended Expire(TimeNs now);
  Ended DropTable(uint32_t table, const Status& reason);
  // Of a table that is replaced: what waits; its groups stay.
  Ended EndTable(uint32_t table, const Status& reason);
  Ended EndAll(const Status& reason);
  // Only what waits, directly or not, for a step that has not begun.
  Ended EndUnbegun(const Status& reason);

  // The groups, their closed steps and who holds which rank; not what waits.
  void SaveTo(format::LaneImage* image) const;
  void LoadFrom(const format::LaneImage& image, TimeNs now);  // nothing waits

  TimeNs NextDeadline() const { return next_deadline_; }  // never later than the true one
  size_t parked() const { return parked_; }
  size_t parked_bytes() const { return parked_bytes_; }
  size_t groups() const { return groups_.size(); }

 private:
  struct Group {
    uint16_t world = 0;
    uint64_t first_step = 0;
    uint64_t closed = 0;                  // the last closed step
    std::map<uint16_t, ClientId> owners;  // by rank; as large as what has come
    std::map<uint64_t, std::map<uint16_t, ParkedPush>> pushes;  // by step and rank
    std::vector<ParkedPull> pulls;
    TimeNs last_seen = 0;
  };
  using GroupKey = std::pair<uint32_t, uint32_t>;

  static GroupKey KeyOf(const SyncMember& member) { return {member.table, member.group.id}; }
  Group& Find(const SyncMember& member) { return groups_.at(KeyOf(member)); }
  const Group& Find(const SyncMember& member) const { return groups_.at(KeyOf(member)); }
  Result<Group*> FindOrBegin(const SyncMember& member);
  Status Reserve(const Group& group, uint64_t step, bool is_push, size_t bytes);
  void Park(TimeNs deadline, size_t bytes);
  void Unpark(size_t bytes);
  // The first open step that nobody's push waits for.
  static uint64_t FirstUnbegun(const Group& group);
  // Takes out the pulls of steps up to `last`.
  std::vector<ParkedPull> TakePulls(Group& group, uint64_t last);
  // Takes out all of steps after `closed`.
  void EndGroup(Group& group, uint64_t closed, const Status& reason, Ended* ended);
  void ExpireGroup(uint32_t id, Group& group, TimeNs now, Ended* ended);

  const size_t bytes_max_;
  std::map<GroupKey, Group> groups_;
  TimeNs next_deadline_ = kNever;
  size_t parked_ = 0;
  size_t parked_bytes_ = 0;
};

}  // namespace strata
