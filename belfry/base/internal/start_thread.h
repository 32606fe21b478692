// Every thread of the library's own begins here: it handles none of the program's signals.
#pragma once

#include <thread>
#include <utility>

#include "belfry/base/signal_mask.h"

namespace belfry {

template <class Body>
std::thread start_thread(Body body) {
  const SignalsBlocked from_birth;  // a thread has its maker's mask
  return std::thread([body = std::move(body)]() mutable {
    take_no_signals();
    body();
  });
}

}  // namespace belfry
