// PassGuard: whether a stage's pass can go on. A stage that reads ahead, gathers or counts points cannot tell, once
// something has thrown under it, which points are lost; so its pass is over until a new one begins.
//
//   void start_epoch(std::uint64_t epoch) override {
//     pass_.begin([&] { StageFlow::start_epoch(epoch); });
//   }
//   std::optional<DataPoint> next() override {
//     return pass_.reading(kind(), [&] { return source().next(); });
//   }
//
// Guarantees:
// - The original error is thrown once, by whoever meets it. From then on check() and reading() throw an Error that asks
//   for start_epoch() or restore().
// - A begin() that throws leaves the pass failed: the position of the source is unknown.
// - Only the failure is kept, not the exception. The end of a pass is not a failure: that is for the stage to note.
//
// Not synchronised: a guard belongs to the thread that reads the flow, or to the stage's lock.
#pragma once

#include <string_view>

namespace belfry {

class PassGuard {
 public:
  bool failed() const { return failed_; }

  // Throws if the pass has failed. `who` is the stage, for the message.
  void check(std::string_view who) const {
    if (failed_) refuse(who);
  }

  // The result of read(). Throws if the pass has failed; if read() throws, it has from then on. May be nested.
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

  // A new pass, or a restored position: place() takes the source there. The pass counts as failed until it returns, so
  // place() must not call check() or reading().
  template <class Place>
  void begin(Place&& place) {
    failed_ = true;
    place();
    failed_ = false;
  }
  void begin() { failed_ = false; }

  // For a failure that does not pass through reading().
  void fail() { failed_ = true; }

 private:
  [[noreturn]] static void refuse(std::string_view who);

  bool failed_ = false;
};

}  // namespace belfry
