// Mutexes, locks and condition variables that say what they guard. They are those of the standard
// library, at the same cost. clang reads the annotations and refuses code that touches what a mutex
// guards without holding it (./dev lint); other compilers see none.
//
//   Mutex mutex_;
//   std::vector<Work> work_ STRATA_GUARDED_BY(mutex_);
//   void Sort() STRATA_REQUIRES(mutex_);    // whoever calls it holds the mutex
//   void Add(Work) STRATA_EXCLUDES(mutex_); // whoever calls it does not: it takes it itself
//
// clang does not look into constructors and destructors, and at lambdas by themselves: a lambda
// that runs while the mutex is held begins with mutex_.AssumeHeld().
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#include "base/clock.h"

#ifdef __clang__
#define STRATA_THREAD_ANNOTATION(...) __attribute__((__VA_ARGS__))
#else
#define STRATA_THREAD_ANNOTATION(...)
#endif

// This marks data that is read and written only under the mutex. A shared lock is enough to read.
#define STRATA_GUARDED_BY(mutex) STRATA_THREAD_ANNOTATION(guarded_by(mutex))
// These mark functions, whose callers hold the mutex or do not hold it.
#define STRATA_REQUIRES(...) STRATA_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define STRATA_EXCLUDES(...) STRATA_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define STRATA_RETURN_CAPABILITY(mutex) STRATA_THREAD_ANNOTATION(lock_returned(mutex))
// These are for the classes below.
#define STRATA_CAPABILITY(name) STRATA_THREAD_ANNOTATION(capability(name))
#define STRATA_SCOPED_CAPABILITY STRATA_THREAD_ANNOTATION(scoped_lockable)
#define STRATA_ACQUIRE(...) STRATA_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define STRATA_ACQUIRE_SHARED(...) STRATA_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define STRATA_RELEASE(...) STRATA_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define STRATA_RELEASE_SHARED(...) STRATA_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define STRATA_ASSERT_CAPABILITY(mutex) STRATA_THREAD_ANNOTATION(assert_capability(mutex))

namespace strata {

// One thread at a time holds it. MutexLock is the way to take it.
class STRATA_CAPABILITY("mutex") Mutex {
 public:
  void Lock() STRATA_ACQUIRE() { mutex_.lock(); }
  void Unlock() STRATA_RELEASE() { mutex_.unlock(); }
  // Tells clang that the calling thread holds it. Nothing is checked.
  void AssumeHeld() const STRATA_ASSERT_CAPABILITY(this) {}

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a mutex until the end of the scope; it may be given back before, and taken again.
class STRATA_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) STRATA_ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() STRATA_RELEASE() {
    if (is_held_) mutex_.Unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Unlock() STRATA_RELEASE() {
    mutex_.Unlock();
    is_held_ = false;
  }
  void Lock() STRATA_ACQUIRE() {
    mutex_.Lock();
    is_held_ = true;
  }

 private:
  Mutex& mutex_;
  bool is_held_ = true;
};

// One thread that writes, or several that read, hold it: WriterLock, ReaderLock.
class STRATA_CAPABILITY("mutex") SharedMutex {
 public:
  void Lock() STRATA_ACQUIRE() { mutex_.lock(); }
  void Unlock() STRATA_RELEASE() { mutex_.unlock(); }
  void LockShared() STRATA_ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void UnlockShared() STRATA_RELEASE_SHARED() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

class STRATA_SCOPED_CAPABILITY WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) STRATA_ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~WriterLock() STRATA_RELEASE() { mutex_.Unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class STRATA_SCOPED_CAPABILITY ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) STRATA_ACQUIRE_SHARED(mutex) : mutex_(mutex) {
    mutex_.LockShared();
  }
  ~ReaderLock() STRATA_RELEASE() { mutex_.UnlockShared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mutex_;
};

// Threads that hold a mutex wait for a CondVar, and others may take the mutex meanwhile. A wait
// without `ready` may also end for no reason, so it belongs in a loop. Thread-safe.
class CondVar {
 public:
  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

  void Wait(Mutex& mutex) STRATA_REQUIRES(mutex) {
    Adopted held(mutex);
    changed_.wait(held.lock);
  }
  void WaitFor(Mutex& mutex, TimeNs timeout) STRATA_REQUIRES(mutex) {
    Adopted held(mutex);
    changed_.wait_for(held.lock, std::chrono::nanoseconds(timeout));
  }
  // Waits until ready() is true, for ever with kNever. Returns whether it became true in time.
  // ready() is called with the mutex held.
  template <typename Ready>
  bool WaitFor(Mutex& mutex, TimeNs timeout, Ready ready) STRATA_REQUIRES(mutex) {
    const TimeNs now = RealClock().Now();
    return WaitUntil(mutex, timeout < kNever - now ? now + timeout : kNever, ready);
  }
  // The same until a time on RealClock.
  template <typename Ready>
  bool WaitUntil(Mutex& mutex, TimeNs deadline, Ready ready) STRATA_REQUIRES(mutex) {
    Adopted held(mutex);
    if (deadline == kNever) {
      changed_.wait(held.lock, ready);
      return true;
    }
    // steady_clock is CLOCK_MONOTONIC, which RealClock reads.
    using TimePoint = std::chrono::steady_clock::time_point;
    return changed_.wait_until(held.lock, TimePoint(std::chrono::nanoseconds(deadline)), ready);
  }

 private:
  // A mutex that is held, as the standard library takes it. It stays held.
  struct Adopted {
    explicit Adopted(Mutex& mutex) : lock(mutex.mutex_, std::adopt_lock) {}
    ~Adopted() { lock.release(); }
    Adopted(const Adopted&) = delete;
    Adopted& operator=(const Adopted&) = delete;

    std::unique_lock<std::mutex> lock;
  };

  std::condition_variable changed_;
};

}  // namespace strata
