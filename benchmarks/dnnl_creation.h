// How long oneDNN takes to make primitives. dnnl_creation.cc wraps the functions that make them.
#pragma once

namespace belfry::bench {

double seconds_making_primitives();  // since the program began, in all threads

}  // namespace belfry::bench
