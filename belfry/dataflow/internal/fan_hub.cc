#include "belfry/dataflow/internal/fan_hub.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/dataflow/internal/flow_checks.h"
#include "belfry/dataflow/internal/rethrow.h"
#include "belfry/dataflow/stage_flow.h"

namespace belfry {

// Makes the hub the one consumer that the source may have.
class FanHub::Feed final : public StageFlow {
 public:
  explicit Feed(Flow source) : StageFlow(std::move(source), "fan_out", "fan_out") {}
  std::optional<DataPoint> next() override { return source().next(); }
  DataFlow& flow() const { return source(); }
};

FanHub::FanHub(Flow source, const FanOutOptions& options)
    : options_(options),
      feed_(std::make_unique<Feed>(std::move(source))),
      description_(feed_->flow().describe()),
      source_identity_(feed_->flow().identity()),
      size_(feed_->size()),
      start_(feed_->flow().state()),
      consumers_(static_cast<std::size_t>(options.consumers)) {
  check_ordered(feed_->flow(), "fan_out");
  read_.source = start_;
  for (std::size_t k = 0; k < consumers_.size(); ++k) {
    consumers_[k].place = read_;
    consumers_[k].identity = identity_text(identity(k));
  }
}

FanHub::~FanHub() = default;

// -- Where a consumer stands

bool FanHub::reading_on(const Consumer& consumer) const {
  return !consumer.gone && !consumer.wish && !consumer.finished;
}

bool FanHub::wants(std::size_t consumer, std::uint64_t number) const {
  const Consumer& c = consumers_[consumer];
  const bool gets = options_.each == Each::all || number % consumers_.size() == consumer;
  return gets && reading_on(c) && number >= c.place.number;
}

std::uint64_t FanHub::next_number(std::size_t consumer) const {
  const std::uint64_t from = consumers_[consumer].place.number, n = consumers_.size();
  return options_.each == Each::all ? from : from + (consumer + n - from % n) % n;
}

std::uint64_t FanHub::epoch(std::size_t consumer) const {
  const MutexLock lock(mutex_);
  const Consumer& c = consumers_[consumer];
  return c.wish ? c.wish->place.epoch : c.place.epoch;
}

std::optional<std::int64_t> FanHub::size(std::size_t consumer) const {
  if (!size_ || options_.each == Each::all) return size_;
  const std::int64_t n = options_.consumers, k = static_cast<std::int64_t>(consumer);
  return *size_ / n + (k < *size_ % n ? 1 : 0);
}

bool FanHub::endless() const { return feed_->endless(); }

FlowIdentity FanHub::identity(std::size_t consumer) const {
  return {.kind = "fan_out",
          .parameters = {{"consumer", consumer}, {"of", options_.consumers}, {"all", options_.each == Each::all}},
          .from = {source_identity_}};
}

std::string FanHub::describe(std::size_t consumer) const {
  return fmt::format("{} | fan_out({} of {})", description_, consumer, options_.consumers);
}

FlowState FanHub::state(std::size_t consumer) const {
  const MutexLock lock(mutex_);
  const Consumer& c = consumers_[consumer];
  const Place& place = c.wish ? c.wish->place : c.place;
  return {"fan_out",
          {{"consumer", consumer},
           {"consumers", static_cast<std::uint64_t>(options_.consumers)},
           {"all", options_.each == Each::all ? 1u : 0u},
           {"pass", place.pass},
           {"epoch", place.epoch},
           {"number", place.number}},
          {place.source},
          c.identity};
}

// -- Where it wants to go

void FanHub::drop_points_of(std::size_t consumer) {
  for (auto held = held_.begin(); held != held_.end();) {
    if (wants(consumer, held->first)) --held->second.takers;
    held = held->second.takers == 0 ? held_.erase(held) : std::next(held);
  }
}

void FanHub::ask(std::size_t consumer, Wish wish) {
  Consumer& c = consumers_[consumer];
  wish.abandoned = c.wish ? c.wish->abandoned : begun_ && !c.finished;
  drop_points_of(consumer);
  c.wish = std::move(wish);
  c.cancelled = false;
  changed_.notify_all();
}

void FanHub::start_epoch(std::size_t consumer, std::uint64_t epoch) {
  const MutexLock lock(mutex_);
  Consumer& c = consumers_[consumer];
  const bool at_start = c.place.pass == read_.pass && c.place.number == 0 && c.place.epoch == epoch;
  if (at_start && (c.wish ? !begun_ : !c.finished)) {  // it stands there already
    c.wish.reset();
    c.cancelled = false;
    changed_.notify_all();
    return;
  }
  ask(consumer, {.place = {.pass = read_.pass + 1, .epoch = epoch, .number = 0, .source = start_}});
}

void FanHub::restore(std::size_t consumer, const FlowState& state) {
  state.expect_identity(identity_text(identity(consumer)));
  state.expect("fan_out", 1);
  state.expect_number("consumer", consumer);
  state.expect_number("consumers", static_cast<std::uint64_t>(options_.consumers));
  state.expect_number("all", options_.each == Each::all ? 1 : 0);
  Place place{state.at("pass"), state.at("epoch"), state.at("number"), state.from[0]};
  BELFRY_CHECK(
      place.number != 0 || place.source == start_,
      "[restore] expected a state of 'fan_out' over {}, got one over {}. The flow must be built as it was when "
      "the state was taken.",
      to_string(start_), to_string(place.source));
  place.source.expect(start_.flow, start_.from.size());
  const MutexLock lock(mutex_);
  ask(consumer, {.place = std::move(place), .restored = true});
}

void FanHub::cancel(std::size_t consumer) {
  const MutexLock lock(mutex_);
  consumers_[consumer].cancelled = true;
  // The source may be what it waits for. Whoever reads next brings the source back to where it was.
  if (reader_ == consumer) {
    seek_ = true;
    feed_->cancel();
  }
  changed_.notify_all();
}

void FanHub::leave(std::size_t consumer) {
  const MutexLock lock(mutex_);
  drop_points_of(consumer);
  consumers_[consumer].gone = true;
  changed_.notify_all();
}

// -- The beginning of a pass

// Throws if what the consumer wants cannot come about by waiting.
void FanHub::check_wish(std::size_t consumer) const {
  const Wish& mine = *consumers_[consumer].wish;
  for (std::size_t k = 0; k < consumers_.size(); ++k) {
    const Consumer& other = consumers_[k];
    BELFRY_CHECK(
        !(mine.abandoned && begun_ && reading_on(other)),
        "[fan_out] expected consumers that begin a pass together, got consumer {} at epoch {} while consumer {} "
        "is in the middle of epoch {}. Call start_epoch(), or restore(), on all consumers before the first next().",
        consumer, mine.place.epoch, k, other.place.epoch);
    if (other.gone || !other.wish) continue;
    BELFRY_CHECK(other.wish->restored == mine.restored,
                 "[fan_out] expected consumers that are all restored or none, got consumer {} restored and consumer {} "
                 "not.",
                 mine.restored ? consumer : k, mine.restored ? k : consumer);
    const Place &a = mine.place, &b = other.wish->place;
    BELFRY_CHECK(
        a.pass != b.pass || a.epoch == b.epoch,
        "[fan_out] expected consumers that begin the same epoch, got epoch {} for consumer {} and epoch {} for "
        "consumer {}.",
        a.epoch, consumer, b.epoch, k);
    BELFRY_CHECK(
        a.pass == b.pass || (a.pass + 1 == b.pass && b.number == 0) || (b.pass + 1 == a.pass && a.number == 0),
        "[fan_out] expected states of one run, got consumer {} at point {} of pass {} and consumer {} at point "
        "{} of pass {}. Take the states of all consumers together.",
        consumer, a.number, a.pass, k, b.number, b.pass);
  }
}

// All have said where they want to go: the hub goes to the one furthest behind.
void FanHub::begin_pass() {
  const Place* behind = nullptr;
  for (const Consumer& c : consumers_) {
    if (c.gone) continue;
    const Place& place = c.wish->place;
    if (behind == nullptr || place.pass < behind->pass || (place.pass == behind->pass && place.number < behind->number))
      behind = &place;
  }
  read_ = *behind;
  for (Consumer& c : consumers_) {
    if (c.gone) continue;
    // One that is a pass ahead was through with this pass and has asked for the next: so it waits for that.
    c.finished = c.wish->place.pass != read_.pass;
    c.pass.begin();
    c.place = c.wish->place;
    c.wish->restored = c.wish->abandoned = false;
    if (!c.finished) c.wish.reset();
  }
  held_.clear();
  error_ = nullptr;
  begun_ = ended_ = false;
  seek_ = true;
  changed_.notify_all();
}

bool FanHub::begin_if_all_ask(std::size_t consumer) {
  check_wish(consumer);
  if (reader_) return false;
  for (const Consumer& c : consumers_)
    if (!c.gone && !c.wish) return false;
  begin_pass();
  return true;
}

// Before the first point of a pass is read: somebody who wants to be elsewhere would miss it.
void FanHub::check_nobody_asks(std::size_t consumer) const {
  for (std::size_t k = 0; k < consumers_.size(); ++k) {
    const Consumer& other = consumers_[k];
    BELFRY_CHECK(
        other.gone || !other.wish || other.finished,
        "[fan_out] expected consumers that begin a pass together, got consumer {} at epoch {} and consumer {} at "
        "epoch {}. Call start_epoch(), or restore(), on all consumers before the first next().",
        consumer, consumers_[consumer].place.epoch, k, other.wish->place.epoch);
  }
}

// -- Points

std::optional<DataPoint> FanHub::take(std::size_t consumer, std::uint64_t number) {
  const auto found = held_.find(number);
  if (found == held_.end()) return std::nullopt;
  Held& held = found->second;
  Place& place = consumers_[consumer].place;
  place.number = number + 1;
  place.source = held.after;
  if (held.takers > 1) {
    --held.takers;
    return held.point;
  }
  std::optional<DataPoint> point = std::move(held.point);
  held_.erase(found);
  changed_.notify_all();  // there is room
  return point;
}

// Gives the mutex up meanwhile.
template <class Function>
std::exception_ptr FanHub::use_source(Function&& function) {
  mutex_.unlock();
  std::exception_ptr error;
  try {
    function(feed_->flow());
  } catch (...) {
    error = std::current_exception();
  }
  mutex_.lock();
  return error;
}

void FanHub::read_point(std::size_t consumer) {
  reader_ = consumer;
  std::exception_ptr error;
  if (std::exchange(seek_, false))
    error = use_source([place = read_](DataFlow& source) {
      if (place.number == 0) return source.start_epoch(place.epoch);
      source.restore(place.source);
    });
  std::optional<DataPoint> point;
  FlowState after;
  // That lifted a cancel() which came in between, so it has to be looked for.
  if (error == nullptr && !seek_)
    error = use_source([&](DataFlow& source) {
      point = source.next();
      if (point) after = source.state();
    });
  reader_.reset();
  changed_.notify_all();
  if (point) {
    put(std::move(*point), std::move(after));
  } else if (!seek_) {  // else the consumer's cancel() ended it
    ended_ = error == nullptr;
    error_ = std::move(error);
  }
}

void FanHub::put(DataPoint point, FlowState after) {
  int takers = 0;
  for (std::size_t k = 0; k < consumers_.size(); ++k) takers += wants(k, read_.number) ? 1 : 0;
  if (takers > 0) held_.emplace(read_.number, Held{std::move(point), after, takers});
  ++read_.number;
  read_.source = std::move(after);
}

void FanHub::fail_pass(Consumer& consumer) {
  consumer.finished = true;
  consumer.pass.fail();
  changed_.notify_all();
  rethrow_from(error_, fmt::format("[fan_out] the flow '{}' failed", description_));
}

std::optional<DataPoint> FanHub::next(std::size_t consumer) {
  const MutexLock lock(mutex_);
  Consumer& c = consumers_[consumer];
  while (true) {
    BELFRY_CHECK_AS(Cancelled, !c.cancelled, "[fan_out] expected a point of '{}', but the flow was cancelled.",
                    describe(consumer));
    if (c.wish) {
      if (!begin_if_all_ask(consumer)) changed_.wait(mutex_);
      continue;
    }
    c.pass.check("fan_out");
    if (c.finished) return std::nullopt;
    if (!begun_) check_nobody_asks(consumer);
    begun_ = true;
    const std::uint64_t number = next_number(consumer);
    if (std::optional<DataPoint> point = take(consumer, number)) return point;
    if (number >= read_.number && error_ != nullptr) fail_pass(c);
    if (number >= read_.number && ended_) {
      c.finished = true;
      changed_.notify_all();
      return std::nullopt;
    }
    if (!reader_ && held_.size() < static_cast<std::size_t>(options_.buffer)) {
      read_point(consumer);
    } else {
      changed_.wait(mutex_);
    }
  }
}

}  // namespace belfry
