#include "belfry/engine/dnnl_check.h"

#include <oneapi/dnnl/dnnl.h>

#include "belfry/base/check.h"
#include "belfry/engine/cpu/isa.h"

namespace belfry {
namespace {

struct Stream {
  dnnl_stream_t handle = nullptr;
  Stream() { dnnl_check(dnnl_stream_create(&handle, dnnl_cpu_engine(), dnnl_stream_default_flags), "create a stream"); }
  ~Stream() { dnnl_stream_destroy(handle); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
};

}  // namespace

void dnnl_check(dnnl_status_t status, const char* what) {
  BELFRY_CHECK(status == dnnl_success, "[oneDNN] expected success, got status {} ({})", static_cast<int>(status), what);
}

dnnl_engine_t dnnl_cpu_engine() {
  static const dnnl_engine_t engine = [] {
    // What BELFRY_ISA asks for holds for oneDNN's half of a plan too.
    if (cpu_isa() == Isa::avx2 && cpu_supports(Isa::avx512))
      dnnl_check(dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2), "limit the instruction set");
    dnnl_engine_t e = nullptr;
    dnnl_check(dnnl_engine_create(&e, dnnl_cpu, 0), "create the CPU engine");
    return e;
  }();
  return engine;
}

dnnl_stream_t dnnl_cpu_stream() {
  thread_local const Stream stream;
  return stream.handle;
}

std::string dnnl_version_text() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace belfry
