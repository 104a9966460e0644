#include "tests/proto/wire_samples.h"

#include <string_view>

#include "proto/wire/bytes.h"

namespace strata::wire {
namespace {

constexpr uint64_t kIncarnation = 0x1122334455667788;
constexpr uint32_t kNonce = 0x71727374;

Frame Keys() { return Frame::Own(std::vector<uint64_t>{7, 0, ~uint64_t{0}}); }
Frame Rows() { return Frame::Own(std::vector<float>{1.0F, -2.5F, 0.0F, 0.25F, 3e38F, -1e-3F}); }
Frame Text(std::string_view text) { return Frame::Copy(std::as_bytes(std::span(text))); }

// Every field differs from zero and from the others, so that no two can be swapped unseen.
Header Request(Command command) {
  Header header;
  header.command = command;
  header.request_id = 0x0102030405060708;
  header.cluster_id = 0x1112131415161718;
  header.client_hi = 0x2122232425262728;
  header.client_lo = 0x3132333435363738;
  header.timeout_ms = 30000;
  header.epoch = 1;
  header.trace = 0x75767778;
  return header;
}

Header Batch(Command command) {
  Header header = Request(command);
  header.incarnation = kIncarnation;
  header.SetName(0x6162636441424344);
  header.count = 3;
  header.width = 2;
  return header;
}

Header Write(Command command) {
  Header header = Batch(command);
  header.sequence = 12;
  header.settled_below = 11;
  header.step = 5;
  return header;
}

Header Sync(Command command) {
  Header header = Write(command);
  header.flags = kFlagSync;
  header.group = 0x51525354;
  header.rank = 1;
  header.world = 2;
  header.first_step = 3;
  return header;
}

class Collector {
 public:
  explicit Collector(uint16_t version) : version_(version) {}
  void Request(std::string name, Header header, Message payload) {
    header.version = version_;
    header.boot_nonce = kNonce;
    Add(std::move(name), Seal(header, std::move(payload)));
  }
  void Reply(std::string name, Header request, const Status& status, Message payload) {
    request.version = version_;
    request.boot_nonce = kNonce;
    Add(std::move(name), MakeReply(request, kIncarnation, status, std::move(payload)));
  }
  std::vector<Sample> Take() { return std::move(samples_); }

