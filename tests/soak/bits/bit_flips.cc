#include "tests/soak/bits/bit_flips.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <span>
#include <utility>

#include "base/print.h"
#include "base/random.h"

namespace strata::soak {
namespace {

constexpr uint64_t kHeadBits = uint64_t{128} * 8;
constexpr unsigned kSecondsMax = 30;

// The bits of a kind's files in an order of their own: heads first, then random ones.
class Bits {
 public:
  Bits(const FileKind& kind, uint64_t random_bits, uint64_t seed)
      : kind_(kind), random_bits_(random_bits), seed_(seed) {
    for (const std::string& file : kind.files) {
      Result<std::string> content = ReadFile(*kind.disk, file, UINT64_MAX);
      STRATA_CHECK_MSG(content.ok() && !content->empty(), file);
      contents_.push_back(std::move(*content));
      heads_ += HeadBits(contents_.back());
      all_ += contents_.back().size() * 8;
    }
  }

  uint64_t count() const { return heads_ + random_bits_; }

  // Flips bit `index`, asks the judge, and puts the file back.
  Verdict Try(uint64_t index, std::string* where) {
    const bool in_head = index < heads_;
    uint64_t bit = in_head ? index : Random(seed_ + index).Below(all_);
    size_t file = 0;
    const auto bits_of = [&](size_t f) {
      return in_head ? HeadBits(contents_[f]) : contents_[f].size() * 8;
    };
    for (; bit >= bits_of(file); ++file) bit -= bits_of(file);
    const std::string& path = kind_.files[file];
    *where = fmt::format("{}: bit {} of byte {}", path, bit % 8, bit / 8);
    std::string bad = contents_[file];
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    Write(path, bad);
    const Verdict verdict = kind_.judge(path);
    Write(path, contents_[file]);
    return verdict;
  }

 private:
  static uint64_t HeadBits(const std::string& content) {
    return std::min<uint64_t>(kHeadBits, content.size() * 8);
  }
  void Write(const std::string& path, const std::string& content) {
    auto file = kind_.disk->Create(path);
    STRATA_CHECK_MSG(file.ok(), path);
    STRATA_CHECK((*file)->Append(std::as_bytes(std::span(content))).ok());
  }

  const FileKind& kind_;
  const uint64_t random_bits_;
  const uint64_t seed_;
  std::vector<std::string> contents_;
  uint64_t heads_ = 0;
  uint64_t all_ = 0;
};

constexpr int kDone = 0;
constexpr int kRefusedUndamaged = 1;

// In the child: goes on where the counts stand.
int TryBits(const std::string& name, const FileKind& kind, uint64_t random_bits, uint64_t seed,
            FlipCounts* counts) {
  Bits bits(kind, random_bits, seed);
  if (kind.judge(kind.files.front()) != Verdict::kHarmless) return kRefusedUndamaged;
  while (counts->bits < bits.count()) {
    alarm(kSecondsMax);
    std::string where;
    switch (bits.Try(counts->bits++, &where)) {
      case Verdict::kDetected:
        ++counts->detected;
        break;
      case Verdict::kHarmless:
        ++counts->harmless;
        break;
      case Verdict::kWrong:
        ++counts->wrong;
        PrintStderr("{}: wrong with {}\n", name, where);
        break;
    }
  }
  return kDone;
}

}  // namespace

Result<FlipCounts> FlipBits(const std::string& kind, const std::function<FileKind()>& make,
                            uint64_t random_bits, uint64_t seed) {
  void* shared =
      mmap(nullptr, sizeof(FlipCounts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  STRATA_CHECK(shared != MAP_FAILED);
  auto* counts = new (shared) FlipCounts;
  int status = 0;
  bool died = true;
  while (died) {
    const uint64_t before = counts->bits;
    const pid_t child = fork();
    STRATA_CHECK(child >= 0);
    if (child == 0) {
      const int code = TryBits(kind, make(), random_bits, seed, counts);  // its files are gone now
      _exit(code);
    }
    STRATA_CHECK(waitpid(child, &status, 0) == child);
    died = !WIFEXITED(status) || WEXITSTATUS(status) > kRefusedUndamaged;
    if (died && counts->bits == before) return Failed(kind + ": its files could not be made");
    counts->crashes += died ? 1 : 0;
    if (died) PrintStderr("{}: bit {} ended the reader\n", kind, counts->bits - 1);
  }
  const FlipCounts result = *counts;
  munmap(shared, sizeof(FlipCounts));
  if (WEXITSTATUS(status) == kRefusedUndamaged) {
    return Failed(kind + ": not read as written before any fault");
  }
  return result;
}

}  // namespace strata::soak
