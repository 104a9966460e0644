#include "tests/soak/hostile/hostile_peer.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/hash.h"
#include "proto/control/control.pb.h"
#include "proto/format/item_change.h"
#include "proto/wire/collection_payload.h"
#include "ps/client/collections.h"
#include "tests/proto/wire_samples.h"
#include "tests/soak/table_calls.h"
#include "tests/support/abstract_address.h"

namespace strata::soak {
namespace {

using wire::Command;

constexpr size_t kKept = 300;  // connections, of all acts
constexpr uint32_t kWideDim = 256;
constexpr const char* kCollection = "hostile";
constexpr uint64_t kDocuments = 2000;
constexpr uint32_t kQueries = 2000;
constexpr uint32_t kCommonToken = 1'000'000;  // of all documents

TableSpec Wide() { return SumTable("hostile-wide", kWideDim); }
TableSpec Narrow() { return SumTable("hostile-narrow", 1); }

Frame Encoded(const std::vector<format::ItemChange>& changes) {
  std::vector<std::byte> bytes;
  for (const format::ItemChange& change : changes) format::AppendItemChange(change, &bytes);
  return Frame::Own(std::move(bytes));
}

// A request that the peer may not make of the server, though any client could.
bool IsForbidden(const wire::Header& header, const Message& payload) {
  if (header.command == Command::kRestore) return header.cursor < 1'000'000;
  if (header.command != Command::kControl || payload.empty()) return false;
  control::ControlRequest request;
  const auto bytes = payload[0].bytes();
  return request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) &&
         (request.has_drain() || request.has_shutdown());
}

}  // namespace

const std::vector<HostilePeer::Act>& HostilePeer::All() {
  static const std::vector<Act> acts = {
      {"garbage", &HostilePeer::Garbage},
      {"half_greetings", &HostilePeer::HalfGreetings},
      {"idle_connections", &HostilePeer::IdleConnections},
      {"random_messages", &HostilePeer::RandomMessages},
      {"large_numbers", &HostilePeer::LargeNumbers},
      {"unfinished_message", &HostilePeer::UnfinishedMessage},
      {"pulls_nobody_reads", &HostilePeer::PullsNobodyReads},
      {"pushes", &HostilePeer::Pushes},
      {"parked_requests", &HostilePeer::ParkedRequests},
      {"searches", &HostilePeer::Searches},
      {"colliding_keys", &HostilePeer::CollidingKeys},
      {"clients_that_go", &HostilePeer::ClientsThatGo},
      {"long_work", &HostilePeer::LongWork},
      {"idle_http", &HostilePeer::IdleHttp},
      {"broken_http", &HostilePeer::BrokenHttp},
      {"shared_garbage", &HostilePeer::SharedGarbage},
  };
  return acts;
}

std::vector<std::string_view> HostilePeer::Acts() {
  std::vector<std::string_view> names;
  for (const Act& act : All()) names.push_back(act.name);
  return names;
}

HostilePeer::HostilePeer(HostileTarget target, uint64_t seed)
    : target_(std::move(target)), random_(seed) {}

uint64_t HostilePeer::Run(size_t act) { return (this->*All()[act].run)(); }

Status HostilePeer::Prepare() {
  STRATA_ASSIGN(const auto store, RemoteStore::Connect({.servers = target_.servers,
                                                        .cluster_id = target_.cluster_id,
                                                        .client_name = "hostile"}));
  STRATA_TRY(store->CreateTable(Wide()));
  STRATA_TRY(store->CreateTable(Narrow()));
  return Collections(*store).Create({.name = kCollection, .attributes = {}});
}

uint16_t HostilePeer::AnyPort() {
  return random_.Below(4) == 0 ? target_.http_port : target_.lane_ports[AnyLane()];
}

uint64_t HostilePeer::KeyOf(size_t lane, uint64_t below) {
  uint64_t key = 0;
  do {
    key = random_.Below(below);
  } while (target_.map.owner[wire::ShardOf(key)] != lane);
  return key;
}

std::vector<uint64_t> HostilePeer::KeysOf(size_t lane, size_t count, uint64_t below) {
  std::vector<uint64_t> keys;
  while (keys.size() < count) keys.push_back(KeyOf(lane, below));
  return keys;
}

