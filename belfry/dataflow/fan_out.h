// One flow, several consumers, each perhaps on a thread of its own.
//
//   std::vector<Flow> parts = fan_out(train, {.consumers = 2});   // parts[0]: points 0, 2, 4, ...; parts[1]: 1, 3, 5,
//   ...
#pragma once

#include <vector>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

enum class Each {
  some,  // points are dealt: of n consumers, the k-th gets points k, k + n, k + 2n, ... of a pass
  all,   // every consumer gets every point; the arrays are shared
};

struct FanOutOptions {
  int consumers = 2;
  Each each = Each::some;
  int buffer = 16;  // how many points may be read and not yet taken by all who get them
};

// What a consumer is given depends on the source and the options alone, not on who is faster. Whoever needs a point
// that nobody has read yet reads on, for the others too, one consumer at a time. A consumer that is so far ahead that
// the buffer is full waits for the others; so on a single thread take turns, or make the buffer large enough.
//
// Passes. A pass begins for all together: once every consumer has called start_epoch(), with the same epoch. Until then
// next() waits for the others; start_epoch() itself never waits, so that one thread can begin the pass on all of them
// and then read. A consumer whose pass is over still has to be asked for the next one, or to be destroyed: a destroyed
// one's points are dropped and the others go on. To leave a pass in the middle, call start_epoch() on all before the
// first next(): one that begins another pass while others are in the middle of theirs is an error, and so are different
// epochs.
//
// Errors of the source reach every consumer once, after the points before it, and end the pass for it. cancel() ends
// the wait of one consumer; the others go on.
//
// Positions. Each consumer has a state() of its own. Restore all of them, with states taken at any moments of one run,
// before the first next(): everyone goes on with the points that it had not taken. The source is read again from the
// position of the one furthest behind.
std::vector<Flow> fan_out(Flow flow, FanOutOptions options = {});

}  // namespace belfry
#pragma GCC visibility pop
