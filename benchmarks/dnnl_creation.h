// How long oneDNN takes to make primitives. dnnl_creation.cc puts itself in front of the functions that do.
#pragma once

namespace belfry::bench {

double seconds_making_primitives();  // since the program began, in all threads

}  // namespace belfry::bench
