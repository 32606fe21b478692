#include "belfry/dataflow/internal/parallel_map.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "belfry/base/check.h"
#include "belfry/base/internal/start_thread.h"
#include "belfry/dataflow/internal/flow_checks.h"
#include "belfry/dataflow/internal/map_window.h"
#include "belfry/dataflow/internal/mapped_point.h"
#include "belfry/dataflow/internal/pass_guard.h"
#include "belfry/dataflow/stage_flow.h"

namespace belfry {
namespace {

using Clock = std::chrono::steady_clock;

// How long a point may wait for those that are read or handed over together with it.
constexpr auto kPatience = std::chrono::milliseconds(1);

class ParallelMapFlow final : public StageFlow {
 public:
  ParallelMapFlow(Flow source_flow, const std::string& kind, PointFunction function, const MapOptions& options)
      : StageFlow(std::move(source_flow), kind, fmt::format("{}({} threads)", kind, options.threads),
                  map_parameters(function, options.seed, options.ordered)),
        function_(std::move(function)),
        options_(options),
        seed_here_(seed_behind(options.seed, {source().state()})),
        access_(source().random_access()),
        size_(function_.drops() ? std::nullopt : StageFlow::size()),
        window_(static_cast<std::size_t>(options.buffer > 0 ? options.buffer : 16 * options.threads), options.ordered) {
    if (!options.ordered || function_.random()) check_ordered(source(), kind);
    make_ready(0, {});
  }
  ~ParallelMapFlow() override { stop(); }

  void start_epoch(std::uint64_t epoch) override {
    pass_.begin([&] {
      stop();
      StageFlow::start_epoch(epoch);
      make_ready(0, {});
    });
  }

  std::uint64_t epoch() const override { return epoch_; }
  std::optional<std::int64_t> size() const override { return size_; }
  bool ordered() const override { return options_.ordered && StageFlow::ordered(); }

  FlowState state() const override {
    const Consumed done = window_.consumed();
    FlowState state{kind(), {{"index", first_index_ + done.base}}, {done.at_base}, own_identity()};
    if (function_.random()) state.numbers.emplace_back("seed", options_.seed);
    std::set<std::uint64_t> ahead(done.ahead.begin(), done.ahead.end());
    ahead.insert(skip_.lower_bound(done.base), skip_.end());
    std::size_t count = 0;  // names are keys in the state's text
    for (const std::uint64_t number : ahead) state.numbers.emplace_back(consumed_ahead(count++), number - done.base);
    return state;
  }

  void restore(const FlowState& state) override {
    pass_.begin([&] {
      stop();
      StageFlow::restore(state);
      if (function_.random()) state.expect_number("seed", options_.seed);
      std::set<std::uint64_t> skip;
      for (const auto& [name, number] : state.numbers)
        if (is_consumed_ahead(name)) skip.insert(number);
      make_ready(state.at("index"), std::move(skip));
    });
  }

  std::optional<DataPoint> next() override {
    return pass_.reading(kind(), [this] { return next_made(); });
  }

  void cancel() override {
    window_.halt();
    StageFlow::cancel();
  }

 private:
  enum class Phase { ready, running, finished };

  // A point on its way: if the source has random access, the worker gets it by its index.
  struct Task {
    std::optional<std::int64_t> index;
    DataPoint point;
  };

  // -- The workers

  void work() {
    std::exception_ptr error;
    try {
      std::vector<Task> tasks;
      std::vector<MappedPoint> points;
      std::size_t wanted = 1;
      while (const std::optional<Clock::duration> reading = read(tasks, points, wanted)) {
        const Clock::time_point start = Clock::now();
        const std::size_t count = points.size();
        make_all(tasks, points);
        wanted = chunk_for((*reading + (Clock::now() - start)) / count);
      }
    } catch (...) {  // no memory for the tasks
      error = std::current_exception();
    }
    if (error != nullptr) window_.fail(std::move(error));
  }

  // Hands points over earlier if they take longer than the ones before suggested.
  void make_all(std::vector<Task>& tasks, std::vector<MappedPoint>& points) {
    Clock::time_point last = Clock::now();
    std::vector<MappedPoint> made;
    made.reserve(points.size());
    for (std::size_t i = 0; i < points.size() && !window_.halted(); ++i) {
      if (i < tasks.size()) make(std::move(tasks[i]), points[i]);
      made.push_back(std::move(points[i]));
      if (Clock::now() - last < kPatience) continue;
      window_.put(std::move(made));
      last = Clock::now();
    }
    window_.put(std::move(made));
  }

  // How many points to make at a time: enough that handing them over costs little compared to making them, but few
  // enough that the other threads have work and the consumer does not wait for points after the one that it wants.
  std::size_t chunk_for(Clock::duration point) const {
    const auto cheap = std::chrono::microseconds(200) / std::max(point, Clock::duration(1));
    const std::size_t most = window_.capacity() / (2 * static_cast<std::size_t>(options_.threads));
    return std::clamp<std::size_t>(static_cast<std::size_t>(cheap), 1, std::max<std::size_t>(most, 1));
  }

