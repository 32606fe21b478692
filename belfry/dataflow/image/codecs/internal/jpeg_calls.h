// Calls of libjpeg. C has no exceptions: an error jumps back to where the calls began.
#pragma once

// clang-format off: jpeglib.h needs what is before it, and does not include it
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <csetjmp>

namespace belfry {

// The error manager of a reader or a writer of libjpeg's, which lives as long as that one.
class JpegCalls {
 public:
  // With `strict` warnings are errors.
  explicit JpegCalls(bool strict);
  JpegCalls(const JpegCalls&) = delete;
  JpegCalls& operator=(const JpegCalls&) = delete;

  jpeg_error_mgr* manager() { return &manager_; }
  // Whether calls() came to its end; else complaint() says why not. Nothing in calls() may have a destructor: the jump
  // would skip it.
  template <class Calls>
  bool complete(Calls calls) {
    if (setjmp(back_) != 0) return false;
    calls();
    return true;
  }
  const char* complaint() const { return complaint_; }
  // Within calls(): ends them with that complaint.
  [[noreturn]] static void give_up(j_common_ptr codec, const char* complaint);

 private:
  static JpegCalls& of(j_common_ptr codec);
  [[noreturn]] static void jump_back(j_common_ptr codec);
  static void note(j_common_ptr codec, int level);

  jpeg_error_mgr manager_{};  // first: libjpeg knows the address of this
  std::jmp_buf back_{};
  char complaint_[JMSG_LENGTH_MAX] = {};
  bool strict_;
};

}  // namespace belfry
