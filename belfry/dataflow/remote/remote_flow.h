// Points from one process to another, over ZeroMQ: several machines decode and augment, one trains.
//
//   where the data are:   send_points(flow, "tcp://trainer:5555", {.passes = kForever});
//   where they are used:  Flow flow = from_remote("tcp://*:5555", {.senders = 3});
//
// Addresses are tcp://host:port or ipc://path. One side binds, by default the receiver; either may start first, and a
// sender waits while the receiver is behind. What is sent is the encoding of encoding.h: nothing in it is ever
// executed, and every length is checked. There is no password and no encryption: use it on networks that you trust.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "belfry/dataflow/flow.h"
#include "belfry/dataflow/repeat.h"

#pragma GCC visibility push(default)
namespace belfry {

struct SendOptions {
  bool bind = false;              // the address is ours, and the receiver connects to it
  std::int64_t passes = 1;        // or kForever
  std::uint64_t first_epoch = 0;  // of the flow; the next pass is its next epoch
  int high_water = 16;            // points that may wait here for the receiver; as many may wait there
  double timeout = 0;             // seconds without progress of the receiver before it is an error; 0: no limit
  // Called a few times a second while waiting for the receiver, and before each point: true ends it with Cancelled.
  std::function<bool()> stop = nullptr;
  // With .bind: called with the address in full (in tcp://127.0.0.1:* the system chooses the port).
  std::function<void(const std::string&)> bound = nullptr;
};

// Sends the passes of a flow to one receiver and returns when that has confirmed the last of them, with the number of
// points. If the flow fails, that is an error for the receiver and then here; only here if no receiver has been
// connected for two seconds.
std::int64_t send_points(Flow flow, const std::string& address, const SendOptions& options = {});

struct RemoteOptions {
  bool bind = true;
  // A pass ends after this many ends of senders' passes, whichever senders they come from: if each sends one pass, that
  // is one from each; if they send without end, a fast sender contributes more passes than a slow one.
  int senders = 1;
  double timeout = 0;   // seconds without a message after which next() fails; 0: it waits until it is cancelled
  int high_water = 16;  // points that may wait here, for each sender
  std::int64_t max_message_bytes = std::int64_t{1} << 30;  // whoever sends a larger one is disconnected
  // This many points are kept after they were given out, so that restore() can go back to them: at least as many as are
  // read ahead of the consumer, by prefetch(), QueueInput and the like. One more end of a pass is kept.
  int replay = 64;
  std::function<void(const std::string&)> bound = nullptr;  // as in SendOptions
};

// What the senders send. Epochs are the receiver's own numbers: each start_epoch() begins the next pass that comes, and
// drops what is left of one that was begun.
//
// An error (a message that is not a point, points that were lost on the way, a sender's flow that failed, a timeout) is
// thrown once; the following next() continues after it. A sender that failed has ended its pass, and ends of passes
// that were lost are counted. A sender that was killed says nothing: set a timeout. cancel() ends a next() that waits
// within a fraction of a second.
//
// A stream cannot be rewound. restore() goes back exactly as far as .replay reaches, and farther is an Error. A new
// flow, which has received nothing, takes any state: it goes on counting from there, with the points that come. That is
// what a training resumed from a checkpoint gets: no point of the stream twice, none of those in flight when it ended.
Flow from_remote(const std::string& address, const RemoteOptions& options = {});

}  // namespace belfry
#pragma GCC visibility pop