 private:
  void Add(std::string name, Message message) {
    Header header = DecodeHeader(message.front().bytes()).value();
    samples_.push_back({std::move(name), header, std::move(message)});
  }
  const uint16_t version_;
  std::vector<Sample> samples_;
};

void AddTableMessages(Collector& out) {
  const std::vector<TableDefinition> tables = SampleTables();
  Header create = Request(Command::kCreateTable);
  create.sequence = 1;
  create.SetName(0x6162636441424344);
  out.Request("create_table_request", create, {EncodeTableDefinitions(std::span(tables).first(1))});
  out.Reply("create_table_reply", create, {}, {});
  out.Request("create_table_extended_request", create,
              {EncodeTableDefinitions(std::vector{SampleExtendedTable()})});
  out.Request("create_table_narrow_request", create,
              {EncodeTableDefinitions(std::vector{SampleNarrowTable()})});
  Header drop = create;
  drop.command = Command::kDropTable;
  drop.sequence = 2;
  out.Request("drop_table_request", drop, {});
  out.Reply("drop_table_reply", drop, {}, {});
  out.Reply("drop_table_error", drop, NotFound("table \"clicks\" does not exist"), {});
  out.Request("list_tables_request", Request(Command::kListTables), {});
  out.Reply("list_tables_reply", Request(Command::kListTables), {},
            {EncodeTableDefinitions(tables)});
}

void AddRowMessages(Collector& out) {
  out.Request("pull_request", Batch(Command::kPull), {Keys()});
  Header granted = Batch(Command::kPull);
  granted.credit = 0x717273;
  out.Reply("pull_reply", granted, {}, {Rows()});
  Header existing = Batch(Command::kPull);
  existing.flags |= kFlagFull;
  out.Request("pull_existing_request", existing, {Keys()});
  out.Reply("pull_existing_reply", existing, {},
            {Rows(), Frame::Own(std::vector<uint8_t>{1, 0, 1})});
  out.Request("pull_sync_request", Sync(Command::kPull), {Keys()});
  out.Request("push_request", Write(Command::kPush), {Keys(), Rows()});
  out.Reply("push_reply", Write(Command::kPush), {}, {});
  out.Request("prefetch_request", Batch(Command::kPrefetch), {Keys()});
  Header no_use = ReplyHeader(Batch(Command::kPrefetch), kIncarnation);
  no_use.flags |= kFlagDone;
  out.Request("prefetch_reply", no_use, {});
  Header with_level = Write(Command::kPush);
  with_level.ack = kAckDefault;
  with_level.cut = 0x61626364;
  out.Request("push_with_cut_request", with_level, {Keys(), Rows()});
  out.Request("push_sync_request", Sync(Command::kPush), {Keys(), Rows()});
  Header fused = Sync(Command::kPushPull);
  out.Request("push_pull_request", fused, {Keys(), Rows(), Keys()});
  out.Reply("push_pull_reply", fused, {}, {Rows()});
  out.Request("put_request", Write(Command::kPut), {Keys(), Rows()});
  out.Reply("put_reply", Write(Command::kPut), {}, {});
  out.Request("erase_request", Write(Command::kErase), {Keys()});
  out.Reply("erase_reply", Write(Command::kErase), {}, {});
  Header counted = Write(Command::kErase);
  counted.flags |= kFlagFull;
  out.Request("erase_counted_request", counted, {Keys()});
  out.Reply("erase_counted_reply", counted, {}, {Frame::Own(std::vector<uint64_t>{2})});

  Header scan = Batch(Command::kScan);
  scan.count = 100;
  scan.width = 0;
  scan.cursor = 9;
  out.Request("scan_request", scan, {});
  Header page = ReplyHeader(scan, kIncarnation);
  page.count = 3;
  page.width = 2;
  page.cursor = 12;
  out.Request("scan_reply", page, {Keys(), Rows()});
  page.flags |= kFlagWithState | kFlagDone;
  out.Request(
      "scan_reply_with_state", page,
      {Keys(), Rows(), Frame::Own(std::vector<uint32_t>{1, 0, 5, 0, 2, 0, 6, 0, 3, 0, 7, 0})});
  out.Request("stats_request", Batch(Command::kStats), {});
  out.Reply("stats_reply", Batch(Command::kStats), {}, {EncodeStats(SampleStats())});
}

void AddCheckpointMessages(Collector& out) {
  const auto numbered = [](Command command) {
    Header header = Request(command);
    header.incarnation = kIncarnation;
    header.cursor = 0x71727374;
    header.cut = 0x71727375;
    return header;
  };
  const Header save = numbered(Command::kCheckpoint);
  Header full = save;
  full.flags = kFlagFull;
  out.Request("checkpoint_request", save, {});
  out.Request("checkpoint_full_request", full, {});
  out.Reply("checkpoint_reply", save, {}, {Text("part")});
  const Header commit = numbered(Command::kCommitCheckpoint);
  out.Request("commit_checkpoint_request", commit,
              {EncodeBlocks(std::vector{Text("part 0"), Text("part 1")}),
               EncodeNamedBlocks(std::vector<NamedBlock>{{"dense", Text("weights")}})});
  out.Reply("commit_checkpoint_reply", commit, {}, {});
  out.Request("trim_log_request", numbered(Command::kTrimLog), {});
  out.Reply("trim_log_reply", numbered(Command::kTrimLog), {}, {});
  out.Request("list_checkpoints_request", Request(Command::kListCheckpoints), {});
  out.Reply("list_checkpoints_reply", Request(Command::kListCheckpoints), {},
            {EncodeCheckpointList(SampleCheckpoints())});
  Header damaged_too = Request(Command::kListCheckpoints);
  damaged_too.flags = kFlagFull;
  out.Request("list_checkpoints_full_request", damaged_too, {});
  out.Reply("list_checkpoints_full_reply", damaged_too, {},
            {EncodeCheckpointList(SampleCheckpoints()),
             EncodeNamedBlocks(std::vector<NamedBlock>{{"6", Text("CORRUPT: why")}})});
  Header cut = numbered(Command::kCut);
  cut.sequence = 5;
  out.Request("cut_request", cut, {});
  out.Reply("cut_reply", cut, {}, {});
  Header over = numbered(Command::kCut);
  over.flags = kFlagDone;
  out.Request("cut_done_request", over, {});
  const Header read = numbered(Command::kReadAttachment);
  out.Request("read_attachment_request", read, {Text("dense")});
  out.Reply("read_attachment_reply", read, {}, {Text("weights")});
  Header restore = numbered(Command::kRestore);
  restore.sequence = 3;
  restore.settled_below = 2;
  out.Request("restore_request", restore, {});
  out.Reply("restore_reply", restore, {}, {});
}

// A document with two tokens and an attribute, and one that goes, as proto/format/item_change.h
// says.
Frame ItemChanges(bool with_gone) {
  ByteWriter writer;
  for (const uint32_t word : {1, 2, 1, 0}) writer.Put(word);
  writer.Put(uint64_t{7});
  writer.Put(~uint64_t{4});  // -5
  for (const uint32_t token : {0, 0x01020304}) writer.Put(token);
  if (with_gone) {
    for (const uint32_t word : {2, 0, 0, 0}) writer.Put(word);
    writer.Put(~uint64_t{0});
  }
  return writer.Take();
}

void AddCollectionMessages(Collector& out) {
  out.Request("create_collection_request", Write(Command::kCreateCollection),
              {EncodeCollections(std::vector{SampleCollections()[0]})});
  out.Reply("create_collection_reply", Write(Command::kCreateCollection), {}, {});
  out.Request("drop_collection_request", Write(Command::kDropCollection), {});
  out.Reply("drop_collection_reply", Write(Command::kDropCollection), {}, {});
  out.Request("list_collections_request", Request(Command::kListCollections), {});
  out.Reply("list_collections_reply", Request(Command::kListCollections), {},
            {EncodeCollections(SampleCollections())});
  Header change = Write(Command::kChangeItems);
  change.count = 2;
  out.Request("change_items_request", change, {ItemChanges(true)});
  out.Reply("change_items_reply", change, {}, {});
  out.Request("read_items_request", Batch(Command::kReadItems), {Keys()});
  Header found = Batch(Command::kReadItems);
  found.count = 1;
  out.Reply("read_items_reply", found, {}, {ItemChanges(false)});
  Header search = Batch(Command::kSearch);
  search.count = 2;
  const SearchQueries queries = SampleQueries();
  out.Request("search_request", search,
              {EncodeSearchTerms(SampleSearchTerms()), EncodeOffsets(queries.offsets),
               EncodeTokens(queries.tokens)});
  SearchTerms of_copies = SampleSearchTerms();
  of_copies.servers = 3;
  out.Request(
      "search_copies_request", search,
      {EncodeSearchTerms(of_copies), EncodeOffsets(queries.offsets), EncodeTokens(queries.tokens)});
  const SearchAnswer answer = SampleAnswer();
  out.Reply("search_reply", search, {}, {EncodeOffsets(answer.offsets), EncodeHits(answer.hits)});
  search.flags = kFlagFull;
  out.Request("search_explained_request", search,
              {EncodeSearchTerms(SampleSearchTerms()), EncodeOffsets(queries.offsets),
               EncodeTokens(queries.tokens)});
  out.Reply("search_explained_reply", search, {},
            {EncodeOffsets(answer.offsets), EncodeHits(answer.hits),
             EncodeExplanation(SampleExplanation())});
  Header scan = Batch(Command::kScanItems);
  scan.cursor = 0x0102;
  out.Request("scan_items_request", scan, {});
  Header page = ReplyHeader(scan, kIncarnation);
  page.count = 1;
  page.cursor = 0x0304;
  page.flags |= kFlagDone;
  out.Request("scan_items_reply", page, {ItemChanges(false)});
  out.Request("collection_stats_request", Batch(Command::kCollectionStats), {});
  out.Reply("collection_stats_reply", Batch(Command::kCollectionStats), {},
            {EncodeCollectionStats(SampleCollectionStats())});
  Header follow = Batch(Command::kFollowItems);
  follow.flags = kFlagFull;
  follow.count = 1;
  out.Request("follow_items_request", follow, {EncodeFollowRequest(SampleFollowRequest())});
  out.Reply("follow_items_reply", follow, {},
            {EncodeFollowReply(SampleFollowReply()), ItemChanges(true), ItemChanges(false)});
}

}  // namespace

std::vector<CollectionDefinition> SampleCollections() {
  return {{.name = "baskets", .attributes = {"price", "shop"}},
          {.name = "b", .attributes = {}, .copies = 3}};
}

SearchTerms SampleSearchTerms() {
  return {.metric = 2,
          .k = 100,
          .least_num = 1,
          .least_den = 3,
          .ranges = {{.attribute = 1, .low = -5, .high = 0x0102030405060708}},
          .has_ids = true,
          .ids_first = 64,
          .ids = {0x1112131415161718, 1}};
}

SearchQueries SampleQueries() { return {.offsets = {0, 3, 4}, .tokens = {0, 5, 0xffffffff, 7}}; }

SearchAnswer SampleAnswer() {
  return {.offsets = {0, 0, 2},
          .hits = {{.id = 0x0102030405060708, .overlap = 3, .length = 4},
                   {.id = 9, .overlap = 1, .length = 1}}};
}

SearchExplanation SampleExplanation() {
  SearchExplanation::Part on_cpu{.blocks = 1,
                                 .threads = 2,
                                 .documents = 3,
                                 .expected_ns = 4,
                                 .took_ns = 5,
                                 .planning_ns = 6,
                                 .counting_ns = 7,
                                 .scanning_ns = 8};
  on_cpu.engines = {{.engine = 0,
                     .queries = 1,
                     .groups = 2,
                     .expected_ns = 3,
                     .by_rates_ns = 4,
                     .took_ns = 5,
                     .expected_candidates = 6,
                     .candidates = 7},
                    {.engine = 1, .queries = 8}};
  SearchExplanation::Part on_gpu{.documents = 9,
                                 .gpu_ns = 10,
                                 .load_pieces = 11,
                                 .is_gpu_refused = true,
                                 .load_expected_ns = 12,
                                 .load_ns = 13};
  on_gpu.engines = {{.engine = 3, .queries = 14}};
  return {.queries = 9, .waited_ns = 10, .took_ns = 11, .parts = {on_cpu, on_gpu}};
}

CollectionStatsReply SampleCollectionStats() {
  return {.documents = 1,
          .segments = 2,
          .dead = 3,
          .bytes = 4,
          .merges = 5,
          .log_bytes = 6,
          .upserts = 7,
          .deletes = 8,
          .queries = 9,
          .batches = 10,
          .search_ns = 11,
          .gpu_segments = 12,
          .gpu_lacking = 13,
          .gpu_bytes = 14,
          .counted = 15,
          .scanned = 16,
          .gpu_counted = 17,
          .gpu_scanned = 18,
          .gpu_streamed = 19,
          .copies = 20,
          .copies_ready = 21,
          .copy_documents = 22,
          .copy_bytes = 23,
          .copy_lacking = 24,
          .copy_behind_ns = 25,
          .copies_begun = 26,
          .copy_queries = 27};
}

FollowRequest SampleFollowRequest() {
  return {.incarnation = kIncarnation, .instance = 5, .position = 70, .cursor = 9};
}

FollowReply SampleFollowReply() {
  return {.instance = 5, .position = 71, .newest = 72, .cursor = 4, .no_more = true};
}

HelloRequest SampleHelloRequest(uint16_t version) {
  return {.version_max = version, .client_name = "worker 3"};
}

HelloReply SampleHelloReply(uint16_t version) {
  return {.version_max = version,
          .server = 1,
          .servers = 3,
          .incarnation = kIncarnation,
          .lane_ports = {7601, 7602},
          .server_version = "0.1.0"};
}

std::vector<std::string> SampleLaneEndpoints() { return {"shm://strata-1f2e3d4c5b6a7988", ""}; }

ShardMap SampleShardMap() { return MakeShardMap(std::vector<uint16_t>{2, 1}).value(); }

std::vector<TableDefinition> SampleTables() {
  TableDefinition clicks{.name = "clicks",
                         .dim = 16,
                         .seed = 0x6162636465666768,
                         .optimizer = 3,
                         .initializer = 2,
                         .learning_rate = 0.5F,
                         .epsilon = 0.25F,
                         .beta1 = 0.875F,
                         .beta2 = 0.75F,
                         .initial_accumulator = 0.125F,
                         .initializer_scale = 2.0F};
  TableDefinition bias = clicks;
  bias.name = "bias";
  bias.dim = 1;
  bias.ack = 2;
  return {clicks, bias};
}

TableDefinition SampleNarrowTable() {
  TableDefinition table = SampleTables().front();
  table.types = {.value = 2, .state = 3};
  return table;
}

TableDefinition SampleExtendedTable() {
  TableDefinition table = SampleTables().front();
  table.optimizer = 8;
  table.extension = {.momentum = 1.0F,
                     .rho = 2.0F,
                     .l1 = 3.0F,
                     .l2 = 4.0F,
                     .beta = 5.0F,
                     .clip_value = 6.0F,
                     .clip_norm = 7.0F,
                     .weight_decay = 8.0F,
                     .decay_power = 9.0F,
                     .end_learning_rate = 10.0F,
                     .warmup_steps = 0x0807060504030201,
                     .decay_start = 0x1817161514131211,
                     .decay_steps = 0x2827262524232221};
  return table;
}

StatsReply SampleStats() {
  return {.rows = 1,
          .bytes = 2,
          .lookups = 3,
          .lookup_hits = 4,
          .updates = 5,
          .steps = 6,
          .rejected = 7};
}

std::vector<CheckpointEntry> SampleCheckpoints() {
  return {{.number = 7,
           .parent = 5,
           .rows = 1000,
           .bytes = 64000,
           .wall_unix_ns = 0x0807060504030201,
           .attachments = {"dense", "readers"}},
          {.number = 5, .parent = 0, .rows = 1, .bytes = 64, .wall_unix_ns = 1, .attachments = {}}};
}

std::vector<Sample> MakeSamples(uint16_t version) {
  Collector out(version);
  out.Request("hello_request", Request(Command::kHello),
              {EncodeHelloRequest(SampleHelloRequest(version))});
  out.Reply("hello_reply", Request(Command::kHello), {},
            {EncodeHelloReply(SampleHelloReply(version))});
  Header full = Request(Command::kHello);
  full.flags = kFlagFull;
  out.Request("hello_full_request", full, {EncodeHelloRequest(SampleHelloRequest(version))});
  out.Reply(
      "hello_full_reply", full, {},
      {EncodeHelloReply(SampleHelloReply(version)), EncodeLaneEndpoints(SampleLaneEndpoints())});
  out.Request("shard_map_request", Request(Command::kShardMap), {});
  out.Reply("shard_map_reply", Request(Command::kShardMap), {}, {EncodeShardMap(SampleShardMap())});
  out.Request("ping_request", Request(Command::kPing), {});
  out.Reply("ping_reply", Request(Command::kPing), {}, {});
  out.Request("leave_request", Request(Command::kLeave), {});
  out.Reply("leave_reply", Request(Command::kLeave), {}, {});
  AddTableMessages(out);
  AddRowMessages(out);
  AddCheckpointMessages(out);
  AddCollectionMessages(out);
  out.Request("control_request", Request(Command::kControl), {Text("\x0a\x00")});
  out.Reply("control_reply", Request(Command::kControl), {}, {Text("\x12\x00")});
  return out.Take();
}

const std::vector<Sample>& Samples(uint16_t version) {
  static const std::vector<Sample> samples[] = {MakeSamples(1), MakeSamples(2)};
  return samples[version - 1];
}

}  // namespace strata::wire
