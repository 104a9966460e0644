#include "worker/data/batch/pipeline.h"

#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/thread/bounded_queue.h"
#include "base/thread/thread.h"

namespace strata {

struct PrefetchSource::Impl {
  // What the reader thread hands over. The last one has an error or no samples.
  struct Item {
    Status status;
    Batch batch;
    double progress = 0;
    uint64_t bad_rows = 0;

    bool last() const { return !status.ok() || batch.samples == 0; }
  };

  // One pass over the source. There are as many batches as either queue has room for, so no push
  // waits.
  struct Pass {
    explicit Pass(size_t batches)
        : credits({.items_max = batches}), ready({.items_max = batches}) {}

    BoundedQueue<Batch> credits;  // batches that the reader may fill
    BoundedQueue<Item> ready;     // filled ones, in order
    std::jthread thread;
  };

  std::unique_ptr<BatchSource> source;  // the reader's, while a pass has a thread
  size_t samples_max = 0;
  std::vector<Batch> batches;  // all of them, between passes
  std::unique_ptr<Pass> pass;
  std::optional<Item> end;  // the last item of the pass, once it came
  double progress = 0;
  uint64_t bad_rows = 0;
  const Clock* clock = nullptr;
  std::atomic<TimeNs> reading_time = 0;

  void ReadAhead();
  void StopPass();
};

void PrefetchSource::Impl::ReadAhead() {
  while (std::optional<Batch> batch = pass->credits.Pop()) {
    Item item{.status = {}, .batch = std::move(*batch)};
    const TimeNs begin = clock->Now();
    item.status = source->Next(samples_max, &item.batch);
    reading_time += clock->Now() - begin;
    item.progress = source->Progress();
    item.bad_rows = source->bad_rows();
    const bool last = item.last();
    if (!pass->ready.Push(std::move(item), 0).ok() || last) return;
  }
}

// Ends the thread and takes the batches back.
void PrefetchSource::Impl::StopPass() {
  if (!pass) return;
  // Without credits the thread ends after the batch it is at.
  while (std::optional<Batch> batch = pass->credits.TryPop()) batches.push_back(std::move(*batch));
  pass->credits.Close();
  if (pass->thread.joinable()) pass->thread.join();
  while (std::optional<Item> item = pass->ready.TryPop()) batches.push_back(std::move(item->batch));
  if (end) batches.push_back(std::move(end->batch));
  end.reset();
  pass.reset();
}

PrefetchSource::PrefetchSource(std::unique_ptr<BatchSource> source, size_t samples_max,
                               size_t batches_ahead, const Clock& clock)
    : impl_(std::make_unique<Impl>()) {
  STRATA_CHECK(samples_max >= 1 && batches_ahead >= 1);
  impl_->source = std::move(source);
  impl_->samples_max = samples_max;
  impl_->clock = &clock;
  impl_->batches.resize(batches_ahead);
}

PrefetchSource::~PrefetchSource() { impl_->StopPass(); }

Status PrefetchSource::Rewind(uint64_t epoch) {
  impl_->StopPass();
  impl_->progress = 0;
  impl_->bad_rows = 0;
  STRATA_TRY(impl_->source->Rewind(epoch));
  impl_->pass = std::make_unique<Impl::Pass>(impl_->batches.size());
  while (!impl_->batches.empty()) {
    STRATA_TRY(impl_->pass->credits.TryPush(std::move(impl_->batches.back()), 0));
    impl_->batches.pop_back();
  }
  Result<std::jthread> thread =
      StartThread("prefetch", [impl = impl_.get()] { impl->ReadAhead(); });
  if (!thread.ok()) {
    impl_->StopPass();
    return thread.status();
  }
  impl_->pass->thread = std::move(thread).value();
  return {};
}

Status PrefetchSource::Next(size_t samples_max, Batch* batch) {
  STRATA_CHECK(samples_max == impl_->samples_max);
  if (!impl_->pass) STRATA_TRY(Rewind(0));
  if (!impl_->end) {
    std::optional<Impl::Item> item = impl_->pass->ready.Pop();
    STRATA_CHECK(item.has_value());  // the thread runs until it has handed over a last one
    impl_->progress = item->progress;
    impl_->bad_rows = item->bad_rows;
    if (!item->last()) {
      std::swap(*batch, item->batch);
      return impl_->pass->credits.TryPush(std::move(item->batch), 0);
    }
    impl_->end = std::move(item);
  }
  STRATA_TRY(impl_->end->status);
  *batch = impl_->end->batch;
  return Status::Ok();
}

double PrefetchSource::Progress() const { return impl_->progress; }

uint64_t PrefetchSource::bad_rows() const { return impl_->bad_rows; }

TimeNs PrefetchSource::reading_time() const { return impl_->reading_time; }

}  // namespace strata
