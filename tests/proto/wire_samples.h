// One example of every message of the data plane: the golden files pin their bytes, and the fuzz
// targets start from them.
#pragma once

#include <string>
#include <vector>

#include "base/message_port.h"
#include "proto/wire/checkpoint_payload.h"
#include "proto/wire/collection_payload.h"
#include "proto/wire/commands.h"
#include "proto/wire/header.h"
#include "proto/wire/shard_map.h"

namespace strata::wire {

struct Sample {
  std::string name;  // "pull_request"
  Header header;     // as sealed: frames, body_bytes and body_checksum are filled in
  Message message;
};
// As each version of the protocol spells them.
const std::vector<Sample>& Samples(uint16_t version = kVersion);

// `version` is the newest that the sender speaks.
HelloRequest SampleHelloRequest(uint16_t version = kVersion);
HelloReply SampleHelloReply(uint16_t version = kVersion);
std::vector<std::string> SampleLaneEndpoints();  // of its lanes
ShardMap SampleShardMap();
std::vector<TableDefinition> SampleTables();
TableDefinition SampleExtendedTable();  // whose optimizer has an extension
TableDefinition SampleNarrowTable();    // of bf16, state fp16
StatsReply SampleStats();
std::vector<CheckpointEntry> SampleCheckpoints();
std::vector<CollectionDefinition> SampleCollections();
SearchTerms SampleSearchTerms();
SearchQueries SampleQueries();  // two
SearchAnswer SampleAnswer();    // to them
SearchExplanation SampleExplanation();
CollectionStatsReply SampleCollectionStats();
FollowRequest SampleFollowRequest();
FollowReply SampleFollowReply();

}  // namespace strata::wire
