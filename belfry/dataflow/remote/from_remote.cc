#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>

#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/dataflow/encoding.h"
#include "belfry/dataflow/remote/internal/wire.h"
#include "belfry/dataflow/remote/internal/zmq_socket.h"
#include "belfry/dataflow/remote/remote_flow.h"

namespace belfry {
namespace {

constexpr int kLinger = 1000;  // milliseconds for a receipt to leave when the flow is destroyed
// At most this many lost passes of a sender are counted: a damaged message may claim any number.
constexpr std::uint64_t kMaxLostPasses = 10'000;

using Event = std::optional<DataPoint>;  // nothing: the end of a pass

// Turns the messages of the senders into events, and checks their contents and their order.
class Receiver {
 public:
  Receiver(const std::string& address, const RemoteOptions& options)
      : timeout_(options.timeout),
        passes_(options.senders),
        socket_(address, {.who = "from_remote",
                          .type = ZMQ_ROUTER,
                          .bind = options.bind,
                          .high_water = options.high_water,
                          .max_message_bytes = options.max_message_bytes}) {}

  const std::string& address() const { return socket_.address(); }

  // Waits for a message and adds the events that it causes, often none. They are added even if it throws.
  void receive(std::deque<Event>& events, const std::function<bool()>& given_up) {
    wait(given_up);
    ZmqMessage route, body;
    if (!socket_.try_receive(route)) return;
    const bool has_body = route.more() && socket_.try_receive(body);
    const std::string where = place_of(body);
    BELFRY_CHECK_AS(FileError, has_body && !drop_further_parts(body),
                    "[from_remote] expected {} of one part, got several or none. Is the peer a send_points()?", where);
    const WireMessage message = parse_wire_message(body.bytes(), where);
    const WireHeader& header = message.header;
    BELFRY_CHECK_AS(
        FileError, header.kind != WireKind::received,
        "[from_remote] expected points in {}, got a receiver's reply. Are two receivers connected to each other?",
        where);
    const std::string loss = check_sequence(header, events);
    if (header.kind == WireKind::point) {
      ++progress_[header.sender].index;  // first: a point that cannot be decoded has arrived all the same
      events.push_back(decode(message.payload, where));
    } else {
      end_pass(header, events);
      if (header.kind != WireKind::end_of_pass) confirm(route, header);
    }
    BELFRY_CHECK_AS(FileError, loss.empty(),
                    "[from_remote] expected {} in {}. Points were lost: a connection broke, a "
                    "message was larger than .max_message_bytes, or another receiver takes them.",
                    loss, where);
    BELFRY_CHECK(header.kind != WireKind::error, "[from_remote] a sender's flow failed, as {} says: {}", where,
                 std::string_view(reinterpret_cast<const char*>(message.payload.data()), message.payload.size()));
  }

 private:
  struct Progress {
    std::uint64_t pass = 0, index = 0;  // what the sender's next message should say
  };

  void wait(const std::function<bool()>& given_up) {
    const ZmqSocket::Wait result = socket_.wait(ZMQ_POLLIN, timeout_, given_up);
    BELFRY_CHECK_AS(Cancelled, result != ZmqSocket::Wait::given_up,
                    "[from_remote] expected a point at '{}', but the flow was cancelled.", address());
    BELFRY_CHECK_AS(FileError, result == ZmqSocket::Wait::ready,
                    "[from_remote] expected a message at '{}' within {} s, got none. Are the senders running?",
                    address(), timeout_);
  }

  std::string place_of(ZmqMessage& body) const {
    const std::string peer = body.peer();
    return peer.empty() ? fmt::format("a message at '{}'", address())
                        : fmt::format("a message from {} at '{}'", peer, address());
  }

  bool drop_further_parts(ZmqMessage& first) {
    if (!first.more()) return false;
    ZmqMessage part;
    while (socket_.try_receive(part) && part.more()) {
    }
    return true;
  }

  // What was expected and what came instead, as text; empty if they agree. The sender's progress is set to what came,
  // and the ends of passes that it must have sent are counted.
  std::string check_sequence(const WireHeader& header, std::deque<Event>& events) {
    const auto [found, is_new] = progress_.try_emplace(header.sender, Progress{header.pass, header.index});
    Progress& progress = found->second;
    if (is_new) {
      if (header.kind == WireKind::point && header.index != 0)
        log_warning(
            fmt::format("[from_remote] a sender at '{}' is already at point {} of its pass", address(), header.index));
      return "";
    }
    if (header.pass == progress.pass && header.index == progress.index) return "";
    const std::string loss =
        fmt::format("point {} of pass {}, got {} of pass {}", progress.index, progress.pass, header.index, header.pass);
    const std::uint64_t later = header.pass > progress.pass ? header.pass - progress.pass : 0;
    for (std::uint64_t lost = std::min(later, kMaxLostPasses); lost > 0; --lost) count_end(events);
    progress = {header.pass, header.index};
    return loss;
  }

  void end_pass(const WireHeader& header, std::deque<Event>& events) {
    if (header.kind == WireKind::end_of_pass)
      progress_[header.sender] = {header.pass + 1, 0};
    else
      progress_.erase(header.sender);
    count_end(events);
  }

  void count_end(std::deque<Event>& events) {
    if (++ends_ < passes_) return;
    ends_ = 0;
    events.emplace_back(std::nullopt);
  }

  // If the sender has gone there is nobody to tell.
  void confirm(ZmqMessage& route, const WireHeader& header) {
    socket_.set_linger(kLinger);
    ZmqMessage receipt(kWireHeaderBytes);
    write_wire_header({.kind = WireKind::received, .sender = header.sender}, receipt.bytes());
    if (socket_.try_send(route, ZMQ_SNDMORE)) socket_.try_send(receipt);
  }

