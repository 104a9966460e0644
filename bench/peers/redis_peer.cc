#include <fcntl.h>
#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "base/file/disk.h"
#include "bench/peers/service_peer.h"

namespace strata::bench {
namespace {

constexpr TimeNs kStartTimeout = 20 * kSecond;

struct FreeContext {
  void operator()(redisContext* context) const { redisFree(context); }
};
using ContextPtr = std::unique_ptr<redisContext, FreeContext>;

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using ReplyPtr = std::unique_ptr<redisReply, FreeReply>;

Status RedisError(const redisContext* context) {
  return Failed(fmt::format("redis: {}", context == nullptr ? "out of memory" : context->errstr));
}

// The words of MGET or MSET: keys and values as the bytes they are.
struct Words {
  std::vector<const char*> at;
  std::vector<size_t> size;

  void Start(const char* command) {
    at.assign(1, command);
    size.assign(1, strlen(command));
  }
  void Add(const void* bytes, size_t count) {
    at.push_back(static_cast<const char*>(bytes));
    size.push_back(count);
  }
};

class RedisClient final : public ServiceClient {
 public:
  explicit RedisClient(ContextPtr context) : context_(std::move(context)) {}

  Status Run(const Load& load, uint64_t first, uint64_t count) override {
    rows_.resize(load.batch * load.dim);
    uint64_t sent = first;
    for (uint64_t done = first; done < first + count; ++done) {
      const TimeNs begin = load.latencies == nullptr ? 0 : RealClock().Now();
      for (; sent < first + count && sent < done + load.depth; ++sent) {
        STRATA_TRY(Append(load.IsPull(sent), load.Batch(sent), load.floats, load.dim));
      }
      STRATA_TRY(Take(load.IsPull(done), load));
      if (load.latencies != nullptr) load.latencies->push_back(RealClock().Now() - begin);
    }
    return {};
  }

  Status Put(std::span<const Key> keys, std::span<const float> values, uint32_t dim) {
    STRATA_TRY(Append(false, keys, values, dim));
    return Take(false, {});
  }

 private:
  Status Append(bool pull, std::span<const Key> keys, std::span<const float> values, uint32_t dim) {
    words_.Start(pull ? "MGET" : "MSET");
    for (size_t i = 0; i < keys.size(); ++i) {
      words_.Add(&keys[i], sizeof(Key));
      if (!pull) words_.Add(values.data() + i * dim, dim * sizeof(float));
    }
    if (redisAppendCommandArgv(context_.get(), static_cast<int>(words_.at.size()), words_.at.data(),
                               words_.size.data()) != REDIS_OK) {
      return RedisError(context_.get());
    }
    return {};
  }

  Status Take(bool pull, const Load& load) {
    void* raw = nullptr;
    if (redisGetReply(context_.get(), &raw) != REDIS_OK) return RedisError(context_.get());
    const ReplyPtr reply(static_cast<redisReply*>(raw));
    if (reply->type == REDIS_REPLY_ERROR) return Failed(fmt::format("redis: {}", reply->str));
    if (!pull) return {};
    const size_t row_bytes = load.dim * sizeof(float);
    if (reply->elements != load.batch) return Failed("redis: MGET gave other than was asked for");
    for (size_t i = 0; i < reply->elements; ++i) {
      const redisReply& element = *reply->element[i];
      if (element.len != row_bytes) return Failed("redis: a value has not the size it was given");
      memcpy(rows_.data() + i * load.dim, element.str, row_bytes);
    }
    return {};
  }

  ContextPtr context_;
  Words words_;
  std::vector<float> rows_;
};

class RedisPeer final : public ServicePeer {
 public:
  explicit RedisPeer(ScratchFolder folder) : folder_(std::move(folder)) {}
  ~RedisPeer() override {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

  Status Start() {
    STRATA_TRY(Spawn());
    const TimeNs end = RealClock().Now() + kStartTimeout;
    for (ContextPtr context = Open(); context->err != 0; context = Open()) {
      if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
        pid_ = -1;
        return Failed("redis-server ended at once");
      }
      if (RealClock().Now() > end) return Failed("redis-server does not answer");
    }
    return {};
  }

  std::string NameOf(Op op) const override {
    return op == Op::kPull ? "redis MGET" : op == Op::kPush ? "redis MSET" : "redis MGET, MSET";
  }

  Status Fill(uint64_t rows, uint32_t dim) override {
    RedisClient client(Open());
    return FillRows(rows, dim, [&](std::span<const Key> keys, std::span<const float> values) {
      return client.Put(keys, values, dim);
    });
  }

  Result<std::unique_ptr<ServiceClient>> Connect() override {
    ContextPtr context = Open();
    if (context->err != 0) return RedisError(context.get());
    return std::unique_ptr<ServiceClient>(std::make_unique<RedisClient>(std::move(context)));
  }

 private:
  std::string Socket() const { return folder_.path() + "/redis.sock"; }
  ContextPtr Open() const { return ContextPtr(redisConnectUnix(Socket().c_str())); }

  // At a Unix socket, without persistence; its output is of no interest.
  Status Spawn() {
    std::vector<std::string> words = {"redis-server",
                                      "--port",
                                      "0",
                                      "--unixsocket",
                                      Socket(),
                                      "--save",
                                      "",
                                      "--appendonly",
                                      "no",
                                      "--daemonize",
                                      "no",
                                      "--dir",
                                      folder_.path(),
                                      "--logfile",
                                      "",
                                      "--maxmemory",
                                      "0",
                                      "--protected-mode",
                                      "no"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const int error =
        posix_spawnp(&pid_, "redis-server", &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error == 0) return {};
    pid_ = -1;
    return NotFound(
        fmt::format("cannot run redis-server: {}; ./dev bench installs it", strerror(error)));
  }

  pid_t pid_ = -1;
  ScratchFolder folder_;
};

}  // namespace

Result<std::unique_ptr<ServicePeer>> StartRedis() {
  STRATA_ASSIGN(ScratchFolder folder, ScratchFolder::Make());
  auto peer = std::make_unique<RedisPeer>(std::move(folder));
  STRATA_TRY(peer->Start());
  return std::unique_ptr<ServicePeer>(std::move(peer));
}

}  // namespace strata::bench
