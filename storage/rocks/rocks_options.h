// RocksDB's settings for the cold tier, and what others share of them. Only for storage/rocks: it
// includes RocksDB.
#pragma once

#include <rocksdb/options.h>

#include <memory>

#include "storage/rocks/rocks_db.h"
#include "storage/rocks/room_watch.h"

namespace strata {

// A folder of its own (research: FBGEMM's ssd_table_batched_embeddings.h is where the shape of
// these settings comes from; what differs and why is beside each).
rocksdb::Options MakeRocksOptions(const RocksOptions& options,
                                  const std::shared_ptr<RoomWatch>& room);

// Forgets what RocksDB says.
std::shared_ptr<rocksdb::Logger> NoRocksLog();

}  // namespace strata
