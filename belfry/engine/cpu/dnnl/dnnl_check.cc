#include "belfry/engine/cpu/dnnl/dnnl_check.h"

#include <oneapi/dnnl/dnnl.h>

#include "belfry/base/check.h"
#include "belfry/engine/cpu/kernel/isa.h"

namespace belfry {
namespace {

struct Stream {
  dnnl_stream_t handle = nullptr;
  Stream() { dnnl_check(dnnl_stream_create(&handle, dnnl_cpu_engine(), dnnl_stream_default_flags), "create a stream"); }
  ~Stream() { dnnl_stream_destroy(handle); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
};

// oneDNN accepts a cap only before its first use; a program that uses it earlier must set the cap itself.
void cap_dnnl(Isa isa) {
  const dnnl_cpu_isa_t wanted = isa == Isa::avx2 ? dnnl_cpu_isa_avx2 : dnnl_cpu_isa_avx512_core;
  if (dnnl_set_max_cpu_isa(wanted) == dnnl_success) return;
  BELFRY_CHECK((dnnl_get_effective_cpu_isa() & ~wanted) == 0,  // a set contains the bits of all smaller ones
               "[BELFRY_ISA] expected to limit oneDNN to {} before its first use, got one that the program has already "
               "used. Set ONEDNN_MAX_CPU_ISA={} too.",
               name_of(isa), isa == Isa::avx2 ? "AVX2" : "AVX512_CORE");
}

}  // namespace

void dnnl_check(dnnl_status_t status, const char* what) {
  BELFRY_CHECK(status == dnnl_success, "[oneDNN] expected success, got status {} ({})", static_cast<int>(status), what);
}

dnnl_engine_t dnnl_cpu_engine() {
  static const dnnl_engine_t engine = [] {
    if (const std::optional<Isa> cap = isa_cap()) cap_dnnl(*cap);
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
