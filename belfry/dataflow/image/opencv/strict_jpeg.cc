#include "belfry/dataflow/image/opencv/internal/strict_jpeg.h"

#include "belfry/base/check.h"

#ifdef BELFRY_HAS_LIBJPEG
// clang-format off: jpeglib.h needs what is before it, and does not include it
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <csetjmp>

namespace belfry {
namespace {

// libjpeg's errors and warnings, of which the first is kept. C has no exceptions: an error jumps back.
struct Complaint {
  jpeg_error_mgr manager{};  // first: libjpeg knows the address of this
  std::jmp_buf back{};
  char text[JMSG_LENGTH_MAX] = {};
};

void keep_first(j_common_ptr reader) {
  auto* complaint = reinterpret_cast<Complaint*>(reader->err);
  if (complaint->text[0] == '\0') reader->err->format_message(reader, complaint->text);
}

void stop_reading(j_common_ptr reader) {
  keep_first(reader);
  std::longjmp(reinterpret_cast<Complaint*>(reader->err)->back, 1);
}

// Levels above 0 tell what it does.
void note(j_common_ptr reader, int level) {
  if (level < 0) stop_reading(reader);
}

// Reads the coefficients, without making pixels of them. No object here has a destructor: longjmp would skip it.
void read_all(Complaint& complaint, const unsigned char* bytes, unsigned long count) {
  jpeg_decompress_struct reader{};
  reader.err = jpeg_std_error(&complaint.manager);
  complaint.manager.error_exit = stop_reading;
  complaint.manager.emit_message = note;
  if (setjmp(complaint.back) == 0) {
    jpeg_create_decompress(&reader);
    jpeg_mem_src(&reader, bytes, count);
    jpeg_read_header(&reader, TRUE);
    jpeg_read_coefficients(&reader);
    jpeg_finish_decompress(&reader);
  }
  jpeg_destroy_decompress(&reader);
}

bool is_jpeg(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0xFF} && bytes[1] == std::byte{0xD8};
}

}  // namespace

void check_jpeg(const char* where, std::span<const std::byte> bytes) {
  if (!is_jpeg(bytes)) return;
  Complaint complaint;
  read_all(complaint, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  BELFRY_CHECK(complaint.text[0] == '\0',
               "[{}] expected a JPEG without damage, got {} bytes of which libjpeg says: {}.", where, bytes.size(),
               complaint.text);
}

void check_strict_is_built(const char*) {}

}  // namespace belfry

#else

namespace belfry {

void check_jpeg(const char* where, std::span<const std::byte>) { check_strict_is_built(where); }

void check_strict_is_built(const char* where) {
  fail(
      "[{}] expected Belfry's part 'jpeg' (libjpeg) for .strict, got a Belfry that was built without it. Install "
      "libjpeg-dev and build Belfry again, or leave .strict out.",
      where);
}

}  // namespace belfry

#endif
