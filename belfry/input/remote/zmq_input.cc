#include "belfry/input/remote/zmq_input.h"

#include <algorithm>

namespace belfry {
namespace {

// The queue, the point that its thread holds, and what a run of many towers has taken and not yet finished with.
RemoteOptions covering(RemoteOptions remote, const QueueInputOptions& queue) {
  constexpr int kInRuns = 64;
  remote.replay = std::max(remote.replay, std::max(queue.capacity, 0) + kInRuns);
  return remote;
}

}  // namespace

ZMQInput::ZMQInput(const std::string& address, const RemoteOptions& remote, const QueueInputOptions& queue)
    : QueueInput(from_remote(address, covering(remote, queue)), queue) {}

}  // namespace belfry
