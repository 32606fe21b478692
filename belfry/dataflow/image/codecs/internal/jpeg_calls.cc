#include "belfry/dataflow/image/codecs/internal/jpeg_calls.h"

namespace belfry {

JpegCalls::JpegCalls(bool strict) : strict_(strict) {
  jpeg_std_error(&manager_);
  manager_.error_exit = jump_back;
  manager_.emit_message = note;
  manager_.output_message = [](j_common_ptr) {};  // which prints
}

JpegCalls& JpegCalls::of(j_common_ptr codec) { return *reinterpret_cast<JpegCalls*>(codec->err); }

void JpegCalls::give_up(j_common_ptr codec, const char* complaint) {
  JpegCalls& calls = of(codec);
  std::snprintf(calls.complaint_, sizeof(calls.complaint_), "%s", complaint);
  std::longjmp(calls.back_, 1);
}

void JpegCalls::jump_back(j_common_ptr codec) {
  JpegCalls& calls = of(codec);
  codec->err->format_message(codec, calls.complaint_);
  std::longjmp(calls.back_, 1);
}

// Warnings are below 0; levels from there on tell what is done.
void JpegCalls::note(j_common_ptr codec, int level) {
  if (level < 0 && of(codec).strict_) jump_back(codec);
}

}  // namespace belfry