  // Reads up to `wanted` tasks and prepares their points: one point more than tasks if the source failed. Returns how
  // long that took; nothing if no work is left. The source is not thread-safe: one worker reads at a time.
  std::optional<Clock::duration> read(std::vector<Task>& tasks, std::vector<MappedPoint>& points, std::size_t wanted) {
    tasks.clear();
    points.clear();
    const MutexLock reading(source_mutex_);
    const std::optional<std::uint64_t> first = window_.reserve(wanted);
    if (!first) return std::nullopt;
    const Clock::time_point start = Clock::now();
    bool last = false;
    while (points.size() < wanted && !last && (points.empty() || Clock::now() - start < kPatience)) {
      MappedPoint point{.number = *first + points.size()};
      try {
        std::optional<Task> task = read_task();
        if (!task) {
          last = true;
          break;
        }
        point.after = source().state();
        tasks.push_back(std::move(*task));
      } catch (...) {
        point.error = std::current_exception();
        last = true;
      }
      points.push_back(std::move(point));
    }
    window_.add(points.size(), last);
    if (points.empty()) return std::nullopt;
    return Clock::now() - start;
  }

  std::optional<Task> read_task() {
    if (access_ == nullptr) {
      std::optional<DataPoint> point = source().next();
      if (!point) return std::nullopt;
      return Task{std::nullopt, std::move(*point)};
    }
    const std::optional<std::int64_t> index = access_->next_index();
    if (!index) return std::nullopt;
    return Task{index, {}};
  }

  void make(Task task, MappedPoint& point) const {
    if (skip_.contains(point.number)) return;  // as if dropped: it was consumed before the position was saved
    try {
      if (task.index) task.point = access_->at(*task.index);
      point.result =
          apply(function_, std::move(task.point), {seed_here_, epoch_, first_index_ + point.number}, *this, kind());
    } catch (...) {
      point.error = std::current_exception();
    }
  }

  // -- The consumer

  std::optional<DataPoint> next_made() {
    if (phase_ == Phase::ready) start();
    while (phase_ == Phase::running) {
      std::optional<MappedPoint> point = window_.take();
      if (!point) {
        finish();
      } else if (point->error != nullptr) {
        stop();
        rethrow_from(std::exchange(point->error, nullptr),
                     fmt::format("[{}] the flow '{}' failed", kind(), describe()));
      } else if (point->result) {
        return std::move(point->result);
      }
    }
    return std::nullopt;
  }

  void start() {
    phase_ = Phase::running;
    try {
      for (int i = 0; i < options_.threads; ++i) workers_.push_back(start_thread([this] { work(); }));
    } catch (...) {  // the system gives no more threads
      stop();
      throw;
    }
  }

  // No point came: the end of the pass, or somebody has cancelled it.
  void finish() {
    const bool halted = window_.halted();
    join();
    phase_ = Phase::finished;
    BELFRY_CHECK_AS(Cancelled, !halted, "[{}] expected a point of '{}', but the flow was cancelled.", kind(),
                    describe());
  }

  void stop() {
    if (!workers_.empty()) cancel();
    join();
  }

  void join() {
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
  }

  void make_ready(std::uint64_t first_index, std::set<std::uint64_t> skip) {
    window_.restart(source().state());
    epoch_ = source().epoch();
    first_index_ = first_index;
    skip_ = std::move(skip);
    phase_ = Phase::ready;
  }

  // Written only while no worker runs; starting and joining them hand the source over.
  const PointFunction function_;
  const MapOptions options_;
  const std::uint64_t seed_here_;  // what numbers come from
  RandomAccess* const access_;
  const std::optional<std::int64_t> size_;
  std::uint64_t epoch_ = 0;
  std::uint64_t first_index_ = 0;  // of number 0, in the source's pass
  std::set<std::uint64_t> skip_;   // the numbers that were consumed before the position was saved

  Phase phase_ = Phase::ready;  // the consumer's, as is pass_
  PassGuard pass_;
  MapWindow window_;
  Mutex source_mutex_;  // held by the worker that reads
  std::vector<std::thread> workers_;
};

}  // namespace

constexpr std::string_view kConsumedAhead = "consumed";

std::string consumed_ahead(std::size_t i) { return fmt::format("{}{}", kConsumedAhead, i); }
bool is_consumed_ahead(std::string_view name) { return name.starts_with(kConsumedAhead); }

Flow parallel_map(Flow source, const std::string& kind, PointFunction function, const MapOptions& options) {
  return std::make_shared<ParallelMapFlow>(std::move(source), kind, std::move(function), options);
}

}  // namespace belfry
