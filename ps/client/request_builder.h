// From an operation to its requests, and from a reply back into the caller's spans. Pure functions;
// internal to ps/client.
#pragma once

#include <memory>
#include <vector>

#include "base/thread/work_pool.h"
#include "proto/wire/header.h"
#include "proto/wire/shard_map.h"
#include "ps/client/request.h"
#include "ps/client/split.h"
#include "strata/status.h"

namespace strata::client {

// Messages are cut at about this size: large enough for full bandwidth, small enough that a lane
// answers others in between.
constexpr size_t kChunkBytes = size_t{8} << 20;

// The requests of call->operation for the keys of `share`, in the order in which they are to be
// queued: for each part, for each lane with keys of it. A batch without keys goes to lane 0, so
// that its table and width are checked all the same. A synchronous push goes to every lane, an
// empty one too; the keys of each share are a synchronous group of their own. kRefused when a
// synchronous push does not fit one message a lane. `threads` help with many keys, here and below;
// null: the calling thread works alone.
Result<std::vector<std::shared_ptr<Request>>> BuildRequests(const std::shared_ptr<Call>& call,
                                                            const wire::ShardMap& map,
                                                            KeyShare share, size_t chunk_bytes,
                                                            WorkPool* threads);

// Keys and rows, copied out of the caller's spans where those have no owner.
Message BuildPayload(const Request& request, WorkPool* threads);

// Checks an OK reply's shape and writes what it brings into the call. kInvalid names what is wrong.
Status TakeReply(const Request& request, const wire::Received& reply, const wire::ShardMap& map,
                 WorkPool* threads);

}  // namespace strata::client
