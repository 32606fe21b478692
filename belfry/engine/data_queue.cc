#include "belfry/engine/data_queue.h"

#include "belfry/base/check.h"
#include "belfry/graph/node.h"
#include "belfry/ops/internal/queue_components.h"

namespace belfry {
namespace {

DataQueue::Options options_of(const Node& queue) {
  return {.name = queue.name,
          .components = read_components(queue.attributes),
          .capacity = static_cast<int>(queue.attributes.integer("capacity")),
          .staging = queue.attributes.flag("staging")};
}

}  // namespace

DataQueue::DataQueue(Options options)
    : options_(std::move(options)), points_(static_cast<std::size_t>(options_.capacity)) {}

std::string DataQueue::where() const {
  return fmt::format("[{} '{}']", options_.staging ? "staging area" : "queue", options_.name);
}

void DataQueue::check(const std::vector<Array>& values) const {
  const std::vector<TensorSpec>& wanted = options_.components;
  BELFRY_CHECK(values.size() == wanted.size(), "{} expected points of {} components, got one of {}.", where(),
               wanted.size(), values.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    BELFRY_CHECK(values[i].dtype() == wanted[i].dtype && compatible(values[i].shape(), wanted[i].shape),
                 "{} expected {} {} for component {} ('{}'), got {} {}.", where(), name_of(wanted[i].dtype),
                 to_string(wanted[i].shape), i, wanted[i].name, name_of(values[i].dtype()),
                 to_string(values[i].shape()));
}

bool DataQueue::put(QueuedPoint point, const std::atomic<bool>* given_up) {
  check(point.values);
  return points_.push(std::move(point), given_up);
}

void DataQueue::put_now(QueuedPoint point) {
  check(point.values);
  if (points_.try_push(point)) return;
  BELFRY_CHECK(!points_.closed(), "{} expected an open queue to put a point into, got one that is closed.", where());
  fail("{} expected room for a point, got {} of {} points. Take before putting, or make the capacity larger.", where(),
       size(), capacity());
}

void DataQueue::set_refusal(std::shared_ptr<const Refusal> refusal) noexcept {
  const MutexLock lock(refusal_mutex_);
  refusal_.swap(refusal);
}

std::shared_ptr<const DataQueue::Refusal> DataQueue::refusal() const {
  const MutexLock lock(refusal_mutex_);
  return refusal_;
}

void DataQueue::put_back(QueuedPoint point) { points_.push_front(std::move(point)); }

QueuedPoint DataQueue::take(const std::atomic<bool>* given_up) {
  for (;;) {
    std::optional<QueuedPoint> point = options_.staging ? points_.try_pop() : points_.pop(given_up);
    if (point) return std::move(*point);
    if (given_up != nullptr && *given_up) fail<Cancelled>("{} expected a point, got cancelled while waiting", where());
    if (points_.cancelled()) fail<Cancelled>("{} expected a point, got a queue that was cancelled", where());
    if (points_.closed()) fail<EndOfData>("{} expected a point, got the end of the data", where());
    if (options_.staging)
      fail("{} expected a point from an earlier run, got none. Run its put() before the first get()", where());
  }  // it had ended, and was restarted meanwhile
}

DataQueues::~DataQueues() {
  const MutexLock lock(mutex_);
  for (const auto& [node, queue] : queues_) queue->cancel();
}

std::shared_ptr<DataQueue> DataQueues::of(const Node* queue) {
  const MutexLock lock(mutex_);
  std::shared_ptr<DataQueue>& found = queues_[queue];
  if (found == nullptr) found = std::make_shared<DataQueue>(options_of(*queue));
  return found;
}

void DataQueues::wake() {
  const MutexLock lock(mutex_);
  for (const auto& [node, queue] : queues_) queue->wake();
}

void QueueStore::forget_taken() {
  for (auto& [take, state] : taken_) state.reset();
}

std::shared_ptr<const void> QueueStore::find_taken(const Node* take) const {
  const auto at = taken_.find(take);
  return at == taken_.end() ? nullptr : at->second;
}

TakenPoints::~TakenPoints() {
  for (auto at = points_.rbegin(); at != points_.rend(); ++at) at->first->put_back(std::move(at->second));
}

const QueuedPoint& TakenPoints::take(std::shared_ptr<DataQueue> queue, const std::atomic<bool>* given_up) {
  QueuedPoint point = queue->take(given_up);
  return points_.emplace_back(std::move(queue), std::move(point)).second;
}

const Node* queue_of(const Node& op) { return op.inputs[0].node(); }

}  // namespace belfry
