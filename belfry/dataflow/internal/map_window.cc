#include "belfry/dataflow/internal/map_window.h"

#include <utility>

namespace belfry {

void MapWindow::restart(FlowState at_base) {
  std::vector<Slot> dropped(slots_.size());  // destroyed outside the lock
  const MutexLock lock(mutex_);
  slots_.swap(dropped);
  made_.clear();
  at_base_ = std::move(at_base);
  base_ = next_ = 0;
  room_wanted_ = 0;
  failure_ = nullptr;
  consumer_waits_ = no_more_ = halted_ = false;
}

std::optional<std::uint64_t> MapWindow::reserve(std::size_t slots) {
  const MutexLock lock(mutex_);
  room_wanted_ = slots;
  while (!halted_ && !no_more_ && free_slots() < slots) room_.wait(mutex_);
  room_wanted_ = 0;
  if (halted_ || no_more_) return std::nullopt;
  return next_;
}

void MapWindow::add(std::size_t points, bool last) {
  const MutexLock lock(mutex_);
  next_ += points;
  if (!last) return;
  no_more_ = true;
  ready_.notify_one();  // the consumer may be waiting for what will not come
}

void MapWindow::put(std::vector<MappedPoint>&& points) {
  const MutexLock lock(mutex_);
  for (MappedPoint& point : points) {
    const std::uint64_t number = point.number;
    slot(number) = {std::move(point), true, false};
    if (!ordered_) made_.push_back(number);
    if (slot(number).point.error == nullptr) continue;
    no_more_ = true;
    room_.notify_one();
    break;
  }
  points.clear();
  if (consumer_waits_ && can_take()) ready_.notify_one();
}

void MapWindow::fail(std::exception_ptr error) {
  const MutexLock lock(mutex_);
  failure_ = std::move(error);
  no_more_ = true;
  room_.notify_one();
  ready_.notify_one();
}

std::optional<MappedPoint> MapWindow::take() {
  const MutexLock lock(mutex_);
  consumer_waits_ = true;
  while (!halted_ && failure_ == nullptr && !can_take() && !(no_more_ && base_ == next_)) ready_.wait(mutex_);
  consumer_waits_ = false;
  if (failure_ != nullptr) return MappedPoint{.error = std::exchange(failure_, nullptr)};
  if (halted_ || !can_take()) return std::nullopt;
  std::uint64_t number = base_;
  if (!ordered_) {
    number = made_.front();
    made_.pop_front();
  }
  MappedPoint& point = slot(number).point;
  MappedPoint out{number, {}, std::exchange(point.result, std::nullopt), std::exchange(point.error, nullptr)};
  if (out.error != nullptr) return out;
  slot(number).consumed = true;
  advance();
  return out;
}

void MapWindow::advance() {
  while (base_ < next_ && slot(base_).consumed) {
    at_base_ = std::move(slot(base_).point.after);
    slot(base_) = {};
    ++base_;
  }
  if (room_wanted_ > 0 && free_slots() >= room_wanted_) room_.notify_one();
}

Consumed MapWindow::consumed() const {
  const MutexLock lock(mutex_);
  Consumed out{base_, at_base_, {}};
  for (std::uint64_t n = base_; n < next_; ++n)
    if (slots_[n % slots_.size()].consumed) out.ahead.push_back(n);
  return out;
}

void MapWindow::halt() {
  const MutexLock lock(mutex_);
  halted_ = true;
  room_.notify_all();
  ready_.notify_all();
}

}  // namespace belfry
