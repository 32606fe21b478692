// Turns oneDNN's status codes into exceptions. Internal to engine.
#pragma once

#include <oneapi/dnnl/dnnl_types.h>

#include <string>

namespace belfry {

// Throws Error if the call failed; `what` names it.
void dnnl_check(dnnl_status_t status, const char* what);
// The process-wide CPU engine (immutable) and the stream of the calling thread (never queues: CPU runs in place).
dnnl_engine_t dnnl_cpu_engine();
dnnl_stream_t dnnl_cpu_stream();
std::string dnnl_version_text();  // "2.6.3"

}  // namespace belfry
