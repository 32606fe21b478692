#include "belfry/dataflow/remote/internal/zmq_socket.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <new>

#include "belfry/base/check.h"

namespace belfry {
namespace {

constexpr const char* kEvents = "inproc://events";

// ZeroMQ would take the rest of a division.
bool has_too_large_a_port(std::string_view address) {
  const std::string_view port = address.substr(address.rfind(':') + 1);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  const bool whole = end == port.data() + port.size() && end != port.data();
  return address.starts_with("tcp://") && whole && (error != std::errc() || number > 65535);
}

constexpr long kSlice = 50;  // milliseconds between two questions whether somebody has given up

}  // namespace

ZmqMessage::ZmqMessage(std::size_t bytes) {
  if (zmq_msg_init_size(&message_, bytes) != 0) throw std::bad_alloc();
}

// Asked of the system, not of ZeroMQ: its text of the address lies in memory that its own thread has written, and
// that no lock orders. The connection may be closed by now and its number be another's, as ZeroMQ's manual warns.
std::string ZmqMessage::peer() {
  const int connection = zmq_msg_get(&message_, ZMQ_SRCFD);
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (connection < 0 || ::getpeername(connection, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "";
  if (address.ss_family == AF_UNIX) {
    ucred process{};
    length = sizeof process;
    const int code = ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &process, &length);
    return code == 0 ? fmt::format("process {}", process.pid) : "";
  }
  std::array<char, NI_MAXHOST> host{};
  const int code = ::getnameinfo(reinterpret_cast<sockaddr*>(&address), length, host.data(), host.size(), nullptr, 0,
                                 NI_NUMERICHOST);
  return code == 0 ? host.data() : "";
}

void ZmqSocket::Terminate::operator()(void* context) const {
  while (zmq_ctx_term(context) != 0 && errno == EINTR) {
  }
}

template <class T>
void ZmqSocket::set(int option, const T& value) {
  const int code = zmq_setsockopt(socket_.get(), option, &value, sizeof value);
  BELFRY_BUG_IF(code != 0, "zmq_setsockopt({}): {}", option, zmq_strerror(errno));
}

ZmqSocket::ZmqSocket(const std::string& address, const ZmqSocketOptions& options)
    : who_(options.who), address_(address) {
  BELFRY_CHECK(address.starts_with("tcp://") || address.starts_with("ipc://"),
               "[{}] expected an address like tcp://host:port or ipc://path, got '{}'.{}", who_, address,
               address.starts_with("inproc://") ? " Within one process, prefetch() and map() have threads." : "");
  BELFRY_CHECK(!has_too_large_a_port(address), "[{}] expected a port of at most 65535, got '{}'.", who_, address);
  BELFRY_CHECK(options.high_water >= 1, "[{}] expected a .high_water of at least 1 point, got {}.", who_,
               options.high_water);
  context_.reset(zmq_ctx_new());
  BELFRY_CHECK(context_ != nullptr, "[{}] cannot start ZeroMQ: {}.", who_, zmq_strerror(errno));
  socket_.reset(zmq_socket(context_.get(), options.type));
  BELFRY_CHECK(socket_ != nullptr, "[{}] cannot make a socket: {}.", who_, zmq_strerror(errno));
  set_linger(0);
  set(ZMQ_SNDHWM, options.high_water);
  set(ZMQ_RCVHWM, options.high_water);
  set(ZMQ_MAXMSGSIZE, options.max_message_bytes);
  if (options.count_peers) start_counting();
  const int code =
      options.bind ? zmq_bind(socket_.get(), address.c_str()) : zmq_connect(socket_.get(), address.c_str());
  if (code != 0) {
    const int error = errno;
    fail<FileError>("[{}] cannot {} '{}': {}.{}", who_, options.bind ? "bind" : "connect to", address,
                    zmq_strerror(error), error == EINVAL ? " Write tcp://host:port or ipc://path." : "");
  }
  if (!options.bind) return;
  std::array<char, 1024> endpoint{};
  std::size_t length = endpoint.size();
  if (zmq_getsockopt(socket_.get(), ZMQ_LAST_ENDPOINT, endpoint.data(), &length) == 0) address_ = endpoint.data();
}

// First: ZeroMQ's own thread would wait with an event that has no reader any more.
ZmqSocket::~ZmqSocket() {
  if (events_ != nullptr) zmq_socket_monitor(socket_.get(), nullptr, 0);
}

void ZmqSocket::start_counting() {
  int code = zmq_socket_monitor(socket_.get(), kEvents, ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED);
  BELFRY_CHECK(code == 0, "[{}] cannot watch a socket: {}.", who_, zmq_strerror(errno));
  events_.reset(zmq_socket(context_.get(), ZMQ_PAIR));
  BELFRY_CHECK(events_ != nullptr, "[{}] cannot make a socket: {}.", who_, zmq_strerror(errno));
  const int unlimited = 0;  // ZeroMQ's own thread would wait if events that nobody has asked for were too many
  zmq_setsockopt(events_.get(), ZMQ_RCVHWM, &unlimited, sizeof unlimited);
  code = zmq_connect(events_.get(), kEvents);
  BELFRY_BUG_IF(code != 0, "zmq_connect({}): {}", kEvents, zmq_strerror(errno));
}

// An event is a message of two parts: u16 kind, u32 value; the address.
int ZmqSocket::peers() {
  BELFRY_BUG_IF(events_ == nullptr, "peers of '{}' are not counted", address_);
  ZmqMessage part;
  while (zmq_msg_recv(part.get(), events_.get(), ZMQ_DONTWAIT) >= 0) {
    if (!part.more()) continue;
    std::uint16_t kind = 0;
    BELFRY_BUG_IF(part.bytes().size() < sizeof kind, "an event of {} bytes", part.bytes().size());
    std::memcpy(&kind, part.bytes().data(), sizeof kind);
    if (kind == ZMQ_EVENT_HANDSHAKE_SUCCEEDED)
      ++peers_;
    else if (kind == ZMQ_EVENT_DISCONNECTED)
      peers_ = std::max(peers_ - 1, 0);  // one may go before its handshake
  }
  return peers_;
}

void ZmqSocket::set_linger(int milliseconds) { set(ZMQ_LINGER, milliseconds); }

bool ZmqSocket::try_send(ZmqMessage& message, int flags) {
  while (zmq_msg_send(message.get(), socket_.get(), ZMQ_DONTWAIT | flags) < 0) {
    if (errno == EAGAIN) return false;
    if (errno != EINTR) fail<FileError>("[{}] cannot send to '{}': {}.", who_, address_, zmq_strerror(errno));
  }
  return true;
}

bool ZmqSocket::try_receive(ZmqMessage& message) {
  while (zmq_msg_recv(message.get(), socket_.get(), ZMQ_DONTWAIT) < 0) {
    if (errno == EAGAIN) return false;
    if (errno != EINTR) fail<FileError>("[{}] cannot receive at '{}': {}.", who_, address_, zmq_strerror(errno));
  }
  return true;
}

ZmqSocket::Wait ZmqSocket::wait(short event, double timeout, const std::function<bool()>& given_up) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  while (true) {
    if (given_up && given_up()) return Wait::given_up;
    long slice = kSlice;
    if (timeout > 0) {
      const double left = timeout - std::chrono::duration<double>(Clock::now() - begin).count();
      if (left <= 0) return Wait::timed_out;
      slice = std::min(slice, static_cast<long>(left * 1000) + 1);
    }
    zmq_pollitem_t item{socket_.get(), 0, event, 0};
    const int ready = zmq_poll(&item, 1, slice);
    if (ready > 0) return Wait::ready;
    if (ready < 0 && errno != EINTR)
      fail<FileError>("[{}] cannot wait at '{}': {}.", who_, address_, zmq_strerror(errno));
  }
}

}  // namespace belfry
