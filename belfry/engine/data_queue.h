// DataQueue: datapoints on their way into a running graph; a Queue or StagingArea of the graph (ops/queue.h) at run
// time. A session has one for each; any thread may put points into it.
//
//   std::shared_ptr<DataQueue> points = session.queue(queue);
//   std::thread producer([points] { while (...) if (!points->put({{image, label}})) return; points->close(); });
#pragma once

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "belfry/array/array.h"
#include "belfry/base/mutex.h"
#include "belfry/base/queue.h"
#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

struct Node;

struct QueuedPoint {
  std::vector<Array> values{};          // must not change once they are queued
  std::shared_ptr<const void> state{};  // travels with them: the point's position in its flow
};

class DataQueue {
 public:
  // The owner, if it fills a queue only for its own runs, and what to say in the error of any other run.
  struct Refusal {
    std::string by{};
    std::string remedy{};
  };
  struct Options {
    std::string name{};
    std::vector<TensorSpec> components{};
    int capacity = 1;
    bool staging = false;  // never waits: taking from an empty one and putting into a full one are errors
  };
  explicit DataQueue(Options options);

  // Waits for room. Returns false, and drops the point, once the queue is closed or cancelled, or if `given_up` is or
  // becomes true (see wake()). Throws if the point's components are not those of the queue.
  bool put(QueuedPoint point, const std::atomic<bool>* given_up = nullptr);
  // Without waiting; throws if there is no room. For ops: nobody could make room while a run waits.
  void put_now(QueuedPoint point);
  // Waits for a point, unless this is a staging area. Throws EndOfData after close(), or the error that it was
  // closed with (once), and Cancelled after cancel() or if `given_up` is or becomes true (see wake()).
  QueuedPoint take(const std::atomic<bool>* given_up = nullptr);
  // Makes all threads that wait, for a point or for room, check again whether they should give up.
  void wake() { points_.wake(); }
  // Returns a point that was taken but not used to the front, even of a full queue.
  void put_back(QueuedPoint point);

  // The orderly end: what is queued is still taken.
  void close(std::exception_ptr error = nullptr) { points_.close(std::move(error)); }
  // Drops what is queued and ends every wait, now and later.
  void cancel() { points_.cancel(); }
  // Makes it empty and open, whatever it was before. Threads that wait for a point keep waiting.
  void restart() { points_.restart(); }

  // While set, a run that would take from the queue is an error instead of an endless wait; null clears it.
  void set_refusal(std::shared_ptr<const Refusal> refusal) noexcept;
  std::shared_ptr<const Refusal> refusal() const;

  int size() const { return static_cast<int>(points_.size()); }
  int capacity() const { return options_.capacity; }
  const std::string& name() const { return options_.name; }
  const std::vector<TensorSpec>& components() const { return options_.components; }

 private:
  void check(const std::vector<Array>& values) const;
  std::string where() const;  // "[queue 'name']"

  Options options_;
  BoundedQueue<QueuedPoint> points_;
  mutable Mutex refusal_mutex_;
  std::shared_ptr<const Refusal> refusal_ BELFRY_GUARDED_BY(refusal_mutex_);
};

// The points that a run has taken. Unless used, they go back when this is destroyed: a run that fails before it starts
// loses nothing.
class TakenPoints {
 public:
  TakenPoints() = default;
  ~TakenPoints();
  TakenPoints(const TakenPoints&) = delete;
  TakenPoints& operator=(const TakenPoints&) = delete;

  const QueuedPoint& take(std::shared_ptr<DataQueue> queue, const std::atomic<bool>* given_up = nullptr);
  void use() { points_.clear(); }  // they are not put back any more

 private:
  std::vector<std::pair<std::shared_ptr<DataQueue>, QueuedPoint>> points_;
};

// The queues of a session and its companions, by the graph's node.
class DataQueues {
 public:
  DataQueues() = default;
  ~DataQueues();  // cancels them: threads that wait to put something stop waiting
  DataQueues(const DataQueues&) = delete;
  DataQueues& operator=(const DataQueues&) = delete;

  // Made on first use. May be called from any thread.
  std::shared_ptr<DataQueue> of(const Node* queue);
  void wake();  // all of them

 private:
  Mutex mutex_;
  std::map<const Node*, std::shared_ptr<DataQueue>> queues_ BELFRY_GUARDED_BY(mutex_);
};

// A session's queues, and what its current run has taken.
class QueueStore {
 public:
  explicit QueueStore(std::shared_ptr<DataQueues> queues) : queues_(std::move(queues)) {}

  std::shared_ptr<DataQueue> of(const Node* queue) { return queues_->of(queue); }  // from any thread
  void wake() { queues_->wake(); }                                                 // from any thread

  // The rest is for the code that runs the session. The state of the point that a "QueueTake" of the current run took;
  // the address does not change.
  std::shared_ptr<const void>& taken(const Node* take) { return taken_[take]; }
  std::shared_ptr<const void> find_taken(const Node* take) const;  // null if there is none
  void forget_taken();                                             // a new run starts

 private:
  std::shared_ptr<DataQueues> queues_;
  std::map<const Node*, std::shared_ptr<const void>> taken_;
};

// The "Queue" node that a "QueueTake" or "QueuePut" belongs to.
const Node* queue_of(const Node& op);

}  // namespace belfry
#pragma GCC visibility pop
