#include "base/heap.h"
#include "base/print.h"
#include "base/signals.h"
#include "worker/tasks/run.h"

int main(int argc, char** argv) {
  strata::OpenMissingStreams();
  strata::IgnoreWriteSignals();
  strata::KeepFreedMemory();
  strata::BlockShutdownSignals();
  return strata::RunWorker(argc, argv);
}
