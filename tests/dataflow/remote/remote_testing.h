// What tests of remote flows share: a thread that sends, and a peer that sends whatever it is told to.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "belfry/dataflow/encoding.h"
#include "belfry/dataflow/remote/internal/wire.h"
#include "belfry/dataflow/remote/internal/zmq_socket.h"
#include "belfry/dataflow/remote/remote_flow.h"
#include "tests/dataflow/flow_testing.h"
#include "tests/support/files.h"

namespace belfry {

// send_points() on a separate thread; ended by the destructor, wherever it waits.
class SendingThread {
 public:
  SendingThread(Flow flow, std::string address, SendOptions options = {}) {
    options.stop = [this] { return stop_.load(); };
    thread_ = std::thread([this, flow, address, options] {
      outcome_ = error_of([&] { points_ = send_points(flow, address, options); });
    });
  }
  ~SendingThread() { stop(); }

  // The text of its error, or "no error". Waits for its end.
  std::string outcome() {
    if (thread_.joinable()) thread_.join();
    return outcome_;
  }
  std::int64_t points() {
    outcome();
    return points_;
  }
  std::string stop() {
    stop_ = true;
    return outcome();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::string outcome_;
  std::int64_t points_ = -1;
  std::thread thread_;
};

// A sender by hand.
class RawPeer {
 public:
  explicit RawPeer(const std::string& address) : socket_(address, {.who = "a test", .type = ZMQ_DEALER}) {}

  void send(const std::vector<std::string>& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      ZmqMessage message(parts[i].size());
      std::ranges::copy(std::as_bytes(std::span(parts[i])), message.bytes().begin());
      EXPECT_TRUE(socket_.try_send(message, i + 1 < parts.size() ? ZMQ_SNDMORE : 0));
    }
  }
  void send(const WireHeader& header, const std::string& payload = "") {
    std::string bytes(kWireHeaderBytes, '\0');
    write_wire_header(header, std::as_writable_bytes(std::span(bytes)));
    send({bytes + payload});
  }
  void point(std::uint64_t pass, std::uint64_t index, std::uint64_t sender = 1) {
    send({WireKind::point, sender, pass, index}, encode({Array(static_cast<int>(index))}));
  }
  void end(std::uint64_t pass, std::uint64_t count, std::uint64_t sender = 1) {
    send({WireKind::end_of_pass, sender, pass, count});
  }

 private:
  ZmqSocket socket_;
};

class RemoteTest : public testing::Test {
 protected:
  const testing_support::TempDir dir;
  const std::string address = "ipc://" + (dir / "socket");
  // How errors name one from this process.
  std::string message() const { return fmt::format("a message from process {} at '{}'", ::getpid(), address); }
};

}  // namespace belfry
