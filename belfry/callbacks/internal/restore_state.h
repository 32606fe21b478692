// How callbacks read their state back.
#pragma once

#include <exception>
#include <string>

#include "belfry/base/check.h"

namespace belfry {

// Calls `read`, and turns whatever it throws into an error that names the callback.
template <class Read>
void restore_state(const std::string& callback, Read&& read) {
  try {
    read();
  } catch (const std::exception& error) {
    fail("[{}] expected the state that a checkpoint keeps, got something else ({}).", callback, error.what());
  }
}

}  // namespace belfry
