// A training fed by other processes.
#pragma once

#include <string>

#include "belfry/dataflow/remote/remote_flow.h"
#include "belfry/input/flow_inputs.h"

#pragma GCC visibility push(default)
namespace belfry {

// A QueueInput of from_remote(address): send_points() elsewhere makes the points. Its queue holds what is read ahead
// beyond ZeroMQ's own queue, and has the same summary as that of any QueueInput. What the flow keeps for replay covers
// the queue, so that refill_queue() loses nothing; a training resumed from a checkpoint continues with the points that
// arrive (see from_remote()).
class ZMQInput final : public QueueInput {
 public:
  explicit ZMQInput(const std::string& address, const RemoteOptions& remote = {}, const QueueInputOptions& queue = {});
};

}  // namespace belfry
#pragma GCC visibility pop
