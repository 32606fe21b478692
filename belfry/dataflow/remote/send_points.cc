#include <chrono>
#include <cstring>
#include <exception>
#include <optional>
#include <random>
#include <type_traits>

#include "belfry/base/check.h"
#include "belfry/base/internal/exception_text.h"
#include "belfry/base/log.h"
#include "belfry/dataflow/encoding.h"
#include "belfry/dataflow/remote/internal/wire.h"
#include "belfry/dataflow/remote/internal/zmq_socket.h"
#include "belfry/dataflow/remote/remote_flow.h"

namespace belfry {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kWho = "send_points";
constexpr std::chrono::seconds kAwaitPeer{2};  // how long a flow's error is held back while no receiver is connected

// Distinguishes this sender from all others, restarted ones included; a number computed from a seed would not.
std::uint64_t new_sender() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

class Sender {
 public:
  Sender(const std::string& address, const SendOptions& options)
      : options_(options),
        socket_(address, {.who = kWho,
                          .type = ZMQ_DEALER,
                          .bind = options.bind,
                          .high_water = options.high_water,
                          .count_peers = true}),
        header_{.sender = new_sender()} {
    if (options.bind && options.bound) options.bound(socket_.address());
  }

  std::int64_t points() const { return points_; }
  bool flow_failed() const { return flow_failed_; }  // what was thrown is the flow's error, not the connection's

  void send_pass(Flow& flow, std::uint64_t pass, bool last) {
    header_.pass = pass;
    header_.index = 0;
    of_flow([&] { flow.start_epoch(options_.first_epoch + pass); });
    while (const std::optional<DataPoint> point = of_flow([&] { return flow.next(); })) {
      ZmqMessage message(kWireHeaderBytes + encoded_bytes(*point));
      encode_to(*point, message.bytes().subspan(kWireHeaderBytes));
      send(message, WireKind::point);
      ++header_.index;
      ++points_;
    }
    ZmqMessage end(kWireHeaderBytes);
    send(end, last ? WireKind::end : WireKind::end_of_pass);
  }

  // From here on, all waits end when nobody has been connected for a while.
  void send_error(std::string_view text) {
    last_seen_ = Clock::now();
    text = text.substr(0, kMaxWireText);
    ZmqMessage message(kWireHeaderBytes + text.size());
    if (!text.empty()) std::memcpy(message.bytes().data() + kWireHeaderBytes, text.data(), text.size());
    send(message, WireKind::error);
  }

  // Returns when the receiver has said that it got our end.
  void await_receipt() {
    ZmqMessage message;
    while (true) {
      wait(ZMQ_POLLIN, "to say that it got everything");
      while (socket_.try_receive(message)) {
        const WireMessage answer = parse_wire_message(message.bytes(), socket_.address());
        if (answer.header.kind == WireKind::received && answer.header.sender == header_.sender) return;
      }
    }
  }

 private:
  template <class Call>
  std::invoke_result_t<Call&> of_flow(Call&& call) {
    try {
      return call();
    } catch (...) {
      flow_failed_ = true;
      throw;
    }
  }

  void send(ZmqMessage& message, WireKind kind) {
    header_.kind = kind;
    write_wire_header(header_, message.bytes());
    check_stop(options_.stop && options_.stop());
    while (!socket_.try_send(message)) wait(ZMQ_POLLOUT, "to take a point");
  }

  void check_stop(bool stopped) const {
    BELFRY_CHECK_AS(Cancelled, !stopped,
                    "[send_points] expected to send all points to '{}', but .stop ended it after "
                    "{}.",
                    socket_.address(), points_);
  }

  bool is_alone() {
    const int peers = socket_.peers();  // always asked, so that events do not pile up
    if (!last_seen_) return false;
    const Clock::time_point now = Clock::now();
    if (peers > 0) last_seen_ = now;
    return now - *last_seen_ > kAwaitPeer;
  }

  void wait(short event, const char* what) {
    bool alone = false;
    const ZmqSocket::Wait result = socket_.wait(event, options_.timeout, [&] {
      alone = is_alone();
      return alone || (options_.stop && options_.stop());
    });
    BELFRY_CHECK_AS(FileError, !alone, "[send_points] expected a receiver at '{}', got none for {} s. Is it running?",
                    socket_.address(), kAwaitPeer.count());
    check_stop(result == ZmqSocket::Wait::given_up);
    BELFRY_CHECK_AS(FileError, result == ZmqSocket::Wait::ready,
                    "[send_points] expected the receiver at '{}' {} within {} s, got nothing, after {} point(s). Is "
                    "it running?",
                    socket_.address(), what, options_.timeout, points_);
  }

  const SendOptions& options_;
  ZmqSocket socket_;
  WireHeader header_;
  std::int64_t points_ = 0;
  bool flow_failed_ = false;
  std::optional<Clock::time_point> last_seen_;  // of a receiver, while it is to be told of the flow's error
};

// Tells the receiver, if there is one, that the flow failed; that may take as long as it needs to catch up.
void tell_receiver(Sender& sender, const std::string& text) {
  log_error(fmt::format("[send_points] the flow failed, the receiver is being told: {}", text));
  try {
    sender.send_error(text);
    sender.await_receipt();
  } catch (const Error& e) {
    log_warning(fmt::format("[send_points] the receiver was not told of the flow's error: {}", e.what()));
  }
}

}  // namespace

std::int64_t send_points(Flow flow, const std::string& address, const SendOptions& options) {
  BELFRY_CHECK(options.passes >= 1 || options.passes == kForever,
               "[send_points] expected 1 or more .passes, or kForever, got {}.", options.passes);
  BELFRY_CHECK(options.timeout >= 0, "[send_points] expected a .timeout of 0 or more seconds, got {}.",
               options.timeout);
  BELFRY_CHECK(flow, "[send_points] expected a flow, got an empty handle. Assign one first.");
  Sender sender(address, options);
  try {
    for (std::int64_t pass = 0; pass != options.passes; ++pass)
      sender.send_pass(flow, static_cast<std::uint64_t>(pass), pass + 1 == options.passes);
  } catch (...) {
    if (sender.flow_failed()) tell_receiver(sender, text_of(std::current_exception()));
    throw;
  }
  sender.await_receipt();
  return sender.points();
}

}  // namespace belfry
