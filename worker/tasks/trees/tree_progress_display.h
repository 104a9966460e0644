// TreeProgressDisplay: what is shown while trees grow.
#pragma once

#include <cstdio>
#include <optional>

#include "base/clock.h"
#include "worker/tasks/progress.h"
#include "worker/tasks/status_board.h"
#include "worker/tasks/trees/tree_task.h"

namespace strata {

// One thread at a time.
class TreeProgressDisplay {
 public:
  struct Outputs {
    std::FILE* lines = nullptr;    // a line now and then; null: none
    bool terminal = false;         // that lines go to, which are drawn over one another there
    bool has_line_each = false;    // each call of Advance has a line, and not now and then one
    std::FILE* objects = nullptr;  // one of JSON for each measured round; null: none
  };

  // The clock and the board outlive it.
  TreeProgressDisplay(const Clock& clock, StatusBoard& board, const Outputs& outputs);

  // After each round. The board hears of it now and then, as setting it costs something.
  void Advance(const TreeProgress& at);
  // Ends the line, and tells the board of the last round.
  void Finish();

 private:
  void Update();

  const Clock& clock_;
  StatusBoard& board_;
  std::FILE* const objects_;
  const bool has_line_each_;
  ProgressPrinter printer_;
  UpdateTimer update_;
  Pace pace_;
  std::optional<ProgressState> last_;  // of the last round, unless the board has it
};

}  // namespace strata
