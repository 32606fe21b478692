// How fast checkpoints are saved and loaded, beside the disk's own speed for one plain file of the same size.
#pragma once

#include <cstdint>

namespace belfry::torture {

// In MB/s, the best of several turns. "Cold": the file had to come from the disk.
struct Speeds {
  double plain_write = 0, save = 0;
  double plain_read = 0, load = 0;
  double plain_read_cold = 0, load_cold = 0;
};

Speeds measure_speeds(std::int64_t megabytes);

}  // namespace belfry::torture
