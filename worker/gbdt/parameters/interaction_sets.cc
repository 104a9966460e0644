#include "worker/gbdt/parameters/interaction_sets.h"

#include <fmt/format.h>

#include <charconv>

#include "base/human_text.h"

namespace strata {
namespace {

// Reads sets from front to back.
class SetReader {
 public:
  explicit SetReader(std::string_view text) : text_(text) {}

  Result<std::vector<std::vector<int64_t>>> Read() {
    std::vector<std::vector<int64_t>> sets;
    while (!AtEnd()) {
      if (!sets.empty()) STRATA_TRY(Take(','));
      STRATA_TRY(Take('['));
      STRATA_ASSIGN(sets.emplace_back(), ReadSet());
    }
    if (sets.size() > kInteractionSetsMax) {
      return Invalid(fmt::format("interaction_constraints: {} sets: expected at most {}",
                                 sets.size(), kInteractionSetsMax));
    }
    return sets;
  }

 private:
  Result<std::vector<int64_t>> ReadSet() {
    std::vector<int64_t> set;
    do {
      SkipBlanks();
      int64_t feature = -1;
      const char* const begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), feature);
      if (error != std::errc() || feature < 0) return Wrong("the number of a feature");
      at_ += static_cast<size_t>(end - begin);
      set.push_back(feature);
    } while (Takes(','));
    STRATA_TRY(Take(']'));
    return set;
  }

  void SkipBlanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool AtEnd() {
    SkipBlanks();
    return at_ == text_.size();
  }
  bool Takes(char wanted) {
    SkipBlanks();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  Status Take(char wanted) {
    return Takes(wanted) ? Status::Ok() : Wrong(fmt::format("'{}'", wanted));
  }
  Status Wrong(const std::string& expected) const {
    return Invalid(fmt::format(
        "interaction_constraints: sets like [0,1,2],[2,3]: expected {} at place {}, found '{}'",
        expected, at_ + 1, ShownBytes(text_.substr(at_), 20)));
  }

  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<std::vector<std::vector<int64_t>>> InteractionSets(std::string_view text) {
  return SetReader(text).Read();
}

}  // namespace strata
