// ZeroMQ's C interface, with owners and errors. For sources of this folder only.
#pragma once

#include <zmq.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace belfry {

class ZmqMessage {
 public:
  ZmqMessage() { zmq_msg_init(&message_); }
  explicit ZmqMessage(std::size_t bytes);
  ~ZmqMessage() { zmq_msg_close(&message_); }
  ZmqMessage(const ZmqMessage&) = delete;
  ZmqMessage& operator=(const ZmqMessage&) = delete;

  zmq_msg_t* get() { return &message_; }
  std::span<std::byte> bytes() { return {static_cast<std::byte*>(zmq_msg_data(&message_)), zmq_msg_size(&message_)}; }
  bool more() { return zmq_msg_more(&message_) != 0; }  // other parts follow
  std::string peer();                                   // its address or process, "" if it has gone

 private:
  zmq_msg_t message_;
};

struct ZmqSocketOptions {
  std::string who;  // for error texts
  int type = ZMQ_DEALER;
  bool bind = false;
  int high_water = 16;
  std::int64_t max_message_bytes = -1;  // -1: any
  bool count_peers = false;             // for peers()
};

// A socket and a context of its own. One thread at a time; handing it to another needs what hands over memory, too.
class ZmqSocket {
 public:
  ZmqSocket(const std::string& address, const ZmqSocketOptions& options);
  ~ZmqSocket();

  const std::string& address() const { return address_; }  // with the port that was bound
  // Without waiting: false if it would have to.
  bool try_send(ZmqMessage& message, int flags = 0);
  bool try_receive(ZmqMessage& message);

  // Closing waits so long for what was not sent; 0 unless set.
  void set_linger(int milliseconds);

  // Peers that are connected now. Only with .count_peers.
  int peers();

  // Waits for ZMQ_POLLIN or ZMQ_POLLOUT. `given_up` is asked at least ten times a second.
  enum class Wait { ready, given_up, timed_out };
  Wait wait(short event, double timeout, const std::function<bool()>& given_up);

 private:
  struct Close {
    void operator()(void* socket) const { zmq_close(socket); }
  };
  struct Terminate {
    void operator()(void* context) const;
  };
  template <class T>
  void set(int option, const T& value);
  void start_counting();

  std::string who_, address_;
  std::unique_ptr<void, Terminate> context_;
  std::unique_ptr<void, Close> socket_;
  std::unique_ptr<void, Close> events_;  // where the socket says who comes and goes; null unless peers are counted
  int peers_ = 0;
};

}  // namespace belfry