std::vector<format::ItemChange> HostilePeer::DocumentsOf(size_t lane, uint64_t count,
                                                         uint32_t tokens) {
  std::vector<format::ItemChange> changes;
  for (uint64_t i = 0; i < count; ++i) {
    format::ItemChange change;
    change.is_upsert = true;
    change.id = KeyOf(lane, 10 * kDocuments);
    change.tokens.push_back(kCommonToken);
    for (uint32_t t = 0; t < tokens; ++t) {
      change.tokens.push_back(static_cast<uint32_t>(random_.Below(100)) + 200 * t);
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

RawLine HostilePeer::Greeted(size_t lane) {
  RawLine line = Dial(lane);
  line.GreetAsDealer();
  return line;
}

uint64_t HostilePeer::Keep(RawLine line) {
  const uint64_t sent = line.sent();
  kept_.push_back(std::move(line));
  if (kept_.size() > kKept) kept_.pop_front();
  return sent;
}

Frame HostilePeer::AnyBytes(size_t bytes_max) {
  std::vector<std::byte> bytes(random_.Below(bytes_max + 1));
  for (std::byte& b : bytes) b = static_cast<std::byte>(random_.Next());
  return Frame::Own(std::move(bytes));
}

uint64_t HostilePeer::AnyNumber() {
  constexpr uint64_t kNumbers[] = {0,
                                   1,
                                   255,
                                   UINT16_MAX,
                                   uint64_t{INT32_MAX},
                                   uint64_t{1} << 31,
                                   UINT32_MAX - 1,
                                   UINT32_MAX,
                                   uint64_t{1} << 63,
                                   UINT64_MAX};
  const uint64_t draw = random_.Below(std::size(kNumbers) + 2);
  return draw < std::size(kNumbers) ? kNumbers[draw] : random_.Next() >> random_.Below(64);
}

wire::Header HostilePeer::Request(Command command) {
  wire::Header header;
  header.command = command;
  header.request_id = random_.Next();
  header.cluster_id = target_.cluster_id;
  header.client_hi = random_.Next() | 1U;
  header.client_lo = random_.Next();
  header.epoch = 1;
  header.ack = wire::kAckDefault;
  const bool of_collection = command >= Command::kCreateCollection;
  header.SetName(of_collection ? wire::CollectionIdOf(kCollection)
                               : static_cast<uint64_t>(Wide().id()));
  return header;
}

wire::Header HostilePeer::Write(Command command) {
  wire::Header header = Request(command);
  header.sequence = header.settled_below = 1;
  header.step = 1;
  return header;
}

// A message of the protocol, of which a few things are different.
Message HostilePeer::AnyMessage() {
  const auto& samples = wire::Samples(static_cast<uint16_t>(1 + random_.Below(wire::kVersion)));
  const wire::Sample& sample = samples[random_.Below(samples.size())];
  wire::Header header = sample.header;
  header.cluster_id = target_.cluster_id;
  header.incarnation = random_.Below(8) == 0 ? AnyNumber() : 0;
  header.client_hi = random_.Next();
  header.SetName(Request(header.command).name_hash());
  uint64_t* const wide[] = {&header.sequence, &header.settled_below, &header.step,
                            &header.first_step, &header.cursor};
  uint32_t* const narrow[] = {&header.flags, &header.epoch,      &header.table, &header.count,
                              &header.width, &header.timeout_ms, &header.group, &header.cut};
  for (uint64_t changes = random_.Below(4); changes > 0; --changes) {
    if (random_.Below(2) == 0) {
      *wide[random_.Below(std::size(wide))] = AnyNumber();
    } else {
      *narrow[random_.Below(std::size(narrow))] = static_cast<uint32_t>(AnyNumber());
    }
  }
  Message payload(sample.message.begin() + 1, sample.message.end());
  for (Frame& frame : payload) {
    if (random_.Below(4) == 0) frame = AnyBytes(4096);
  }
  if (random_.Below(16) == 0 && payload.size() < wire::kFramesMax) payload.push_back(AnyBytes(64));
  if (IsForbidden(header, payload)) header.command = Command::kPing;
  return wire::Seal(header, std::move(payload));
}

uint64_t HostilePeer::Garbage() {
  RawLine line(AnyPort());
  line.Write(AnyBytes(65536).bytes());
  return Keep(std::move(line));
}

uint64_t HostilePeer::HalfGreetings() {
  uint64_t sent = 0;
  for (int i = 0; i < 20; ++i) {
    RawLine line = Dial(AnyLane());
    std::vector<std::byte> greeting(random_.Below(64), std::byte{0});
    if (!greeting.empty()) greeting[0] = std::byte{0xff};
    line.Write(greeting);
    sent += Keep(std::move(line));
  }
  return sent;
}

uint64_t HostilePeer::IdleConnections() {
  const uint16_t port = AnyPort();
  for (int i = 0; i < 50; ++i) Keep(RawLine(port));
  return 0;
}

uint64_t HostilePeer::RandomMessages() {
  RawLine line = Greeted(AnyLane());
  for (int i = 0; i < 100; ++i) line.Send(AnyMessage());
  return Keep(std::move(line));
}

// Numbers that are kept and only grow.
uint64_t HostilePeer::LargeNumbers() {
  const size_t lane = AnyLane();
  RawLine line = Greeted(lane);
  wire::Header ping = Request(Command::kPing);
  ping.cut = UINT32_MAX;
  line.Send(wire::Seal(ping, {}));
  wire::Header cut = Request(Command::kCut);
  cut.cursor = UINT32_MAX - 1;
  line.Send(wire::Seal(cut, {}));
  wire::Header push = Write(Command::kPush);
  push.step = push.sequence = push.settled_below = UINT64_MAX;
  push.count = 1;
  push.width = kWideDim;
  line.Send(wire::Seal(
      push, {Frame::Own(KeysOf(lane, 1, 1000)), Frame::Own(std::vector<float>(kWideDim, 1.0F))}));
  return Keep(std::move(line));
}

uint64_t HostilePeer::UnfinishedMessage() {
  RawLine line = Greeted(AnyLane());
  const Frame part = Frame::Own(std::vector<std::byte>(size_t{8} << 20, std::byte{1}));
  for (int i = 0; i < 16; ++i) line.Send({part}, true);
  return Keep(std::move(line));
}

uint64_t HostilePeer::PullsNobodyReads() {
  constexpr uint32_t kKeys = 2000;
  const size_t lane = AnyLane();
  RawLine line = Greeted(lane);
  const Frame frame = Frame::Own(KeysOf(lane, kKeys, 1'000'000));
  const wire::Header client = Request(Command::kPull);
  for (int i = 0; i < 300; ++i) {
    wire::Header pull = client;
    pull.request_id = random_.Next();
    pull.count = kKeys;
    pull.width = kWideDim;
    line.Send(wire::Seal(pull, {frame}));
  }
  return Keep(std::move(line));
}

uint64_t HostilePeer::Pushes() {
  constexpr uint32_t kKeys = 1000;
  const size_t lane = AnyLane();
  RawLine line = Greeted(lane);
  for (int i = 0; i < 32; ++i) {
    wire::Header push = Write(Command::kPush);
    push.count = kKeys;
    push.width = kWideDim;
    line.Send(wire::Seal(push, {Frame::Own(KeysOf(lane, kKeys, 20'000)),
                                Frame::Own(std::vector<float>(size_t{kKeys} * kWideDim, 1.0F))}));
  }
  return Keep(std::move(line));
}

// Pulls of a step that nobody closes, without a key.
uint64_t HostilePeer::ParkedRequests() {
  RawLine line = Greeted(AnyLane());
  const wire::Header client = Request(Command::kPull);
  for (int i = 0; i < 5000; ++i) {
    wire::Header pull = client;
    pull.request_id = random_.Next();
    pull.flags = wire::kFlagSync;
    pull.group = 77;
    pull.world = 2;
    pull.first_step = 1;
    pull.step = 2;
    pull.timeout_ms = 600'000;
    line.Send(wire::Seal(pull, {Frame::Own(std::vector<uint64_t>{})}));
  }
  return Keep(std::move(line));
}

uint64_t HostilePeer::Searches() {
  const size_t lane = AnyLane();
  RawLine line = Greeted(lane);
  wire::Header change = Write(Command::kChangeItems);
  change.count = kDocuments;
  line.Send(wire::Seal(change, {Encoded(DocumentsOf(lane, kDocuments, 3))}));
  wire::SearchQueries queries{.offsets = {0}, .tokens = {}};
  for (uint32_t q = 0; q < kQueries; ++q) {
    queries.tokens.push_back(kCommonToken);
    queries.offsets.push_back(queries.tokens.size());
  }
  wire::SearchTerms terms{};
  terms.k = random_.Below(2) == 0 ? wire::SearchTerms::kAll : 1;
  for (int i = 0; i < 10; ++i) {
    wire::Header search = Request(Command::kSearch);
    search.count = kQueries;
    line.Send(
        wire::Seal(search, {wire::EncodeSearchTerms(terms), wire::EncodeOffsets(queries.offsets),
                            wire::EncodeTokens(queries.tokens)}));
  }
  return Keep(std::move(line));
}

// Keys whose hashes have the same upper bits.
uint64_t HostilePeer::CollidingKeys() {
  constexpr uint32_t kKeys = 40'000;
  std::vector<uint64_t> keys;
  const uint64_t top = random_.Next() >> 24 << 24;
  for (uint64_t i = 0; i < kKeys; ++i) keys.push_back(Unmix64(top | i));
  uint64_t sent = 0;
  for (size_t lane = 0; lane < target_.lane_ports.size(); ++lane) {  // one of them owns all
    RawLine line = Greeted(lane);
    wire::Header push = Write(Command::kPush);
    push.SetName(static_cast<uint64_t>(Narrow().id()));
    push.count = kKeys;
    push.width = 1;
    line.Send(wire::Seal(push, {Frame::Own(keys), Frame::Own(std::vector<float>(kKeys, 1.0F))}));
    sent += Keep(std::move(line));
  }
  return sent;
}

uint64_t HostilePeer::ClientsThatGo() {
  uint64_t sent = 0;
  for (int i = 0; i < 20; ++i) {
    const size_t lane = AnyLane();
    RawLine line = Greeted(lane);
    for (int c = 0; c < 20; ++c) {
      wire::Header put = Write(Command::kPut);
      put.SetName(static_cast<uint64_t>(Narrow().id()));
      put.count = put.width = 1;
      line.Send(wire::Seal(
          put, {Frame::Own(KeysOf(lane, 1, 1000)), Frame::Own(std::vector<float>{1.0F})}));
    }
    sent += line.sent();
  }
  return sent;
}

uint64_t HostilePeer::LongWork() {
  const size_t lane = AnyLane();
  RawLine line = Greeted(lane);
  wire::Header change = Write(Command::kChangeItems);
  const auto documents = DocumentsOf(lane, 30'000, 40);
  change.count = static_cast<uint32_t>(documents.size());
  line.Send(wire::Seal(change, {Encoded(documents)}));
  wire::Header commit = Request(Command::kCommitCheckpoint);
  commit.cursor = random_.Below(1000);
  const std::string deep(size_t{4} << 20, '[');
  const Frame part = Frame::Copy(std::as_bytes(std::span(deep)));
  line.Send(wire::Seal(commit, {wire::EncodeBlocks(std::vector<Frame>(2, part)), Frame()}));
  return Keep(std::move(line));
}

uint64_t HostilePeer::IdleHttp() {
  for (int i = 0; i < 80; ++i) Keep(RawLine(target_.http_port));
  return 0;
}

uint64_t HostilePeer::BrokenHttp() {
  constexpr std::string_view kTexts[] = {
      "GET /metr", "GET /readyz HTTP/1.1\r\nHost: ",
      "POST /metrics HTTP/9.9\r\nContent-Length: 99999999999\r\n\r\n", "\r\n\r\n\r\n",
      "GET http://[::1 HTTP/1.1\r\n\r\n"};
  uint64_t sent = 0;
  for (const std::string_view text : kTexts) {
    RawLine line(target_.http_port);
    line.Write(text);
    sent += Keep(std::move(line));
  }
  RawLine line(target_.http_port);
  line.Write("GET / HTTP/1.1\r\nX: " + std::string(1 << 20, 'x'));
  return sent + Keep(std::move(line));
}

uint64_t HostilePeer::SharedGarbage() {
  if (target_.shared.empty()) return 0;
  const std::string& name = target_.shared[random_.Below(target_.shared.size())];
  const OwnedFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const test::AbstractAddress address(name);
  if (connect(fd.get(), address.get(), address.size()) != 0) return 0;
  const Frame bytes = AnyBytes(4096);
  const ssize_t sent = send(fd.get(), bytes.bytes().data(), bytes.size(), MSG_NOSIGNAL);
  return sent > 0 ? static_cast<uint64_t>(sent) : 0;
}

}  // namespace strata::soak