  const double timeout_;
  const int passes_;  // ends of senders' passes that end one of ours
  ZmqSocket socket_;
  std::map<std::uint64_t, Progress> progress_;  // by sender
  int ends_ = 0;
};

class RemoteFlow final : public DataFlow {
 public:
  RemoteFlow(const std::string& address, const RemoteOptions& options)
      : replay_(static_cast<std::size_t>(options.replay)), receiver_(address, options) {}

  const std::string& address() const { return receiver_.address(); }

  void start_epoch(std::uint64_t epoch) override {
    cancelled_ = false;
    epoch_ = epoch;
    if (phase_ == kWithin && position_ > 0) phase_ = kSkipping;
    if (phase_ == kEnded) phase_ = kWithin;
    position_ = 0;
  }
  std::uint64_t epoch() const override { return epoch_; }
  std::optional<std::int64_t> size() const override { return std::nullopt; }

  std::optional<DataPoint> next() override {
    while (phase_ != kEnded) {
      Event event = next_event();
      const bool end = !event.has_value();
      if (phase_ == kSkipping) {
        if (end) phase_ = kWithin;
        continue;
      }
      if (!end) {
        ++position_;
        return event;
      }
      phase_ = kEnded;
    }
    return std::nullopt;
  }

  FlowState state() const override {
    return {"remote", {{"epoch", epoch_}, {"position", position_}, {"events", cursor_}, {"phase", phase_}}, {}};
  }

  void restore(const FlowState& state) override {
    state.expect("remote", 0);
    const std::uint64_t events = state.at("events"), phase = state.at("phase"), position = state.at("position");
    BELFRY_CHECK(phase <= kSkipping,
                 "[restore] expected a phase of at most 2 in 'remote', got {}. The state is "
                 "damaged.",
                 phase);
    const bool kept = events >= first_ && events - first_ <= events_.size(), adopted = !kept && !has_received();
    BELFRY_CHECK(kept || adopted,
                 "[restore] expected a position at most {} points back, got one that is {} away: '{}' is a stream, "
                 "which cannot be rewound. Set .replay to the number of points that are read ahead of the consumer.",
                 replay_, events > cursor_ ? events - cursor_ : cursor_ - events, describe());
    if (adopted) {
      log_info(
          fmt::format("[from_remote] '{}' continues with the points that arrive now, not with those that followed the "
                      "saved position",
                      describe()));
      base_ = first_ = events;
    }
    cancelled_ = false;
    cursor_ = events;
    kept_ = static_cast<std::size_t>(std::count_if(events_.begin(),
                                                   events_.begin() + static_cast<std::ptrdiff_t>(cursor_ - first_),
                                                   [](const Event& event) { return event.has_value(); }));
    epoch_ = state.at("epoch");
    position_ = position;
    // Nothing is left to skip of a pass that an earlier process was in.
    phase_ = adopted && phase == kSkipping ? kWithin : phase;
  }

  FlowIdentity identity() const override { return {.kind = "remote", .place = address()}; }
  std::string describe() const override { return fmt::format("remote(\"{}\")", address()); }
  void cancel() override { cancelled_ = true; }

 private:
  // Within a pass; after its end; in a pass that start_epoch() has abandoned, whose rest is to be dropped.
  static constexpr std::uint64_t kWithin = 0, kEnded = 1, kSkipping = 2;

  bool has_received() const { return first_ != base_ || !events_.empty(); }

  Event next_event() {
    BELFRY_CHECK_AS(Cancelled, !cancelled_, "[from_remote] expected a point at '{}', but the flow was cancelled.",
                    address());
    while (cursor_ - first_ >= events_.size()) receiver_.receive(events_, [this] { return cancelled_.load(); });
    Event event = events_[cursor_ - first_];
    ++cursor_;
    if (event) ++kept_;
    // Ends of passes are counted too: otherwise those of empty passes would pile up. If no pass is empty, at most
    // replay_ + 1 of them lie between and around the points that are kept.
    const auto too_many = [this] { return kept_ > replay_ || cursor_ - first_ - kept_ > replay_ + 1; };
    for (; too_many(); ++first_) {
      if (events_.front()) --kept_;
      events_.pop_front();
    }
    return event;
  }

  const std::size_t replay_;
  Receiver receiver_;
  std::atomic<bool> cancelled_ = false;  // the rest is the consumer's
  std::uint64_t epoch_ = 0, position_ = 0, phase_ = kWithin;
  // Events are counted from the first that ever came. Those kept were given out recently, or received after an error.
  std::deque<Event> events_;
  std::uint64_t first_ = 0;   // number of events_.front()
  std::uint64_t cursor_ = 0;  // of the next one to give out
  std::size_t kept_ = 0;      // points before it
  std::uint64_t base_ = 0;    // of the first one that this flow received itself
};

}  // namespace

Flow from_remote(const std::string& address, const RemoteOptions& options) {
  BELFRY_CHECK(options.senders >= 1, "[from_remote] expected 1 or more .senders, got {}.", options.senders);
  BELFRY_CHECK(options.timeout >= 0, "[from_remote] expected a .timeout of 0 or more seconds, got {}.",
               options.timeout);
  BELFRY_CHECK(options.replay >= 0, "[from_remote] expected a .replay of 0 or more points, got {}.", options.replay);
  BELFRY_CHECK(options.max_message_bytes >= 1, "[from_remote] expected .max_message_bytes of at least 1, got {}.",
               options.max_message_bytes);
  auto flow = std::make_shared<RemoteFlow>(address, options);
  if (options.bind && options.bound) options.bound(flow->address());
  return flow;
}

}  // namespace belfry
