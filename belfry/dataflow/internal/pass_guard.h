// Whether a pass goes on. Once its source has thrown, a point may be lost: nobody knows where the pass stands, until it
// begins anew.
#pragma once

#include <string_view>

#include "belfry/dataflow/internal/flow_checks.h"

namespace belfry {

class PassGuard {
 public:
  // A pass begins, or a position is restored.
  void begin() { failed_ = false; }
  bool failed() const { return failed_; }
  void check(std::string_view who) const { check_goes_on(!failed_, who); }

  // What read() gives. Throws if the pass does not go on; if read() throws, it does not from then on.
  template <class Read>
  auto reading(std::string_view who, Read&& read) {
    check(who);
    try {
      return read();
    } catch (...) {
      failed_ = true;
      throw;
    }
  }

 private:
  bool failed_ = false;
};

}  // namespace belfry
